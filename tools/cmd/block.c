// SPDX-License-Identifier: GPL-2.0-only
/*
 * block and unblock: the simplest way to use ipcuckoo. The set is created and attached on
 * first use. If the user has created or attached it in another way, it stays so. The set stores
 * timeouts, because it cannot be changed to do so when somebody wants a block to end by itself.
 */
#include <limits.h>
#include <stdlib.h>

#include "cmd/commands.h"
#include "lib/duration.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "set/attachment.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/refusal.h"

/* Up to this many unblocked entries are tested again: a prefix may still block them. */
#define CHECK_MOST	64

static int make_set(struct tool *tool, const struct nl_set *set)
{
	if (nl_set_new(tool->nl, set, false, IPCUCKOO_F_EXIST))
		return fail_kernel(tool, NULL, "Set %s cannot be created",
				   set->name);
	return STATUS_OK;
}

/* Whether an attachment drops all packets from addresses of the set, on all devices. */
static bool drops_all(const struct nl_attachment *attachment)
{
	return attachment->verdict == IPCUCKOO_VERDICT_DROP &&
	       attachment->direction & IPCUCKOO_DIR_SRC &&
	       !attachment->dev[0] && !is_limited(attachment);
}

/* Find out whether the set is attached already. @drops: set if an attachment drops all packets from
 * its addresses; an existing one may do something else.
 */
static int find_attached(struct tool *tool, bool *attached, bool *drops)
{
	struct nl_attachment *all;
	size_t count, i;

	if (nl_attachments(tool->nl, &all, &count) < 0)
		return fail_kernel(tool, NULL, "cannot read the attachments");
	for (i = 0; i < count; i++) {
		if (strcmp(all[i].set, BLOCK_SET) ||
		    all[i].verdict == IPCUCKOO_VERDICT_PREFETCH)
			continue;
		*attached = true;
		*drops |= drops_all(&all[i]);
	}
	free(all);
	return STATUS_OK;
}

/* @until: "", or for how long */
static void print_blocked(const struct bulk *bulk, const char *until)
{
	const struct packed *entries = bulk->entries;
	size_t count = packed_count(entries);
	char text[ADDRESS_TEXT_SIZE];

	if (bulk->tool->json) {
		bulk_print_json(bulk->set, "blocked", &bulk->change);
	} else if (bulk->tool->quiet) {
		return;
	} else if (count == 1) {
		printf("%s %s%s.\n",
		       entry_text(entries, first_entry(entries), text),
		       bulk->change.changed ? "is blocked" :
		       "was blocked already", until);
	} else {
		printf("%u blocked", bulk->change.changed);
		if (bulk->change.unchanged)
			printf(", %u blocked already", bulk->change.unchanged);
		printf("%s.\n", until);
	}
}

/* Add @entries to @set, for @seconds unless that is negative. */
static int block(struct tool *tool, const struct nl_set *set, bool exists,
		 const struct packed *entries, long long seconds)
{
	const struct entry_value value = {
		.timeout = seconds,
		.packets = IPCUCKOO_COUNTER_KEEP, .bytes = IPCUCKOO_COUNTER_KEEP,
	};
	struct bulk bulk = {
		.tool = tool, .set = BLOCK_SET, .kind = set, .entries = entries,
		.value = seconds < 0 ? NULL : &value,
		.extensions = seconds < 0 ? 0 : IPCUCKOO_O_TIMEOUT,
	};
	struct nl_attachment fresh = {
		.set = BLOCK_SET,
		.direction = IPCUCKOO_DIR_SRC,
		.verdict = IPCUCKOO_VERDICT_DROP,
		.flags = IPCUCKOO_F_EXIST,
	};
	char time[DURATION_TEXT_SIZE], until[DURATION_TEXT_SIZE + 16] = "";
	bool attached = false, drops = false;
	uint32_t id;
	int status;

	status = find_attached(tool, &attached, &drops);
	if (!status)
		status = bulk_guard(&bulk, BULK_ADD, attached ? NULL : &fresh);
	if (!status && !exists)
		status = make_set(tool, set);
	tool->exist = true;
	if (!status)
		status = bulk_add(&bulk);
	if (!status && !attached) {
		drops = true;
		if (nl_attach(tool->nl, &fresh, &id))
			status = fail_attach(tool, BLOCK_SET);
	}
	if (status)
		return status;
	if (!drops)
		return fail(tool, STATUS_REFUSED,
			    "the entries were added, but are not blocked: the set %s is attached, but not so that all packets from its addresses are dropped (ipcuckoo attach %s src drop does that)",
			    BLOCK_SET, BLOCK_SET);
	if (seconds > 0)
		snprintf(until, sizeof(until), ", for %s from now", duration_format(seconds, time));
	print_blocked(&bulk, until);
	return STATUS_OK;
}

