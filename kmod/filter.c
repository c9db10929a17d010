// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: The cuckoo filter
 *
 * Problem
 * -------
 *
 * An exact table of IPv6 hosts takes 18 bytes per slot. A user who can accept that some
 * non-members match needs only 1, 2 or 4.
 *
 * Structure
 * ---------
 *
 * This is the filter of [Fan 2014] (table.c). A bucket has four slots. A slot holds a
 * fingerprint of 8, 16 or 32 bits; 0 is no fingerprint, but an empty slot. A fingerprint f
 * in bucket i has the other bucket h(f) - i, modulo the number of buckets (bucket.h). With
 * i xor h(f), as in [Fan 2014], the number of buckets would have to be a power of two, and
 * up to half of the memory would be wasted.
 *
 * One filter serves both families. An IPv4 address is hashed as the IPv4-mapped address
 * ::ffff:a.b.c.d, so in a set of both families the two forms are one entry.
 * ipcuckoo_hash128() returns 64 bits: one half chooses the bucket, the other half is the
 * fingerprint. 32 bits would be too few for both.
 *
 * Unlike a slot of an exact table, a fingerprint cannot be turned back into its address.
 * So entries cannot be listed, and the filter can neither grow nor get another key. It is
 * made for a capacity.
 *
 * False positives
 * ---------------
 *
 * A member always matches: its fingerprint is in one of its two buckets. A non-member
 * matches if its fingerprint happens to be in one of its two buckets. A filter of C
 * buckets with fingerprints of w bits has C (2^w - 1) pairs of a first bucket and a
 * fingerprint, and each non-member has one of them with equal probability. A stored
 * fingerprint matches two pairs: itself with each of its two buckets. So while no
 * fingerprint is stored twice in the same two buckets, n stored fingerprints have a
 * false-positive rate of exactly
 *
 *	2 n / (C (2^w - 1)) = 2b a / (2^w - 1)
 *
 * where b = 4 is the number of slots per bucket and a = n / (4 C) is the load factor. The
 * well-known bound 2b / 2^w is about the rate of a full filter. Copies lower the rate.
 * selftests/core/test_rate.c verifies the formula by counting.
 *
 * Addition and deletion
 * ---------------------
 *
 * By default an element that matches already is not stored again. It may be a member, or
 * a non-member with the fingerprint and buckets of a member: the filter cannot tell. So
 * deleting an element could remove the fingerprint of another one; therefore entries
 * cannot be deleted.
 *
 * A filter made with "multi" stores each addition. Deletion removes one of the copies,
 * which are all equal. It does not matter which addition stored the copy, as long as no
 * element is deleted more often than it was added. The two buckets of an element have
 * eight slots, so a ninth copy is refused. If different elements share a bucket, there is
 * room for fewer copies of each, whatever the capacity: the capacity is guaranteed only
 * for different elements.
 *
 * Concurrency
 * -----------
 *
 * The same as in an exact table without parallel arrays (table.c): a fingerprint is copied
 * to its other bucket, then the sequence number is bumped, then the old slot is cleared;
 * and a miss counts only if the number has not changed meanwhile. The stores and loads are
 * the same in the same order, so what selftests/core/weakmem.c shows for moves (v4) holds
 * here. A word with the fingerprint had it when it was read, so a match would not need the
 * check that look_up() makes.
 *
 * Deletion bumps the sequence number although it clears a single slot. Without that, a
 * reader could read one bucket before a copy is added there, and the other bucket after
 * the copy in it was deleted.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "bucket.h"
#include "filter.h"
#include "search.h"

/* Buckets that a filter has in addition to those that its capacity needs at
 * IPCUCKOO_LOAD_TARGET, for fingerprints of any width. The load factor at which an
 * insertion first fails varies more for small filters: among 100,000 filters of 128
 * buckets one failed at 0.93, and among 100,000 of 32 buckets one at 0.83. With the
 * additional buckets, filters of these sizes are filled to at most 0.90 and 0.72.
 */
#define SPARE_BUCKETS	8

/* Bytes copied between two calls of cond_resched(). */
#define COPY_BATCH	(1024 * 1024)

/**
 * struct ipcuckoo_filter_location - the slots in which an element can be
 * @bucket:	its two buckets
 * @fp:	its fingerprint
 */
struct ipcuckoo_filter_location {
	u32 bucket[2];
	u32 fp;
};

/* The other bucket of fingerprint @fp in @bucket, see above. Fingerprints of 8 bits are
 * consecutive numbers. If the hash were a single product, the buckets that a path
 * of moves can reach would lie in a row: a filter of four million buckets then fills to a
 * load factor of 0.957, and with a second product to 0.973.
 */
