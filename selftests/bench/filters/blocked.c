// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocked Bloom filter.
 *
 * F. Putze, P. Sanders, J. Singler: Cache-, Hash- and Space-Efficient Bloom
 * Filters. WEA 2007.
 *
 * One hash chooses a block of the size of a cache line. The block is a small Bloom filter
 * that has all k bits of an entry: one memory access a look-up. Blocks have different
 * numbers of entries, and the fuller blocks have more additional false positives than
 * the emptier ones save.
 */
#include <math.h>
#include <stdlib.h>

#include "bits.h"
#include "bloom.h"
#include "hash.h"

/* A cache line. A position in it has 9 bits, and one hash is used for seven positions. */
#define BLOCK_SHIFT	9
#define BLOCK_BITS	(1U << BLOCK_SHIFT)
#define HASH_PLACES	(64 / BLOCK_SHIFT)

struct blocked {
	struct filter filter;
	unsigned int k;
	u64 blocks;
	u64 *words;
};

static struct filter *create(const struct filter_params *params)
{
	struct blocked *blocked = filter_alloc(sizeof(*blocked));
	struct bloom_shape shape = bloom_shape(params);
	size_t size;

	blocked->k = shape.k;
	blocked->blocks = (shape.m + BLOCK_BITS - 1) / BLOCK_BITS;
	size = blocked->blocks * BLOCK_BITS / 8;
	blocked->words = aligned_alloc(BLOCK_BITS / 8, size);
	if (!blocked->words)
		abort();
	for (size_t i = 0; i < size / sizeof(u64); i++)
		blocked->words[i] = 0;
	return &blocked->filter;
}

static void destroy(struct filter *filter)
{
	struct blocked *blocked = (struct blocked *)filter;

	free(blocked->words);
	free(blocked);
}

/* The block of a key, and its bits there, of which two may be the same. Each position has its own
 * hash bits, because a progression (struct hash_pair) of so few bits would repeat.
 */
static u64 *locate(const struct blocked *blocked, u32 key,
		   u16 place[FILTER_K_MAX])
{
	u64 seed = blocked->filter.seed, hash = hash64(seed, key);
	u64 *block = blocked->words +
		     hash_scale(hash, blocked->blocks) * (BLOCK_BITS / 64);
	unsigned int i;

	for (i = 0; i < blocked->k; i++) {
		if (i % HASH_PLACES == 0) {
			seed += HASH_STEP;
			hash = hash64(seed, key);
		}
		place[i] = hash % BLOCK_BITS;
		hash >>= BLOCK_SHIFT;
	}
	return block;
}

static int add(struct filter *filter, u32 key)
{
	struct blocked *blocked = (struct blocked *)filter;
	u16 place[FILTER_K_MAX];
	u64 *block = locate(blocked, key, place);
	unsigned int i;

	for (i = 0; i < blocked->k; i++)
		bit_set(block, place[i]);
	filter->count++;
	return 0;
}

static bool test(const struct filter *filter, u32 key)
{
	const struct blocked *blocked = (const struct blocked *)filter;
	u16 place[FILTER_K_MAX];
	const u64 *block = locate(blocked, key, place);
	unsigned int i;

	for (i = 0; i < blocked->k; i++)
		if (!bit_test(block, place[i]))
			return false;
	return true;
}

static u64 bits(const struct filter *filter)
{
	return ((const struct blocked *)filter)->blocks * BLOCK_BITS;
}

/* Every block is a Bloom filter; the number of its entries has a Poisson distribution. */
static double fpp(const struct filter *filter)
{
	const struct blocked *blocked = (const struct blocked *)filter;
	double mean = (double)filter->count / blocked->blocks;
	double share = exp(-mean), sum = 0, set;
	unsigned int i, end = mean + 12 * sqrt(mean) + 12;

	for (i = 1; i < end; i++) {
		share *= mean / i;
		set = 1 - pow(1 - 1.0 / BLOCK_BITS, (double)i * blocked->k);
		sum += share * pow(set, blocked->k);
	}
	return sum;
}

const struct filter_ops filter_blocked = {
	.name = "blocked",
	.source = "Putze, Sanders, Singler, WEA 2007",
	.multi = true,
	.create = create,
	.destroy = destroy,
	.add = add,
	.test = test,
	.bits = bits,
	.fpp = fpp,
};