/* The set was made without timeouts. A set with them can take its name, entries and attachments in
 * one step.
 */
static int fail_untimed(const struct tool *tool, const struct nl_set *set)
{
	if (is_approximate(set))
		return fail(tool, STATUS_REFUSED,
			    "the set %s is approximate, and stores no timeouts", set->name);
	return fail(tool, STATUS_REFUSED,
		    "the set %s was made without timeouts. This makes it again, with all that it has:\n"
		    "  (ipcuckoo save %s | sed 's/ %s / %s.timed /; 1s/$/ timeout 0/'; echo swap %s.timed %s; echo destroy %s.timed) | ipcuckoo restore",
		    set->name, set->name, set->name, set->name, set->name, set->name, set->name);
}

int run_block(struct tool *tool, struct words *words)
{
	struct nl_set set = {
		.name = BLOCK_SET,
		.type = IPCUCKOO_TYPE_HASH_NET,
		.family = IPCUCKOO_FAMILY_ANY,
		.options = IPCUCKOO_O_TIMEOUT,
	}, there;
	const char *timeout = NULL;
	const struct keyword keywords[] = {
		{ .word = "timeout", .value = &timeout },
		{ .word = NULL }
	};
	struct packed entries = { 0 };
	long long seconds = -1;
	int err, status;

	status = parse_words(tool, words, keywords, 1, INT_MAX);
	if (!status && timeout)
		status = parse_time(tool, "timeout", timeout, 0, IPCUCKOO_TIMEOUT_MAX, &seconds);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	err = nl_set_get(tool->nl, BLOCK_SET, &there);
	if (err && err != -ENOENT)
		return fail_kernel(tool, NULL, "cannot read set %s", BLOCK_SET);
	if (!err)
		set = there;
	if (timeout && !(set.options & IPCUCKOO_O_TIMEOUT))
		return fail_untimed(tool, &set);
	status = bulk_read(tool, &set, words->word, words->count, NULL,
			   &entries);
	if (!status)
		status = block(tool, &set, !err, &entries, seconds);
	packed_free(&entries);
	return status;
}

/*
 * Whether an entry of the set covers @ref. For a host, the kernel looks up all prefixes
 * that cover it. For a prefix, it looks up only this very prefix, so it is asked about
 * each wider prefix, too, until one is an entry or an exception. Return: 1, 0, or a
 * negative errno.
 */
static int is_blocked(struct tool *tool, const struct packed *entries,
		      struct entry_ref ref, uint8_t *prefix_len)
{
	unsigned int bytes = entry_size[ref.kind] - 1;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct packed one = packed_one(ref.kind, entry);
	struct nl_test test;
	unsigned int len;
	int err;

	memcpy(entry, entry_at(entries, ref), entry_size[ref.kind]);
	for (;;) {
		err = nl_entry_test(tool->nl, BLOCK_SET, &one, &test);
		if (err)
			return err;
		if (test.found || test.nomatch || ref.kind < ENTRY_NET4 || !entry[bytes])
			break;
		len = --entry[bytes];
		entry[len / 8] &= ~(0x80 >> len % 8);
	}
	*prefix_len = test.prefix_len;
	return test.found;
}

