/* SPDX-License-Identifier: GPL-2.0-only */
/* Measurements of a filter: capacity, false positives, time */
#ifndef _MEASURE_H
#define _MEASURE_H

#include "filter.h"

enum measure_op {
	MEASURE_ADD,
	MEASURE_HIT,	/* a look-up of an entry */
	MEASURE_MISS,	/* a look-up of a non-member */
	MEASURE_QUERY,	/* half of each */
	MEASURE_OPS
};

/**
 * struct contender - a filter whose times are compared
 * @name:	its name
 * @ops:	its kind
 * @params:	its parameters, except for the seed
 * @ns:		median time of an operation, by enum measure_op
 * @ratio:	median of the ratios to the time of the first filter, over the rounds
 */
struct contender {
	const char *name;
	const struct filter_ops *ops;
	struct filter_params params;
	double ns[MEASURE_OPS];
	double ratio[MEASURE_OPS];
};

u64 measure_fill(struct filter *filter, u64 seed, u32 first, u64 n);
u64 measure_fill_up(struct filter *filter, u64 seed, u64 max);
u64 measure_hits(const struct filter *filter, u64 seed, u32 first, u64 n);
void measure_race(struct contender *contender, unsigned int n, u64 seed,
		  u32 entries, unsigned int rounds);
double measure_median(double *values, unsigned int n);

#endif /* _MEASURE_H */
