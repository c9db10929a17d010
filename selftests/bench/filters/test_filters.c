// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the filters: the comparison is meaningful only if these tests pass. Prints KTAP;
 * SEED=n repeats a run.
 */
#include <math.h>
#include <string.h>

#include "bits.h"
#include "bloom.h"
#include "cuckoo.h"
#include "matrix.h"
#include "measure.h"
#include "ours.h"
#include "../../lib/ktap.h"

#define ENTRIES		20000
#define NON_MEMBERS	400000

static u64 seed;

/* Parameters with which every kind has room for all entries, so that none may be missing. */
static struct filter_params params_for(const struct filter_ops *ops)
{
	struct filter_params params = filter_defaults(seed, ENTRIES);

	params.overfill = true;
	params.undo = true;
	if (ops == &filter_dynamic)
		params.grow = true;
	if (ops == &filter_hashtable)
		params.n = ENTRIES / 0.9;
	/* Far below one half, so that all entries fit with any seed. */
	if (ops == &filter_hashtable1)
		params.n = ENTRIES * 8;
	return params;
}

static void test_helpers(void)
{
	u64 words[4] = {}, mirror[4] = {};
	struct random random = random_seed(seed);
	unsigned int turn, width, at, i;
	u32 value;

	for (turn = 0; turn < 10000; turn++) {
		width = 1 + random_below(&random, 32);
		at = random_below(&random, 192 - width);
		value = random_u64(&random) & ((1ULL << width) - 1);
		field_set(words, at, width, value);
		for (i = 0; i < width; i++) {
			bit_clear(mirror, at + i);
			if (value >> i & 1)
				bit_set(mirror, at + i);
		}
		expect(field_get(words, at, width) == value &&
		       !memcmp(words, mirror, sizeof(words)),
		       "field of %u bits at %u", width, at);
	}
	for (turn = 0; turn < 10000; turn++)
		expect(hash_scale(random_u64(&random), 7) < 7, "in range");
	expect(hash_scale(~0ULL, 1000) == 999 && !hash_scale(0, 1000),
	       "both ends of the range");
	ktap_case("fields of bits, scaling of hashes");
}

/* 2^n random values leave 1/e of 2^n places empty. */
static void test_keys(void)
{
	u64 words[(1 << 20) / 64 + 2] = {};
	u32 i, distinct = 0;

	for (i = 0; i < 1 << 20; i++)
		distinct += bit_set(words, key_nth(seed, i) >> 12);
	expect(fabs(distinct / 1048576.0 - (1 - exp(-1))) < 0.005,
	       "%u distinct of 1048576", distinct);
	ktap_case("keys look random");
}

static void test_shape(void)
{
	struct filter_params params = filter_defaults(seed, 100000);
	struct bloom_shape shape = bloom_shape(&params);

	expect_equal(shape.m, 729844, "bits for 100000 entries at 3 %%");
	expect_equal(shape.k, 5, "hash functions for them");
	params.fpp = 0.01;
	shape = bloom_shape(&params);
	expect_equal(shape.m, 958505, "bits for 100000 entries at 1 %%");
	expect_equal(shape.k, 7, "hash functions for them");
	expect(fabs(bloom_rate(1e9, 32e9, 24) - 2.17e-7) < 0.005e-7,
	       "textbook's largest example: %g", bloom_rate(1e9, 32e9, 24));
	ktap_case("m and k of a Bloom filter");
}

static void test_no_false_negatives(const struct filter_ops *ops)
{
	struct filter_params params = params_for(ops);
	struct filter *filter = filter_create(ops, &params);
	u32 i;

	for (i = 0; i < ENTRIES && !ktap_failing(); i++) {
		int err = filter_add(filter, key_nth(seed, i));

		expect(!err || (err == -EEXIST && !ops->exact),
		       "add %u: %d", i, err);
		expect(filter_test(filter, key_nth(seed, i)),
		       "an entry that was just added matches");
	}
	expect_equal(measure_hits(filter, seed, 0, ENTRIES), ENTRIES,
		     "entries found");
	expect(filter_bits(filter) > 0, "takes memory");
	filter_destroy(filter);
	ktap_case("%s: no false negatives", ops->name);
}

