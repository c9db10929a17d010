// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cli/command.h"
#include "cmd/attach.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/set/attachments.h"
#include "set/attachment.h"
#include "set/refusal.h"

/* The words of a line, for the parser of the tool. The words point into @text. */
static void split_words(char *text, char *word[], int most, struct words *words)
{
	char *next = text;

	words->word = word;
	words->plain = most;
	for (; words->count < most && (word[words->count] = strsep(&next, " \t")); )
		words->count += *word[words->count] != '\0';
}

/* Return: NULL, or what is wrong, allocated. */
static char *parse_line(const char *set, const char *line, struct nl_attachment *attachment)
{
	char *text = need_text("%s %s", set, line), *word[32], *said = NULL, *why = NULL;
	const struct tool tool = { .command = find_command("attach"), .said = &said };
	struct words words = { 0 };
	int status;

	split_words(text, word, 32, &words);
	status = parse_attach(&tool, &words, attachment);
	/* Further lines say how to use the command. */
	if (said)
		said[strcspn(said, "\n")] = '\0';
	if (status)
		why = need_text("\"%s\": %s", line, said ? said : "out of memory");
	else if (attachment->place == IPCUCKOO_PLACE_XDP)
		why = need_text("\"%s\": xdp needs a program, which ipcuckood has no right to load; run \"ipcuckoo attach %s %s\" yourself, and save it for the next boot: ipcuckoo save --all --file /etc/ipcuckoo.save",
				line, set, line);
	attachment->flags |= IPCUCKOO_F_EXIST;
	free(said);
	free(text);
	return why;
}

char *attachments_parse(struct target *target)
{
	size_t count = 0;
	char *why = NULL;

	if (!target->attach)
		return NULL;
	target->elsewhere = !strcmp(target->attach[0], "no") && !target->attach[1];
	if (target->elsewhere)
		return NULL;
	while (target->attach[count])
		count++;
	target->attachments = need_zeros(count * sizeof(*target->attachments));
	for (; target->attachment_count < count && !why; target->attachment_count++)
		why = parse_line(target->name, target->attach[target->attachment_count],
				 &target->attachments[target->attachment_count]);
	return why;
}

/* Whether an attachment of the kernel is the one that the configuration asks for. What a line does not
 * say, such as the order, may be anything.
 */
static bool is_wanted(const struct nl_attachment *want, const struct nl_attachment *have)
{
	return !strcmp(want->set, have->set) && want->direction == have->direction &&
	       want->verdict == have->verdict && !strcmp(want->dev, have->dev) &&
	       same_place(want, have) && same_limits(want, have) &&
	       want->mark == have->mark && want->mark_mask == have->mark_mask &&
	       (want->flags & IPCUCKOO_F_LOOPBACK) == (have->flags & IPCUCKOO_F_LOOPBACK) &&
	       (!want->has_order || want->order == have->order) &&
	       (!want->has_priority || want->priority == have->priority);
}

static const struct nl_attachment *find_wanted(const struct nl_attachment *want,
					       const struct nl_attachment *all, size_t count)
{
	for (; count--; all++)
		if (is_wanted(want, all))
			return all;
	return NULL;
}

/* Return: whether the set was attached. */
static bool attach(struct target *target, size_t line, bool before)
{
	const char *text = target->attach[line];
	char *why = NULL;
	const struct tool tool = {
		.nl = target->daemon->nl, .command = find_command("attach"), .said = &why,
	};
	uint32_t id;
	bool refused = nl_attach(tool.nl, &target->attachments[line], &id);

	if (refused)
		fail_attach(&tool, target->name);
	if (refused && !target->refused_attach)
		log_error("[set %s] attach = %s: %s; it is tried again", target->name, text,
			  why ? why : "out of memory");
	else if (!refused && before)
		log_warning("[set %s] somebody else had removed its attachment \"%s\"; it is attached again",
			    target->name, text);
	else if (!refused)
		log_info("[set %s] is attached: %s", target->name, text);
	free(why);
	return !refused;
}

