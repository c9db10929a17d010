// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cmd/commands.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/set/aggregate.h"
#include "daemon/set/attachments.h"
#include "daemon/set/guard.h"
#include "daemon/set/kernel.h"
#include "daemon/set/merged.h"
#include "daemon/set/source.h"
#include "daemon/set/target.h"
#include "lib/monotonic.h"

/* A refused change is tried again after this many seconds, and later less often. */
#define RETRY_LEAST	5
#define RETRY_MOST	300

/* If somebody else changes the set so often in a row, it is made what it shall be after this time. */
#define CONTESTED_LEAST		3
#define CONTESTED_SECONDS	4

/* A prefix in a set of hosts is expanded to at most as many hosts. */
#define EXPAND_MOST	FEED_EXPAND_LIMIT

static const struct meaning kept_types[] = {
	{ "hash:net", IPCUCKOO_TYPE_HASH_NET },
	{ "hash:ip", IPCUCKOO_TYPE_HASH_IP },
	{ NULL, 0 }
};

#define FIELD(name)	.offset = offsetof(struct target, name)

const struct config_key target_keys[] = {
	{ "type", KEY_WORD, FIELD(type), .preset = "hash:net", .words = kept_types },
	{ "family", KEY_WORD, FIELD(family), .preset = "any", .words = value_families },
	{ "maxelem", KEY_NUMBER, FIELD(maxelem), .preset = "0", .most = UINT32_MAX - 1 },
	{ "timeouts", KEY_SWITCH, FIELD(timeouts) },
	{ "comments", KEY_SWITCH, FIELD(comments) },
	{ "counters", KEY_SWITCH, FIELD(counters) },
	{ "protect", KEY_SWITCH, FIELD(protect), .preset = "yes" },
	{ "max-growth", KEY_NUMBER, FIELD(max_growth), .preset = "8", .most = 32 },
	{ "max-growth6", KEY_NUMBER, FIELD(max_growth6), .preset = "16", .most = 48 },
	{ "max-total", KEY_NUMBER, FIELD(max_total), .preset = "1", .most = 32 },
	{ "max-total6", KEY_NUMBER, FIELD(max_total6), .preset = "0", .most = 48 },
	{ "except", KEY_LIST, FIELD(except) },
	{ "except-file", KEY_LIST, FIELD(except_files) },
	{ "aggregate", KEY_LIST, FIELD(aggregate) },
	{ "attach", KEY_LINES, FIELD(attach) },
	{ NULL }
};

/* Exceptions are parsed for a set of prefixes, whatever the set is. */
static void read_exceptions(struct target *target, struct section *section)
{
	struct feed feed = { .family = IPCUCKOO_FAMILY_ANY };
	char why[ADDRESS_WHY_SIZE];
	struct feed_fault wrong;
	size_t i;

	for (i = 0; target->except && target->except[i]; i++)
		if (feed_add(&feed, target->except[i], strlen(target->except[i]), why))
			section_fault(section, "except", "\"%s\": %s", target->except[i], why);
	for (i = 0; target->except_files && target->except_files[i]; i++) {
		if (!feed_read(&feed, target->except_files[i], &wrong))
			continue;
		if (wrong.line)
			section_fault(section, "except-file", "%s:%lu: \"%s\": %s", wrong.file,
				      wrong.line, wrong.text, wrong.why);
		else
			section_fault(section, "except-file", "%s %s", wrong.file, wrong.why);
	}
	packed_unique(&feed.entries);
	target->exceptions = feed.entries;
}

void target_check(struct target *target, struct section *section)
{
	char *why;

	read_exceptions(target, section);
	if (!strcmp(target->name, BLOCK_SET))
		section_fault(section, NULL,
			      "that is the set of \"ipcuckoo block\", and the daemon would remove what was blocked by hand; give the set another name");
	why = aggregate_parse(target);
	if (why)
		section_fault(section, "aggregate", "%s", why);
	free(why);
	why = attachments_parse(target);
	if (why)
		section_fault(section, "attach", "%s", why);
	free(why);
}

void target_free(struct target *target)
{
	aggregate_free(target);
	value_free_all(target_keys, target);
	packed_free(&target->exceptions);
	timer_stop(&target->retry);
	free(target->sources);
	free(target->attachments);
	free(target->idle);
	free(target->problem);
	free(target->name);
	free(target);
}

void target_prepare(const struct target *target, struct feed *feed)
{
	feed->family = target->family;
	feed->hosts_only = target->type == IPCUCKOO_TYPE_HASH_IP;
	feed->expand_limit = EXPAND_MOST;
}

bool target_complete(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->source_count; i++)
		if (!target->sources[i]->delivered)
			return false;
	return true;
}

bool target_settled(const struct target *target)
{
	return target->own || target_complete(target);
}