/* Check the measured rate: it must be within five standard deviations of the formula, plus 3 %
 * because the formula is an approximation. Very small counts may differ by two.
 */
static void expect_rate(const struct filter *filter, u32 first)
{
	double hits = measure_hits(filter, seed, first, NON_MEMBERS);
	double expected = filter_fpp(filter) * NON_MEMBERS;
	double bound = 2 + 5 * sqrt(expected) + 0.03 * expected;

	expect(fabs(hits - expected) <= bound,
	       "%.0f false positives of %u, expected %.1f +- %.1f", hits,
	       NON_MEMBERS, expected, bound);
}

static void test_rate(const struct filter_ops *ops)
{
	struct filter_params params = params_for(ops);
	struct filter *filter;

	filter = filter_create(ops, &params);
	expect_equal(measure_hits(filter, seed, 0, 1000), 0,
		     "matches in an empty filter");
	measure_fill(filter, seed, 0, ENTRIES / 2);
	expect_rate(filter, ENTRIES);
	measure_fill(filter, seed, ENTRIES / 2, ENTRIES / 2);
	expect_rate(filter, ENTRIES);
	if (ops->exact)
		expect_equal(measure_hits(filter, seed, ENTRIES, NON_MEMBERS), 0,
			     "false positives of an exact table");
	filter_destroy(filter);
	ktap_case("%s: the false-positive rate agrees with the formula", ops->name);
}

static void test_delete(const struct filter_ops *ops)
{
	struct filter_params params = params_for(ops);
	struct filter *filter = filter_create(ops, &params);
	u32 i, half = ENTRIES / 2;

	measure_fill(filter, seed, 0, ENTRIES);
	for (i = 0; i < half && !ktap_failing(); i++)
		expect(!filter_del(filter, key_nth(seed, i)), "delete %u", i);
	expect_equal(measure_hits(filter, seed, half, half), half,
		     "entries found when others were deleted");
	expect_equal(filter->count, half, "entries left");
	if (ops->exact)
		expect_equal(filter_del(filter, key_nth(seed, 0)), -ENOENT,
			     "deletion of a non-member");
	/* Deleted entries are non-members now, and match as rarely. */
	expect(measure_hits(filter, seed, 0, half) <=
	       half * filter_fpp(filter) * 1.2 + 5 * sqrt(half * 0.03),
	       "deleted entries do not match");
	for (; i < ENTRIES && !ktap_failing(); i++)
		expect(!filter_del(filter, key_nth(seed, i)), "delete %u", i);
	expect_equal(filter->count, 0, "entries left");
	expect_equal(measure_hits(filter, seed, 0, ENTRIES), 0,
		     "matches after all were deleted");
	filter_destroy(filter);
	ktap_case("%s: deletion", ops->name);
}

/* After refusals, no entry that was accepted may be missing. */
static void test_refusal(const struct filter_ops *ops)
{
	struct filter_params params = params_for(ops);
	unsigned int i, refused = 0, accepted = 0;
	struct filter *filter;
	u8 in[16384] = {};

	params.n = 4096;
	filter = filter_create(ops, &params);
	for (i = 0; i < sizeof(in) && refused < 100; i++) {
		in[i] = !filter_add(filter, key_nth(seed, i));
		refused += !in[i];
		accepted += in[i];
	}
	expect(refused == 100, "%u refused", refused);
	expect_equal(filter->count, accepted, "entries counted");
	for (i = 0; i < sizeof(in); i++)
		if (in[i])
			expect(filter_test(filter, key_nth(seed, i)),
			       "entry %u is found", i);
	filter_destroy(filter);
	ktap_case("%s: a refusal loses nothing", ops->name);
}

/* A sum over the four 8-bit fingerprints of a bucket that does not depend on their order. */
static u32 sum_of_squares(const u64 *words, u64 bucket)
{
	u32 i, fp, sum = 0;

	for (i = 0; i < 4; i++) {
		fp = field_get(words, bucket * 32 + 8 * i, 8);
		sum += fp * fp;
	}
	return sum;
}

