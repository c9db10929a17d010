/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a source: the entries that it says its set shall have.
 *
 * Most entries come from lists of millions, never expire, and have no comment of their own. They
 * are sorted arrays, 4 bytes for an IPv4 host. All others, and those that were added one by one,
 * are in a hash table, 32 bytes each.
 */
#ifndef IPCUCKOOD_CONTENTS_H
#define IPCUCKOOD_CONTENTS_H

#include "../../../uapi/ipcuckoo.h"
#include "lib/packed.h"

/**
 * struct member - an entry of a source
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 * @expires:	when it expires, in seconds since 1970; 0: never, or when the source says so
 * @comment:	its comment; NULL: that of the source
 */
struct member {
	enum entry_kind kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	uint32_t expires;
	const char *comment;
};

struct member_slot;

/**
 * struct contents - the entries of a source. Zeros are empty contents
 * @plain:	entries without expiry and comment, sorted, none repeated
 * @slots:	hash table of the other entries; an entry is either here or in @plain
 * @room:	number of slots
 * @used:	number of slots that are in use
 * @comments:	the comments of the entries in @slots, each of them once
 */
struct contents {
	struct packed plain;
	struct member_slot *slots;
	size_t room;
	size_t used;
	void *comments;
};

/* A position in contents. Begins with zeros. */
struct contents_cursor {
	int kind;
	size_t at;
};

/* Take over entries in any order; @entries are empty afterwards. They must not be in the contents
 * yet, and nothing may have been taken over before.
 */
void contents_take(struct contents *contents, struct packed *entries);
/* Add an entry, or replace its expiry and comment. The comment is copied; it is cut off if it is
 * too long for the kernel, and characters that the kernel refuses become "_". Return: 0 or -ENOMEM.
 */
int contents_add(struct contents *contents, const struct member *member);
/* Return: whether the entry was there. */
bool contents_del(struct contents *contents, enum entry_kind kind, const uint8_t *entry);
/* Find an entry. @member->comment is valid until the contents change. Entries that have expired
 * are found, too: see member_expired(). Return: whether it is there.
 */
bool contents_find(const struct contents *contents, enum entry_kind kind, const uint8_t *entry,
		   struct member *member);
/* The next entry, in no particular order. Return: false at the end. */
bool contents_next(const struct contents *contents, struct contents_cursor *cursor,
		   struct member *member);
/* Remove what has expired. Return: the number of entries that are left. */
size_t contents_purge(struct contents *contents, uint32_t now);
/* Add @seconds, which may be negative, to the time at which each entry expires, if it does. */
void contents_shift(struct contents *contents, int64_t seconds);
/* Append the entries in which two contents differ: in being there, or in expiry or comment, in any order,
 * some of them twice. Return: 0 or -ENOMEM.
 */
int contents_compare(const struct contents *a, const struct contents *b, struct packed *touched);
size_t contents_count(const struct contents *contents);
void contents_free(struct contents *contents);

/* A hash of an entry, for hash tables. Its key is random: others choose the addresses. */
uint64_t entry_hash(enum entry_kind kind, const uint8_t *entry);

/* Seconds since 1970. */
uint32_t now_seconds(void);
/* @at + @seconds, but at least 1: 0 means that an entry does not expire. */
uint32_t shift_time(uint32_t at, int64_t seconds);

static inline bool member_expired(const struct member *member, uint32_t now)
{
	return member->expires && member->expires <= now;
}

#endif /* IPCUCKOOD_CONTENTS_H */
