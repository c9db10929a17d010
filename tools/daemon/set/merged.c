// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/set/guard.h"
#include "daemon/set/merged.h"
#include "daemon/set/source.h"
#include "daemon/set/target.h"

/* The source that is being asked. */
struct asked {
	const struct source *source;
	struct merged *merged;
	uint32_t now;
};

void merged_complete(const struct source *source, struct member *member)
{
	if (!member->expires && source->timeout)
		member->expires = source->good_at + source->timeout;
	if (!member->comment)
		member->comment = source->comment;
}

int merged_collect(const struct target *target, bool plain, struct packed *entries)
{
	uint32_t now = now_seconds();
	struct contents_cursor cursor;
	const struct source *source;
	struct member member;
	int err = 0;
	size_t i;

	for (i = 0; i < target->source_count && !err; i++) {
		source = target->sources[i];
		cursor = (struct contents_cursor){ .kind = plain ? 0 : ENTRY_KINDS };
		while (!err && contents_next(&source->contents, &cursor, &member)) {
			merged_complete(source, &member);
			if (!member_expired(&member, now) &&
			    !guard_keeps_out(source, member.kind, member.entry))
				err = packed_add(entries, member.kind, member.entry);
		}
	}
	packed_unique(entries);
	return err;
}

static void add_member(const struct asked *asked, size_t at, struct member *member)
{
	struct merged_value *value = &asked->merged->value[member->kind][at];

	if (guard_keeps_out(asked->source, member->kind, member->entry))
		return;
	merged_complete(asked->source, member);
	if (member_expired(member, asked->now))
		return;
	if (!value->there)
		value->expires = member->expires;
	else if (!member->expires || !value->expires)
		value->expires = 0;
	else if (member->expires > value->expires)
		value->expires = member->expires;
	if (!value->comment)
		value->comment = member->comment;
	value->there = true;
}

/* An entry of the source's array is one of those asked for. */
static void on_match(enum entry_kind kind, size_t in_array, size_t at, void *data)
{
	const struct asked *asked = data;
	struct member member = { .kind = kind };

	memcpy(member.entry, asked->source->contents.plain.kind[kind].data +
	       in_array * entry_size[kind], entry_size[kind]);
	add_member(asked, at, &member);
}

/* The entries of the source that have values of their own */
static void ask_valued(const struct asked *asked)
{
	const struct contents *contents = &asked->source->contents;
	const struct packed *entries = &asked->merged->entries;
	struct contents_cursor cursor = { .kind = ENTRY_KINDS };
	struct member member;
	struct entry_ref ref;

	if (contents->used <= packed_count(entries)) {
		while (contents_next(contents, &cursor, &member))
			if (packed_find(entries, member.kind, member.entry, &ref.index))
				add_member(asked, ref.index, &member);
		return;
	}
	/* An entry of the array may be found again: it says the same again. */
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++)
			if (contents_find(contents, ref.kind, entry_at(entries, ref), &member))
				add_member(asked, ref.index, &member);
}

int merged_read(const struct target *target, uint32_t now, struct packed *entries,
		struct merged *merged)
{
	struct asked asked = { .merged = merged, .now = now };
	size_t i;
	int kind;

	*merged = (struct merged){ .entries = *entries };
	*entries = (struct packed){ 0 };
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		merged->value[kind] = calloc(merged->entries.kind[kind].count + 1,
					     sizeof(struct merged_value));
		if (!merged->value[kind])
			return -ENOMEM;
	}
	for (i = 0; i < target->source_count; i++) {
		asked.source = target->sources[i];
		packed_match(&asked.source->contents.plain, &merged->entries, on_match, &asked);
		ask_valued(&asked);
	}
	return 0;
}

bool merged_next(const struct target *target, const struct merged *merged,
		 struct merged_cursor *cursor, struct member *member)
{
	struct entry_ref *at = &cursor->at;
	const struct merged_value *value;
	const uint8_t *entry;

	for (; at->kind < ENTRY_KINDS; at->kind++, at->index = 0) {
		while (at->index < merged->entries.kind[at->kind].count) {
			value = &merged->value[at->kind][at->index];
			entry = entry_at(&merged->entries, *at);
			at->index++;
			if (!value->there || packed_covers(&target->exceptions, at->kind, entry))
				continue;
			member->kind = at->kind;
			memcpy(member->entry, entry, entry_size[at->kind]);
			member->expires = value->expires;
			member->comment = value->comment;
			return true;
		}
	}
	return false;
}

void merged_free(struct merged *merged)
{
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		free(merged->value[kind]);
	packed_free(&merged->entries);
	*merged = (struct merged){ 0 };
}