/* A refusal changes nothing except the order in a bucket. */
static void test_undo(void)
{
	struct filter_params params = params_for(&filter_cuckoo);
	struct filter *filter;
	struct cuckoo *cuckoo;
	unsigned int i, compared = 0;
	u64 *before, bucket;
	size_t size;

	params.n = 4096;
	filter = filter_create(&filter_cuckoo, &params);
	cuckoo = (struct cuckoo *)filter;
	size = bits_size(filter_bits(filter));
	before = filter_alloc(size);
	for (i = 0; compared < 20 && i < 8192; i++) {
		memcpy(before, cuckoo->words, size);
		if (!filter_add(filter, key_nth(seed, i)))
			continue;
		compared++;
		for (bucket = 0; bucket <= cuckoo->mask; bucket++)
			expect(sum_of_squares(cuckoo->words, bucket) ==
			       sum_of_squares(before, bucket),
			       "bucket %llu has the same contents", bucket);
	}
	expect_equal(compared, 20, "refusals");
	expect_equal(cuckoo->dropped, 0, "fingerprints dropped");
	free(before);
	filter_destroy(filter);
	ktap_case("cuckoo: evictions are undone");
}

/* As published: each failure drops one fingerprint, which need not be that of the new entry. */
static void test_drop(void)
{
	struct filter_params params = params_for(&filter_cuckoo);
	unsigned int i, refused = 0, accepted = 0, missing = 0;
	struct filter *filter;
	u8 in[8192] = {};

	params.n = 4096;
	params.f = 16;
	params.undo = false;
	filter = filter_create(&filter_cuckoo, &params);
	for (i = 0; i < sizeof(in) && refused < 100; i++) {
		in[i] = !filter_add(filter, key_nth(seed, i));
		refused += !in[i];
		accepted += in[i];
	}
	for (i = 0; i < sizeof(in); i++)
		missing += in[i] && !filter_test(filter, key_nth(seed, i));
	expect_equal(filter->count, accepted, "fingerprints counted");
	expect_equal(((struct cuckoo *)filter)->dropped, refused, "dropped");
	expect(missing > 0 && missing <= refused,
	       "%u entries missing after %u failures", missing, refused);
	filter_destroy(filter);
	ktap_case("cuckoo, as published: each failure loses at most one entry");
}

/* Add copies of a single key until one is refused, and delete them one by one. */
static void expect_copies(struct filter *filter, u32 key, unsigned int expected)
{
	unsigned int copies;

	for (copies = 0; !filter_add(filter, key); copies++)
		;
	expect_equal(copies, expected, "copies");
	while (copies) {
		expect(filter_test(filter, key), "the key still matches");
		expect(!filter_del(filter, key), "deleted");
		copies--;
	}
	expect(!filter_test(filter, key), "the key does not match after all copies are deleted");
}

static void test_copies(void)
{
	struct filter_params params = params_for(&filter_cuckoo);
	struct cuckoo_place place;
	struct filter *filter;
	unsigned int b;
	u32 key, i;

	for (b = 1; b <= 8; b *= 2) {
		params.b = b;
		params.n = 4096;
		for (i = 0; i < 20; i++) {
			filter = filter_create(&filter_cuckoo, &params);
			key = key_nth(seed, i);
			place = cuckoo_place((struct cuckoo *)filter, key);
			expect_copies(filter, key,
				      place.bucket[0] == place.bucket[1] ? b :
									   2 * b);
			filter_destroy(filter);
		}
	}
	ktap_case("cuckoo: the 2b+1st copy is refused, and copies are deleted one by one");
}

/* The smallest filter has few buckets, but each entry still has two of them. */
static void test_ours_copies(const struct filter_ops *ops)
{
	struct filter_params params = filter_defaults(seed, 9);
	struct filter *filter;
	u32 i;

	for (i = 0; i < 1000; i++) {
		params.seed = seed + i;
		filter = filter_create(ops, &params);
		expect_copies(filter, key_nth(seed, i), 8);
		filter_destroy(filter);
	}
	ktap_case("%s: the ninth copy is refused, never an earlier one", ops->name);
}

/* A filter accepts as many entries as it was created for, and no more, and does not have many more
 * slots than that, for any number. For a number of slots, it is created as in the benchmarks.
 */
