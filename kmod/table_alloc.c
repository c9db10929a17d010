// SPDX-License-Identifier: GPL-2.0-only
/* The size and the memory of a table: number of buckets, key, arrays. See table.h. */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "search.h"
#include "table.h"

/* The format of a table follows from the other parameters with which it is created. */
static bool is_narrow(u32 nbuckets, enum ipcuckoo_key_size key_size, u8 exts)
{
	return !key_size && !exts && nbuckets >= IPCUCKOO_BUCKETS_NARROW;
}

static u32 number_of_rems(bool narrow)
{
	return narrow ? IPCUCKOO_NARROW_REMS : IPCUCKOO_REMS;
}

/* A rest has 16 bits at most. */
static_assert((u64)IPCUCKOO_BUCKETS_MIN * IPCUCKOO_REMS >= BIT_ULL(16));
static_assert((u64)IPCUCKOO_BUCKETS_NARROW * IPCUCKOO_NARROW_REMS >= BIT_ULL(16));

/* Lowest bit of the rest of a 32-bit key: see ipcuckoo_table_locate32(). */
static unsigned int rest_shift(u32 nbuckets, bool narrow)
{
	return min(ilog2((u64)nbuckets * number_of_rems(narrow)), 32);
}

/* Bits of the rest of a 32-bit key: a power of two, so that no rest straddles two u16. */
static unsigned int rest_bits(u32 nbuckets, bool narrow)
{
	unsigned int shift = rest_shift(nbuckets, narrow);

	return shift < 32 ? roundup_pow_of_two(32 - shift) : 0;
}

/* Bits of all rests of a bucket. */
static unsigned int rests_bits(u32 nbuckets, bool narrow)
{
	return (narrow ? ipcuckoo_narrow.slots : ipcuckoo_wide.slots) *
	       rest_bits(nbuckets, narrow);
}

/* Bytes of all slots and rests. */
static size_t slots_size(u32 nbuckets, enum ipcuckoo_key_size key_size, bool narrow)
{
	size_t bits = key_size ? 0 : (size_t)nbuckets * rests_bits(nbuckets, narrow);

	return nbuckets * sizeof(u64) + DIV_ROUND_UP(bits, 16) * sizeof(u16);
}

/* The number of buckets for a number of entries, of which each bucket has @slots slots. */
static u32 least_buckets(u64 entries, unsigned int slots)
{
	u64 n = div_u64(entries * 1000, slots * IPCUCKOO_LOAD_TARGET);

	return clamp_t(u64, ALIGN(n + 1, 2), IPCUCKOO_BUCKETS_MIN, IPCUCKOO_BUCKETS_MAX);
}