/* Attach the set where its section says and it is not. Return: whether it was attached. */
static bool attach_missing(struct target *target, const struct nl_attachment *all, size_t count)
{
	bool refused = false, attached = false;
	size_t i;

	for (i = 0; i < target->attachment_count; i++) {
		if (find_wanted(&target->attachments[i], all, count))
			continue;
		if (attach(target, i, target->was_attached))
			attached = true;
		else
			refused = true;
	}
	target->refused_attach = refused;
	target->was_attached = !refused && target->attachment_count;
	return attached;
}

static void set_idle(struct target *target, char *idle)
{
	free(target->idle);
	target->idle = idle;
}

/* Does any attachment of the set see packets? If not, say why. */
static void update_acts(struct target *target, const struct nl_attachment *all, size_t count)
{
	char text[ATTACHMENT_TEXT_SIZE], state[STATE_TEXT_SIZE];
	const struct nl_attachment *idle = NULL;
	size_t i;

	target->acts = target->elsewhere || target->rules;
	for (i = 0; i < count; i++) {
		if (strcmp(all[i].set, target->name))
			continue;
		if (!is_active(&all[i]))
			idle = &all[i];
		else if (all[i].verdict != IPCUCKOO_VERDICT_PREFETCH)
			target->acts = true;
	}
	if (idle)
		set_idle(target, need_text("its attachment \"%s\" sees no packets: %s",
					   attachment_text(idle, text), state_text(idle, state)));
	else if (target->refused_attach)
		set_idle(target, need_text("it cannot be attached as \"attach\" says; journalctl -u ipcuckood says why"));
	else if (!target->acts)
		set_idle(target, need_text("it is attached nowhere, so that it acts on no packet; write \"attach = src drop\" into [set %s], or \"attach = no\" if something that the kernel cannot know of looks it up",
					   target->name));
	else
		set_idle(target, NULL);
}

bool attachments_keep(struct daemon *daemon, struct target *const *targets, size_t number)
{
	struct nl_attachment *all = NULL;
	bool again = false, refused = false;
	size_t count, i;

	if (!daemon->nl || nl_attachments(daemon->nl, &all, &count) < 0) {
		for (i = 0; i < number; i++)
			targets[i]->acts = false;
		return true;
	}
	/* A set that does not exist is created first: target_verify(). */
	for (i = 0; i < number; i++)
		if (!targets[i]->behind)
			again |= attach_missing(targets[i], all, count);
	if (again) {
		free(all);
		all = NULL;
		if (nl_attachments(daemon->nl, &all, &count) < 0)
			count = 0;
	}
	for (i = 0; i < number; i++) {
		update_acts(targets[i], all, count);
		refused |= targets[i]->refused_attach;
	}
	free(all);
	return refused;
}

/* Whether an attachment is the first one that a line asks for. */
static bool is_used(const struct target *target, const struct nl_attachment *all, size_t count,
		    const struct nl_attachment *have)
{
	size_t i;

	for (i = 0; target && i < target->attachment_count; i++)
		if (find_wanted(&target->attachments[i], all, count) == have)
			return true;
	return false;
}

static bool has_line(const struct target *target, const struct nl_attachment *line)
{
	size_t i;

	for (i = 0; target && i < target->attachment_count; i++)
		if (is_wanted(line, &target->attachments[i]) &&
		    is_wanted(&target->attachments[i], line))
			return true;
	return false;
}

void attachments_remove(struct daemon *daemon, const struct target *was, const struct target *is)
{
	struct nl_attachment by_id = { .flags = IPCUCKOO_F_EXIST }, *all = NULL;
	size_t count = 0, i, j;
	uint32_t detached;

	if (!daemon->nl || nl_attachments(daemon->nl, &all, &count) < 0)
		return;
	for (i = 0; i < was->attachment_count; i++) {
		if (has_line(is, &was->attachments[i]))
			continue;
		for (j = 0; j < count; j++) {
			if (!is_wanted(&was->attachments[i], &all[j]) ||
			    is_used(is, all, count, &all[j]))
				continue;
			by_id.id = all[j].id;
			if (!nl_detach(daemon->nl, &by_id, &detached) && detached)
				log_info("[set %s] is detached, as its line was removed: %s",
					 was->name, was->attach[i]);
		}
	}
	free(all);
}
