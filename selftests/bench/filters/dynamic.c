// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dynamic Bloom filter.
 *
 * D. Guo, J. Wu, H. Chen, X. Luo: Theory and Network Applications of Dynamic
 * Bloom Filters. INFOCOM 2006.
 *
 * Begins with one row. When the last row has as many entries as it was created for,
 * another row is added. Entries go to the last row, a query reads all rows, O(kr).
 */
#include <math.h>

#include "matrix.h"

static struct filter *create(const struct filter_params *params)
{
	return &matrix_create(params, 1)->filter;
}

/* The number of entries that leaves half of the bits clear, which is the best use of m bits. */
static u64 design_limit(const struct matrix *matrix)
{
	return matrix->shape.m * M_LN2 / matrix->shape.k;
}

static int add(struct filter *filter, u32 key)
{
	struct matrix *matrix = (struct matrix *)filter;

	if (matrix->row[matrix->rows - 1].count >= design_limit(matrix) &&
	    !matrix_grow(matrix, 1) && !matrix->overfill)
		return -ENOSPC;
	return matrix_add(matrix, matrix->rows - 1, key);
}

const struct filter_ops filter_dynamic = {
	.name = "dynamic",
	.source = "Guo, Wu, Chen, Luo, INFOCOM 2006",
	.multi = true,
	.create = create,
	.destroy = matrix_destroy,
	.add = add,
	.test = matrix_test_all,
	.bits = matrix_bits,
	.fpp = matrix_fpp_all,
};
