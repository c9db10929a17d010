/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exact cuckoo table. table.c explains how it works.
 *
 * For readers (any context, under rcu_read_lock(), without a lock):
 * ipcuckoo_table_probe32() and ipcuckoo_table_probe128(); ipcuckoo_table_fetch(); and their
 * parts: ipcuckoo_table_first(), ipcuckoo_table_first_of_two() and ipcuckoo_table_confirm().
 * For the one writer (process context, serialised by the caller): the other functions.
 */
#ifndef _IPCUCKOO_TABLE_H
#define _IPCUCKOO_TABLE_H

#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "bijection.h"
#include "bucket.h"
#include "guard.h"
#include "key.h"
#include "mem.h"
#include "value.h"

enum {
	/* Slots per bucket, except in narrow tables: the usual choice; tables fill to 0.98. */
	IPCUCKOO_SLOTS		= 4,

	/* Maximum number of buckets that a search for a free slot queues. With 512 the
	 * first insertion fails at a load factor of 0.973; with 2048 it would be 0.977,
	 * for four times the work. A search takes a few microseconds at most, except in
	 * filters with copies.
	 */
	IPCUCKOO_SEARCH		= 512,

	/* Remainders of 32-bit keys are less than this. A slot stores the remainder plus 1, in 15
	 * bits, or in 11 if the table is narrow, because 0 means that it is empty.
	 */
	IPCUCKOO_REMS		= (1 << 15) - 1,
	IPCUCKOO_NARROW_REMS	= (1 << 11) - 1,
	/* Bits of the remainder of a 128-bit key. With 15 of them, the remainder plus 1 could be as
	 * large as the choice flag.
	 */
	IPCUCKOO_HASH_BITS	= 14,

	IPCUCKOO_BUCKETS_MIN	= 4,
	/* At this size, 7 bits of a remainder are enough to tell the keys of a bucket apart.
	 * Tables were measured to fill up with 8 such bits, and 134 million entries are more
	 * than IPv4 lists have.
	 */
	IPCUCKOO_BUCKETS_MAX	= 1 << 25,
};

/* The least number of buckets with which bucket and slot hold @bits bits of each 32-bit key. */
#define IPCUCKOO_BUCKETS_FOR(bits, rems)	\
	((u32)ALIGN(DIV_ROUND_UP(1ULL << (bits), (rems)), 2))

/* With at least this many buckets, there is no rest. */
#define IPCUCKOO_BUCKETS_WHOLE	IPCUCKOO_BUCKETS_FOR(32, IPCUCKOO_REMS)

/* With at least this many buckets, a table of 32-bit keys without extensions is narrow: bucket and
 * slot still hold all of a key. A 32-bit machine reads the halves of a word one after the other,
 * so it has no narrow tables, of which one slot is in both halves. Tests of the core define a
 * smaller number: their narrow tables have rests.
 */
#ifndef IPCUCKOO_BUCKETS_NARROW
#define IPCUCKOO_BUCKETS_NARROW	\
	(BITS_PER_LONG == 64 ? IPCUCKOO_BUCKETS_FOR(32, IPCUCKOO_NARROW_REMS) : U32_MAX)
#endif

/* Load factor (in 1/1000) of new tables if the number of entries is known. Insertions still
 * succeed well above it.
 */
#define IPCUCKOO_LOAD_TARGET	955

/* Load factor (in 1/1000) up to which insertions rarely fail: a table need not grow for
 * entries that keep it below.
 */
#define IPCUCKOO_LOAD_LIMIT	967

/**
 * enum ipcuckoo_key_size - how many bytes the key of an entry takes beside its slot
 * @IPCUCKOO_KEY32:	none: keys have 32 bits
 * @IPCUCKOO_KEY64:	keys have 128 bits, but of all of them the low half is 0
 * @IPCUCKOO_KEY128:	keys have 128 bits
 */
enum ipcuckoo_key_size {
	IPCUCKOO_KEY32	= 0,
	IPCUCKOO_KEY64	= 8,
	IPCUCKOO_KEY128	= 16,
};