/* Of the entries inside a prefix, a message names so many. */
#define INSIDE_MOST	8
#define INSIDE_TEXT_SIZE	(INSIDE_MOST * (ADDRESS_TEXT_SIZE + 1) + 128)

/**
 * struct inside - the entries of the set inside a prefix
 * @kind:	kind of the prefix: ENTRY_NET4 or ENTRY_NET6
 * @prefix:	the prefix
 * @count:	how many there are, the prefix itself not among them
 * @text:	the first ones, each behind a blank
 */
struct inside {
	enum entry_kind kind;
	const uint8_t *prefix;
	size_t count;
	char text[INSIDE_MOST * (ADDRESS_TEXT_SIZE + 1)];
};

static int note_inside(enum entry_kind kind, const uint8_t *entry, void *data)
{
	struct inside *inside = data;
	unsigned int bytes = entry_size[inside->kind] - 1, len = inside->prefix[bytes];
	char *end = inside->text + strlen(inside->text);

	if (is_v6(kind) != is_v6(inside->kind) || (is_net(kind) && entry[bytes] <= len) ||
	    memcmp(entry, inside->prefix, len / 8) ||
	    (len % 8 && (entry[len / 8] ^ inside->prefix[len / 8]) >> (8 - len % 8)))
		return 0;
	if (inside->count++ < INSIDE_MOST) {
		*end++ = ' ';
		*entry_format(end, kind, entry) = '\0';
	}
	return 0;
}

/* Find the entries of the set inside a prefix, exceptions left out. Return: 0 or a negative errno. */
static int find_inside(struct tool *tool, const struct packed *entries, struct entry_ref ref,
		       struct inside *inside)
{
	struct extended extended = { 0 };
	struct packed all = { 0 };
	size_t i;
	int err;

	*inside = (struct inside) { .kind = ref.kind, .prefix = entry_at(entries, ref) };
	if (!is_net(ref.kind))
		return 0;
	err = nl_entries(tool->nl, BLOCK_SET, &all);
	if (err >= 0 && all.has_extensions)
		err = nl_extended_entries(tool->nl, BLOCK_SET, &extended);
	packed_sort(&all);
	if (!all.has_extensions)
		packed_walk(&all, note_inside, inside);
	for (i = 0; i < extended.count && err >= 0; i++)
		if (!extended.at[i].value.nomatch)
			note_inside(extended.at[i].kind, extended.at[i].entry, inside);
	packed_free(&all);
	extended_free(&extended);
	return err < 0 ? err : 0;
}

/* "2 entries inside it are blocked (ipcuckoo unblock 10.1.2.3 10.2.0.0/16)"; "" if there are none */
static const char *inside_text(const struct inside *inside, char *text, size_t size)
{
	*text = '\0';
	if (inside->count)
		snprintf(text, size, "%zu entr%s inside it %s blocked%s (ipcuckoo unblock%s)",
			 inside->count, inside->count == 1 ? "y" : "ies",
			 inside->count == 1 ? "is" : "are",
			 inside->count > INSIDE_MOST ? ", the first of them" : "", inside->text);
	return text;
}

/* Print that an entry does not exist, and which other entry blocks it, if any. */
static int fail_not_blocked(struct tool *tool, const struct packed *entries)
{
	char match[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE], within[INSIDE_TEXT_SIZE];
	struct entry_ref ref;
	struct inside inside;
	uint8_t prefix_len;
	int blocked;

	if (!nl_error_entry(tool->nl, entries, &ref))
		return fail(tool, STATUS_NO,
			    "one of the %zu is not blocked; nothing was changed",
			    packed_count(entries));
	entry_text(entries, ref, text);
	blocked = is_blocked(tool, entries, ref, &prefix_len);
	if (blocked < 0)
		return fail_kernel(tool, BLOCK_SET, "%s is not an entry, and the kernel cannot say whether another entry blocks it",
				   text);
	if (!blocked && find_inside(tool, entries, ref, &inside))
		return fail_kernel(tool, BLOCK_SET, "cannot list set %s", BLOCK_SET);
	if (!blocked)
		return fail(tool, STATUS_NO, "%s is not blocked%s%s%s", text,
			    packed_count(entries) > 1 ? "; nothing was changed" : "",
			    inside.count ? ", but " : "",
			    inside_text(&inside, within, sizeof(within)));
	match_text(entries, ref, prefix_len, match);
	return fail(tool, STATUS_NO,
		    "%s is not an entry, but is blocked by the entry %s (ipcuckoo unblock %s)",
		    text, match, match);
}

