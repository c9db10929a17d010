// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hash table has open addressing with linear probing, and at most 3/4 of its slots are in use.
 * Its hash has a random key, since whoever publishes a list chooses the addresses. An entry is
 * deleted by moving those behind it back, so there are no marks of deleted entries.
 */
#include <search.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "daemon/set/contents.h"

#define SLOTS_LEAST	64

/* A comment is shared by the entries that have it: feeds and bouncers have few different ones. */
struct comment {
	size_t users;
	char text[];
};

/* An entry of the hash table; free if @kind is ENTRY_KINDS. */
struct member_slot {
	struct comment *comment;
	uint32_t expires;
	uint8_t kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
};

uint32_t now_seconds(void)
{
	return time(NULL);
}

uint32_t shift_time(uint32_t at, int64_t seconds)
{
	int64_t result = at + seconds;

	return result < 1 ? 1 : result > UINT32_MAX ? UINT32_MAX : result;
}

static int compare_comments(const void *a, const void *b)
{
	return strcmp(((const struct comment *)a)->text, ((const struct comment *)b)->text);
}

/* Return: the comment, which ends with comment_put(); NULL if there is no memory. */
static struct comment *comment_get(struct contents *contents, const char *text)
{
	size_t len = strnlen(text, IPCUCKOO_COMMENT_MAX), i;
	struct comment *comment = malloc(sizeof(*comment) + len + 1), **found;

	if (!comment)
		return NULL;
	comment->users = 0;
	memcpy(comment->text, text, len);
	comment->text[len] = '\0';
	/* The kernel refuses these. */
	for (i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || text[i] == '"')
			comment->text[i] = '_';
	found = tsearch(comment, &contents->comments, compare_comments);
	if (!found || *found != comment) {
		free(comment);
		comment = found ? *found : NULL;
	}
	if (comment)
		comment->users++;
	return comment;
}