/* Reads what the set shall have, then the exceptions. If @arrays, the entries of sources that have
 * neither expiry nor comment come first, as arrays; @array is the source whose array is next, and
 * @rest what exceptions leave of one.
 */
struct union_cursor {
	const struct target *target;
	uint32_t now;
	bool arrays;
	size_t array;
	struct packed rest;
	struct merged merged;
	struct merged_cursor at;
	int exception_kind;
	size_t exception;
};

/*
 * Whether entries without expiry and comment can be sent as the sorted arrays in which the sources
 * have them, which saves most of the time. They must not get the values that another source, or the
 * set itself, has for them: so the set stores no values, or there is one source, which has none.
 */
static bool can_send_arrays(const struct target *target)
{
	const struct source *source;

	if (!((target->options | target->lacking) & (IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COMMENT)))
		return true;
	if (target->source_count != 1 || target->default_timeout)
		return false;
	source = target->sources[0];
	return !source->timeout && !source->comment;
}

static int next_array(void *data, const struct packed **entries)
{
	struct union_cursor *cursor = data;
	const struct target *target = cursor->target;
	const struct source *source;
	struct packed allowed = { 0 };
	int err = 0;

	packed_free(&cursor->rest);
	while (cursor->array < target->source_count && target->sources[cursor->array]->left_out)
		cursor->array++;
	if (!cursor->arrays || cursor->array == target->source_count)
		return 0;
	source = target->sources[cursor->array++];
	*entries = &source->contents.plain;
	if (packed_count(&source->kept_out)) {
		err = packed_missing(*entries, &source->kept_out, &allowed);
		*entries = &allowed;
	}
	if (!err && (packed_count(&target->exceptions) || *entries == &allowed)) {
		err = packed_without(*entries, &target->exceptions, &cursor->rest);
		*entries = &cursor->rest;
	}
	packed_free(&allowed);
	return err ? -ENOMEM : 1;
}

/* Ask all sources about all entries, or only about those that do not come in arrays. */
static int begin_union(struct union_cursor *cursor)
{
	struct packed entries = { 0 };
	int err = merged_collect(cursor->target, !cursor->arrays, &entries);

	if (!err)
		err = merged_read(cursor->target, cursor->now, &entries, &cursor->merged);
	packed_free(&entries);
	return err;
}

static void end_union(struct union_cursor *cursor)
{
	merged_free(&cursor->merged);
	packed_free(&cursor->rest);
}

static void fill_entry(const struct member *member, uint32_t now, struct extended_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->kind = member->kind;
	memcpy(entry->entry, member->entry, entry_size[member->kind]);
	/* An entry that expires right now must not become one that never does. */
	if (member->expires)
		entry->value.timeout = member->expires > now ? member->expires - now : 1;
	if (entry->value.timeout > IPCUCKOO_TIMEOUT_MAX)
		entry->value.timeout = IPCUCKOO_TIMEOUT_MAX;
	entry->value.packets = IPCUCKOO_COUNTER_KEEP;
	entry->value.bytes = IPCUCKOO_COUNTER_KEEP;
	entry->value.comment = (char *)member->comment;
}

/* Only a set of prefixes can have exceptions as entries. */
static bool next_exception(struct union_cursor *cursor, struct extended_entry *entry)
{
	const struct target *target = cursor->target;
	const struct entry_array *array;
	struct member member = { 0 };

	if (target->type != IPCUCKOO_TYPE_HASH_NET)
		return false;
	for (; cursor->exception_kind < ENTRY_KINDS; cursor->exception_kind++) {
		array = &target->exceptions.kind[cursor->exception_kind];
		if (cursor->exception == array->count ||
		    !(target->family & (is_v6(cursor->exception_kind) ? IPCUCKOO_FAMILY_INET6 :
									IPCUCKOO_FAMILY_INET))) {
			cursor->exception = 0;
			continue;
		}
		member.kind = cursor->exception_kind;
		memcpy(member.entry, array->data + cursor->exception++ * entry_size[member.kind],
		       entry_size[member.kind]);
		fill_entry(&member, cursor->now, entry);
		entry->value.nomatch = true;
		return true;
	}
	return false;
}

static bool next_entry(void *data, struct extended_entry *entry)
{
	struct union_cursor *cursor = data;
	struct member member;

	if (!merged_next(cursor->target, &cursor->merged, &cursor->at, &member))
		return next_exception(cursor, entry);
	fill_entry(&member, cursor->now, entry);
	return true;
}

static void on_retry(void *data)
{
	target_apply(data);
}