static void test_ours_capacity(const struct filter_ops *ops, unsigned int f)
{
	struct filter_params params = filter_defaults(seed, 0);
	struct filter *filter;
	u64 most;

	for (params.n = 40000; params.n < 100000; params.n += 7001) {
		filter = filter_create(ops, &params);
		expect_equal(measure_fill_up(filter, seed, params.n + 1),
			     params.n, "entries accepted, of %llu", params.n);
		/* Memory is rounded up to pages, and there are a few spare buckets. */
		most = params.n / 0.955 + 40 + 4096 * 8 / f;
		expect(ours_filter_slots(filter) <= most,
		       "%llu slots for %llu entries",
		       ours_filter_slots(filter), params.n);
		filter_destroy(filter);
	}
	params.n = ours_filter_capacity(1 << 15, f);
	filter = filter_create(ops, &params);
	expect_equal(ours_filter_slots(filter), 1 << 15, "slots for %llu",
		     params.n);
	filter_destroy(filter);
	ktap_case("%s: memory follows the capacity", ops->name);
}

/* The alternate of the alternate bucket is the first one. */
static void test_involution(void)
{
	static const unsigned int widths[] = { 5, 8, 12, 16, 24, 32 };
	struct filter_params params = params_for(&filter_cuckoo);
	struct cuckoo_place place;
	struct filter *filter;
	unsigned int i, turn;

	for (i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		params.f = widths[i];
		filter = filter_create(&filter_cuckoo, &params);
		for (turn = 0; turn < 1000; turn++) {
			place = cuckoo_place((struct cuckoo *)filter,
					     key_nth(seed, turn));
			expect(place.fp && place.fp <= (1ULL << params.f) - 1,
			       "fingerprint %u of %u bits", place.fp, params.f);
			expect(place.bucket[0] < cuckoo_slots(filter) / 4 &&
			       place.bucket[1] < cuckoo_slots(filter) / 4,
			       "buckets in range");
		}
		expect_equal(measure_fill(filter, seed, 0, ENTRIES), 0,
			     "refused");
		expect_equal(measure_hits(filter, seed, 0, ENTRIES), ENTRIES,
			     "found");
		filter_destroy(filter);
	}
	params.n = 9;
	filter = filter_create(&filter_cuckoo, &params);
	expect_equal(cuckoo_slots(filter), 16, "slots of NewFilter(9)");
	filter_destroy(filter);
	ktap_case("cuckoo: fingerprints and buckets by width");
}

/* Without the hash it still works, within blocks of 2^f buckets. */
static void test_unhashed(void)
{
	static const unsigned int widths[] = { 8, 12, 16 };
	struct filter_params params = params_for(&filter_cuckoo);
	struct cuckoo_place place;
	struct filter *filter;
	unsigned int i, turn;

	params.unhashed = true;
	for (i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		params.f = widths[i];
		filter = filter_create(&filter_cuckoo, &params);
		for (turn = 0; turn < 1000; turn++) {
			place = cuckoo_place((struct cuckoo *)filter,
					     key_nth(seed, turn));
			expect((place.bucket[0] ^ place.bucket[1]) ==
			       (place.fp & ((struct cuckoo *)filter)->mask),
			       "%u apart", place.fp);
		}
		expect_equal(measure_fill(filter, seed, 0, ENTRIES), 0,
			     "refused");
		expect_equal(measure_hits(filter, seed, 0, ENTRIES), ENTRIES,
			     "found");
		filter_destroy(filter);
	}
	ktap_case("cuckoo: i xor f for the other bucket");
}

static bool one_bucket(const struct filter *filter, u32 key)
{
	struct cuckoo_place place = cuckoo_place((const struct cuckoo *)filter,
						 key);

	return place.bucket[0] == place.bucket[1];
}

/* Compare the number of reads of a look-up with its answer. */
static void test_reads(void)
{
	struct filter_params params = params_for(&filter_bloom);
	struct filter *bloom = filter_create(&filter_bloom, &params);
	struct filter *cuckoo = filter_create(&filter_cuckoo, &params);
	unsigned int k = bloom_shape(&params).k;
	u32 key, i, reads;

	expect_equal(bloom_reads(bloom, 1), 1, "bits read if none is set");
	measure_fill(bloom, seed, 0, ENTRIES);
	measure_fill(cuckoo, seed, 0, ENTRIES);
	for (i = 0; i < 2 * ENTRIES && !ktap_failing(); i++) {
		key = key_nth(seed, i);
		reads = bloom_reads(bloom, key);
		expect(reads > 0 && reads <= k, "%u bits read", reads);
		expect(reads == k || !filter_test(bloom, key),
		       "a match after %u bits", reads);
		reads = cuckoo_reads(cuckoo, key);
		expect(reads == 2 || filter_test(cuckoo, key) ||
		       one_bucket(cuckoo, key), "%u buckets read", reads);
	}
	filter_destroy(bloom);
	filter_destroy(cuckoo);
	ktap_case("reads: a match reads all k bits, a miss both buckets");
}

