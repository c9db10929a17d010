// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: The exact cuckoo table
 *
 * Problem
 * -------
 *
 * Hold millions of addresses in a few bytes each, answer "is it in the table?" with two
 * memory accesses that overlap, never answer wrongly, and let one writer add and delete
 * while readers look up without a lock.
 *
 * Structure
 * ---------
 *
 * A table has buckets of four or five slots. An entry is in one of two buckets. A slot holds
 * a flag, the choice, which is set if this is the second bucket of its entry, and a remainder
 * plus 1; 0 is an empty slot.
 *
 * A cuckoo filter [Fan 2014] stores a short fingerprint in the slot, and has false
 * positives. Keys of 32 bits leave room for better: a permutation (bijection.h) is applied
 * to the key, the bucket is taken out of the result, and the slot stores what is left as
 * its remainder (ipcuckoo_table_locate32()). Bucket, choice and remainder give the key
 * back (key_at()), so there are no false positives, entries can be listed, and a larger
 * table is made from the slots alone. This is quotienting, or permutation-based cuckoo
 * hashing [Arbitman 2010].
 *
 * A bucket is one word of 64 bits. Four slots have 16 bits each: one bit is the choice, and 15
 * hold the remainder plus 1, so there are 2^15 - 1 different remainders. With 131,078 buckets or
 * more, bucket and remainder are all of the key. In a smaller table up to 16 more bits of each
 * key, the rest, are in an array parallel to the slots, which is read only when a remainder
 * matches. Keys of 128 bits are handled in the same way: their remainder is 14 bits of a hash, and
 * the array holds the whole key. So these tables are exact too.
 *
 * If a set has extensions (value.h), further arrays parallel to the slots hold them, which
 * only look-ups that match read.
 *
 * A table with sixteen times as many buckets has so few keys in each that 2^11 - 1 different
 * remainders are enough. Such a table, if it has no extensions, is narrow: slots have 12 bits,
 * and buckets five slots (ipcuckoo_narrow), so it takes a fifth less memory.
 *
 * The number of buckets is even, and otherwise arbitrary, so that a table can have the
 * size that its entries need.
 *
 * Insertion
 * ---------
 *
 * ipcuckoo_table_insert_value() takes a free slot of the two buckets. If there is none,
 * ipcuckoo_search() looks breadth-first for the shortest path: entries of which each can
 * move to its other bucket, and the last finds a free slot there. The search changes
 * nothing, so nothing has changed if it fails. ipcuckoo_search_move() then moves the
 * entries, beginning with the last, so that each is copied before its old slot is
 * overwritten: an entry is always in one of its buckets.
 *
 * Concurrency
 * -----------
 *
 * There is one writer at a time, in process context. It holds ipcuckoo_guard.lock while it
 * moves or deletes entries, which is a small bounded number of stores. Readers take no
 * lock. Without further care a reader could miss an entry: the reader reads bucket A, the
 * writer copies the entry from B to A and overwrites it in B, the reader reads B. So the
 * writer bumps a sequence number before every overwrite, and a miss counts only if the
 * number has not changed meanwhile. The tables, the hints, and the pointer to them that
 * one look-up uses share one sequence number (contents.h), because an answer from several
 * tables could be wrong in the same way. The look-up:
 *
 *	LMM(look-up:A)	s = acquire(seq), then pointer, hint, buckets
 *	LMM(look-up:B)	a miss: read barrier, seq == s? if not, look up again
 *	LMM(probe:A)	a remainder matches: read barrier, then key or rest
 *	LMM(match:A)	key or rest matches: read barrier, seq == s? if not, again
 *
 * and the writer's barriers with their partners:
 *
 *	bump:A / look-up:A	a look-up that begins after the bump sees what was
 *				copied (or added) before the bump
 *	bump:C / look-up:B	a reader that sees the overwrite sees the bump, and
 *				looks up again
 *	key:A / probe:A		a reader that sees a remainder sees its key or rest,
 *				and its extensions
 *	bump:C / match:A	a reader that sees a part of the key that reuses a slot
 *				sees the bump made since the slot was emptied
 *
 * The last one needs a rule, which vacate() implements: after a slot of a table with
 * parallel arrays was emptied, the sequence number is bumped before the slot is used again.
 *
 * If the slot has all of the key, a match was right when the slot was read, and would need
 * no check. Words are stored whole, with WRITE_ONCE(), and so is each u16 that holds several
 * rests; the other rests in it keep their values. On a 32-bit machine a reader may read the
 * halves of a word at different moments. But no slot straddles the halves, because there are
 * no narrow tables on such machines (IPCUCKOO_BUCKETS_NARROW).
 *
 * selftests/core/weakmem.c enumerates the executions of this protocol under a
 * weak memory model and shows each barrier above to be necessary.
 *
 * Parameters
 * ----------
 *
 * If searches visit up to IPCUCKOO_SEARCH buckets, the first insertion fails at a load factor
 * of 0.97. If one fails much earlier, that is bad luck, or an attacker chose the entries; the
 * caller then makes a new table with a new key from the entries of this one (rebuild.c).
 *
 * References
 * ----------
 *
 * [Fan 2014] B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher: Cuckoo Filter:
 *	Practically Better Than Bloom. CoNEXT 2014.
 * [Arbitman 2010] Y. Arbitman, M. Naor, G. Segev: Backyard Cuckoo Hashing.
 *	FOCS 2010.
 * [Zhou 2013] D. Zhou, B. Fan, H. Lim, M. Kaminsky, D. Andersen: Scalable,
 *	High Performance Ethernet Forwarding with CuckooSwitch. CoNEXT 2013 (the
 *	path searched first, moved from its end).
 * [Lang 2019] H. Lang, T. Neumann, A. Kemper, P. Boncz: Performance-Optimal
 *	Filtering. VLDB 2019 (any number of buckets).
 */
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "search.h"
#include "table.h"