/* The kernel's set was changed if @why is NULL. Otherwise the target is behind. */
static void end_change(struct target *target, char *why)
{
	bool same = why && target->problem && !strcmp(why, target->problem);

	if (!why && target->behind && target->problem)
		log_info("[set %s] is up to date again, with %u entries", target->name,
			 target->entries);
	free(target->problem);
	target->problem = why;
	target->behind = why;
	if (!why) {
		target->applied_at = now_seconds();
		target->attempts = 0;
		timer_stop(&target->retry);
		return;
	}
	target->failures++;
	if (!same)
		log_error("[set %s] was not changed and stays as it is: %s; it is tried again",
			  target->name, why);
	timer_start(target->daemon->event, &target->retry,
		    backoff_ms(++target->attempts, RETRY_LEAST, RETRY_MOST), on_retry, target);
}

/* The number of entries of each kind that come at most. */
static struct packed coming(const struct target *target)
{
	struct packed result = { 0 };
	const struct contents *contents;
	size_t i;
	int kind;

	for (i = 0; i < target->source_count; i++) {
		contents = &target->sources[i]->contents;
		for (kind = 0; kind < ENTRY_KINDS; kind++)
			result.kind[kind].count += contents->plain.kind[kind].count;
		result.kind[ENTRY_HOST4].count += contents->used;
	}
	return result;
}

/* Print "+" and "-" for the differences between two sorted lists. Return: how many there are. */
static size_t print_missing(const struct packed *from, const struct packed *in, char sign)
{
	char text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref;
	size_t count = 0;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < from->kind[ref.kind].count; ref.index++) {
			if (packed_has(in, ref.kind, entry_at(from, ref)))
				continue;
			printf("%c %s\n", sign, entry_text(from, ref, text));
			count++;
		}
	}
	return count;
}

/* A dry run: print what would change. */
static char *print_difference(struct target *target)
{
	struct union_cursor cursor = { .target = target, .now = now_seconds() };
	struct packed want = { 0 }, have = { 0 };
	struct extended_entry entry;
	size_t added, deleted = 0;
	char *why = kernel_read(target, &have);
	int err = begin_union(&cursor);

	while (!why && !err && next_entry(&cursor, &entry))
		err = packed_add(&want, entry.kind, entry.entry);
	if (err)
		why = need_text("out of memory");
	if (!why) {
		packed_sort(&want);
		printf("set %s\n", target->name);
		added = print_missing(&want, &have, '+');
		if (target_complete(target))
			deleted = print_missing(&have, &want, '-');
		printf("set %s: %zu entries would be added, %zu deleted, %zu stay\n", target->name,
		       added, deleted, packed_count(&have) - deleted);
		fflush(stdout);
	}
	end_union(&cursor);
	packed_free(&want);
	packed_free(&have);
	return why;
}

/* Whether there is anything to put into the set, or to remove from it. */
static bool has_any(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->source_count; i++)
		if (target->sources[i]->delivered && target->sources[i] != target->networks)
			return true;
	return packed_count(&target->exceptions);
}

static char *replace(struct target *target)
{
	struct union_cursor cursor = {
		.target = target, .now = now_seconds(), .arrays = can_send_arrays(target),
	};
	const struct kernel_entries entries = {
		.plain = next_array, .next = next_entry, .cursor = &cursor,
		.coming = coming(target),
	};
	char *why;

	if (begin_union(&cursor))
		why = need_text("out of memory");
	else
		why = kernel_replace(target, &entries, !target_settled(target));
	end_union(&cursor);
	return why;
}

void target_apply(struct target *target)
{
	char *why;

	/* In a dry run, main() calls this when all sources have answered. */
	if (target->networks) {
		/* Measure first how much max-total leaves. The guard refuses networks for which that
		 * is too little; else the call below would leave out the largest source, which may
		 * be the one with their hosts.
		 */
		guard_total(target);
		aggregate_update(target, NULL);
	}
	if (guard_total(target))
		aggregate_update(target, NULL);
	why = kernel_open(target);
	if (!why && target->daemon->dry_run)
		why = print_difference(target);
	else if (!why && has_any(target))
		why = replace(target);
	end_change(target, why);
}

/* Sort the touched entries into those that the set shall have now, and those that it shall not. An entry
 * that an exception covers, it does not have anyway, or has as an exception.
 */
static int sort_touched(const struct target *target, struct packed *touched, struct extended *add,
			struct packed *del)
{
	struct extended_entry entry = { 0 };
	struct merged_cursor cursor = { 0 };
	uint32_t now = now_seconds();
	struct merged merged;
	struct member member;
	struct entry_ref ref;
	const uint8_t *at;
	int err = merged_read(target, now, touched, &merged);

	while (!err && merged_next(target, &merged, &cursor, &member)) {
		fill_entry(&member, now, &entry);
		err = extended_add(add, entry.kind, entry.entry, &entry.value);
	}
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < merged.entries.kind[ref.kind].count && !err;
		     ref.index++) {
			at = entry_at(&merged.entries, ref);
			if (!merged.value[ref.kind][ref.index].there &&
			    !packed_covers(&target->exceptions, ref.kind, at))
				err = packed_add(del, ref.kind, at);
		}
	}
	merged_free(&merged);
	return err;
}