static void warn_still_blocked(struct tool *tool, const struct packed *entries)
{
	char match[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE], within[INSIDE_TEXT_SIZE];
	struct inside inside;
	struct entry_ref ref;
	uint8_t prefix_len;
	int blocked;

	if (packed_count(entries) > CHECK_MOST)
		return;
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count;
		     ref.index++) {
			blocked = is_blocked(tool, entries, ref, &prefix_len);
			if (blocked)
				entry_text(entries, ref, text);
			if (blocked < 0)
				warn(tool, "%s may still be blocked: the kernel cannot say (%s)",
				     text, strerror(-blocked));
			else if (blocked)
				warn(tool, "%s is still blocked, by %s", text,
				     match_text(entries, ref, prefix_len, match));
			else if (packed_count(entries) <= INSIDE_MOST &&
				 !find_inside(tool, entries, ref, &inside) && inside.count)
				warn(tool, "%s is not blocked any more, but %s",
				     entry_text(entries, ref, text),
				     inside_text(&inside, within, sizeof(within)));
		}
	}
}

static void print_unblocked(const struct tool *tool,
			    const struct packed *entries,
			    const struct nl_change *change)
{
	char text[ADDRESS_TEXT_SIZE];

	if (tool->json) {
		bulk_print_json(BLOCK_SET, "unblocked", change);
	} else if (tool->quiet) {
		return;
	} else if (packed_count(entries) == 1) {
		printf("%s %s.\n",
		       entry_text(entries, first_entry(entries), text),
		       change->changed ? "is unblocked" : "was not blocked");
	} else {
		printf("%u unblocked.\n", change->changed);
	}
}

static int unblock(struct tool *tool, const struct nl_set *set, const struct packed *entries)
{
	const struct bulk bulk = {
		.tool = tool, .set = BLOCK_SET, .kind = set, .entries = entries
	};
	struct nl_change change;
	int err, status;

	if (!nl_fits(entries))
		return fail(tool, STATUS_USAGE,
			    "too many at once; use ipcuckoo del %s",
			    BLOCK_SET);
	status = bulk_guard(&bulk, BULK_DEL, NULL);
	if (status)
		return status;
	err = nl_entry_del(tool->nl, BLOCK_SET, entries,
			   tool->exist ? IPCUCKOO_F_EXIST : 0, &change);
	if (err == -ENOENT)
		return fail_not_blocked(tool, entries);
	if (err)
		return fail_kernel(tool, BLOCK_SET, "cannot unblock");
	print_unblocked(tool, entries, &change);
	if (!tool->quiet)
		warn_still_blocked(tool, entries);
	return STATUS_OK;
}

int run_unblock(struct tool *tool, struct words *words)
{
	struct packed entries = { 0 };
	struct nl_set set;
	int err, status;

	status = parse_words(tool, words, no_keywords, 1, INT_MAX);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	err = nl_set_get(tool->nl, BLOCK_SET, &set);
	if (err == -ENOENT)
		return fail(tool, STATUS_NO,
			    "nothing is blocked: there is no set %s yet",
			    BLOCK_SET);
	if (err)
		return fail_kernel(tool, NULL, "cannot read set %s", BLOCK_SET);
	status = bulk_read(tool, &set, words->word, words->count, NULL,
			   &entries);
	if (!status)
		status = unblock(tool, &set, &entries);
	packed_free(&entries);
	return status;
}
