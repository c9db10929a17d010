// SPDX-License-Identifier: GPL-2.0-only
/*
 * The split Bloom filter.
 *
 * M. Xiao, Y. Dai, X. Li: Split Bloom Filter. Acta Electronica Sinica 32(2),
 * 2004.
 *
 * There are r rows from the start. An entry goes to a random row; a query reads all rows in
 * turn, O(kr). The random row is one that is not saturated, so that no row is crowded while
 * others have room. When all rows are saturated, the filter is full, or continues with any
 * of them (overfill).
 */
#include "matrix.h"

static struct filter *create(const struct filter_params *params)
{
	return &matrix_create(params, params->r)->filter;
}

static int add(struct filter *filter, u32 key)
{
	struct matrix *matrix = (struct matrix *)filter;
	unsigned int i, row = random_below(&matrix->random, matrix->rows);

	for (i = 0; i < matrix->rows && row_full(matrix, row); i++)
		row = (row + 1) % matrix->rows;
	if (i == matrix->rows && !matrix->overfill)
		return -ENOSPC;
	return matrix_add(matrix, row, key);
}

const struct filter_ops filter_split = {
	.name = "split",
	.source = "Xiao, Dai, Li, Acta Electronica Sinica 32(2), 2004",
	.multi = true,
	.create = create,
	.destroy = matrix_destroy,
	.add = add,
	.test = matrix_test_all,
	.bits = matrix_bits,
	.fpp = matrix_fpp_all,
};