/* It always has one slot a bucket, and is therefore full near one half. */
static void test_hashtable1(void)
{
	struct filter_params params = params_for(&filter_hashtable1);
	struct filter *filter;
	u64 n;

	params.n = 32767;
	params.b = 8;
	filter = filter_create(&filter_hashtable1, &params);
	expect_equal(filter_bits(filter), 32767 * 33, "bits");
	n = measure_fill_up(filter, seed, 2 * params.n);
	expect(n > params.n / 4 && n < params.n * 6 / 10, "%llu held", n);
	filter_destroy(filter);
	ktap_case("%s: full near one half", filter_hashtable1.name);
}

static void test_semisort(void)
{
	struct filter_params params = params_for(&filter_semisort);
	struct filter *plain, *sorted;
	u32 nibble[4], back[4], i, n = ENTRIES / 16;
	u8 seen[SEMISORT_CODES] = {};

	plain = filter_create(&filter_cuckoo, &params);
	sorted = filter_create(&filter_semisort, &params);
	for (i = 0; i < 1 << 16; i++) {
		nibble[0] = i >> 12;
		nibble[1] = i >> 8 & 15;
		nibble[2] = i >> 4 & 15;
		nibble[3] = i & 15;
		if (nibble[0] > nibble[1] || nibble[1] > nibble[2] ||
		    nibble[2] > nibble[3])
			continue;
		if (!expect(semisort_encode(nibble) < SEMISORT_CODES, "code"))
			continue;
		seen[semisort_encode(nibble)]++;
		semisort_decode(semisort_encode(nibble), back);
		expect(!memcmp(nibble, back, sizeof(back)), "%04x", i);
	}
	for (i = 0; i < SEMISORT_CODES; i++)
		expect_equal(seen[i], 1, "uses of code %u", i);
	expect_equal(filter_bits(plain) - filter_bits(sorted),
		     cuckoo_slots(plain), "a bit saved on each slot");
	/* Before the first eviction, the buckets of both have the same contents. */
	measure_fill(plain, seed, 0, n);
	measure_fill(sorted, seed, 0, n);
	expect(!((struct cuckoo *)plain)->kicked, "nothing was evicted");
	for (i = 0; i < NON_MEMBERS / 4 && !ktap_failing(); i++)
		expect(filter_test(plain, key_nth(seed, i)) ==
		       filter_test(sorted, key_nth(seed, i)),
		       "key %u: the same answer with both packings", i);
	filter_destroy(plain);
	filter_destroy(sorted);
	ktap_case("semi-sorted: codes, space, answers");
}

static void test_counting_saturates(void)
{
	struct filter_params params = params_for(&filter_counting);
	struct filter *filter = filter_create(&filter_counting, &params);
	u32 key = key_nth(seed, 0);
	unsigned int i;

	for (i = 0; i < 40; i++)
		filter_add(filter, key);
	for (i = 0; i < 40; i++)
		filter_del(filter, key);
	/* The number of increments is not known any more, so the counter stays. */
	expect(filter_test(filter, key), "a full counter stays full");
	filter_destroy(filter);
	ktap_case("counting: full counters never lose an entry");
}

/* Count the ones of each row again, bit by bit. */
static void expect_ones(const struct matrix *matrix)
{
	unsigned int row;
	u64 i, ones;

	for (row = 0; row < matrix->rows; row++) {
		ones = 0;
		for (i = 0; i < matrix->shape.m; i++)
			ones += bit_test(matrix->row[row].words, i);
		expect_equal(matrix->row[row].ones, ones, "ones of row %u",
			     row);
	}
}