/* Slots read between two calls of cond_resched(). */
#define RESCHED_SLOTS	65536

static u32 slot_mask(const struct ipcuckoo_table *t)
{
	return BIT(ipcuckoo_table_format(t)->bits) - 1;
}

static u32 slot_get(const struct ipcuckoo_table *t, u32 bucket, unsigned int i)
{
	return t->words[bucket] >> ipcuckoo_table_format(t)->bits * i & slot_mask(t);
}

static void slot_set(struct ipcuckoo_table *t, u32 bucket, unsigned int i,
		     u32 slot)
{
	unsigned int shift = ipcuckoo_table_format(t)->bits * i;
	u64 word = t->words[bucket] & ~((u64)slot_mask(t) << shift);

	WRITE_ONCE(t->words[bucket], word | (u64)slot << shift);
}

/* The remainder in a used slot. */
static u32 slot_rem(const struct ipcuckoo_table *t, u32 slot)
{
	return (slot & ~ipcuckoo_table_format(t)->choice) - 1;
}

/* The bucket of the slot with this number. */
static u32 bucket_of(const struct ipcuckoo_table *t, u64 slot)
{
	/* A table has less than 2^32 slots, and divisors that are constant cost little. */
	return t->narrow ? (u32)slot / ipcuckoo_narrow.slots : (u32)slot / ipcuckoo_wide.slots;
}

/* What the slot with this number holds. */
static u32 slot_at(const struct ipcuckoo_table *t, u64 slot)
{
	u32 bucket = bucket_of(t, slot);

	return slot_get(t, bucket, slot - ipcuckoo_table_slot(t, bucket, 0));
}

static void rest_set(struct ipcuckoo_table *t, u32 bucket, unsigned int i,
		     u32 rest)
{
	u32 mask = t->rest_mask;
	unsigned int shift;
	u16 *unit = ipcuckoo_table_rest_unit(t, ipcuckoo_table_slot(t, bucket, i), &shift);

	WRITE_ONCE(*unit, (*unit & ~(mask << shift)) | rest << shift);
}