static u32 alt(const struct ipcuckoo_filter *f, u32 bucket, u32 fp)
{
	u32 h = fp * GOLDEN_RATIO_32;

	h = (h ^ h >> 15) * 0x85ebca6b;
	return ipcuckoo_bucket_alt(bucket, h, f->nbuckets);
}

static struct ipcuckoo_filter_location locate(const struct ipcuckoo_filter *f,
					      const struct ipcuckoo_key *addr)
{
	u32 max = U32_MAX >> (32 - f->shape.bits), fp;
	struct ipcuckoo_filter_location p;

	p.bucket[0] = (u64)ipcuckoo_hash128(addr, f->seed, &fp) *
		      f->nbuckets >> 32;
	p.fp = ((u64)fp * max >> 32) + 1;
	p.bucket[1] = alt(f, p.bucket[0], p.fp);
	return p;
}

/**
 * ipcuckoo_filter_probe() - look an element up, once
 * @f:		filter
 * @addr:	the element; an IPv4 address in its IPv4-mapped form
 *
 * Always reads both buckets, without a branch between the reads, and each word once.
 *
 * Context: any, under rcu_read_lock().
 * Return: true if the element matches; false if not. A false is valid only if no entry was
 * moved or deleted meanwhile: the caller checks that with ipcuckoo_guard.seq.
 */
bool ipcuckoo_filter_probe(const struct ipcuckoo_filter *f,
			   const struct ipcuckoo_key *addr)
{
	struct ipcuckoo_filter_location p = locate(f, addr);
	const u64 *w1 = f->words, *w2 = f->words;
	const u32 *w8 = f->words;
	u64 m;

	if (f->shape.bits == 8) {
		m = READ_ONCE(w8[p.bucket[0]]);
		m |= (u64)READ_ONCE(w8[p.bucket[1]]) << 32;
		return ipcuckoo_zero_lanes(m ^ p.fp * IPCUCKOO_LANES(8), 8);
	}
	if (f->shape.bits == 16) {
		m = p.fp * IPCUCKOO_LANES(16);
		w1 += p.bucket[0];
		w2 += p.bucket[1];
		return ipcuckoo_zero_lanes(READ_ONCE(*w1) ^ m, 16) |
		       ipcuckoo_zero_lanes(READ_ONCE(*w2) ^ m, 16);
	}
	m = p.fp * IPCUCKOO_LANES(32);
	w1 += 2 * (size_t)p.bucket[0];
	w2 += 2 * (size_t)p.bucket[1];
	return ipcuckoo_zero_lanes(READ_ONCE(w1[0]) ^ m, 32) |
	       ipcuckoo_zero_lanes(READ_ONCE(w1[1]) ^ m, 32) |
	       ipcuckoo_zero_lanes(READ_ONCE(w2[0]) ^ m, 32) |
	       ipcuckoo_zero_lanes(READ_ONCE(w2[1]) ^ m, 32);
}

/**
 * ipcuckoo_filter_prefetch() - prefetch what ipcuckoo_filter_probe() reads
 * @f:		filter
 * @addr:	the element; an IPv4 address in its IPv4-mapped form
 *
 * Context: any, under rcu_read_lock().
 */
void ipcuckoo_filter_prefetch(const struct ipcuckoo_filter *f, const struct ipcuckoo_key *addr)
{
	const struct ipcuckoo_filter_location p = locate(f, addr);
	size_t size = f->shape.bits * IPCUCKOO_SLOTS / 8;

	prefetch(f->words + p.bucket[0] * size);
	prefetch(f->words + p.bucket[1] * size);
}

static u32 slot_get(const struct ipcuckoo_filter *f, u32 bucket, unsigned int i)
{
	const u64 *w = f->words;

	switch (f->shape.bits) {
	case 8:
		return (u8)(((const u32 *)w)[bucket] >> 8 * i);
	case 16:
		return (u16)(w[bucket] >> 16 * i);
	default:
		return w[2 * (size_t)bucket + (i >> 1)] >> 32 * (i & 1);
	}
}

static void replace64(u64 *w, u64 mask, u64 value, unsigned int shift)
{
	WRITE_ONCE(*w, (*w & ~(mask << shift)) | value << shift);
}

static void slot_set(struct ipcuckoo_filter *f, u32 bucket, unsigned int i,
		     u32 fp)
{
	u32 *w8 = f->words;
	u64 *w = f->words;

	switch (f->shape.bits) {
	case 8:
		w8 += bucket;
		WRITE_ONCE(*w8, (*w8 & ~(0xffU << 8 * i)) | fp << 8 * i);
		break;
	case 16:
		replace64(&w[bucket], U16_MAX, fp, 16 * i);
		break;
	default:
		replace64(&w[2 * (size_t)bucket + (i >> 1)], U32_MAX, fp,
			  32 * (i & 1));
	}
}

