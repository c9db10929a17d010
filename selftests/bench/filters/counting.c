// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counting Bloom filter.
 *
 * L. Fan, P. Cao, J. Almeida, A. Broder: Summary Cache: A Scalable Wide-Area
 * Web Cache Sharing Protocol. IEEE/ACM Transactions on Networking 8(3), 2000.
 *
 * Has a counter for every bit of a Bloom filter, so that entries can be deleted. The
 * authors found four bits to be enough: with the best k, a counter reaches 16 with a
 * probability of 1.4e-15 m. A counter that has reached its maximum stays there, because
 * later increments are not counted: it may cause false positives after deletions, but
 * never loses an entry.
 */
#include <math.h>
#include <stdlib.h>

#include "bits.h"
#include "bloom.h"
#include "hash.h"

#define COUNTER_BITS	4
#define COUNTER_MAX	((1U << COUNTER_BITS) - 1)

struct counting {
	struct filter filter;
	struct bloom_shape shape;
	u64 used;		/* number of counters that are not 0 */
	u64 *words;
};

static struct filter *create(const struct filter_params *params)
{
	struct counting *counting = filter_alloc(sizeof(*counting));

	counting->shape = bloom_shape(params);
	counting->words = filter_alloc(bits_size(counting->shape.m *
						 COUNTER_BITS));
	return &counting->filter;
}

static void destroy(struct filter *filter)
{
	struct counting *counting = (struct counting *)filter;

	free(counting->words);
	free(counting);
}

/* The position of the @i-th counter of a key. */
static u64 counter_at(const struct counting *counting,
		      const struct hash_pair *pair, unsigned int i)
{
	return hash_nth(pair, i, counting->shape.m) * COUNTER_BITS;
}

static int add(struct filter *filter, u32 key)
{
	struct counting *counting = (struct counting *)filter;
	struct hash_pair pair = hash_pair(filter->seed, key);
	unsigned int i, counter;
	u64 at;

	for (i = 0; i < counting->shape.k; i++) {
		at = counter_at(counting, &pair, i);
		counter = field_get(counting->words, at, COUNTER_BITS);
		if (counter == COUNTER_MAX)
			continue;
		counting->used += !counter;
		field_set(counting->words, at, COUNTER_BITS, counter + 1);
	}
	filter->count++;
	return 0;
}

static bool test(const struct filter *filter, u32 key)
{
	const struct counting *counting = (const struct counting *)filter;
	struct hash_pair pair = hash_pair(filter->seed, key);
	unsigned int i;

	for (i = 0; i < counting->shape.k; i++)
		if (!field_get(counting->words, counter_at(counting, &pair, i),
			       COUNTER_BITS))
			return false;
	return true;
}

static int del(struct filter *filter, u32 key)
{
	struct counting *counting = (struct counting *)filter;
	struct hash_pair pair = hash_pair(filter->seed, key);
	unsigned int i, counter;
	u64 at;

	if (!test(filter, key))
		return -ENOENT;
	for (i = 0; i < counting->shape.k; i++) {
		at = counter_at(counting, &pair, i);
		counter = field_get(counting->words, at, COUNTER_BITS);
		if (!counter || counter == COUNTER_MAX)
			continue;
		counting->used -= counter == 1;
		field_set(counting->words, at, COUNTER_BITS, counter - 1);
	}
	filter->count--;
	return 0;
}

static u64 bits(const struct filter *filter)
{
	return ((const struct counting *)filter)->shape.m * COUNTER_BITS;
}

static double fpp(const struct filter *filter)
{
	const struct counting *counting = (const struct counting *)filter;

	return pow((double)counting->used / counting->shape.m,
		   counting->shape.k);
}

const struct filter_ops filter_counting = {
	.name = "counting",
	.source = "Fan, Cao, Almeida, Broder, ToN 8(3), 2000",
	.multi = true,
	.create = create,
	.destroy = destroy,
	.add = add,
	.del = del,
	.test = test,
	.bits = bits,
	.fpp = fpp,
};