/**
 * struct ipcuckoo_format - the slots of a word
 * @bits:	bits of a slot
 * @slots:	number of slots
 * @choice:	flag: the bucket is the entry's second bucket
 *
 * Beside the flag, a slot holds the entry's remainder plus 1: 0 is an empty slot.
 */
struct ipcuckoo_format {
	u8 bits;
	u8 slots;
	u16 choice;
};

static const struct ipcuckoo_format ipcuckoo_wide = {
	.bits = 16,
	.slots = IPCUCKOO_SLOTS,
	.choice = IPCUCKOO_REMS + 1,
};

static const struct ipcuckoo_format ipcuckoo_narrow = {
	.bits = 12,
	.slots = 5,
	.choice = IPCUCKOO_NARROW_REMS + 1,
};

/* A node of the search queue; see search.h. */
struct ipcuckoo_search_node;

/**
 * struct ipcuckoo_copy - a copy of a table, made while packets change the table
 * @to:		the copy, which has no readers
 * @guard:	its guard
 * @queue:	memory for searches in it
 * @done:	the slots of the table below this one were copied
 * @failed:	the copy has no room, and is of no use
 *
 * Who makes the copy takes some slots at a time. Each change of the table is made in the copy, too:
 * an entry that is added, or that moves from a slot that was not copied yet, is copied at once; one
 * that is deleted or updated is deleted or updated there, if it was copied. All of this happens
 * under ipcuckoo_entries.packets. So when the last slot was copied, the copy has all entries.
 */
struct ipcuckoo_copy {
	struct ipcuckoo_table *to;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_search_node *queue;
	u64 done;
	bool failed;
};

/**
 * struct ipcuckoo_table - buckets of four or five slots
 * @words:	the slots, a word for each bucket
 * @rests:	tables of 32-bit keys: the bits of each key that neither bucket nor slot
 *		holds, parallel to the slots; NULL if there are none
 * @keys:	tables of 128-bit keys: the keys, parallel to the slots, of each the high half or
 *		both; else NULL
 * @key_size:	enum ipcuckoo_key_size
 * @nbuckets:	number of buckets; even, but not necessarily a power of two
 * @exts:	which of @expires, @nomatch and @records exist: IPCUCKOO_EXT_*
 * @rest_shift:	tables of 32-bit keys: lowest bit of the rest (ipcuckoo_table_locate32()); 32
 *		if there are none
 * @rest_bits:	bits of each rest: 0, 1, 2, 4, 8 or 16
 * @rest_mask:	a mask of that many bits
 * @narrow:	buckets have five slots, in ipcuckoo_narrow format
 * @rems:	tables of 32-bit keys: number of different remainders
 * @bijection:	key of the permutation; tables with @keys use its factors as seeds of
 *		their hash
 * @expires:	deadlines of entries, parallel to the slots (struct ipcuckoo_value)
 * @nomatch:	flags of exceptions, parallel to the slots
 * @records:	pointers to records, parallel to the slots
 * @inverse:	inverse factors of @bijection
 * @count:	number of entries, including expired ones; writer only
 * @shrink_below: with fewer entries than this, try to shrink the table; writer only
 * @nearest:	no entry expires before this second; 0: no entry expires; writer only
 * @gc_nearest:	likewise, for entries in slots that the current gc pass has read, and for
 *		entries stored since the pass began with this table; writer only
 * @expired_at:	the second for which @expired was computed; writer only
 * @expired:	number of entries that had expired at @expired_at; writer only
 * @displaced:	number of displacements so far; writer only
 * @copy:	the copy that is being made of it while packets change it, or NULL; writer only
 * @area:	three areas of memory: for @words and @rests; for @keys; for @records,
 *		@expires and @nomatch
 * @mem:	the account to which it is charged
 */