static void key_store(struct ipcuckoo_table *t, u32 bucket, unsigned int i,
		      const struct ipcuckoo_key *key)
{
	u64 at = ipcuckoo_table_slot(t, bucket, i);

	if (t->key_size == IPCUCKOO_KEY64) {
		WRITE_ONCE(t->keys[at], key->hi);
		return;
	}
	WRITE_ONCE(t->keys[2 * at], key->hi);
	WRITE_ONCE(t->keys[2 * at + 1], key->lo);
}

/**
 * ipcuckoo_table_value() - the extensions stored for the entry in a slot
 * @t:		table
 * @slot:	number of a used slot
 *
 * Context: the writer; or a reader, which then checks the sequence number as for a key.
 */
struct ipcuckoo_value ipcuckoo_table_value(const struct ipcuckoo_table *t,
					   u64 slot)
{
	struct ipcuckoo_value value = {};

	if (t->exts & IPCUCKOO_EXT_EXPIRES)
		value.expires = READ_ONCE(t->expires[slot]);
	if (t->exts & IPCUCKOO_EXT_NOMATCH)
		value.nomatch = READ_ONCE(t->nomatch[slot]);
	if (t->exts & IPCUCKOO_EXT_RECORDS)
		value.record = rcu_dereference_raw(t->records[slot]);
	return value;
}

static void set_expires(struct ipcuckoo_table *t, u64 slot, u32 expires)
{
	WRITE_ONCE(t->expires[slot], expires);
	t->nearest = min_not_zero(t->nearest, expires);
	t->gc_nearest = min_not_zero(t->gc_nearest, expires);
}

static void set_value(struct ipcuckoo_table *t, u64 slot, const struct ipcuckoo_value *value)
{
	if (t->exts & IPCUCKOO_EXT_EXPIRES)
		set_expires(t, slot, value->expires);
	if (t->exts & IPCUCKOO_EXT_NOMATCH)
		WRITE_ONCE(t->nomatch[slot], value->nomatch);
	if (t->exts & IPCUCKOO_EXT_RECORDS)
		/* The record is complete before readers find it. */
		smp_store_release(&t->records[slot], value->record);
}

/* Store an entry in slot @i of a bucket, which is empty. @slot is what the slot itself holds
 * (slot_of()), @rest or @key what the parallel array holds. The slot is written last, so that
 * a reader who sees it sees what belongs to it.
 */
static void put(struct ipcuckoo_table *t, u32 bucket, unsigned int i, u32 slot,
		u32 rest, const struct ipcuckoo_key *key,
		const struct ipcuckoo_value *value)
{
	if (t->exts)
		set_value(t, ipcuckoo_table_slot(t, bucket, i), value);
	if (t->keys)
		key_store(t, bucket, i, key);
	else if (t->rests)
		rest_set(t, bucket, i, rest);
	smp_wmb();	/* LMM(key:A), pairs with LMM(probe:A) */
	slot_set(t, bucket, i, slot);
}

/* Empty a slot, for reuse. Bump the sequence number, so that readers look up again if they
 * have seen the entry neither here nor where it was copied to. Bump it once more if there
 * are parallel arrays: readers may see a mixture of this entry and the next one in the slot.
 */
static void vacate(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard,
		   u32 bucket, unsigned int i)
{
	ipcuckoo_guard_bump(guard);
	slot_set(t, bucket, i, 0);
	if (t->keys || t->rests || t->exts)
		ipcuckoo_guard_bump(guard);
}

static int find_free(const struct ipcuckoo_table *t, u32 bucket)
{
	u64 word = t->words[bucket];
	u64 empty = t->narrow ? ipcuckoo_zero_lanes(word, ipcuckoo_narrow.bits) :
				ipcuckoo_zero_lanes(word, ipcuckoo_wide.bits);

	/* The lowest of these lanes is empty; the ones above it need not be (bucket.h). */
	return empty ? __ffs64(empty) / ipcuckoo_table_format(t)->bits : -1;
}

