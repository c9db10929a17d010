/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hints: which prefix lengths exist under an address. hint.c explains how.
 *
 * For readers (any context, under rcu_read_lock()): ipcuckoo_hint_cell_at4(),
 * ipcuckoo_hint_cell4(), ipcuckoo_hint_top4(), those for IPv6, ipcuckoo_hint_deep() and
 * ipcuckoo_hint_together(). For the writer: the other functions.
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

/* With this stride, the words of the first level are stored in cells of 16 bits for IPv4, and of 8
 * for IPv6. The lowest bits of a cell are the flags; those above them are the lengths
 * IPCUCKOO_HINT_NARROW + 1 and so on. Of IPv4, the last bit means the two longest lengths, and of
 * IPv6 it means DEEPER. With shorter strides, a cell is a word.
 */
#define IPCUCKOO_HINT_NARROW	16

/* Of IPv4, such a first level ends at 224.0.0.0. Addresses from there on are multicast or reserved:
 * few lists have prefixes there, and few packets come from there. A word for each /8 suffices. One
 * more cell is for all of them, so that no branch is necessary: it says whether there are hosts, or
 * anything else.
 */
#define IPCUCKOO_HINT_HIGH		0xe0000000
#define IPCUCKOO_HINT_HIGH_STRIDE	8
#define IPCUCKOO_HINT_HIGH_WORDS	32
#define IPCUCKOO_HINT_HIGH_CELL		(IPCUCKOO_HINT_HIGH >> (32 - IPCUCKOO_HINT_NARROW))
#define IPCUCKOO_HINT_HIGH_ANY		BIT(2)
#define IPCUCKOO_HINT_CELLS4		(IPCUCKOO_HINT_HIGH_CELL + 2)	/* an even number */

/* Level i of the deep words has bits for the lengths ipcuckoo_hint_level[i] + 1 to
 * ipcuckoo_hint_level[i + 1]. The last of the 16 bits in which such a word is stored is DEEPER.
 */
#define IPCUCKOO_HINT_LEVELS	10
extern const u8 ipcuckoo_hint_level[IPCUCKOO_HINT_LEVELS + 1];

/**
 * struct ipcuckoo_hint - an index of prefix lengths
 * @top:	the first level: a cell for each value of the first @stride bits; narrow cells of
 *		IPv4 end with that of all addresses from IPCUCKOO_HINT_HIGH on
 * @high:	IPv4 with narrow cells: the words of addresses from IPCUCKOO_HINT_HIGH on
 * @deep:	the other levels, a hash table of words; NULL for IPv4
 * @stride:	8, 12 or 16; see ipcuckoo_hint_stride()
 * @deep_bits:	log2 of the number of words in @deep
 * @only:	the length of all marked prefixes longer than the stride; 0 if there are
 *		several lengths, or none
 * @first:	such a prefix of this length was marked first; writer only
 * @seed:	of the hash of @deep
 * @capacity:	with more prefixes than this, try to replace it by a larger hint
 * @stale:	number of entries deleted since it was made, whose marks may remain
 * @area:	memory of @top with @high, and of @deep
 * @mem:	the account to which it is charged
 */
struct ipcuckoo_hint {
	void *top;
	u32 *high;
	u16 *deep;
	u8 stride;
	u8 deep_bits;
	u8 only;
	u8 first;
	u64 seed;
	u32 capacity;
	u32 stale;
	struct ipcuckoo_area area[2];
	struct ipcuckoo_mem *mem;
};

/* Where the cell of the first level for an IPv4 address is, which is a u16 if cells are narrow, and
 * a u32 otherwise.
 */
static inline const void *ipcuckoo_hint_cell_at4(const struct ipcuckoo_hint *h, u32 addr)
{
	u32 i = addr >> (32 - h->stride);

	if (h->stride != IPCUCKOO_HINT_NARROW)
		return (const u32 *)h->top + i;
	return (const u16 *)h->top + min_t(u32, i, IPCUCKOO_HINT_HIGH_CELL);
}

/* Likewise for IPv6, where narrow cells are of type u8. */
static inline const void *ipcuckoo_hint_cell_at6(const struct ipcuckoo_hint *h, u64 hi)
{
	u32 i = hi >> (64 - h->stride);

	return h->stride == IPCUCKOO_HINT_NARROW ? (const void *)((const u8 *)h->top + i) :
						   (const u32 *)h->top + i;
}

/**
 * ipcuckoo_hint_cell4() - read the cell of the first level for an IPv4 address
 * @h:		hint of IPv4
 * @addr:	address, host byte order
 *
 * Return: 0, if no entry is under the word; IPCUCKOO_HINT_HOSTS, if there are only hosts.
 * Otherwise ipcuckoo_hint_top4() tells more.
 */
static inline u32 ipcuckoo_hint_cell4(const struct ipcuckoo_hint *h, u32 addr)
{
	const void *cell = ipcuckoo_hint_cell_at4(h, addr);

	return h->stride == IPCUCKOO_HINT_NARROW ? READ_ONCE(*(const u16 *)cell) :
						   READ_ONCE(*(const u32 *)cell);
}

