// SPDX-License-Identifier: GPL-2.0-only
/* The size and the memory of a table: number of buckets, key, arrays. See table.h. */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "search.h"
#include "table.h"

/* Bits of the rest of a 32-bit key: a power of two, so that no rest straddles two u16. */
static unsigned int rest_bits(u32 nbuckets)
{
	unsigned int bits = IPCUCKOO_REM_BITS + ilog2(nbuckets);

	return bits < 32 ? roundup_pow_of_two(32 - bits) : 0;
}

/* Bytes of all slots and rests. */
static size_t slots_size(u32 nbuckets, enum ipcuckoo_key_size key_size)
{
	size_t bits = key_size ? 0 : (size_t)nbuckets * IPCUCKOO_SLOTS * rest_bits(nbuckets);

	return nbuckets * sizeof(u64) + DIV_ROUND_UP(bits, 16) * sizeof(u16);
}

/* With a few more buckets the rests may have fewer bits, and the table may be smaller. */
static u32 cheaper_buckets(u32 n)
{
	static const u32 steps[] = {
		1 << 10, 1 << 14, 1 << 16, 1 << 17, IPCUCKOO_BUCKETS_WHOLE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		if (n < steps[i] && ipcuckoo_area_round(slots_size(n, IPCUCKOO_KEY32)) >=
				    ipcuckoo_area_round(slots_size(steps[i], IPCUCKOO_KEY32)))
			n = steps[i];
	return n;
}

/**
 * ipcuckoo_table_buckets() - the number of buckets for a number of entries
 * @entries:	number of entries that must fit
 * @key_size:	what keys take beside the slots
 *
 * Uses all memory to which the allocation is rounded up.
 *
 * Return: an even number, IPCUCKOO_BUCKETS_MAX at most.
 */
u32 ipcuckoo_table_buckets(u64 entries, enum ipcuckoo_key_size key_size)
{
	u64 n = div_u64(entries * 1000, IPCUCKOO_SLOTS * IPCUCKOO_LOAD_TARGET);
	size_t size = IPCUCKOO_SLOTS * key_size;

	n = clamp_t(u64, ALIGN(n + 1, 2), IPCUCKOO_BUCKETS_MIN,
		    IPCUCKOO_BUCKETS_MAX);
	if (key_size) {
		n = div_u64(ipcuckoo_area_round(n * size), size);
	} else {
		n = cheaper_buckets(n);
		size = ipcuckoo_area_round(slots_size(n, IPCUCKOO_KEY32));
		/* The divisor is the size of a bucket in half bytes: four slots of 16 bits
		 * and their rests.
		 */
		n = div_u64(2 * (u64)size, 16 + rest_bits(n));
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
 * @nbuckets:	number of buckets, from ipcuckoo_table_buckets()
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
		t->rest_bits = rest_bits(nbuckets);
		t->rest_shift = ilog2(nbuckets);
		t->rem_shift = max_t(u8, t->rest_shift, 32 - IPCUCKOO_REM_BITS);
	}
	choose_keys(t);
	err = ipcuckoo_area_alloc(&t->area[0], mem, slots_size(nbuckets, key_size), how);
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
 *
 * Context: process context, may sleep.
 * Return: a queue to be freed with ipcuckoo_search_free(), or NULL.
 */
struct ipcuckoo_search_node *ipcuckoo_search_alloc(void)
{
	struct ipcuckoo_search_node *queue = xchg(&spare_queue, NULL);

	return queue ?: kmalloc_array(IPCUCKOO_SEARCH, sizeof(*queue), GFP_KERNEL);
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