static struct ipcuckoo_location locate(const struct ipcuckoo_table *t,
				       const struct ipcuckoo_key *key)
{
	return t->keys ? ipcuckoo_table_locate128(t, key) :
			 ipcuckoo_table_locate32(t, key->lo);
}

/* The content of an entry's slot in its first or second bucket. */
static u32 slot_of(const struct ipcuckoo_table *t, const struct ipcuckoo_location *p,
		   int choice)
{
	return (p->rem + 1) | (choice ? ipcuckoo_table_format(t)->choice : 0);
}

/* Find the slot of an entry, for the writer. */
static __always_inline bool find(const struct ipcuckoo_table *t,
				 const struct ipcuckoo_location *p,
				 const struct ipcuckoo_key *key, u64 *slot)
{
	bool any = t->narrow ? ipcuckoo_table_first_narrow(t, p, slot) :
			       ipcuckoo_table_first(t, p, slot);

	return any && ipcuckoo_table_confirm(t, *p, key, slot);
}

/* The key of a used slot: the inverse of ipcuckoo_table_locate32(). */
static struct ipcuckoo_key key_at(const struct ipcuckoo_table *t, u64 number)
{
	u32 bucket = bucket_of(t, number), slot = slot_at(t, number);
	u32 rem = slot_rem(t, slot), low;
	struct ipcuckoo_key key = {};
	u64 product, second;

	if (t->keys)
		return ipcuckoo_table_key(t, number);
	if (slot & ipcuckoo_table_format(t)->choice)
		bucket = ipcuckoo_table_alt(t, bucket, rem);
	/* The smallest low word of the product that has at least this remainder and rest ... */
	second = (u64)rem << 32 | (u64)ipcuckoo_table_rest(t, number) << t->rest_shift;
	low = t->narrow ? div_u64(second + IPCUCKOO_NARROW_REMS - 1, IPCUCKOO_NARROW_REMS) :
			  div_u64(second + IPCUCKOO_REMS - 1, IPCUCKOO_REMS);
	/* ... and the smallest permuted key of the bucket that has at least this low word. No other
	 * key of the bucket has the same remainder and rest, so this is the key of the slot.
	 */
	product = (u64)bucket << 32 | low;
	key.lo = ipcuckoo_unpermute(&t->bijection, t->inverse,
				    div_u64(product + t->nbuckets - 1,
					    t->nbuckets));
	return key;
}

/* Where an entry is in the copy that is being made of its table, if it was copied yet. */
static noinline bool find_copy(const struct ipcuckoo_table *t, u64 slot, u64 *at)
{
	struct ipcuckoo_key key = key_at(t, slot);

	return ipcuckoo_table_find(t->copy->to, &key, at);
}

static noinline void copy_entry(struct ipcuckoo_table *t, struct ipcuckoo_key key,
				const struct ipcuckoo_value *value)
{
	struct ipcuckoo_copy *c = t->copy;
	int err = ipcuckoo_table_insert_value(c->to, &c->guard, &key, value, c->queue);

	if (err && err != -EEXIST)
		c->failed = true;
}

/**
 * ipcuckoo_table_copy() - copy some more slots
 * @t:		table of which a copy is being made
 * @slots:	how many
 *
 * Context: the writer.
 */
void ipcuckoo_table_copy(struct ipcuckoo_table *t, u64 slots)
{
	u64 end = min(ipcuckoo_table_slots(t), t->copy->done + slots);
	struct ipcuckoo_value value;
	u64 slot;

	for (slot = t->copy->done; slot < end; slot++) {
		if (!slot_at(t, slot))
			continue;
		value = ipcuckoo_table_value(t, slot);
		copy_entry(t, key_at(t, slot), &value);
	}
	t->copy->done = end;
}

