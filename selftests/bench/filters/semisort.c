// SPDX-License-Identifier: GPL-2.0-only
/*
 * The semi-sorted cuckoo filter.
 *
 * B. Fan et al.: Cuckoo Filter (CoNEXT 2014), section 5.2, after F. Bonomi,
 * M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese: An Improved
 * Construction for Counting Bloom Filters. ESA 2006.
 *
 * The order of the four fingerprints of a bucket carries no information. If they are sorted
 * by their low nibbles, these have one of 3876 combinations instead of 65536, and a
 * combination takes 12 bits instead of 16: one bit less for each entry. The remaining bits
 * of each fingerprint follow in the same order.
 */
#include <assert.h>
#include <stdlib.h>

#include "bits.h"
#include "cuckoo.h"

#define NIBBLE_BITS	4
#define CODE_BITS	12
#define NIBBLE_MAX	((1U << NIBBLE_BITS) - 1)

static_assert(SEMISORT_CODES <= 1 << CODE_BITS, "a code has a field");

/* Combinations by code, and codes by combination; computed once. */
static u16 decode[SEMISORT_CODES];
static u16 encode[1 << 4 * NIBBLE_BITS];

static void make_codes(void)
{
	u32 a, b, c, d, code = 0;

	if (decode[SEMISORT_CODES - 1])
		return;
	for (a = 0; a <= NIBBLE_MAX; a++)
		for (b = a; b <= NIBBLE_MAX; b++)
			for (c = b; c <= NIBBLE_MAX; c++)
				for (d = c; d <= NIBBLE_MAX; d++) {
					decode[code] = a << 12 | b << 8 |
						       c << 4 | d;
					encode[decode[code]] = code;
					code++;
				}
}

/**
 * semisort_encode() - the code of four nibbles
 * @nibble:	nibbles, ascending
 */
u32 semisort_encode(const u32 nibble[4])
{
	return encode[nibble[0] << 12 | nibble[1] << 8 | nibble[2] << 4 |
		      nibble[3]];
}

void semisort_decode(u32 code, u32 nibble[4])
{
	int i;

	for (i = 0; i < 4; i++)
		nibble[i] = decode[code] >> (3 - i) * NIBBLE_BITS & NIBBLE_MAX;
}

static unsigned int sorted_bits(const struct cuckoo *cuckoo)
{
	return CODE_BITS + 4 * (cuckoo->f - NIBBLE_BITS);
}

static void sorted_get(const struct cuckoo *cuckoo, u64 bucket, u32 *fp)
{
	u64 at = bucket * cuckoo->bucket_bits;
	unsigned int rest = cuckoo->f - NIBBLE_BITS;
	int i;

	semisort_decode(field_get(cuckoo->words, at, CODE_BITS), fp);
	at += CODE_BITS;
	for (i = 0; i < 4; i++, at += rest)
		fp[i] |= field_get(cuckoo->words, at, rest) << NIBBLE_BITS;
}

static void sort(u32 fp[4])
{
	u32 moving;
	int i, j;

	for (i = 1; i < 4; i++) {
		moving = fp[i];
		for (j = i; j && (fp[j - 1] & NIBBLE_MAX) >
				 (moving & NIBBLE_MAX); j--)
			fp[j] = fp[j - 1];
		fp[j] = moving;
	}
}

static void sorted_put(struct cuckoo *cuckoo, u64 bucket, const u32 *fp)
{
	u64 at = bucket * cuckoo->bucket_bits;
	unsigned int rest = cuckoo->f - NIBBLE_BITS;
	u32 own[4] = { fp[0], fp[1], fp[2], fp[3] }, nibble[4];
	int i;

	sort(own);
	for (i = 0; i < 4; i++)
		nibble[i] = own[i] & NIBBLE_MAX;
	field_set(cuckoo->words, at, CODE_BITS, semisort_encode(nibble));
	at += CODE_BITS;
	for (i = 0; i < 4; i++, at += rest)
		field_set(cuckoo->words, at, rest, own[i] >> NIBBLE_BITS);
}

/* Buckets have four slots, and at least one bit of a fingerprint is not in the code; other
 * parameters are changed to the nearest possible.
 */
static struct filter *create(const struct filter_params *params)
{
	static const struct cuckoo_store sorted = {
		sorted_bits, sorted_get, sorted_put
	};
	struct filter_params own = *params;

	make_codes();
	own.b = 4;
	if (own.f <= NIBBLE_BITS)
		own.f = NIBBLE_BITS + 1;
	return cuckoo_create(&own, &sorted);
}

const struct filter_ops filter_semisort = {
	.name = "semi-sorted",
	.source = "Fan et al., CoNEXT 2014, 5.2",
	.multi = true,
	.create = create,
	.destroy = cuckoo_destroy,
	.add = cuckoo_add,
	.del = cuckoo_del,
	.test = cuckoo_test,
	.bits = cuckoo_bits,
	.fpp = cuckoo_fpp,
};