/* Find a slot of a bucket that holds @fp; a free slot if @fp is 0. Return: its number or -1. */
static int find(const struct ipcuckoo_filter *f, u32 bucket, u32 fp)
{
	unsigned int i;

	for (i = 0; i < IPCUCKOO_SLOTS; i++)
		if (slot_get(f, bucket, i) == fp)
			return i;
	return -1;
}

static void vacate(struct ipcuckoo_filter *f, struct ipcuckoo_guard *guard,
		   u32 bucket, unsigned int i)
{
	ipcuckoo_guard_bump(guard);
	slot_set(f, bucket, i, 0);
}

static u32 fp_alt(const void *table, u32 bucket, unsigned int slot)
{
	const struct ipcuckoo_filter *f = table;

	return alt(f, bucket, slot_get(f, bucket, slot));
}

static int fp_free(const void *table, u32 bucket)
{
	return find(table, bucket, 0);
}

static void fp_move(void *table, struct ipcuckoo_guard *guard, u32 from,
		    unsigned int from_slot, u32 to, unsigned int to_slot)
{
	struct ipcuckoo_filter *f = table;

	slot_set(f, to, to_slot, slot_get(f, from, from_slot));
	vacate(f, guard, from, from_slot);
	f->displaced++;
}

static bool fp_copies(const void *filter)
{
	return ((const struct ipcuckoo_filter *)filter)->shape.multi;
}

static const struct ipcuckoo_search_ops search_ops = {
	.alt = fp_alt,
	.free = fp_free,
	.move = fp_move,
	.copies = fp_copies,
};

static unsigned int copies(const struct ipcuckoo_filter *f,
			   const struct ipcuckoo_filter_location *p)
{
	unsigned int n = 0, i;

	for (i = 0; i < IPCUCKOO_COPIES_MAX; i++)
		n += slot_get(f, p->bucket[i / IPCUCKOO_SLOTS],
			      i % IPCUCKOO_SLOTS) == p->fp;
	return n;
}

/**
 * ipcuckoo_filter_copies() - count the fingerprints of an element
 * @f:		filter
 * @addr:	the element; an IPv4 address in its IPv4-mapped form
 *
 * Context: the writer.
 * Return: the number of copies of the element at most; additions of other elements may
 * have stored them.
 */
unsigned int ipcuckoo_filter_copies(const struct ipcuckoo_filter *f,
				    const struct ipcuckoo_key *addr)
{
	struct ipcuckoo_filter_location p = locate(f, addr);

	return copies(f, &p);
}

/* Store a fingerprint in a free slot of one of its buckets; if there is none, move other
 * fingerprints to make one.
 */
static int insert(struct ipcuckoo_filter *f, struct ipcuckoo_guard *guard,
		  const struct ipcuckoo_filter_location *p,
		  struct ipcuckoo_search_node *queue)
{
	struct ipcuckoo_path path;
	int choice, free;
	unsigned int i;
	u16 node;

	for (choice = 0; choice < 2; choice++) {
		free = find(f, p->bucket[choice], 0);
		if (free < 0)
			continue;
		slot_set(f, p->bucket[choice], free, p->fp);
		return 0;
	}
	if (!ipcuckoo_search(f, &search_ops, IPCUCKOO_SLOTS, p->bucket, queue, &path))
		return -ENOSPC;
	spin_lock_bh(&guard->lock);
	node = ipcuckoo_search_move(f, &search_ops, guard, queue, &path, &i);
	slot_set(f, p->bucket[node], i, p->fp);
	spin_unlock_bh(&guard->lock);
	return 0;
}

/**
 * ipcuckoo_filter_insert() - add an element
 * @f:		filter
 * @guard:	guard of the filter
 * @addr:	the element; an IPv4 address in its IPv4-mapped form
 * @queue:	memory for the search
 *
 * Context: the writer, in process context. Takes @guard->lock while it moves a path of a
 * few entries.
 * Return: 0, or an error, and then nothing has changed: -EEXIST if the element matches
 * already and the filter is not multi; -EMLINK if the filter is multi and copies of this
 * and other elements leave no free slot; -ENOSPC if the capacity is reached, or the search
 * found no free slot within its bound.
 */
int ipcuckoo_filter_insert(struct ipcuckoo_filter *f,
			   struct ipcuckoo_guard *guard,
			   const struct ipcuckoo_key *addr,
			   struct ipcuckoo_search_node *queue)
{
	struct ipcuckoo_filter_location p = locate(f, addr);
	unsigned int n = copies(f, &p);
	int err;

	if (n && !f->shape.multi)
		return -EEXIST;
	if (n == IPCUCKOO_COPIES_MAX)
		return -EMLINK;
	if (f->count >= f->shape.capacity)
		return -ENOSPC;
	err = insert(f, guard, &p, queue);
	if (!err)
		f->count++;
	/* Different elements would fit, as the capacity is not reached: copies are in the way. */
	return err && f->shape.multi ? -EMLINK : err;
}