/**
 * ipcuckoo_table_set_value() - store extensions for the entry in a slot
 * @t:		table
 * @slot:	number of a slot
 * @value:	the extensions; those for which the table has no array are ignored
 *
 * Context: the writer. If readers must not see a mixture of the old and the new value, the
 * caller bumps the sequence number before and after.
 */
void ipcuckoo_table_set_value(struct ipcuckoo_table *t, u64 slot,
			      const struct ipcuckoo_value *value)
{
	u64 at;

	set_value(t, slot, value);
	if (unlikely(t->copy) && find_copy(t, slot, &at))
		set_value(t->copy->to, at, value);
}

/**
 * ipcuckoo_table_extend() - store another deadline for an entry that has not expired
 * @t:		table with deadlines
 * @slot:	number of its slot
 * @expires:	the second in which it expires; 0: never
 *
 * Context: the writer.
 */
void ipcuckoo_table_extend(struct ipcuckoo_table *t, u64 slot, u32 expires)
{
	u64 at;

	set_expires(t, slot, expires);
	if (unlikely(t->copy) && find_copy(t, slot, &at))
		set_expires(t->copy->to, at, expires);
}

static u32 entry_alt(const void *table, u32 bucket, unsigned int slot)
{
	const struct ipcuckoo_table *t = table;

	return ipcuckoo_table_alt(t, bucket, slot_rem(t, slot_get(t, bucket, slot)));
}

static int entry_free(const void *table, u32 bucket)
{
	return find_free(table, bucket);
}

static void entry_move(void *table, struct ipcuckoo_guard *guard, u32 from,
		       unsigned int from_slot, u32 to, unsigned int to_slot)
{
	struct ipcuckoo_table *t = table;
	u64 slot = ipcuckoo_table_slot(t, from, from_slot);
	struct ipcuckoo_key key = {};
	struct ipcuckoo_value value;

	if (t->keys)
		key = ipcuckoo_table_key(t, slot);
	value = ipcuckoo_table_value(t, slot);
	put(t, to, to_slot, slot_get(t, from, from_slot) ^ ipcuckoo_table_format(t)->choice,
	    ipcuckoo_table_rest(t, slot), &key, &value);
	if (unlikely(t->copy) && slot >= t->copy->done)
		copy_entry(t, key_at(t, slot), &value);
	vacate(t, guard, from, from_slot);
	t->displaced++;
}

static const struct ipcuckoo_search_ops search_ops = {
	.alt = entry_alt,
	.free = entry_free,
	.move = entry_move,
};

/* An entry can have expired when it is added, if its batch has taken longer than its timeout. */
static int inserted(struct ipcuckoo_table *t, const struct ipcuckoo_key *key,
		    const struct ipcuckoo_value *value)
{
	t->count++;
	if (ipcuckoo_expired(value->expires, t->expired_at))
		t->expired++;
	if (unlikely(t->copy))
		copy_entry(t, *key, value);
	return 0;
}

static __always_inline int insert_at(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard,
				     const struct ipcuckoo_location *p,
				     const struct ipcuckoo_key *key,
				     const struct ipcuckoo_value *value,
				     struct ipcuckoo_search_node *queue)
{
	struct ipcuckoo_path path;
	int choice, free;
	unsigned int i;
	u16 node;

	if (!ipcuckoo_table_takes(t, key))
		return -ENOSPC;
	for (choice = 0; choice < 2; choice++) {
		free = find_free(t, p->bucket[choice]);
		if (free < 0)
			continue;
		put(t, p->bucket[choice], free, slot_of(t, p, choice), p->rest, key,
		    value);
		return inserted(t, key, value);
	}
	if (!queue || !ipcuckoo_search(t, &search_ops, ipcuckoo_table_format(t)->slots, p->bucket,
				       queue, &path))
		return -ENOSPC;
	spin_lock_bh(&guard->lock);
	node = ipcuckoo_search_move(t, &search_ops, guard, queue, &path, &i);
	put(t, p->bucket[node], i, slot_of(t, p, node), p->rest, key, value);
	spin_unlock_bh(&guard->lock);
	return inserted(t, key, value);
}