struct ipcuckoo_table {
	u64 *words;
	u16 *rests;
	u64 *keys;
	u32 nbuckets;
	u8 exts;
	u8 key_size;
	u8 rest_shift;
	u8 rest_bits;
	bool narrow;
	u16 rems;
	u16 rest_mask;
	struct ipcuckoo_bijection bijection;

	u32 *expires;
	u8 *nomatch;
	struct ipcuckoo_record **records;
	u32 inverse[3];
	u32 count;
	u32 shrink_below;
	u32 nearest;
	u32 gc_nearest;
	u32 expired_at;
	u32 expired;
	u64 displaced;
	struct ipcuckoo_copy *copy;
	struct ipcuckoo_area area[3];
	struct ipcuckoo_mem *mem;
};

/**
 * struct ipcuckoo_location - the slots in which an entry can be, and what they hold then
 * @bucket:	its first and its second bucket
 * @rem:	its remainder
 * @rest:	its rest, in tables that have rests
 */
struct ipcuckoo_location {
	u32 bucket[2];
	u32 rem;
	u32 rest;
};

static inline const struct ipcuckoo_format *
ipcuckoo_table_format(const struct ipcuckoo_table *t)
{
	return t->narrow ? &ipcuckoo_narrow : &ipcuckoo_wide;
}

/* The other bucket of an entry with remainder @rem in @bucket. */
static inline u32 ipcuckoo_table_alt(const struct ipcuckoo_table *t,
				     u32 bucket, u32 rem)
{
	return ipcuckoo_bucket_alt(bucket, rem * GOLDEN_RATIO_32, t->nbuckets);
}

/* Split the permuted key, the first part of a look-up. The high word of the product is
 * the bucket. The low word is multiplied in turn, by the number of remainders: the high word of
 * that is the remainder. These second products of the keys of a bucket are nbuckets * rems apart,
 * which is at least 2^rest_shift; so the remainder and the top bits of the low word, down to
 * rest_shift, distinguish all keys of a bucket.
 */
static __always_inline struct ipcuckoo_location
__ipcuckoo_table_locate32(const struct ipcuckoo_table *t, u32 key, u32 rems)
{
	u64 product = (u64)ipcuckoo_permute(&t->bijection, key) * t->nbuckets;
	u64 second = (u64)(u32)product * rems;
	struct ipcuckoo_location p;

	p.bucket[0] = product >> 32;
	p.rem = second >> 32;
	p.rest = (u64)(u32)second >> t->rest_shift;
	p.bucket[1] = ipcuckoo_table_alt(t, p.bucket[0], p.rem);
	return p;
}

static inline struct ipcuckoo_location
ipcuckoo_table_locate32(const struct ipcuckoo_table *t, u32 key)
{
	return __ipcuckoo_table_locate32(t, key, t->rems);
}

/* The same for a table that is not narrow. The number of remainders is a constant here, so that no
 * multiplication is necessary.
 */
static inline struct ipcuckoo_location
ipcuckoo_table_locate_wide(const struct ipcuckoo_table *t, u32 key)
{
	return __ipcuckoo_table_locate32(t, key, IPCUCKOO_REMS);
}

/* Likewise for a narrow table. */
static inline struct ipcuckoo_location
ipcuckoo_table_locate_narrow(const struct ipcuckoo_table *t, u32 key)
{
	return __ipcuckoo_table_locate32(t, key, IPCUCKOO_NARROW_REMS);
}

/**
 * ipcuckoo_hash128() - 64 bits of hash of a 128-bit key
 * @key:	key
 * @seed:	two seeds
 * @other:	set to another 32 bits of hash
 *
 * This is jhash_3words() of the first three words of the key, to which the product of the last
 * word and 64 secret bits is added, with a second result as hashword2() of Bob Jenkins' lookup3.c
 * (2006) has it. jhash2() would mix the words twice, in steps of which each waits for the one
 * before: that takes a tenth of the look-up of an IPv6 address (selftests/bench/versus).
 *
 * Whoever chooses keys cannot make the sums of two keys equal. Say that their last words differ by
 * d = odd * 2^k. Bits 32 to 63 of d * secret are bits 32-k to 63-k of odd * secret, and so as good
 * as random (multiply-shift, Dietzfelbinger 1996): a guess is right once in 2^31. If each word had
 * a secret factor of 32 bits instead, keys that differ in the top bit of each word would always
 * have the same hash. Different sums can still have one hash, as this is no cryptographic one: a
 * table in which too many keys have the same buckets gets other seeds.
 */
