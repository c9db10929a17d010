// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/kernel.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/source.h"
#include "daemon/target.h"
#include "daemon/timer.h"

/* A refused change is tried again after this many seconds, and later less often. */
#define RETRY_LEAST	5
#define RETRY_MOST	300

/* A prefix in a set of hosts is expanded to at most as many hosts. */
#define EXPAND_MOST	FEED_EXPAND_LIMIT

static const struct meaning kept_types[] = {
	{ "hash:net", IPCUCKOO_TYPE_HASH_NET },
	{ "hash:ip", IPCUCKOO_TYPE_HASH_IP },
	{ NULL, 0 }
};

static const struct meaning families[] = {
	{ "any", IPCUCKOO_FAMILY_ANY },
	{ "inet", IPCUCKOO_FAMILY_INET },
	{ "inet6", IPCUCKOO_FAMILY_INET6 },
	{ NULL, 0 }
};

#define FIELD(name)	.offset = offsetof(struct target, name)

const struct config_key target_keys[] = {
	{ "type", KEY_WORD, FIELD(type), .preset = "hash:net", .words = kept_types },
	{ "family", KEY_WORD, FIELD(family), .preset = "any", .words = families },
	{ "maxelem", KEY_NUMBER, FIELD(maxelem), .preset = "0", .most = UINT32_MAX - 1 },
	{ "timeouts", KEY_SWITCH, FIELD(timeouts) },
	{ "comments", KEY_SWITCH, FIELD(comments) },
	{ "except", KEY_LIST, FIELD(except) },
	{ "except-file", KEY_LIST, FIELD(except_files) },
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
			config_fault(section, "except", "\"%s\": %s", target->except[i], why);
	for (i = 0; target->except_files && target->except_files[i]; i++) {
		if (!feed_read(&feed, target->except_files[i], &wrong))
			continue;
		if (wrong.line)
			config_fault(section, "except-file", "%s:%lu: \"%s\": %s", wrong.file,
				     wrong.line, wrong.text, wrong.why);
		else
			config_fault(section, "except-file", "%s %s", wrong.file, wrong.why);
	}
	packed_sort(&feed.entries);
	packed_dedup(&feed.entries);
	target->exceptions = feed.entries;
}

void target_check(struct target *target, struct section *section)
{
	read_exceptions(target, section);
}

