// SPDX-License-Identifier: GPL-2.0-only
/*
 * The multi-way balanced matrix Bloom filter (M-BMBF).
 *
 * Yang, Huang: M-Balance Matrix Bloom Filter. Journal of Hunan University
 * (Natural Sciences) 45(2), 2018.
 *
 * There are r rows, fixed in advance, in s groups of r/s rows. s locating hashes, different
 * from the k content hashes, choose one candidate row in each group.
 *
 * Insertion: if all k bits are set in a candidate, the entry is there already. Otherwise
 * the candidate in which most of them are set ("longest-bit match") gets it, because
 * the fewest new bits are needed there. A row with half of its bits set is full. When all
 * candidates are full, the entry is refused (or, with overfill, goes to the best match
 * among them).
 *
 * How a tie is decided is crucial. The row that matches best is more likely the fuller
 * one, which becomes fuller still; in the beginning, when nothing matches, every decision
 * is a tie. By default the emptier row is chosen here, which keeps the rows balanced as
 * the filter's name promises; a random row and the first row are there for comparison.
 *
 * Query: reads the k bits in the s candidates, O(ks), for any r.
 */
#include "bits.h"
#include "matrix.h"

static struct filter *create(const struct filter_params *params)
{
	return &matrix_create(params, params->r)->filter;
}

static unsigned int group_rows(const struct matrix *matrix)
{
	return matrix->rows / matrix->s;
}

/* The candidate in group @group. The seeds of its hash differ from the first two, which the hashes
 * of the contents use.
 */
static unsigned int candidate(const struct matrix *matrix, u32 key,
			      unsigned int group)
{
	u64 hash = hash64(matrix->filter.seed + (2 + group) * HASH_STEP, key);

	return group * group_rows(matrix) +
	       hash_scale(hash, group_rows(matrix));
}

/**
 * mbmbf_candidates() - the rows that an entry may be in
 * @matrix:	an M-BMBF
 * @key:	the entry
 * @row:	set to s numbers
 */
void mbmbf_candidates(const struct matrix *matrix, u32 key, unsigned int *row)
{
	unsigned int group;

	for (group = 0; group < matrix->s; group++)
		row[group] = candidate(matrix, key, group);
}

static unsigned int matched(const struct matrix *matrix, unsigned int row,
			    const struct places *places)
{
	unsigned int i, n = 0;

	for (i = 0; i < matrix->shape.k; i++)
		n += bit_test(matrix->row[row].words, places->at[i]);
	return n;
}

/* Is row @a a better place than row @b? A row that has room is better than a full one; then the
 * longer match is better.
 */
static bool better(struct matrix *matrix, unsigned int a, unsigned int length_a,
		   unsigned int b, unsigned int length_b)
{
	if (row_full(matrix, a) != row_full(matrix, b))
		return row_full(matrix, b);
	if (length_a != length_b)
		return length_a > length_b;
	switch (matrix->tie) {
	case FILTER_TIE_EMPTIER:
		return matrix->row[a].ones < matrix->row[b].ones;
	case FILTER_TIE_RANDOM:
		return random_below(&matrix->random, 2);
	default:
		return false;
	}
}

static int add(struct filter *filter, u32 key)
{
	struct matrix *matrix = (struct matrix *)filter;
	unsigned int group, row, length, best = 0, longest = 0;
	struct places places;

	matrix_places(matrix, key, &places);
	for (group = 0; group < matrix->s; group++) {
		row = candidate(matrix, key, group);
		length = matched(matrix, row, &places);
		if (length == matrix->shape.k)
			return -EEXIST;
		if (!group ||
		    better(matrix, row, length, best, longest)) {
			longest = length;
			best = row;
		}
	}
	if (row_full(matrix, best) && !matrix->overfill)
		return -ENOSPC;
	return matrix_put(matrix, best, &places);
}

static bool test(const struct filter *filter, u32 key)
{
	const struct matrix *matrix = matrix_of(filter);
	struct places places;
	unsigned int group;

	matrix_places(matrix, key, &places);
	for (group = 0; group < matrix->s; group++)
		if (row_test(matrix, candidate(matrix, key, group), &places))
			return true;
	return false;
}

/* Candidates are chosen uniformly and independently, so the rate of a group is the mean of those of
 * its rows.
 */
static double fpp(const struct filter *filter)
{
	const struct matrix *matrix = matrix_of(filter);
	unsigned int group, i, rows = group_rows(matrix);
	double none = 1, sum;

	for (group = 0; group < matrix->s; group++) {
		sum = 0;
		for (i = 0; i < rows; i++)
			sum += row_fpp(matrix, group * rows + i);
		none *= 1 - sum / rows;
	}
	return 1 - none;
}

const struct filter_ops filter_mbmbf = {
	.name = "m-bmbf",
	.source = "Yang, Huang, J. Hunan Univ. 45(2), 2018",
	.create = create,
	.destroy = matrix_destroy,
	.add = add,
	.test = test,
	.bits = matrix_bits,
	.fpp = fpp,
};
