// SPDX-License-Identifier: GPL-2.0-only
/* Rows of Bloom filters: matrix.h. */
#include <math.h>
#include <stdlib.h>

#include "bits.h"
#include "matrix.h"

/* The shape of a row: m and k of @params, or computed for r rows that hold @n entries together,
 * each with a false-positive rate of @fpp.
 */
static struct bloom_shape row_shape(const struct filter_params *params)
{
	struct filter_params row = *params;

	row.n = (params->n + params->r - 1) / params->r;
	return bloom_shape(&row);
}

/**
 * matrix_create() - create empty rows
 * @params:	m, k or n, fpp; r, s, overfill, grow
 * @rows:	initial number of rows
 */
struct matrix *matrix_create(const struct filter_params *params,
			     unsigned int rows)
{
	struct matrix *matrix = filter_alloc(sizeof(*matrix));

	matrix->shape = row_shape(params);
	matrix->limit = params->grow ? 0 : params->r;
	matrix->s = params->s;
	matrix->tie = params->tie;
	matrix->overfill = params->overfill;
	matrix->random = random_seed(params->seed);
	matrix_grow(matrix, rows);
	return matrix;
}

void matrix_destroy(struct filter *filter)
{
	struct matrix *matrix = (struct matrix *)filter;
	unsigned int i;

	for (i = 0; i < matrix->rows; i++)
		free(matrix->row[i].words);
	free(matrix->row);
	free(matrix);
}

/**
 * matrix_grow() - add rows
 * @matrix:	a matrix
 * @rows:	how many; fewer at the limit
 *
 * Return: false if the limit was reached already.
 */
bool matrix_grow(struct matrix *matrix, unsigned int rows)
{
	struct row *row;
	unsigned int i;

	if (matrix->limit && rows > matrix->limit - matrix->rows)
		rows = matrix->limit - matrix->rows;
	if (!rows)
		return false;
	row = filter_alloc((matrix->rows + rows) * sizeof(*row));
	for (i = 0; i < matrix->rows; i++)
		row[i] = matrix->row[i];
	for (; i < matrix->rows + rows; i++)
		row[i].words = filter_alloc(bits_size(matrix->shape.m));
	free(matrix->row);
	matrix->row = row;
	matrix->rows = i;
	return true;
}

u64 matrix_bits(const struct filter *filter)
{
	const struct matrix *matrix = matrix_of(filter);

	return matrix->shape.m * matrix->rows;
}

/* Is the number of rows at its limit, and are all rows full? */
bool matrix_saturated(const struct matrix *matrix)
{
	unsigned int i;

	if (matrix->rows != matrix->limit)
		return false;
	for (i = 0; i < matrix->rows; i++)
		if (!row_full(matrix, i))
			return false;
	return true;
}

void matrix_places(const struct matrix *matrix, u32 key, struct places *places)
{
	struct hash_pair pair = hash_pair(matrix->filter.seed, key);
	unsigned int i;

	for (i = 0; i < matrix->shape.k; i++)
		places->at[i] = hash_nth(&pair, i, matrix->shape.m);
}

/**
 * matrix_add() - the end of each add() of a matrix
 * @matrix:	a matrix
 * @row:	the row for the entry
 * @key:	the entry
 *
 * Return: 0.
 */
int matrix_add(struct matrix *matrix, unsigned int row, u32 key)
{
	struct places places;

	matrix_places(matrix, key, &places);
	return matrix_put(matrix, row, &places);
}

/* The same, if the caller has computed the places of the entry already. */
int matrix_put(struct matrix *matrix, unsigned int row,
	       const struct places *places)
{
	struct row *r = &matrix->row[row];
	unsigned int i;

	for (i = 0; i < matrix->shape.k; i++)
		r->ones += bit_set(r->words, places->at[i]);
	r->count++;
	matrix->filter.count++;
	return 0;
}

/* A query of a filter that does not know which row has an entry: reads all rows. */
bool matrix_test_all(const struct filter *filter, u32 key)
{
	const struct matrix *matrix = matrix_of(filter);
	struct places places;
	unsigned int i;

	matrix_places(matrix, key, &places);
	for (i = 0; i < matrix->rows; i++)
		if (row_test(matrix, i, &places))
			return true;
	return false;
}

double matrix_fpp_all(const struct filter *filter)
{
	const struct matrix *matrix = matrix_of(filter);
	double none = 1;
	unsigned int i;

	for (i = 0; i < matrix->rows; i++)
		none *= 1 - row_fpp(matrix, i);
	return 1 - none;
}

bool row_test(const struct matrix *matrix, unsigned int row,
	      const struct places *places)
{
	unsigned int i;

	for (i = 0; i < matrix->shape.k; i++)
		if (!bit_test(matrix->row[row].words, places->at[i]))
			return false;
	return true;
}

/* Is the row saturated? With more ones than zeroes, another entry costs more than it gains. */
bool row_full(const struct matrix *matrix, unsigned int row)
{
	return matrix->row[row].ones * 2 >= matrix->shape.m;
}

double row_fpp(const struct matrix *matrix, unsigned int row)
{
	return pow((double)matrix->row[row].ones / matrix->shape.m,
		   matrix->shape.k);
}