static struct filter_params small_matrix(void)
{
	return (struct filter_params){
		.seed = seed, .m = 8192, .k = 10, .r = 8, .s = 2,
	};
}

static u64 sum_ones(const struct matrix *matrix)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < matrix->rows; i++)
		sum += matrix->row[i].ones;
	return sum;
}

static unsigned int matches(const struct matrix *matrix, unsigned int row,
			    const struct places *places)
{
	unsigned int i, n = 0;

	for (i = 0; i < matrix->shape.k; i++)
		n += bit_test(matrix->row[row].words, places->at[i]);
	return n;
}

/* Add an entry, and check that the row was chosen by the rule. */
static bool check_mbmbf_add(struct filter *filter, u32 key)
{
	const struct matrix *matrix = matrix_of(filter);
	unsigned int row[8], longest = 0, room = 0, all = 0, i;
	unsigned int k = matrix->shape.k;
	u64 before[8], sum = sum_ones(matrix);
	struct places places;
	int err;

	matrix_places(matrix, key, &places);
	mbmbf_candidates(matrix, key, row);
	for (i = 0; i < matrix->s; i++) {
		unsigned int n = matches(matrix, row[i], &places);

		expect_equal(row[i] / (matrix->rows / matrix->s), i,
			     "group of a candidate");
		all += n == k;
		if (!row_full(matrix, row[i])) {
			room++;
			longest = n > longest ? n : longest;
		}
		before[i] = matrix->row[row[i]].count;
	}
	err = filter_add(filter, key);
	expect_equal(err, all ? -EEXIST : room ? 0 : -ENOSPC, "result");
	if (err) {
		expect_equal(sum_ones(matrix), sum, "ones after a refusal");
		return err == -EEXIST;
	}
	/* Two places of a key may be the same, so there may be fewer new ones than misses. */
	expect(sum_ones(matrix) - sum <= k - longest, "%llu new ones, %u fit",
	       sum_ones(matrix) - sum, longest);
	for (i = 0; i < matrix->s; i++)
		if (matrix->row[row[i]].count != before[i])
			expect(row_test(matrix, row[i], &places),
			       "its bits are set in row %u", row[i]);
	expect(filter_test(filter, key), "added");
	return true;
}

static void test_mbmbf(unsigned int s, enum filter_tie tie)
{
	struct filter_params params = small_matrix();
	unsigned int i, n = 8000, in_count = 0;
	const struct matrix *matrix;
	struct filter *filter;
	u8 in[8000];

	params.s = s;
	params.tie = tie;
	filter = filter_create(&filter_mbmbf, &params);
	matrix = matrix_of(filter);
	for (i = 0; i < n && !ktap_failing(); i++) {
		in[i] = check_mbmbf_add(filter, key_nth(seed, i));
		in_count += in[i];
	}
	n = i;
	for (i = 0; i < n; i++)
		if (in[i])
			expect(filter_test(filter, key_nth(seed, i)),
			       "entry %u is found", i);
	for (i = 0; i < matrix->rows; i++)
		expect(matrix->row[i].ones * 2 < matrix->shape.m + 2 * 10,
		       "row %u has %llu ones", i, matrix->row[i].ones);
	expect(in_count > 3000, "%u held", in_count);
	expect_ones(matrix);
	expect_rate(filter, n);
	filter_destroy(filter);
	ktap_case("m-bmbf: longest match, rows half full, %u groups, tie %u", s,
		  tie);
}