/**
 * ipcuckoo_table_insert_absent() - add an entry that is not in the table
 * @t:		table
 * @guard:	guard of the table
 * @key:	the entry
 * @value:	its extensions; those for which the table has no array are ignored
 * @queue:	memory for the search; NULL: do not search
 *
 * Context: the writer. Takes @guard->lock while it moves a path of a few entries.
 * Return: 0; or -ENOSPC if there is no free slot, or none that the search found within its bound,
 * or if the table has no room for such keys; then nothing has changed.
 */
int ipcuckoo_table_insert_absent(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard,
				 const struct ipcuckoo_key *key,
				 const struct ipcuckoo_value *value,
				 struct ipcuckoo_search_node *queue)
{
	const struct ipcuckoo_location p = locate(t, key);

	return insert_at(t, guard, &p, key, value, queue);
}

/**
 * ipcuckoo_table_insert_value() - add an entry
 * @t:		table
 * @guard:	guard of the table
 * @key:	the entry
 * @value:	its extensions
 * @queue:	memory for the search
 *
 * Context: as for ipcuckoo_table_insert_absent().
 * Return: likewise; or -EEXIST if the entry is there.
 */
int ipcuckoo_table_insert_value(struct ipcuckoo_table *t,
				struct ipcuckoo_guard *guard,
				const struct ipcuckoo_key *key,
				const struct ipcuckoo_value *value,
				struct ipcuckoo_search_node *queue)
{
	const struct ipcuckoo_location p = locate(t, key);
	u64 slot;

	if (find(t, &p, key, &slot))
		return -EEXIST;
	return insert_at(t, guard, &p, key, value, queue);
}

/**
 * ipcuckoo_table_delete_at() - remove the entry in a slot
 * @t:		table
 * @guard:	guard of the table
 * @slot:	number of a used slot
 *
 * Context: the writer. Takes @guard->lock for one store.
 */
void ipcuckoo_table_delete_at(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard, u64 slot)
{
	struct ipcuckoo_key key;
	u32 bucket = bucket_of(t, slot);

	if (unlikely(t->copy)) {
		key = key_at(t, slot);
		ipcuckoo_table_delete(t->copy->to, &t->copy->guard, &key);
	}
	if (t->exts & IPCUCKOO_EXT_EXPIRES && ipcuckoo_expired(t->expires[slot], t->expired_at))
		t->expired--;
	spin_lock_bh(&guard->lock);
	vacate(t, guard, bucket, slot - ipcuckoo_table_slot(t, bucket, 0));
	spin_unlock_bh(&guard->lock);
	t->count--;
}

/**
 * ipcuckoo_table_delete() - remove an entry
 * @t:		table
 * @guard:	guard of the table
 * @key:	the entry
 *
 * Context: as for ipcuckoo_table_delete_at().
 * Return: 0, or -ENOENT.
 */
int ipcuckoo_table_delete(struct ipcuckoo_table *t,
			  struct ipcuckoo_guard *guard,
			  const struct ipcuckoo_key *key)
{
	u64 slot;

	if (!ipcuckoo_table_find(t, key, &slot))
		return -ENOENT;
	ipcuckoo_table_delete_at(t, guard, slot);
	return 0;
}

/**
 * ipcuckoo_table_find() - look an entry up, for the writer
 * @t:		table
 * @key:	the entry
 * @slot:	set to the number of its slot
 *
 * Return: whether the entry is in the table, expired or not.
 */
bool ipcuckoo_table_find(const struct ipcuckoo_table *t,
			 const struct ipcuckoo_key *key, u64 *slot)
{
	const struct ipcuckoo_location p = locate(t, key);

	return find(t, &p, key, slot);
}