/**
 * ipcuckoo_hint_cell6() - read the cell of the first level for an IPv6 address
 * @h:		hint of IPv6
 * @hi:		the first 64 bits of the address
 *
 * Return: as for ipcuckoo_hint_cell4().
 */
static inline u32 ipcuckoo_hint_cell6(const struct ipcuckoo_hint *h, u64 hi)
{
	const void *cell = ipcuckoo_hint_cell_at6(h, hi);

	return h->stride == IPCUCKOO_HINT_NARROW ? READ_ONCE(*(const u8 *)cell) :
						   READ_ONCE(*(const u32 *)cell);
}

/* The word of an IPv4 address from IPCUCKOO_HINT_HIGH on, if cells are narrow. */
static inline u32 *ipcuckoo_hint_high(const struct ipcuckoo_hint *h, u32 addr)
{
	return &h->high[(addr - IPCUCKOO_HINT_HIGH) >> (32 - IPCUCKOO_HINT_HIGH_STRIDE)];
}

/**
 * ipcuckoo_hint_top4() - read the word of the first level for an IPv4 address
 * @h:		hint of IPv4
 * @addr:	address, host byte order
 */
static inline u32 ipcuckoo_hint_top4(const struct ipcuckoo_hint *h, u32 addr)
{
	u32 cell = ipcuckoo_hint_cell4(h, addr), lens;

	if (h->stride != IPCUCKOO_HINT_NARROW)
		return cell;
	if (addr >= IPCUCKOO_HINT_HIGH)
		return READ_ONCE(*ipcuckoo_hint_high(h, addr));
	lens = cell >> 2 << (IPCUCKOO_HINT_NARROW + 1);
	return (cell & IPCUCKOO_HINT_FLAGS) | lens | (lens & BIT(30)) << 1;
}

/**
 * ipcuckoo_hint_top6() - read the word of the first level for an IPv6 address
 * @h:		hint of IPv6
 * @hi:		the first 64 bits of the address
 */
static inline u32 ipcuckoo_hint_top6(const struct ipcuckoo_hint *h, u64 hi)
{
	u32 cell = ipcuckoo_hint_cell6(h, hi);

	if (h->stride != IPCUCKOO_HINT_NARROW)
		return cell;
	return (cell & IPCUCKOO_HINT_FLAGS) | (cell & 0x3c) << (IPCUCKOO_HINT_NARROW - 1) |
	       (cell & BIT(7)) << 24;
}

/**
 * ipcuckoo_hint_stride() - how many bits of an address choose its word of the first level?
 * @h:		hint
 * @hi:		the first 64 bits of the address, an IPv4 address at the top
 */
static inline unsigned int ipcuckoo_hint_stride(const struct ipcuckoo_hint *h, u64 hi)
{
	return h->stride == IPCUCKOO_HINT_NARROW && !h->deep && hi >> 32 >= IPCUCKOO_HINT_HIGH ?
	       IPCUCKOO_HINT_HIGH_STRIDE : h->stride;
}

static inline u16 *ipcuckoo_hint_deep_word(const struct ipcuckoo_hint *h,
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
	u32 word = READ_ONCE(*ipcuckoo_hint_deep_word(h, level, addr));

	return (word & (BIT(15) - 1)) | (word & BIT(15)) << 16;
}

/* The bits of a deep word that mean lengths of this level. */
static inline u32 ipcuckoo_hint_lens(u32 word, unsigned int level)
{
	unsigned int lens = ipcuckoo_hint_level[level + 1] -
			    ipcuckoo_hint_level[level];

	return word & (BIT(lens) - 1);
}

/* So many of the deep levels are read together. They have the lengths up to 52. */
#define IPCUCKOO_HINT_TOGETHER	5

/**
 * ipcuckoo_hint_together() - which lengths up to 52 do prefixes near an IPv6 address have?
 * @h:		hint
 * @addr:	address
 * @word:	word of the first level; set to the word of the last level that is read: with
 *		DEEPER if there are longer prefixes
 *
 * At which level the prefixes near an address end cannot be predicted, so the words of all
 * these levels are read, without a branch between them. A word under one without DEEPER
 * belongs to other prefixes, and does not count.
 *
 * Return: bit n means length n.
 */
static inline u64 ipcuckoo_hint_together(const struct ipcuckoo_hint *h,
					 const struct ipcuckoo_key *addr, u32 *word)
{
	u64 lens = *word & ~IPCUCKOO_HINT_FLAGS & ~IPCUCKOO_HINT_DEEPER;
	unsigned int level;

	for (level = 0; level < IPCUCKOO_HINT_TOGETHER; level++) {
		/* DEEPER is the sign bit: the shift makes all bits of it, or none. */
		*word = (s32)*word >> 31 & ipcuckoo_hint_deep(h, level, addr);
		lens |= (u64)ipcuckoo_hint_lens(*word, level) << (ipcuckoo_hint_level[level] + 1);
	}
	return lens;
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
void ipcuckoo_hint_uncover(struct ipcuckoo_hint *h, u64 hi);

#endif /* _IPCUCKOO_HINT_H */