static void comment_put(struct contents *contents, struct comment *comment)
{
	if (!comment || --comment->users)
		return;
	tdelete(comment, &contents->comments, compare_comments);
	free(comment);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t entry_hash(enum entry_kind kind, const uint8_t *entry)
{
	static uint64_t key[3];
	uint64_t word[3] = { 0 };

	while (!key[0])
		if (getrandom(key, sizeof(key), 0) != sizeof(key))
			key[0] = 0;
	memcpy(word, entry, entry_size[kind]);
	word[2] |= (uint64_t)kind << 32;
	return fold(fold(word[0] ^ key[0], word[1] ^ key[1]) ^ word[2], key[2] | 1);
}

/* Where an entry belongs: not hash % room, so that the room need not be a power of two. */
static size_t home(const struct contents *contents, enum entry_kind kind, const uint8_t *entry)
{
	return (unsigned __int128)entry_hash(kind, entry) * contents->room >> 64;
}

static size_t behind(const struct contents *contents, size_t at)
{
	return at + 1 == contents->room ? 0 : at + 1;
}

/* The slot of an entry, or else the free slot that it would get. The table has a free slot. */
static struct member_slot *find_slot(const struct contents *contents, enum entry_kind kind,
				     const uint8_t *entry)
{
	size_t at = home(contents, kind, entry);
	struct member_slot *slot;

	for (;; at = behind(contents, at)) {
		slot = &contents->slots[at];
		if (slot->kind == ENTRY_KINDS)
			return slot;
		if (slot->kind == kind && !memcmp(slot->entry, entry, entry_size[kind]))
			return slot;
	}
}

static int grow(struct contents *contents)
{
	struct contents grown = { .room = contents->room * 3 / 2 };
	const struct member_slot *slot;
	size_t i;

	if (contents->room && contents->used < contents->room / 4 * 3)
		return 0;
	if (!grown.room)
		grown.room = SLOTS_LEAST;
	grown.slots = malloc(grown.room * sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (i = 0; i < grown.room; i++)
		grown.slots[i].kind = ENTRY_KINDS;
	for (i = 0; i < contents->room; i++) {
		slot = &contents->slots[i];
		if (slot->kind != ENTRY_KINDS)
			*find_slot(&grown, slot->kind, slot->entry) = *slot;
	}
	free(contents->slots);
	contents->slots = grown.slots;
	contents->room = grown.room;
	return 0;
}

/* Empty a slot. Entries behind it, up to a free slot, which a search from their home would no
 * longer find, move back.
 */
static void clear_slot(struct contents *contents, struct member_slot *slot)
{
	size_t hole = slot - contents->slots, at = hole, want, room = contents->room;

	comment_put(contents, slot->comment);
	contents->used--;
	for (;;) {
		at = behind(contents, at);
		slot = &contents->slots[at];
		if (slot->kind == ENTRY_KINDS)
			break;
		want = home(contents, slot->kind, slot->entry);
		/* Is the hole on the way from its home to where it is? */
		if ((at + room - want) % room < (at + room - hole) % room)
			continue;
		contents->slots[hole] = *slot;
		hole = at;
	}
	contents->slots[hole].kind = ENTRY_KINDS;
}

static bool del_plain(struct contents *contents, enum entry_kind kind, const uint8_t *entry)
{
	struct entry_array *array = &contents->plain.kind[kind];
	size_t size = entry_size[kind], at;

	if (!packed_find(&contents->plain, kind, entry, &at))
		return false;
	memmove(array->data + at * size, array->data + (at + 1) * size,
		(--array->count - at) * size);
	return true;
}

void contents_take(struct contents *contents, struct packed *entries)
{
	packed_unique(entries);
	contents->plain = *entries;
	memset(entries, 0, sizeof(*entries));
}

int contents_add(struct contents *contents, const struct member *member)
{
	bool plain = !member->expires && !member->comment;
	struct comment *comment = NULL;
	struct member_slot *slot;

	if (packed_has(&contents->plain, member->kind, member->entry) && plain)
		return 0;
	if (grow(contents))
		return -ENOMEM;
	if (member->comment) {
		comment = comment_get(contents, member->comment);
		if (!comment)
			return -ENOMEM;
	}
	del_plain(contents, member->kind, member->entry);
	slot = find_slot(contents, member->kind, member->entry);
	if (slot->kind == ENTRY_KINDS) {
		contents->used++;
		slot->kind = member->kind;
		memcpy(slot->entry, member->entry, entry_size[member->kind]);
	} else {
		comment_put(contents, slot->comment);
	}
	slot->expires = member->expires;
	slot->comment = comment;
	return 0;
}

bool contents_del(struct contents *contents, enum entry_kind kind, const uint8_t *entry)
{
	struct member_slot *slot;

	if (del_plain(contents, kind, entry))
		return true;
	if (!contents->room)
		return false;
	slot = find_slot(contents, kind, entry);
	if (slot->kind == ENTRY_KINDS)
		return false;
	clear_slot(contents, slot);
	return true;
}

static void read_slot(const struct member_slot *slot, struct member *member)
{
	member->kind = slot->kind;
	memcpy(member->entry, slot->entry, entry_size[slot->kind]);
	member->expires = slot->expires;
	member->comment = slot->comment ? slot->comment->text : NULL;
}

static void read_plain(enum entry_kind kind, const uint8_t *entry, struct member *member)
{
	member->kind = kind;
	memcpy(member->entry, entry, entry_size[kind]);
	member->expires = 0;
	member->comment = NULL;
}

bool contents_find(const struct contents *contents, enum entry_kind kind, const uint8_t *entry,
		   struct member *member)
{
	const struct member_slot *slot;

	if (packed_has(&contents->plain, kind, entry)) {
		read_plain(kind, entry, member);
		return true;
	}
	if (!contents->room)
		return false;
	slot = find_slot(contents, kind, entry);
	if (slot->kind == ENTRY_KINDS)
		return false;
	read_slot(slot, member);
	return true;
}

bool contents_next(const struct contents *contents, struct contents_cursor *cursor,
		   struct member *member)
{
	const struct entry_array *array;
	const struct member_slot *slot;

	for (; cursor->kind < ENTRY_KINDS; cursor->kind++, cursor->at = 0) {
		array = &contents->plain.kind[cursor->kind];
		if (cursor->at == array->count)
			continue;
		read_plain(cursor->kind, array->data + cursor->at++ * entry_size[cursor->kind],
			   member);
		return true;
	}
	while (cursor->at < contents->room) {
		slot = &contents->slots[cursor->at++];
		if (slot->kind == ENTRY_KINDS)
			continue;
		read_slot(slot, member);
		return true;
	}
	return false;
}

size_t contents_purge(struct contents *contents, uint32_t now)
{
	struct member_slot *slot;
	size_t at = 0;

	/* Clearing a slot may move another entry into it, so look at it again. An entry that moves
	 * from the beginning of the table to its end is looked at twice, or stays until the next
	 * time; it is expired all the same.
	 */
	while (at < contents->room) {
		slot = &contents->slots[at];
		if (slot->kind != ENTRY_KINDS && slot->expires && slot->expires <= now)
			clear_slot(contents, slot);
		else
			at++;
	}
	return contents_count(contents);
}

void contents_shift(struct contents *contents, int64_t seconds)
{
	struct member_slot *slot;
	size_t at;

	for (at = 0; at < contents->room; at++) {
		slot = &contents->slots[at];
		if (slot->kind != ENTRY_KINDS && slot->expires)
			slot->expires = shift_time(slot->expires, seconds);
	}
}

/* Append the entries with values that the other contents do not have, or not with these values. */
static int compare_valued(const struct contents *contents, const struct contents *other,
			  struct packed *touched)
{
	struct contents_cursor cursor = { .kind = ENTRY_KINDS };
	struct member member, there;
	bool same;

	while (contents_next(contents, &cursor, &member)) {
		same = contents_find(other, member.kind, member.entry, &there) &&
		       there.expires == member.expires && !there.comment == !member.comment &&
		       (!there.comment || !strcmp(there.comment, member.comment));
		if (!same && packed_add(touched, member.kind, member.entry))
			return -ENOMEM;
	}
	return 0;
}

int contents_compare(const struct contents *a, const struct contents *b, struct packed *touched)
{
	int err = packed_missing(&a->plain, &b->plain, touched);

	if (!err)
		err = packed_missing(&b->plain, &a->plain, touched);
	if (!err)
		err = compare_valued(a, b, touched);
	if (!err)
		err = compare_valued(b, a, touched);
	return err;
}

size_t contents_count(const struct contents *contents)
{
	return packed_count(&contents->plain) + contents->used;
}

void contents_free(struct contents *contents)
{
	packed_free(&contents->plain);
	tdestroy(contents->comments, free);
	free(contents->slots);
	memset(contents, 0, sizeof(*contents));
}