void target_free(struct target *target)
{
	config_free_keys(target_keys, target);
	packed_free(&target->exceptions);
	timer_stop(&target->retry);
	free(target->sources);
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

/* Whether an exception covers an entry, or is the same. */
static bool is_excepted(const struct target *target, enum entry_kind kind, const uint8_t *entry)
{
	enum entry_kind host = is_v6(kind) ? ENTRY_HOST6 : ENTRY_HOST4;
	enum entry_kind net = is_v6(kind) ? ENTRY_NET6 : ENTRY_NET4;
	unsigned int size = entry_size[host], len;
	uint8_t prefix[IPCUCKOO_NET6_SIZE];

	if (!is_net(kind) && packed_has(&target->exceptions, host, entry))
		return true;
	if (!target->exceptions.kind[net].count)
		return false;
	memcpy(prefix, entry, size);
	len = is_net(kind) ? entry[size] : 8 * size - 1;
	if (!is_net(kind))
		prefix[size - 1] &= 0xfe;
	for (;; len--) {
		prefix[size] = len;
		if (packed_has(&target->exceptions, net, prefix))
			return true;
		if (!len)
			return false;
		prefix[(len - 1) / 8] &= ~(0x80 >> (len - 1) % 8);
	}
}

/* What an entry of a source means for the set. */
static void complete_member(const struct source *source, struct member *member)
{
	if (!member->expires && source->timeout)
		member->expires = source->good_at + source->timeout;
	if (!member->comment)
		member->comment = source->comment;
}

/* Find an entry in the union of the sources from number @from on, without those that expired. The
 * time is an argument because there are millions of entries, and in some machines it costs a system
 * call.
 */
static bool find_member(const struct target *target, uint32_t now, size_t from,
			enum entry_kind kind, const uint8_t *entry, struct member *result)
{
	struct member member;
	bool found = false;
	size_t i;

	for (i = from; i < target->source_count; i++) {
		if (!contents_find(&target->sources[i]->contents, kind, entry, &member))
			continue;
		complete_member(target->sources[i], &member);
		if (member_expired(&member, now))
			continue;
		if (!found) {
			*result = member;
		} else {
			if (!member.expires ||
			    (result->expires && member.expires > result->expires))
				result->expires = member.expires;
			if (!result->comment)
				result->comment = member.comment;
		}
		found = true;
	}
	return found;
}

static bool has_earlier(const struct target *target, uint32_t now, size_t before,
			const struct member *member)
{
	const struct source *source;
	struct member other;
	size_t i;

	for (i = 0; i < before; i++) {
		source = target->sources[i];
		if (!contents_find(&source->contents, member->kind, member->entry, &other))
			continue;
		complete_member(source, &other);
		if (!member_expired(&other, now))
			return true;
	}
	return false;
}

/* Reads the union of the sources, then the exceptions. If @arrays, the entries of sources that have
 * neither expiry nor comment come first, as arrays; @array is the source whose array is next, and
 * @rest what exceptions leave of one.
 */
struct union_cursor {
	const struct target *target;
	uint32_t now;
	bool arrays;
	size_t array;
	struct packed rest;
	size_t source;
	struct contents_cursor contents;
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
	const struct packed *plain;

	packed_free(&cursor->rest);
	if (!cursor->arrays || cursor->array == target->source_count)
		return 0;
	plain = &target->sources[cursor->array++]->contents.plain;
	*entries = plain;
	if (!packed_count(&target->exceptions))
		return 1;
	*entries = &cursor->rest;
	return packed_without(plain, &target->exceptions, &cursor->rest) ? -ENOMEM : 1;
}

/* Where the entries of a source begin that come one by one: behind those that came as an array */
static void begin_contents(struct union_cursor *cursor)
{
	cursor->contents = (struct contents_cursor){ .kind = cursor->arrays ? ENTRY_KINDS : 0 };
}

/* The next entry of the union: each one once, where the first source that has it has it. */
static bool next_member(struct union_cursor *cursor, struct member *member)
{
	const struct target *target = cursor->target;

	while (cursor->source < target->source_count) {
		if (!contents_next(&target->sources[cursor->source]->contents, &cursor->contents,
				   member)) {
			cursor->source++;
			begin_contents(cursor);
			continue;
		}
		if (has_earlier(target, cursor->now, cursor->source, member) ||
		    is_excepted(target, member->kind, member->entry))
			continue;
		if (cursor->source + 1 == target->source_count) {
			complete_member(target->sources[cursor->source], member);
			if (member_expired(member, cursor->now))
				continue;
			return true;
		}
		/* It is not found if it has expired. */
		if (find_member(target, cursor->now, cursor->source, member->kind, member->entry,
				member))
			return true;
	}
	return false;
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

	if (!next_member(cursor, &member))
		return next_exception(cursor, entry);
	fill_entry(&member, cursor->now, entry);
	return true;
}

static int on_retry(sd_event_source *timer, uint64_t usec, void *data)
{
	(void)timer;
	(void)usec;
	target_apply(data);
	return 0;
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
	int err = 0;

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
	packed_free(&want);
	packed_free(&have);
	return why;
}

/* Whether there is anything to put into the set, or to remove from it. */
static bool has_any(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->source_count; i++)
		if (target->sources[i]->delivered)
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

	begin_contents(&cursor);
	why = kernel_replace(target, &entries, !target_complete(target));
	packed_free(&cursor.rest);
	return why;
}

void target_apply(struct target *target)
{
	char *why;

	/* In a dry run, main() calls this when all sources have answered. */
	why = kernel_open(target);
	if (!why && target->daemon->dry_run)
		why = print_difference(target);
	else if (!why && has_any(target))
		why = replace(target);
	end_change(target, why);
}

/* Sort the touched entries into those that the set shall have now, and those that it shall not. */
static int sort_touched(const struct target *target, const struct packed *touched,
			struct extended *add, struct packed *del)
{
	struct extended_entry entry = { 0 };
	uint32_t now = now_seconds();
	struct member member;
	struct entry_ref ref;
	const uint8_t *at;
	int err;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < touched->kind[ref.kind].count; ref.index++) {
			at = entry_at(touched, ref);
			/* The set does not have it anyway, or has it as an exception. */
			if (is_excepted(target, ref.kind, at))
				continue;
			if (find_member(target, now, 0, ref.kind, at, &member)) {
				fill_entry(&member, now, &entry);
				err = extended_add(add, entry.kind, entry.entry, &entry.value);
			} else {
				err = packed_add(del, ref.kind, at);
			}
			if (err)
				return err;
		}
	}
	return 0;
}

void target_apply_some(struct target *target, const struct packed *touched, bool atomic)
{
	struct extended add = { 0 };
	struct packed del = { 0 };
	char *why;

	if (target->daemon->dry_run)
		return;
	/* The whole set is replaced as soon as that works. */
	if (target->behind || target->lacking)
		return;
	/* The first entry with a timeout or comment: the set has to become one that stores it. */
	if ((target->timeouts && !(target->options & IPCUCKOO_O_TIMEOUT)) ||
	    (target->comments && !(target->options & IPCUCKOO_O_COMMENT))) {
		target_apply(target);
		return;
	}
	why = target->daemon->nl ? NULL : kernel_open(target);
	if (!why && sort_touched(target, touched, &add, &del))
		why = need_text("out of memory");
	if (!why)
		why = kernel_change(target, &add, &del, atomic);
	extended_free(&add);
	packed_free(&del);
	end_change(target, why);
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