/* Somebody else has changed the set: make it again what the sources say. Until all have answered, only
 * entries are added, and what others do is no news. If they do it again and again, it is said once, and
 * waited for some seconds, so that two programs that both keep the set do not use up the processor.
 */
static void repair(struct target *target, const char *what)
{
	double now = monotonic_seconds(), since = now - target->repaired;

	/* ipcuckoo-upgrade has taken the set away, and makes it again: watch.c applies all sets then. */
	if (kernel_is_upgraded() || (target->contested && since < CONTESTED_SECONDS))
		return;
	target->quick = target->repairs && since < 2 * CONTESTED_SECONDS ? target->quick + 1 : 0;
	if (target->quick == CONTESTED_LEAST)
		log_warning("[set %s] somebody else changes it again and again; \"ipcuckoo monitor\" shows what they do. It is made what its sources say every %d seconds",
			    target->name, CONTESTED_SECONDS);
	target->contested = target->quick >= CONTESTED_LEAST;
	target->repaired = now;
	target->repairs++;
	target->own = false;
	if (target_complete(target) && !target->contested)
		log_warning("[set %s] %s; it is made what its sources say", target->name, what);
	target_apply(target);
}

void target_apply_some(struct target *target, struct packed *touched, bool atomic, bool add_only)
{
	char what[KERNEL_CHANGE_SIZE];
	struct extended add = { 0 };
	struct packed del = { 0 };
	struct exposure size, more;
	char *why;
	bool fits;
	int i;

	if (target->daemon->dry_run)
		return;
	/* The whole set is replaced as soon as that works. */
	if (target->behind || target->lacking)
		return;
	/* Somebody else has changed the set: it is replaced as well. */
	if (kernel_find_change(target, what)) {
		repair(target, what);
		return;
	}
	size = exposure_bound(touched);
	fits = exposure_take(&target->spare, &size) || !guard_total(target);
	/* The guard judges the networks of these entries by what max-total leaves now. */
	aggregate_update(target, touched);
	more = exposure_bound(touched);
	for (i = 0; i < EXPOSURE_FAMILIES; i++)
		more.size[i] -= size.size[i];
	fits = fits && (exposure_take(&target->spare, &more) || !guard_total(target));
	/* The first entry with a timeout or comment: the set has to become one that stores it. */
	if (!fits || (target->timeouts && !(target->options & IPCUCKOO_O_TIMEOUT)) ||
	    (target->comments && !(target->options & IPCUCKOO_O_COMMENT))) {
		target_apply(target);
		return;
	}
	if (sort_touched(target, touched, &add, &del)) {
		why = need_text("out of memory");
	} else {
		if (add_only)
			packed_clear(&del);
		why = kernel_change(target, &add, &del, atomic);
	}
	extended_free(&add);
	packed_free(&del);
	end_change(target, why);
}

/* The set failed to change, and is not as it was then, or the module is there again: the next try need
 * not wait for its time.
 */
static bool may_succeed(struct target *target)
{
	char what[KERNEL_CHANGE_SIZE];

	return kernel_is_there(target->daemon) && target->generation &&
	       kernel_find_change(target, what);
}

bool target_verify(struct target *target)
{
	char what[KERNEL_CHANGE_SIZE];

	if (target->behind && may_succeed(target))
		target_apply(target);
	else if (!target->behind && has_any(target) && kernel_find_change(target, what))
		repair(target, what);
	else if (monotonic_seconds() - target->repaired > 2 * CONTESTED_SECONDS)
		target->contested = false;
	return target->contested || !target->generation;
}

void target_need(struct target *target, const struct member *member)
{
	target->timeouts |= member->expires > 0;
	target->comments |= !!member->comment;
}

void target_need_all(struct target *target, const struct contents *contents)
{
	/* Behind the entries that have neither */
	struct contents_cursor cursor = { .kind = ENTRY_KINDS };
	struct member member;

	while (!(target->timeouts && target->comments) && contents_next(contents, &cursor, &member))
		target_need(target, &member);
}

/* Its sources may need timeouts or comments. */
static void find_options(struct target *target)
{
	size_t i;

	for (i = 0; i < target->source_count; i++) {
		target->timeouts |= target->sources[i]->timeout > 0;
		target->comments |= !!target->sources[i]->comment;
		target_need_all(target, &target->sources[i]->contents);
	}
}

void target_start(struct target *target, struct daemon *daemon)
{
	target->daemon = daemon;
	find_options(target);
}

void target_stop(struct target *target)
{
	timer_stop(&target->retry);
}
