// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cuckoo hash table.
 *
 * R. Pagh, F. Rodler: Cuckoo Hashing. ESA 2001 (one slot a bucket).
 * M. Dietzfelbinger, C. Weidling: Balanced Allocation and Dictionaries with
 * Tightly Packed Constant Size Bins. ICALP 2005 (several).
 *
 * Stores whole keys, so it is exact. Two hash functions give an entry two buckets. It gets a
 * free slot there, or evicts another entry, which goes to its other bucket, and so on. After
 * a maximum number of evictions the table counts as full: then all entries are moved to a
 * table of twice the size (grow), or the evictions are undone and the entry is refused.
 */
#include <stdlib.h>

#include "bits.h"
#include "filter.h"
#include "hash.h"

/* An eviction: which entry lost which slot. */
struct eviction {
	u64 slot;
	u32 victim;
};

struct hashtable {
	struct filter filter;
	u64 buckets;
	unsigned int b;
	unsigned int kicks;
	bool grow;
	struct random random;
	u32 *key;		/* key of each slot */
	u64 *used;		/* a bit for each slot */
	struct eviction *log;
};

static void allocate(struct hashtable *table)
{
	u64 slots = table->buckets * table->b;

	table->key = filter_alloc(slots * sizeof(*table->key));
	table->used = filter_alloc(bits_size(slots));
}

static struct filter *create(const struct filter_params *params)
{
	struct hashtable *table = filter_alloc(sizeof(*table));

	table->b = params->b;
	table->buckets = (params->n + params->b - 1) / params->b;
	if (table->buckets < 2)
		table->buckets = 2;
	table->kicks = params->kicks;
	table->grow = params->grow;
	table->random = random_seed(params->seed);
	table->log = filter_alloc(params->kicks * sizeof(*table->log));
	allocate(table);
	return &table->filter;
}

static struct filter *create1(const struct filter_params *params)
{
	struct filter_params own = *params;

	own.b = 1;
	return create(&own);
}

static void destroy(struct filter *filter)
{
	struct hashtable *table = (struct hashtable *)filter;

	free(table->key);
	free(table->used);
	free(table->log);
	free(table);
}

static u64 bucket_of(const struct hashtable *table, u32 key, int choice)
{
	return hash_scale(hash64(table->filter.seed + choice * HASH_STEP, key),
			  table->buckets);
}

/* Find the slot of a key, or a free slot if @key is NULL. */
static bool find(const struct hashtable *table, u64 bucket, const u32 *key,
		 u64 *slot)
{
	u64 end = (bucket + 1) * table->b;

	for (*slot = end - table->b; *slot < end; (*slot)++) {
		if (bit_test(table->used, *slot) != !!key)
			continue;
		if (!key || table->key[*slot] == *key)
			return true;
	}
	return false;
}

static bool find_key(const struct hashtable *table, u32 key, u64 *slot)
{
	return find(table, bucket_of(table, key, 0), &key, slot) ||
	       find(table, bucket_of(table, key, 1), &key, slot);
}

static bool place_free(struct hashtable *table, u64 bucket, u32 key)
{
	u64 slot;

	if (!find(table, bucket, NULL, &slot))
		return false;
	bit_set(table->used, slot);
	table->key[slot] = key;
	return true;
}

/* Evict entries until one finds a free slot, or undo all evictions. */
static bool place_by_force(struct hashtable *table, u32 key)
{
	u64 bucket = bucket_of(table, key, random_below(&table->random, 2));
	struct eviction *e;
	unsigned int i;
	u64 other;

	for (i = 0; i < table->kicks; i++) {
		e = &table->log[i];
		e->slot = bucket * table->b +
			  random_below(&table->random, table->b);
		e->victim = table->key[e->slot];
		table->key[e->slot] = key;
		key = e->victim;
		other = bucket_of(table, key, 0);
		bucket = other != bucket ? other : bucket_of(table, key, 1);
		if (place_free(table, bucket, key))
			return true;
	}
	while (i--)
		table->key[table->log[i].slot] = table->log[i].victim;
	return false;
}

static bool place(struct hashtable *table, u32 key)
{
	return place_free(table, bucket_of(table, key, 0), key) ||
	       place_free(table, bucket_of(table, key, 1), key) ||
	       place_by_force(table, key);
}

/* Move all entries to a table of twice the size, or of a larger size if they do not fit into that
 * either.
 */
static void place_anew(struct hashtable *table)
{
	struct hashtable old = *table;
	u64 slot, end = old.buckets * old.b;

	do {
		table->buckets *= 2;
		allocate(table);
		for (slot = 0; slot < end; slot++)
			if (bit_test(old.used, slot) &&
			    !place(table, old.key[slot]))
				break;
		if (slot < end) {
			free(table->key);
			free(table->used);
		}
	} while (slot < end);
	free(old.key);
	free(old.used);
}

static int add(struct filter *filter, u32 key)
{
	struct hashtable *table = (struct hashtable *)filter;
	u64 slot;

	if (find_key(table, key, &slot))
		return -EEXIST;
	while (!place(table, key)) {
		if (!table->grow)
			return -ENOSPC;
		place_anew(table);
	}
	filter->count++;
	return 0;
}

static int del(struct filter *filter, u32 key)
{
	struct hashtable *table = (struct hashtable *)filter;
	u64 slot;

	if (!find_key(table, key, &slot))
		return -ENOENT;
	bit_clear(table->used, slot);
	filter->count--;
	return 0;
}

static bool test(const struct filter *filter, u32 key)
{
	u64 slot;

	return find_key((const struct hashtable *)filter, key, &slot);
}

static u64 bits(const struct filter *filter)
{
	const struct hashtable *table = (const struct hashtable *)filter;

	return table->buckets * table->b * (32 + 1);
}

static double fpp(const struct filter *filter)
{
	(void)filter;
	return 0;
}

const struct filter_ops filter_hashtable = {
	.name = "hash table",
	.source = "Dietzfelbinger, Weidling, ICALP 2005",
	.exact = true,
	.create = create,
	.destroy = destroy,
	.add = add,
	.del = del,
	.test = test,
	.bits = bits,
	.fpp = fpp,
};

/* The original one, with one slot regardless of the parameters. */
const struct filter_ops filter_hashtable1 = {
	.name = "hash table, 1 slot",
	.source = "Pagh, Rodler, ESA 2001",
	.exact = true,
	.create = create1,
	.destroy = destroy,
	.add = add,
	.del = del,
	.test = test,
	.bits = bits,
	.fpp = fpp,
};
