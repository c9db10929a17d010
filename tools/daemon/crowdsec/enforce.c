// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/crowdsec/enforce.h"

/* Clocks and rounding: if a decision ends so much earlier or later, that is no change. */
#define SAME_SECONDS	2

/* More changes than this replace all contents, which takes less memory. */
#define CHANGES_MOST	20000

/**
 * struct work - contents that are compared with decisions
 * @source:	the source
 * @what:	what they shall be
 * @changes:	the differences
 * @count:	how many there are
 * @room:	room for so many
 * @contents:	new contents, instead of changes
 */
struct work {
	struct source *source;
	const struct enforcement *what;
	struct source_change *changes;
	size_t count;
	size_t room;
	struct contents contents;
};

static int add_change(struct work *work, bool del, const struct member *member)
{
	struct source_change *changes;
	size_t room;

	if (work->count == work->room) {
		room = work->room ? 2 * work->room : 64;
		changes = realloc(work->changes, room * sizeof(*changes));
		if (!changes)
			return -ENOMEM;
		work->changes = changes;
		work->room = room;
	}
	work->changes[work->count].del = del;
	work->changes[work->count++].member = *member;
	return 0;
}

/* The entry that the set shall have because of a decision. */
static void make_member(const struct work *work, const struct decision *decision,
			struct member *member)
{
	const struct label *label = labels_get(work->what->labels, decision->label);

	memset(member, 0, sizeof(*member));
	member->kind = decision->kind;
	memcpy(member->entry, decision->entry, sizeof(member->entry));
	member->expires = decision->expires;
	if (work->what->comment == COMMENT_ORIGIN && label->origin[0])
		member->comment = label->origin;
	else if (work->what->comment == COMMENT_SCENARIO && label->scenario[0])
		member->comment = label->scenario;
}

/* Whether a comment is stored as @stored: contents replace some characters by "_". */
static bool same_comment(const char *stored, const char *comment)
{
	size_t i;

	if (!stored || !comment)
		return !stored && !comment;
	for (i = 0; stored[i] && comment[i]; i++)
		if (stored[i] != comment[i] && stored[i] != '_')
			return false;
	return stored[i] == comment[i];
}

static bool is_same(const struct work *work, const struct member *stored,
		    const struct member *member)
{
	uint64_t early = (uint64_t)work->what->spread + SAME_SECONDS;

	return stored->expires <= member->expires + (uint64_t)SAME_SECONDS &&
	       member->expires <= stored->expires + early &&
	       same_comment(stored->comment, member->comment);
}

static int compare_entry(void *owner, const struct decision *longest, enum entry_kind kind,
			 const uint8_t *entry)
{
	struct member stored, member;
	struct work *work = owner;
	bool there = contents_find(&work->source->contents, kind, entry, &stored);

	if (!longest)
		return there ? add_change(work, true, &stored) : 0;
	make_member(work, longest, &member);
	return there && is_same(work, &stored, &member) ? 0 : add_change(work, false, &member);
}

/* Entries that no decision concerns any more. */
static int find_gone(struct work *work)
{
	struct contents_cursor cursor = { 0 };
	struct member stored;
	size_t count;
	int err = 0;

	while (!err && contents_next(&work->source->contents, &cursor, &stored))
		if (!decisions_find(work->what->now, stored.kind, stored.entry, &count))
			err = add_change(work, true, &stored);
	return err;
}

static int build_entry(void *owner, const struct decision *longest, enum entry_kind kind,
		       const uint8_t *entry)
{
	struct member stored, member;
	struct work *work = owner;

	make_member(work, longest, &member);
	if (contents_find(&work->source->contents, kind, entry, &stored) &&
	    is_same(work, &stored, &member))
		member.expires = stored.expires;
	return contents_add(&work->contents, &member);
}

static int replace_all(struct work *work)
{
	struct source *source = work->source;
	size_t before = contents_count(&source->contents);

	if (decisions_walk(work->what->now, build_entry, work)) {
		contents_free(&work->contents);
		return -ENOMEM;
	}
	log_info("[%s %s] has %zu entries now, and had %zu before, by %zu decisions",
		 source->kind->word, source->name, contents_count(&work->contents), before,
		 work->what->now->count);
	source_deliver(source, &work->contents);
	return 0;
}

static int compare(struct work *work, const struct decisions *touched)
{
	int err;

	if (touched)
		return decisions_walk_touched(work->what->now, touched, compare_entry, work);
	err = decisions_walk(work->what->now, compare_entry, work);
	return err ? err : find_gone(work);
}

int enforce(struct source *source, const struct enforcement *what, const struct decisions *touched)
{
	struct work work = { .source = source, .what = what };
	int err;

	if (!source->delivered)
		return replace_all(&work);
	err = compare(&work, touched);
	if (!err && work.count > CHANGES_MOST)
		err = replace_all(&work);
	else if (!err && work.count)
		err = source_change(source, work.changes, work.count, true);
	else if (!err)
		source_confirm(source);
	free(work.changes);
	return err;
}