static inline u32 ipcuckoo_hash128(const struct ipcuckoo_key *key,
				   const u32 seed[2], u32 *other)
{
	u64 product = (u32)key->lo * ((u64)seed[1] << 32 | seed[0]);
	u32 a, b, c;

	a = JHASH_INITVAL + (3 << 2) + seed[0];
	b = a + (u32)key->hi + (u32)product;
	c = a + seed[1] + (u32)(key->lo >> 32);
	a += (u32)(key->hi >> 32) + (u32)(product >> 32);
	__jhash_final(a, b, c);
	*other = b;
	return c;
}

/* 128-bit keys are hashed. When the remainder matches, readers compare the key. One word of
 * hash chooses the bucket, the other is the remainder: 32 bits would be too few for both.
 */
static inline struct ipcuckoo_location
ipcuckoo_table_locate128(const struct ipcuckoo_table *t,
			 const struct ipcuckoo_key *key)
{
	struct ipcuckoo_location p;
	u32 rem;

	p.bucket[0] = (u64)ipcuckoo_hash128(key, t->bijection.mul, &rem) *
		      t->nbuckets >> 32;
	p.rem = rem & (BIT(IPCUCKOO_HASH_BITS) - 1);
	p.rest = 0;
	p.bucket[1] = ipcuckoo_table_alt(t, p.bucket[0], p.rem);
	return p;
}

/* Read both buckets of a location. Lanes of the result that are 0 may be its entry. Both
 * buckets are always read: the two reads overlap, and a branch between them could be
 * mispredicted. Each word is read once and whole.
 */
static __always_inline void
ipcuckoo_table_read(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p,
		    const struct ipcuckoo_format *f, u64 lanes[2])
{
	u64 ones = IPCUCKOO_LANES(f->bits);

	/* Otherwise GCC makes shifts and additions of the product, which take more time. */
	OPTIMIZER_HIDE_VAR(ones);
	lanes[0] = (p->rem + 1) * ones;
	lanes[1] = lanes[0] | f->choice * IPCUCKOO_LANES(f->bits);
	lanes[0] ^= READ_ONCE(t->words[p->bucket[0]]);
	lanes[1] ^= READ_ONCE(t->words[p->bucket[1]]);
}

/* Likewise. Set @match to the lanes that are 0, in the form of ipcuckoo_zero_lanes(). */
static __always_inline void
ipcuckoo_table_match(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p,
		     const struct ipcuckoo_format *f, u64 match[2])
{
	u64 lanes[2];

	ipcuckoo_table_read(t, p, f, lanes);
	match[0] = ipcuckoo_zero_lanes(lanes[0], f->bits);
	match[1] = ipcuckoo_zero_lanes(lanes[1], f->bits);
}

/* The number of a slot. */
static inline u64 ipcuckoo_table_slot(const struct ipcuckoo_table *t, u32 bucket, unsigned int i)
{
	return (u64)bucket * ipcuckoo_table_format(t)->slots + i;
}

/* One of two numbers, without a branch: @b if @second is all ones, @a if it is 0. */
static __always_inline u64 ipcuckoo_choose(u64 a, u64 b, u64 second)
{
	return a ^ ((a ^ b) & second);
}

/* The first of the slots that ipcuckoo_table_match() has found; there is one. */
static __always_inline u64 ipcuckoo_table_first_slot(const struct ipcuckoo_location *p,
						     const struct ipcuckoo_format *f,
						     const u64 match[2])
{
	u64 second = match[0] ? 0 : ~0ULL;
	u32 bucket = ipcuckoo_choose(p->bucket[0], p->bucket[1], second);

	return (u64)bucket * f->slots + (u32)__ffs64(match[0] | (match[1] & second)) / f->bits;
}

