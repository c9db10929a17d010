// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Bloom filter.
 *
 * B. Bloom: Space/Time Trade-offs in Hash Coding with Allowable Errors.
 * Communications of the ACM 13(7), 1970.
 *
 * m bits, k hash functions. An entry sets k bits; a key whose k bits are all
 * set may be an entry. A bit may belong to many entries, so none can be
 * deleted.
 */
#include <math.h>
#include <stdlib.h>

#include "bits.h"
#include "bloom.h"
#include "hash.h"

struct bloom {
	struct filter filter;
	struct bloom_shape shape;
	u64 ones;
	u64 *words;
};

/**
 * bloom_shape() - number of bits and of hash functions
 * @params:	m and k, or n and fpp, from which the best m and k are computed
 *
 * The fewest bits are m = n log2(e) log2(1/fpp), with k = m/n ln 2, rounded. Guava's
 * BloomFilter.create() and Redisson's tryInit() do the same with the same two
 * parameters.
 */
struct bloom_shape bloom_shape(const struct filter_params *params)
{
	struct bloom_shape shape = { params->m, params->k };

	if (!shape.m)
		shape.m = -(double)params->n * log(params->fpp) /
			  (M_LN2 * M_LN2);
	if (!shape.m)
		shape.m = 1;
	if (!shape.k)
		shape.k = lround((double)shape.m / params->n * M_LN2);
	if (!shape.k)
		shape.k = 1;
	if (shape.k > FILTER_K_MAX)
		shape.k = FILTER_K_MAX;
	return shape;
}

/**
 * bloom_rate() - the false-positive rate by the textbook's formula
 * @n:		entries
 * @m:		bits
 * @k:		hash functions
 */
double bloom_rate(double n, double m, double k)
{
	return pow(-expm1(-k * n / m), k);
}

static struct filter *create(const struct filter_params *params)
{
	struct bloom *bloom = filter_alloc(sizeof(*bloom));

	bloom->shape = bloom_shape(params);
	bloom->words = filter_alloc(bits_size(bloom->shape.m));
	return &bloom->filter;
}

static void destroy(struct filter *filter)
{
	struct bloom *bloom = (struct bloom *)filter;

	free(bloom->words);
	free(bloom);
}

static int add(struct filter *filter, u32 key)
{
	struct bloom *bloom = (struct bloom *)filter;
	struct hash_pair pair = hash_pair(filter->seed, key);
	unsigned int i;

	for (i = 0; i < bloom->shape.k; i++)
		bloom->ones += bit_set(bloom->words,
				       hash_nth(&pair, i, bloom->shape.m));
	filter->count++;
	return 0;
}

/* How many bits of a key are set before the first one that is not. */
static unsigned int leading_ones(const struct bloom *bloom, u32 key)
{
	struct hash_pair pair = hash_pair(bloom->filter.seed, key);
	unsigned int i;

	for (i = 0; i < bloom->shape.k; i++)
		if (!bit_test(bloom->words,
			      hash_nth(&pair, i, bloom->shape.m)))
			break;
	return i;
}

static bool test(const struct filter *filter, u32 key)
{
	const struct bloom *bloom = (const struct bloom *)filter;

	return leading_ones(bloom, key) == bloom->shape.k;
}

/**
 * bloom_reads() - how many bits a look-up reads
 * @filter:	a plain Bloom filter
 * @key:	the key
 *
 * Return: the number of bits. The look-up ends at the first bit that is not set.
 */
unsigned int bloom_reads(const struct filter *filter, u32 key)
{
	const struct bloom *bloom = (const struct bloom *)filter;
	unsigned int ones = leading_ones(bloom, key);

	return ones < bloom->shape.k ? ones + 1 : ones;
}

static u64 bits(const struct filter *filter)
{
	return ((const struct bloom *)filter)->shape.m;
}

/* Computed from the bits that are set, not from the expected number. */
static double fpp(const struct filter *filter)
{
	const struct bloom *bloom = (const struct bloom *)filter;

	return pow((double)bloom->ones / bloom->shape.m, bloom->shape.k);
}

const struct filter_ops filter_bloom = {
	.name = "bloom",
	.source = "Bloom, CACM 13(7), 1970",
	.multi = true,
	.create = create,
	.destroy = destroy,
	.add = add,
	.test = test,
	.bits = bits,
	.fpp = fpp,
};
