/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of Bloom filters of m bits with the same k hash functions: the split, the dynamic
 * and the balanced filters consist of them. They differ in the row that an entry goes to,
 * and in the rows that a query reads.
 */
#ifndef _MATRIX_H
#define _MATRIX_H

#include "bloom.h"
#include "hash.h"

/**
 * struct row - a Bloom filter
 * @ones:	number of bits that are set
 * @count:	number of entries that were added
 * @words:	its bits
 */
struct row {
	u64 ones;
	u64 count;
	u64 *words;
};

/**
 * struct matrix - rows of the same shape
 * @filter:	common to all filters
 * @shape:	m and k of every row
 * @rows:	number of rows
 * @limit:	maximum number of rows; 0: any number
 * @s:		struct filter_params.s
 * @tie:	struct filter_params.tie
 * @overfill:	saturated rows accept entries
 * @random:	random numbers for choices that are not hashed
 * @row:	the rows
 */
struct matrix {
	struct filter filter;
	struct bloom_shape shape;
	unsigned int rows;
	unsigned int limit;
	unsigned int s;
	enum filter_tie tie;
	bool overfill;
	struct random random;
	struct row *row;
};

/* The k places of a key, the same in every row */
struct places {
	u64 at[FILTER_K_MAX];
};

struct matrix *matrix_create(const struct filter_params *params,
			     unsigned int rows);
void matrix_destroy(struct filter *filter);
bool matrix_grow(struct matrix *matrix, unsigned int rows);
u64 matrix_bits(const struct filter *filter);
bool matrix_saturated(const struct matrix *matrix);
bool matrix_test_all(const struct filter *filter, u32 key);
double matrix_fpp_all(const struct filter *filter);

static inline const struct matrix *matrix_of(const struct filter *filter)
{
	return (const struct matrix *)filter;
}

void matrix_places(const struct matrix *matrix, u32 key, struct places *places);
int matrix_add(struct matrix *matrix, unsigned int row, u32 key);
int matrix_put(struct matrix *matrix, unsigned int row,
	       const struct places *places);
bool row_test(const struct matrix *matrix, unsigned int row,
	      const struct places *places);
bool row_full(const struct matrix *matrix, unsigned int row);
double row_fpp(const struct matrix *matrix, unsigned int row);

/* The rows that an entry may be in (mbmbf.c, balanced.c), for the tests */
void mbmbf_candidates(const struct matrix *matrix, u32 key, unsigned int *row);
void balanced_candidates(const struct matrix *matrix, u32 key,
			 unsigned int row[2]);

#endif /* _MATRIX_H */
