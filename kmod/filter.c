// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: The cuckoo filter
 *
 * Problem
 * -------
 *
 * An exact table of IPv6 hosts keeps 18 bytes a slot. Who can live with a
 * stranger taken for a member now and then can have 1, 2 or 4.
 *
 * Structure
 * ---------
 *
 * The filter of [Fan 2014] (table.c): buckets of four slots, a slot holds a
 * fingerprint of 8, 16 or 32 bits, which is never 0; 0 is an empty slot. The
 * two buckets of a fingerprint f that is in bucket i are i and h(f) - i modulo
 * the number of buckets (bucket.h). With i xor h(f) the number of buckets would
 * have to be a power of two, and half of the memory could be in vain.
 *
 * One table serves both families. An IPv4 address is hashed as the mapped
 * ::ffff:a.b.c.d, so that both forms are one entry where a set holds both
 * families. ipcuckoo_hash128() yields 64 bits, half of them for the bucket,
 * half for the fingerprint: 32 would be too few for both.
 *
 * Unlike with quotienting nothing leads back to the address: entries cannot be
 * listed, and the filter can neither grow nor be given another key. It is made
 * for a capacity.
 *
 * Wrong answers
 * -------------
 *
 * A member always matches: its fingerprint is in one of its two buckets. A
 * stranger matches if its fingerprint F happens to be in one of its own. There
 * are C (2^w - 1) pairs of bucket and fingerprint of w bits that a stranger is
 * equally likely to have; a fingerprint stored in a bucket is found by the two
 * pairs that have either of its buckets. As long as none is stored twice in
 * the same two buckets, n of them are found by exactly
 *
 *	2 n / (C (2^w - 1)) = 2b a / (2^w - 1)
 *
 * of all strangers, with b = 4 slots a bucket and a load of a = n / (4 C); the
 * well-known bound 2b / 2^w is about that of a full filter. Copies make it
 * less. No estimate is involved; selftests/core/test_rate.c counts.
 *
 * Addition and deletion
 * ---------------------
 *
 * An element that matches already is not stored again, unless the filter is
 * made "multi". It is a member, or has the fingerprint and the buckets of one;
 * nobody can tell which, so that deletion could take somebody else's
 * fingerprint, and there is none. With multi every addition is stored. Then
 * deletion removes one of the copies, which are all alike: whose it was makes
 * no difference, as long as nothing is deleted more often than it was added.
 * The eight slots of two buckets hold eight copies, a ninth is refused. Copies
 * are all in need of the same two buckets: where entries share one, they have
 * room for fewer, whatever the capacity. It is a promise for what differs.
 *
 * Concurrency
 * -----------
 *
 * That of an exact table that has nothing beside its slots, word for word
 * (table.c): a fingerprint is copied to its other bucket, then the sequence number is
 * bumped, then the old slot is cleared; and a miss counts only if the number has
 * not changed meanwhile. The stores and loads are the same ones in the same
 * order, so that what selftests/core/weakmem.c shows for moves (v4) holds here.
 * A word that has the fingerprint had it when it was read, so that a match
 * would not need the check that look_up() makes of it.
 *
 * Deletion bumps the sequence number although a single slot is cleared: a reader
 * could look into one bucket before a copy is added there, and into the other
 * after the copy there was deleted.
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

/* Buckets that a filter has more than its capacity takes at
 * IPCUCKOO_LOAD_TARGET, whatever the width. Small tables differ more in what
 * they can take: of 100,000 with 128 buckets one failed at a load of 0.93, of
 * those with 32 at 0.83; with these to spare they are asked for 0.90 and 0.72.
 */
#define SPARE_BUCKETS	8

/* Bytes copied between two looks at the scheduler. */
#define COPY_BATCH	(1024 * 1024)

/**
 * struct ipcuckoo_filter_location - where an element can be
 * @bucket:	its two buckets
 * @fp:	its fingerprint
 */
struct ipcuckoo_filter_location {
	u32 bucket[2];
	u32 fp;
};

/* The other bucket of fingerprint @fp in @bucket, see above. Fingerprints
 * of 8 bits follow each other, and the multiple of a constant as the only
 * hash puts the buckets that a chain of moves can reach into a row: of four
 * million buckets 0.957 are then filled, with a second product 0.973.
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
 * @addr:	the element, IPv4 mapped
 *
 * Both buckets are read whether the first one has it or not, each word once
 * and whole.
 *
 * Context: any, under rcu_read_lock().
 * Return: true for maybe; false for no, which holds only if no entry moved and
 * none was deleted meanwhile: the caller checks that with ipcuckoo_guard.seq.
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

/* A slot of a bucket that holds this: 0 for a free one. */
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
 * ipcuckoo_filter_copies() - how often may an element be there?
 * @f:		filter
 * @addr:	the element, IPv4 mapped
 *
 * Context: the writer.
 */
unsigned int ipcuckoo_filter_copies(const struct ipcuckoo_filter *f,
				    const struct ipcuckoo_key *addr)
{
	struct ipcuckoo_filter_location p = locate(f, addr);

	return copies(f, &p);
}

/* Into a free slot of one of its buckets, made by moving others if need be. */
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
	if (!ipcuckoo_search(f, &search_ops, p->bucket, queue, &path))
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
 * @guard:	what the filter's readers check
 * @addr:	the element, IPv4 mapped
 * @queue:	memory for the search
 *
 * Context: the writer, in process context. Takes @guard->lock for as long as
 * a path of a few entries is moved.
 * Return: 0; -EEXIST if it may be there and the filter is not multi; -EMLINK if
 * copies of it and of others leave it no place; -ENOSPC if the capacity is
 * reached, or no place was found within the bound of the search. When it is
 * not 0, nothing has changed.
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
	/* All that differ would have had room: it is copies that are in the way. */
	return err && f->shape.multi ? -EMLINK : err;
}

/**
 * ipcuckoo_filter_delete() - remove one copy of an element
 * @f:		filter
 * @guard:	what the filter's readers check
 * @addr:	the element, IPv4 mapped; if it was never added, the copy may be
 *		another's
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
 * @shape:	what it is like
 *
 * Return: an even number, IPCUCKOO_BUCKETS_MAX at most; whatever the allocation
 * rounds up to is used, and lowers the rate of wrong answers.
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
 * @shape:	what it shall be like
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
 * ipcuckoo_filter_copy() - make a filter the same as another
 * @to:		filter of the same shape, which nobody reads
 * @from:	filter of which the caller is the writer as well
 *
 * Context: process context; may let others run.
 * Return: 0, or -EINTR at a fatal signal; then @to is good for nothing.
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
 * ipcuckoo_filter_destroy() - free a filter that nobody reads
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
 * ipcuckoo_filter_memory() - what a filter takes
 * @f:		filter, or NULL
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_filter_memory(const struct ipcuckoo_filter *f)
{
	return f ? kmalloc_size_roundup(sizeof(*f)) + f->area.size : 0;
}