/* With a few more buckets the rests may have fewer bits, and the table may be smaller. */
static u32 cheaper_buckets(u32 n)
{
	/* From these numbers on, rests have 8, 4, 2, 1 and no bits. */
	static const u32 steps[] = {
		IPCUCKOO_BUCKETS_FOR(24, IPCUCKOO_REMS), IPCUCKOO_BUCKETS_FOR(28, IPCUCKOO_REMS),
		IPCUCKOO_BUCKETS_FOR(30, IPCUCKOO_REMS), IPCUCKOO_BUCKETS_FOR(31, IPCUCKOO_REMS),
		IPCUCKOO_BUCKETS_WHOLE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		if (n < steps[i] &&
		    ipcuckoo_area_round(slots_size(n, IPCUCKOO_KEY32, false)) >=
		    ipcuckoo_area_round(slots_size(steps[i], IPCUCKOO_KEY32, false)))
			n = steps[i];
	return n;
}

/**
 * ipcuckoo_table_buckets() - the number of buckets for a number of entries
 * @entries:	number of entries that must fit
 * @key_size:	what keys take beside the slots
 * @exts:	the table's parallel arrays, IPCUCKOO_EXT_*
 *
 * Uses all memory to which the allocation is rounded up.
 *
 * Return: an even number, IPCUCKOO_BUCKETS_MAX at most.
 */
u32 ipcuckoo_table_buckets(u64 entries, enum ipcuckoo_key_size key_size, u8 exts)
{
	u64 n = least_buckets(entries, ipcuckoo_wide.slots);
	bool narrow = is_narrow(n, key_size, exts);
	size_t size = IPCUCKOO_SLOTS * key_size;

	if (key_size) {
		n = div_u64(ipcuckoo_area_round(n * size), size);
	} else {
		if (narrow)
			n = max_t(u64, least_buckets(entries, ipcuckoo_narrow.slots),
				  IPCUCKOO_BUCKETS_NARROW);
		else
			n = cheaper_buckets(n);
		size = ipcuckoo_area_round(slots_size(n, IPCUCKOO_KEY32, narrow));
		n = div_u64(8 * (u64)size, 64 + rests_bits(n, narrow));
	}
	return min_t(u64, round_down(n, 2), IPCUCKOO_BUCKETS_MAX);
}

static void choose_keys(struct ipcuckoo_table *t)
{
	int i;

	get_random_bytes(&t->bijection, sizeof(t->bijection));
	for (i = 0; i < 3; i++) {
		t->bijection.mul[i] |= 1;
		t->inverse[i] = ipcuckoo_inverse(t->bijection.mul[i]);
	}
}

/* Allocate the parallel arrays of extensions, in one area, largest elements first. */
static int alloc_values(struct ipcuckoo_table *t, u8 exts, enum ipcuckoo_charge how)
{
	size_t n = (size_t)t->nbuckets * IPCUCKOO_SLOTS;
	size_t records = exts & IPCUCKOO_EXT_RECORDS ? n * sizeof(*t->records) : 0;
	size_t expires = exts & IPCUCKOO_EXT_EXPIRES ? n * sizeof(*t->expires) : 0;
	size_t nomatch = exts & IPCUCKOO_EXT_NOMATCH ? n * sizeof(*t->nomatch) : 0;
	int err;

	if (!exts)
		return 0;
	err = ipcuckoo_area_alloc(&t->area[2], t->mem, records + expires + nomatch, how);
	if (err)
		return err;
	t->records = t->area[2].data;
	t->expires = t->area[2].data + records;
	t->nomatch = t->area[2].data + records + expires;
	t->exts = exts;
	return 0;
}

/**
 * ipcuckoo_table_create_exts() - create an empty table with a random key
 * @mem:	account to charge
 * @nbuckets:	number of buckets: from ipcuckoo_table_buckets(), with the same parameters
 * @key_size:	what keys take beside the slots
 * @exts:	its parallel arrays, IPCUCKOO_EXT_*
 * @how:	what to do if that exceeds the memory limit
 *
 * Context: process context, may sleep.
 * Return: the table, or ERR_PTR(-ENOMEM, -EDQUOT or -EINTR).
 */
struct ipcuckoo_table *ipcuckoo_table_create_exts(struct ipcuckoo_mem *mem,
						  u32 nbuckets,
						  enum ipcuckoo_key_size key_size,
						  u8 exts, enum ipcuckoo_charge how)
{
	size_t keys_size = (size_t)nbuckets * IPCUCKOO_SLOTS * key_size;
	struct ipcuckoo_table *t;
	int err;

	t = ipcuckoo_object_alloc(mem, sizeof(*t), how);
	if (IS_ERR(t))
		return t;
	t->mem = mem;
	t->nbuckets = nbuckets;
	t->key_size = key_size;
	t->shrink_below = U32_MAX;
	if (!key_size) {
		t->narrow = is_narrow(nbuckets, key_size, exts);
		t->rems = number_of_rems(t->narrow);
		t->rest_bits = rest_bits(nbuckets, t->narrow);
		t->rest_mask = BIT(t->rest_bits) - 1;
		t->rest_shift = rest_shift(nbuckets, t->narrow);
	}
	choose_keys(t);
	err = ipcuckoo_area_alloc(&t->area[0], mem, slots_size(nbuckets, key_size, t->narrow),
				  how);
	if (!err && key_size)
		err = ipcuckoo_area_alloc(&t->area[1], mem, keys_size, how);
	if (!err)
		err = alloc_values(t, exts, how);
	if (err) {
		ipcuckoo_table_destroy(t);
		return ERR_PTR(err);
	}
	t->words = t->area[0].data;
	if (t->rest_bits)
		t->rests = (u16 *)(t->words + nbuckets);
	t->keys = t->area[1].data;
	return t;
}

/**
 * ipcuckoo_table_destroy() - free a table that has no readers
 * @t:		table, or NULL. Does not put its records
 */
void ipcuckoo_table_destroy(struct ipcuckoo_table *t)
{
	if (!t)
		return;
	ipcuckoo_area_free(&t->area[2], t->mem);
	ipcuckoo_area_free(&t->area[1], t->mem);
	ipcuckoo_area_free(&t->area[0], t->mem);
	ipcuckoo_object_free(t, t->mem, sizeof(*t));
}

/**
 * ipcuckoo_table_memory() - how much memory does a table take?
 * @t:		table, or NULL
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_table_memory(const struct ipcuckoo_table *t)
{
	return t ? kmalloc_size_roundup(sizeof(*t)) +
		   t->area[0].size + t->area[1].size + t->area[2].size : 0;
}

/* The queue that was freed last. Many kernels clear memory when they allocate it, which would take
 * longer than adding a single entry.
 */
static struct ipcuckoo_search_node *spare_queue;

/**
 * ipcuckoo_search_alloc() - memory for the search of an insertion
 * @gfp:	GFP_KERNEL if the caller may sleep, else GFP_ATOMIC
 *
 * Context: any but hard interrupts.
 * Return: a queue to be freed with ipcuckoo_search_free(), or NULL.
 */
struct ipcuckoo_search_node *ipcuckoo_search_alloc(gfp_t gfp)
{
	struct ipcuckoo_search_node *queue = xchg(&spare_queue, NULL);

	return queue ?: kmalloc_array(IPCUCKOO_SEARCH, sizeof(*queue), gfp);
}

/**
 * ipcuckoo_search_free() - free a search queue
 * @queue:	queue, or NULL
 */
void ipcuckoo_search_free(struct ipcuckoo_search_node *queue)
{
	if (queue)
		kfree(xchg(&spare_queue, queue));
}

/**
 * ipcuckoo_search_exit() - free the memory that is kept for the next search
 *
 * Context: when the module is unloaded; no set exists any more.
 */
void ipcuckoo_search_exit(void)
{
	kfree(xchg(&spare_queue, NULL));
}