static __always_inline bool
__ipcuckoo_table_first(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p,
		       const struct ipcuckoo_format *f, u64 *slot)
{
	u64 match[2];

	ipcuckoo_table_match(t, p, f, match);
	if (likely(!(match[0] | match[1])))
		return false;
	smp_rmb();	/* LMM(probe:A), pairs with LMM(key:A) */
	*slot = ipcuckoo_table_first_slot(p, f, match);
	return true;
}

/**
 * ipcuckoo_table_first() - find the first slot whose remainder matches
 * @t:		table that is not narrow
 * @p:		location of a key
 * @slot:	set to the number of the slot
 *
 * Nearly always this is the slot of the key, if the table has it. In which bucket it is cannot
 * be predicted, so there is no branch on that. The read barrier allows the caller to read the
 * slot's rest, key or extensions next.
 *
 * Context: any, under rcu_read_lock().
 * Return: false if the key is not in the table; as with ipcuckoo_table_probe32(), this is
 * valid only if no entry was moved or deleted meanwhile.
 */
static __always_inline bool ipcuckoo_table_first(const struct ipcuckoo_table *t,
						 const struct ipcuckoo_location *p, u64 *slot)
{
	return __ipcuckoo_table_first(t, p, &ipcuckoo_wide, slot);
}

/**
 * ipcuckoo_table_first_of_two() - find the first slot whose remainder matches one of two keys
 * @t:		table that is not narrow
 * @p:		locations of the keys
 * @slot:	set to the number of the slot
 * @second:	set to all ones if the remainder is that of the second key, and to 0 if it is that
 *		of the first one: for ipcuckoo_choose()
 *
 * As ipcuckoo_table_first(), for the first key and, if no slot has its remainder, for the second
 * one, but with one branch for both.
 *
 * Context: any, under rcu_read_lock().
 * Return: false if neither key is in the table, under the same condition as for
 * ipcuckoo_table_first().
 */
static __always_inline bool ipcuckoo_table_first_of_two(const struct ipcuckoo_table *t,
							const struct ipcuckoo_location p[2],
							u64 *slot, u64 *second)
{
	u64 match[2], other[2], chosen;
	struct ipcuckoo_location at;

	ipcuckoo_table_match(t, &p[0], &ipcuckoo_wide, match);
	ipcuckoo_table_match(t, &p[1], &ipcuckoo_wide, other);
	if (!(match[0] | match[1] | other[0] | other[1]))
		return false;
	smp_rmb();	/* LMM(probe:A), pairs with LMM(key:A) */
	chosen = match[0] | match[1] ? 0 : ~0ULL;
	match[0] |= other[0] & chosen;
	match[1] |= other[1] & chosen;
	at.bucket[0] = ipcuckoo_choose(p[0].bucket[0], p[1].bucket[0], chosen);
	at.bucket[1] = ipcuckoo_choose(p[0].bucket[1], p[1].bucket[1], chosen);
	*slot = ipcuckoo_table_first_slot(&at, &ipcuckoo_wide, match);
	*second = chosen;
	return true;
}

/* As ipcuckoo_table_first(), for a narrow table. */
static __always_inline bool ipcuckoo_table_first_narrow(const struct ipcuckoo_table *t,
							const struct ipcuckoo_location *p,
							u64 *slot)
{
	return __ipcuckoo_table_first(t, p, &ipcuckoo_narrow, slot);
}

/* Prefetch the keys of both buckets of a location. Always inlined, because GCC drops calls of a
 * function that only prefetches: see prefetch.c.
 */
static __always_inline void
ipcuckoo_table_prefetch_keys(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p)
{
	size_t size = t->key_size;

	prefetch((const char *)t->keys + p->bucket[0] * size * IPCUCKOO_SLOTS);
	prefetch((const char *)t->keys + p->bucket[1] * size * IPCUCKOO_SLOTS);
}

