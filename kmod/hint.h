/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hints: which prefix lengths exist under an address. hint.c explains how.
 *
 * For readers (any context, under rcu_read_lock()): ipcuckoo_hint_top(),
 * ipcuckoo_hint_deep(). For the writer: the other functions.
 */
#ifndef _IPCUCKOO_HINT_H
#define _IPCUCKOO_HINT_H

#include "table.h"

/* Bits of the words of the first level. Bit n means that there are prefixes of length n;
 * the lowest bits are free for flags, because lengths up to the stride, at least 8, have
 * no bit.
 */
#define IPCUCKOO_HINT_COVER	BIT(0)	/* a short prefix covers all addresses of the word */
#define IPCUCKOO_HINT_HOSTS	BIT(1)	/* there are hosts under this word */
#define IPCUCKOO_HINT_FLAGS	(IPCUCKOO_HINT_COVER | IPCUCKOO_HINT_HOSTS)

/* There are prefixes longer than those that have a bit in this word. */
#define IPCUCKOO_HINT_DEEPER	BIT(31)

/* Level i of the deep words has bits for the lengths ipcuckoo_hint_level[i] + 1 to
 * ipcuckoo_hint_level[i + 1].
 */
#define IPCUCKOO_HINT_LEVELS	9
extern const u8 ipcuckoo_hint_level[IPCUCKOO_HINT_LEVELS + 1];

/**
 * struct ipcuckoo_hint - an index of prefix lengths
 * @top:	the first level: a word for each value of the first @stride bits
 * @deep:	the other levels, a hash table of words; NULL for IPv4
 * @stride:	8, 12 or 16
 * @deep_bits:	log2 of the number of words in @deep
 * @seed:	of the hash of @deep
 * @capacity:	with more prefixes than this, try to replace it by a larger hint
 * @stale:	number of entries deleted since it was made, whose marks may remain
 * @area:	memory of @top and @deep
 * @mem:	the account to which it is charged
 */
struct ipcuckoo_hint {
	u32 *top;
	u32 *deep;
	u8 stride;
	u8 deep_bits;
	u64 seed;
	u32 capacity;
	u32 stale;
	struct ipcuckoo_area area[2];
	struct ipcuckoo_mem *mem;
};

/**
 * ipcuckoo_hint_top() - read the word of the first level for an address
 * @h:		hint
 * @hi:		the first 64 bits of the address, an IPv4 address at the top
 */
static inline u32 ipcuckoo_hint_top(const struct ipcuckoo_hint *h, u64 hi)
{
	return READ_ONCE(h->top[hi >> (64 - h->stride)]);
}

static inline u32 *ipcuckoo_hint_deep_word(const struct ipcuckoo_hint *h,
					   unsigned int level,
					   const struct ipcuckoo_key *addr)
{
	unsigned int bits = ipcuckoo_hint_level[level];
	u64 x;

	if (bits <= 64)
		x = addr->hi >> (64 - bits);
	else
		x = addr->hi ^ (addr->lo >> (128 - bits)) * GOLDEN_RATIO_64;
	return &h->deep[hash_64((x ^ h->seed) + bits, h->deep_bits)];
}

/**
 * ipcuckoo_hint_deep() - read the word of a deeper level for an IPv6 address
 * @h:		hint
 * @level:	0 to IPCUCKOO_HINT_LEVELS - 1
 * @addr:	address
 *
 * Bit n means length ipcuckoo_hint_level[@level] + 1 + n. Another level may share the word
 * and set more bits: ipcuckoo_hint_lens() returns those that this level can have.
 */
static inline u32 ipcuckoo_hint_deep(const struct ipcuckoo_hint *h,
				     unsigned int level,
				     const struct ipcuckoo_key *addr)
{
	return READ_ONCE(*ipcuckoo_hint_deep_word(h, level, addr));
}

/* The bits of a deep word that mean lengths of this level. */
static inline u32 ipcuckoo_hint_lens(u32 word, unsigned int level)
{
	unsigned int lens = ipcuckoo_hint_level[level + 1] -
			    ipcuckoo_hint_level[level];

	return word & (BIT(lens) - 1);
}

struct ipcuckoo_hint *ipcuckoo_hint_create(struct ipcuckoo_mem *mem,
					   u32 prefixes, bool deep,
					   enum ipcuckoo_charge how);
void ipcuckoo_hint_destroy(struct ipcuckoo_hint *h);
size_t ipcuckoo_hint_size(u32 prefixes, bool deep);
size_t ipcuckoo_hint_memory(const struct ipcuckoo_hint *h);

void ipcuckoo_hint_add_host(struct ipcuckoo_hint *h, u64 hi);
void ipcuckoo_hint_add_prefix(struct ipcuckoo_hint *h,
			      const struct ipcuckoo_key *addr,
			      unsigned int len);
void ipcuckoo_hint_uncover(struct ipcuckoo_hint *h, u64 word);

#endif /* _IPCUCKOO_HINT_H */
