// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two-way balanced dynamic Bloom filter (2BDBF), as described by the authors of
 * the M-BMBF (mbmbf.c), who compare with it.
 *
 * Rows come in groups of s (8 there). In the last group, two hashes choose two rows
 * for an entry, and the row with fewer ones gets it: the better of two random choices
 * keeps rows balanced. When both are full (by the share of ones, not by count), a
 * group is added. A query reads all rows in turn, O(kr).
 */
#include "matrix.h"

static struct filter *create(const struct filter_params *params)
{
	return &matrix_create(params, params->s)->filter;
}

/* The first row of the last group, which may be shorter because of a limit. */
static unsigned int last_group(const struct matrix *matrix)
{
	return (matrix->rows - 1) / matrix->s * matrix->s;
}

/**
 * balanced_candidates() - the two rows that an entry may go to
 * @matrix:	a 2BDBF
 * @key:	the entry
 * @row:	set to two numbers, different unless there is one row only
 */
void balanced_candidates(const struct matrix *matrix, u32 key,
			 unsigned int row[2])
{
	unsigned int base = last_group(matrix), rows = matrix->rows - base;
	u64 hash = hash64(matrix->filter.seed + 2 * HASH_STEP, key);

	row[0] = hash_scale(hash, rows);
	row[1] = row[0];
	if (rows > 1) {
		row[1] = hash_scale(hash << 32, rows - 1);
		row[1] += row[1] >= row[0];
	}
	row[0] += base;
	row[1] += base;
}

static unsigned int least_used(const struct matrix *matrix, u32 key)
{
	unsigned int row[2];

	balanced_candidates(matrix, key, row);
	return row[matrix->row[row[1]].ones < matrix->row[row[0]].ones];
}

static int add(struct filter *filter, u32 key)
{
	struct matrix *matrix = (struct matrix *)filter;
	unsigned int row = least_used(matrix, key);

	if (row_full(matrix, row)) {
		if (matrix_grow(matrix, matrix->s))
			row = least_used(matrix, key);
		else if (!matrix->overfill)
			return -ENOSPC;
	}
	return matrix_add(matrix, row, key);
}

const struct filter_ops filter_2bdbf = {
	.name = "2bdbf",
	.source = "as described by Yang, Huang, J. Hunan Univ. 45(2), 2018",
	.multi = true,
	.create = create,
	.destroy = matrix_destroy,
	.add = add,
	.test = matrix_test_all,
	.bits = matrix_bits,
	.fpp = matrix_fpp_all,
};