/**
 * ipcuckoo_filter_delete() - remove one copy of an element
 * @f:		filter
 * @guard:	guard of the filter
 * @addr:	the element; an IPv4 address in its IPv4-mapped form. If it was never added,
 *		this may remove the fingerprint of another element
 *
 * Context: the writer, in process context. Takes @guard->lock for one store.
 * Return: 0, or -ENOENT.
 */
int ipcuckoo_filter_delete(struct ipcuckoo_filter *f,
			   struct ipcuckoo_guard *guard,
			   const struct ipcuckoo_key *addr)
{
	struct ipcuckoo_filter_location p = locate(f, addr);
	int choice, i;

	for (choice = 1; choice >= 0; choice--) {
		i = find(f, p.bucket[choice], p.fp);
		if (i < 0)
			continue;
		spin_lock_bh(&guard->lock);
		vacate(f, guard, p.bucket[choice], i);
		spin_unlock_bh(&guard->lock);
		f->count--;
		return 0;
	}
	return -ENOENT;
}

static size_t bucket_size(const struct ipcuckoo_filter_shape *shape)
{
	return IPCUCKOO_SLOTS * shape->bits / 8;
}

/**
 * ipcuckoo_filter_buckets() - the number of buckets of a filter
 * @shape:	its parameters
 *
 * Return: an even number, IPCUCKOO_BUCKETS_MAX at most. It uses all memory to which the
 * allocation is rounded up; more buckets lower the false-positive rate.
 */
u32 ipcuckoo_filter_buckets(const struct ipcuckoo_filter_shape *shape)
{
	u64 n = div_u64(shape->capacity * 1000ULL,
			IPCUCKOO_SLOTS * IPCUCKOO_LOAD_TARGET);
	size_t size = bucket_size(shape);

	n = div_u64(ipcuckoo_area_round((n + 1 + SPARE_BUCKETS) * size), size);
	return min_t(u64, n & ~1ULL, IPCUCKOO_BUCKETS_MAX);
}

/**
 * ipcuckoo_filter_create() - make an empty filter
 * @mem:	account to charge
 * @shape:	its parameters
 *
 * Context: process context, may sleep.
 * Return: the filter, or ERR_PTR(-ENOMEM, -EDQUOT or -EINTR).
 */
struct ipcuckoo_filter *
ipcuckoo_filter_create(struct ipcuckoo_mem *mem,
		       const struct ipcuckoo_filter_shape *shape)
{
	struct ipcuckoo_filter *f;
	int err;

	f = ipcuckoo_object_alloc(mem, sizeof(*f), IPCUCKOO_CHARGE_WAIT);
	if (IS_ERR(f))
		return f;
	f->mem = mem;
	f->shape = *shape;
	f->nbuckets = ipcuckoo_filter_buckets(shape);
	get_random_bytes(f->seed, sizeof(f->seed));
	err = ipcuckoo_area_alloc(&f->area, mem, f->nbuckets * bucket_size(shape),
				  IPCUCKOO_CHARGE_WAIT);
	if (err) {
		ipcuckoo_filter_destroy(f);
		return ERR_PTR(err);
	}
	f->words = f->area.data;
	return f;
}

/**
 * ipcuckoo_filter_copy() - copy a filter
 * @to:		filter of the same shape, which has no readers
 * @from:	filter to copy; the caller is its writer too
 *
 * Context: process context; may sleep.
 * Return: 0, or -EINTR for a fatal signal, and then @to can only be destroyed.
 */
int ipcuckoo_filter_copy(struct ipcuckoo_filter *to,
			 const struct ipcuckoo_filter *from)
{
	size_t size = from->nbuckets * bucket_size(&from->shape), at;

	for (at = 0; at < size; at += COPY_BATCH) {
		if (fatal_signal_pending(current))
			return -EINTR;
		memcpy(to->words + at, from->words + at,
		       min_t(size_t, size - at, COPY_BATCH));
		cond_resched();
	}
	memcpy(to->seed, from->seed, sizeof(to->seed));
	to->count = from->count;
	return 0;
}

/**
 * ipcuckoo_filter_destroy() - free a filter that has no readers
 * @f:		filter, or NULL
 */
void ipcuckoo_filter_destroy(struct ipcuckoo_filter *f)
{
	if (!f)
		return;
	ipcuckoo_area_free(&f->area, f->mem);
	ipcuckoo_object_free(f, f->mem, sizeof(*f));
}

/**
 * ipcuckoo_filter_memory() - how much memory does a filter take?
 * @f:		filter, or NULL
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_filter_memory(const struct ipcuckoo_filter *f)
{
	return f ? kmalloc_size_roundup(sizeof(*f)) + f->area.size : 0;
}