/* Prefetch what a table with records has for the slots of both buckets of a location. */
static __always_inline void
ipcuckoo_table_prefetch_values(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (t->exts & IPCUCKOO_EXT_EXPIRES)
			prefetch(&t->expires[p->bucket[i] * (u64)IPCUCKOO_SLOTS]);
		prefetch(&t->records[p->bucket[i] * (u64)IPCUCKOO_SLOTS]);
	}
}

/* The u16 that holds the rest of a slot, and the shift of the rest in it. */
static inline u16 *ipcuckoo_table_rest_unit(const struct ipcuckoo_table *t, u64 slot,
					    unsigned int *shift)
{
	size_t bit = (size_t)slot * t->rest_bits;

	*shift = bit % 16;
	return &t->rests[bit / 16];
}

/* The rest of a slot; 0 in tables that have none. */
static inline u32 ipcuckoo_table_rest(const struct ipcuckoo_table *t, u64 slot)
{
	unsigned int shift;
	const u16 *unit;

	if (!t->rests)
		return 0;
	unit = ipcuckoo_table_rest_unit(t, slot, &shift);
	return READ_ONCE(*unit) >> shift & t->rest_mask;
}

/* The key of a slot, in tables that have keys. */
static inline struct ipcuckoo_key ipcuckoo_table_key(const struct ipcuckoo_table *t, u64 slot)
{
	if (t->key_size == IPCUCKOO_KEY64)
		return (struct ipcuckoo_key){ .hi = READ_ONCE(t->keys[slot]) };
	return (struct ipcuckoo_key){
		.hi = READ_ONCE(t->keys[2 * slot]),
		.lo = READ_ONCE(t->keys[2 * slot + 1]),
	};
}

/* Is this the key of a slot, in a table that has keys? Valid under the condition of
 * ipcuckoo_table_probe32().
 */
static inline bool ipcuckoo_table_same_key(const struct ipcuckoo_table *t, u64 slot,
					   const struct ipcuckoo_key *key)
{
	const struct ipcuckoo_key stored = ipcuckoo_table_key(t, slot);

	return stored.hi == key->hi && stored.lo == key->lo;
}

/* Does a slot whose remainder matches have this rest, or this key? @key is unused if keys have 32
 * bits, because remainder and rest are all of such a key. The answer is valid under the condition
 * of ipcuckoo_table_probe32().
 */
static inline bool ipcuckoo_table_same(const struct ipcuckoo_table *t, u64 slot, u32 rest,
				       const struct ipcuckoo_key *key)
{
	return t->keys ? ipcuckoo_table_same_key(t, slot, key) :
			 ipcuckoo_table_rest(t, slot) == rest;
}

bool ipcuckoo_table_confirm(const struct ipcuckoo_table *t, struct ipcuckoo_location p,
			    const struct ipcuckoo_key *key, u64 *slot);
bool ipcuckoo_table_probe_narrow(const struct ipcuckoo_table *t, u32 key);

/**
 * ipcuckoo_table_probe32() - look a 32-bit key up, once
 * @t:		table
 * @key:	key
 *
 * Context: any, under rcu_read_lock().
 * Return: true if the key is in the table. Both answers are valid only if no entry was
 * moved or deleted meanwhile: the caller checks that with ipcuckoo_guard.seq.
 */
static inline bool ipcuckoo_table_probe32(const struct ipcuckoo_table *t,
					  u32 key)
{
	struct ipcuckoo_location p;
	u64 slot;

	if (unlikely(t->narrow))
		return ipcuckoo_table_probe_narrow(t, key);
	p = ipcuckoo_table_locate_wide(t, key);
	return ipcuckoo_table_first(t, &p, &slot) && ipcuckoo_table_confirm(t, p, NULL, &slot);
}

/**
 * ipcuckoo_table_probe128() - look a 128-bit key up, once
 * @t:		table
 * @key:	key
 *
 * Context and return: as for ipcuckoo_table_probe32().
 */