static void test_2bdbf(void)
{
	struct filter_params params = small_matrix();
	unsigned int i, row[2], rows, least;
	const struct matrix *matrix;
	struct filter *filter;
	u64 before[2];
	u32 key;

	params.s = 4;
	params.grow = true;
	filter = filter_create(&filter_2bdbf, &params);
	matrix = matrix_of(filter);
	for (i = 0; i < 8000 && !ktap_failing(); i++) {
		key = key_nth(seed, i);
		balanced_candidates(matrix, key, row);
		least = matrix->row[row[1]].ones < matrix->row[row[0]].ones;
		before[0] = matrix->row[row[0]].count;
		before[1] = matrix->row[row[1]].count;
		rows = matrix->rows;
		expect(row[0] != row[1] && row[0] < rows && row[1] < rows &&
		       row[0] >= rows - 4 && row[1] >= rows - 4,
		       "two rows of the last group");
		expect(!filter_add(filter, key), "added");
		if (matrix->rows == rows) {
			expect_equal(matrix->row[row[least]].count,
				     before[least] + 1,
				     "entries of the less used row");
			continue;
		}
		expect_equal(matrix->rows, rows + 4, "rows after growth");
		expect(row_full(matrix, row[0]) && row_full(matrix, row[1]),
		       "grew when both were full");
	}
	for (i = 0; i < matrix->rows; i++)
		expect(matrix->row[i].ones * 2 < matrix->shape.m + 2 * 10,
		       "row %u has %llu ones", i, matrix->row[i].ones);
	/* 8192 ln 2 / 10 entries a row, in groups of four. */
	expect_equal(matrix->rows, 16, "rows for 8000 entries");
	expect_equal(measure_hits(filter, seed, 0, 8000), 8000, "found");
	expect_ones(matrix);
	filter_destroy(filter);
	ktap_case("2bdbf: the less used of two rows, growth by groups");
}

static void test_dynamic_split(void)
{
	struct filter_params params = small_matrix();
	struct filter *filter;

	filter = filter_create(&filter_dynamic, &params);
	expect_equal(measure_fill_up(filter, seed, 10000),
		     8 * (u64)(8192 * M_LN2 / 10), "held by 8 rows");
	expect_equal(matrix_of(filter)->rows, 8, "rows");
	filter_destroy(filter);
	params.grow = true;
	filter = filter_create(&filter_dynamic, &params);
	measure_fill(filter, seed, 0, 10000);
	expect_equal(matrix_of(filter)->rows, 18, "rows for 10000 entries");
	filter_destroy(filter);
	params.grow = false;
	filter = filter_create(&filter_split, &params);
	measure_fill_up(filter, seed, 10000);
	expect(matrix_saturated(matrix_of(filter)),
	       "a split filter refuses when all rows are full");
	expect_ones(matrix_of(filter));
	filter_destroy(filter);
	ktap_case("dynamic, split: rows, limits");
}

static void test_growth(const struct filter_ops *ops)
{
	struct filter_params params = params_for(ops);
	struct filter *filter;

	params.n = 16;
	params.grow = true;
	filter = filter_create(ops, &params);
	expect_equal(measure_fill(filter, seed, 0, ENTRIES), 0, "refused");
	expect_equal(measure_hits(filter, seed, 0, ENTRIES), ENTRIES, "found");
	expect_equal(measure_hits(filter, seed, ENTRIES, NON_MEMBERS), 0,
		     "non-members found");
	expect_equal(filter_add(filter, key_nth(seed, 7)), -EEXIST,
		     "added again");
	expect_equal(filter->count, ENTRIES, "entries");
	filter_destroy(filter);
	ktap_case("%s: grows without access to the original entries", ops->name);
}

int main(void)
{
	unsigned int i;

	seed = ktap_begin("test_filters");
	test_helpers();
	test_keys();
	test_shape();
	for (i = 0; i < filter_count; i++) {
		test_no_false_negatives(filter_all[i]);
		test_rate(filter_all[i]);
		if (filter_all[i]->del)
			test_delete(filter_all[i]);
	}
	test_refusal(&filter_hashtable1);
	test_refusal(&filter_hashtable);
	test_refusal(&filter_cuckoo);
	test_refusal(&filter_semisort);
	for (i = 0; i < 3; i++) {
		test_refusal(&filter_ours[i]);
		test_ours_copies(&filter_ours[i]);
		test_ours_capacity(&filter_ours[i], 8 << i);
	}
	test_refusal(&filter_table);
	test_undo();
	test_drop();
	test_copies();
	test_involution();
	test_unhashed();
	test_reads();
	test_hashtable1();
	test_semisort();
	test_counting_saturates();
	for (i = 1; i <= 8; i *= 2)
		test_mbmbf(i, FILTER_TIE_EMPTIER);
	test_mbmbf(2, FILTER_TIE_RANDOM);
	test_mbmbf(2, FILTER_TIE_FIRST);
	test_2bdbf();
	test_dynamic_split();
	test_growth(&filter_hashtable1);
	test_growth(&filter_hashtable);
	test_growth(&filter_entries);
	return ktap_end();
}