/**
 * ipcuckoo_table_next() - the next entry, in no particular order
 * @t:		table
 * @pos:	slot to continue at; 0 to begin. Set to one more than the number of the
 *		entry's slot
 * @key:	set to the entry
 *
 * Context: the writer; may reschedule.
 * Return: false at the end.
 */
bool ipcuckoo_table_next(const struct ipcuckoo_table *t, u64 *pos,
			 struct ipcuckoo_key *key)
{
	u64 end = ipcuckoo_table_slots(t);

	while (*pos < end) {
		if (!(++*pos % RESCHED_SLOTS))
			cond_resched();
		if (!slot_at(t, *pos - 1))
			continue;
		*key = key_at(t, *pos - 1);
		return true;
	}
	return false;
}

/**
 * ipcuckoo_table_next_expired() - the next entry that has expired
 * @t:		table with deadlines; t->gc_nearest is lowered to the deadlines of those
 *		entries that this call reads and that have not expired
 * @pos:	first slot to read; set to the slot behind the entry, or to @stop
 * @stop:	the slot behind the last one to read
 * @key:	set to the entry
 *
 * Context: the writer.
 * Return: false if there is none.
 */
bool ipcuckoo_table_next_expired(struct ipcuckoo_table *t, u64 *pos,
				 u64 stop, struct ipcuckoo_key *key)
{
	u32 now = ipcuckoo_now(), expires;

	for (; *pos < stop; (*pos)++) {
		expires = t->expires[*pos];
		if (!expires || !slot_at(t, *pos))
			continue;
		if (ipcuckoo_expired(expires, now)) {
			*key = key_at(t, (*pos)++);
			return true;
		}
		t->gc_nearest = min_not_zero(t->gc_nearest, expires);
	}
	return false;
}

/* Count the entries that have expired by @now. If there are none, set t->nearest to the
 * exact nearest deadline, as this pass has read all of them.
 */
static u32 count_expired(struct ipcuckoo_table *t, u32 now)
{
	u64 slot, end = ipcuckoo_table_slots(t);
	u32 expired = 0, nearest = 0, expires;

	for (slot = 0; slot < end; slot++) {
		if (!(slot % RESCHED_SLOTS))
			cond_resched();
		expires = t->expires[slot];
		if (!expires || !slot_at(t, slot))
			continue;
		if (ipcuckoo_expired(expires, now))
			expired++;
		else
			nearest = min_not_zero(nearest, expires);
	}
	if (!expired)
		t->nearest = nearest;
	return expired;
}

/**
 * ipcuckoo_table_expired() - how many entries have expired?
 * @t:		table
 *
 * Before the nearest deadline this costs nothing. After it, the first call in each second
 * takes a pass over the table, until gc has removed the expired entries.
 *
 * Context: the writer; may reschedule.
 */
u32 ipcuckoo_table_expired(struct ipcuckoo_table *t)
{
	u32 now = ipcuckoo_now();

	if (!ipcuckoo_expired(t->nearest, now))
		return 0;
	if (t->expired_at != now) {
		t->expired = count_expired(t, now);
		t->expired_at = now;
	}
	return t->expired;
}

static __always_inline bool __confirm_any(const struct ipcuckoo_table *t,
					  const struct ipcuckoo_location *p,
					  const struct ipcuckoo_format *f,
					  const struct ipcuckoo_key *key, u64 *slot)
{
	unsigned int i, choice;
	u64 lanes[2], match[2];

	ipcuckoo_table_read(t, p, f, lanes);
	match[0] = ipcuckoo_zero_lanes(lanes[0], f->bits);
	match[1] = ipcuckoo_zero_lanes(lanes[1], f->bits);
	smp_rmb();	/* LMM(probe:A), pairs with LMM(key:A) */
	while (match[0] | match[1]) {
		choice = !match[0];
		i = __ffs64(match[choice]) / f->bits;
		/* A lane above one that is 0 may be reported too; see bucket.h. */
		*slot = ipcuckoo_table_slot(t, p->bucket[choice], i);
		if (!(lanes[choice] >> f->bits * i & slot_mask(t)) &&
		    ipcuckoo_table_same(t, *slot, p->rest, key))
			return true;
		match[choice] &= match[choice] - 1;
	}
	return false;
}