static inline bool ipcuckoo_table_probe128(const struct ipcuckoo_table *t,
					   const struct ipcuckoo_key *key)
{
	struct ipcuckoo_location p = ipcuckoo_table_locate128(t, key);
	u64 slot;

	return ipcuckoo_table_first(t, &p, &slot) && ipcuckoo_table_confirm(t, p, key, &slot);
}

struct ipcuckoo_search_node *ipcuckoo_search_alloc(gfp_t gfp);
void ipcuckoo_search_free(struct ipcuckoo_search_node *queue);
void ipcuckoo_search_exit(void);

u32 ipcuckoo_table_buckets(u64 entries, enum ipcuckoo_key_size key_size, u8 exts);
struct ipcuckoo_table *ipcuckoo_table_create_exts(struct ipcuckoo_mem *mem,
						  u32 nbuckets,
						  enum ipcuckoo_key_size key_size,
						  u8 exts, enum ipcuckoo_charge how);
void ipcuckoo_table_destroy(struct ipcuckoo_table *t);
void ipcuckoo_table_put_records(struct ipcuckoo_table *t);
size_t ipcuckoo_table_memory(const struct ipcuckoo_table *t);

bool ipcuckoo_table_find(const struct ipcuckoo_table *t,
			 const struct ipcuckoo_key *key, u64 *slot);
int ipcuckoo_table_insert_absent(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard,
				 const struct ipcuckoo_key *key,
				 const struct ipcuckoo_value *value,
				 struct ipcuckoo_search_node *queue);
int ipcuckoo_table_insert_value(struct ipcuckoo_table *t,
				struct ipcuckoo_guard *guard,
				const struct ipcuckoo_key *key,
				const struct ipcuckoo_value *value,
				struct ipcuckoo_search_node *queue);
void ipcuckoo_table_copy(struct ipcuckoo_table *t, u64 slots);
void ipcuckoo_table_extend(struct ipcuckoo_table *t, u64 slot, u32 expires);
void ipcuckoo_table_delete_at(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard, u64 slot);
int ipcuckoo_table_delete(struct ipcuckoo_table *t,
			  struct ipcuckoo_guard *guard,
			  const struct ipcuckoo_key *key);
bool ipcuckoo_table_next(const struct ipcuckoo_table *t, u64 *pos,
			 struct ipcuckoo_key *key);
bool ipcuckoo_table_next_expired(struct ipcuckoo_table *t, u64 *pos,
				 u64 stop, struct ipcuckoo_key *key);
u32 ipcuckoo_table_expired(struct ipcuckoo_table *t);
struct ipcuckoo_value ipcuckoo_table_value(const struct ipcuckoo_table *t,
					   u64 slot);
void ipcuckoo_table_set_value(struct ipcuckoo_table *t, u64 slot,
			      const struct ipcuckoo_value *value);
bool ipcuckoo_table_fetch(const struct ipcuckoo_table *t,
			  const struct ipcuckoo_key *key,
			  struct ipcuckoo_value *value);

/* Can the table hold keys like this one? */
static inline bool ipcuckoo_table_takes(const struct ipcuckoo_table *t,
					const struct ipcuckoo_key *key)
{
	return t->key_size != IPCUCKOO_KEY64 || !key->lo;
}

/* Is a key in the table? For the writer. */
static inline bool ipcuckoo_table_has(const struct ipcuckoo_table *t,
				      const struct ipcuckoo_key *key)
{
	u64 slot;

	return ipcuckoo_table_find(t, key, &slot);
}

static inline u64 ipcuckoo_table_slots(const struct ipcuckoo_table *t)
{
	return (u64)t->nbuckets * ipcuckoo_table_format(t)->slots;
}

/* Can there be expired entries? For the writer. */
static inline bool ipcuckoo_table_due(const struct ipcuckoo_table *t)
{
	return ipcuckoo_expired(t->nearest, ipcuckoo_now());
}

#endif /* _IPCUCKOO_TABLE_H */