/* Find the slot of an entry among all whose remainder matches. */
static noinline bool confirm_any(const struct ipcuckoo_table *t,
				 const struct ipcuckoo_location *p,
				 const struct ipcuckoo_key *key, u64 *slot)
{
	return t->narrow ? __confirm_any(t, p, &ipcuckoo_narrow, key, slot) :
			   __confirm_any(t, p, &ipcuckoo_wide, key, slot);
}

/**
 * ipcuckoo_table_confirm() - does a slot whose remainder matches hold the key?
 * @t:		table
 * @p:		location of the key
 * @key:	the key; unused if keys have 32 bits, because @p has all of such a key
 * @slot:	the slot that ipcuckoo_table_first() has found; set to the slot of the key
 *
 * The second part of a look-up: compares the rest, or the key, in the parallel array. The first
 * slot whose remainder matches is nearly always the right one.
 *
 * Context: any, under rcu_read_lock().
 * Return: true if the key is in the table, under the condition of
 * ipcuckoo_table_probe32().
 */
bool ipcuckoo_table_confirm(const struct ipcuckoo_table *t, struct ipcuckoo_location p,
			    const struct ipcuckoo_key *key, u64 *slot)
{
	return likely(ipcuckoo_table_same(t, *slot, p.rest, key)) ||
	       confirm_any(t, &p, key, slot);
}

/**
 * ipcuckoo_table_probe_narrow() - ipcuckoo_table_probe32() for narrow tables
 * @t:		narrow table
 * @key:	key
 *
 * Not inlined, so that look-ups in other tables take no longer.
 *
 * Context and return: as for ipcuckoo_table_probe32().
 */
bool ipcuckoo_table_probe_narrow(const struct ipcuckoo_table *t, u32 key)
{
	struct ipcuckoo_location p = ipcuckoo_table_locate_narrow(t, key);
	u64 slot;

	return ipcuckoo_table_first_narrow(t, &p, &slot) &&
	       ipcuckoo_table_confirm(t, p, NULL, &slot);
}

/**
 * ipcuckoo_table_fetch() - look a key up, and get its extensions
 * @t:		table
 * @key:	the key
 * @value:	set if the key is found; valid under the same condition as the answer
 *
 * Context: any, under rcu_read_lock().
 * Return: as for ipcuckoo_table_probe32().
 */
bool ipcuckoo_table_fetch(const struct ipcuckoo_table *t,
			  const struct ipcuckoo_key *key,
			  struct ipcuckoo_value *value)
{
	struct ipcuckoo_location p;
	u64 slot;

	if (t->narrow) {
		*value = (struct ipcuckoo_value){};
		return ipcuckoo_table_probe_narrow(t, key->lo);
	}
	p = locate(t, key);
	if (!ipcuckoo_table_first(t, &p, &slot) || !ipcuckoo_table_confirm(t, p, key, &slot))
		return false;
	*value = ipcuckoo_table_value(t, slot);
	return true;
}

/**
 * ipcuckoo_table_put_records() - drop the references of a table to its records
 * @t:		table that has no readers, and that will be destroyed next
 *
 * Context: process context; may reschedule.
 */
void ipcuckoo_table_put_records(struct ipcuckoo_table *t)
{
	u64 slot, end = ipcuckoo_table_slots(t);

	if (!(t->exts & IPCUCKOO_EXT_RECORDS) || !t->count)
		return;
	for (slot = 0; slot < end; slot++) {
		/* If the entry was deleted, its record may have been freed. */
		if (slot_at(t, slot))
			ipcuckoo_record_put(t->records[slot], t->mem);
		if (!(slot % RESCHED_SLOTS))
			cond_resched();
	}
}
