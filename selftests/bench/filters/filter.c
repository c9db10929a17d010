// SPDX-License-Identifier: GPL-2.0-only
/* What all filters share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "hash.h"

const struct filter_ops *const filter_all[] = {
	&filter_bloom,
	&filter_counting,
	&filter_blocked,
	&filter_split,
	&filter_dynamic,
	&filter_2bdbf,
	&filter_mbmbf,
	&filter_hashtable1,
	&filter_hashtable,
	&filter_cuckoo,
	&filter_semisort,
	&filter_ours[0],
	&filter_ours[1],
	&filter_ours[2],
	&filter_table,
	&filter_entries,
};

const unsigned int filter_count = sizeof(filter_all) / sizeof(*filter_all);

/**
 * filter_defaults() - parameters that suit every filter
 * @seed:	seed
 * @n:		entries
 *
 * The cuckoo filters come out as commonly published. The matrices have eight
 * rows that hold @n together.
 */
struct filter_params filter_defaults(u64 seed, u64 n)
{
	return (struct filter_params){
		.seed = seed, .n = n, .fpp = 0.03,
		.r = 8, .s = 2,
		.b = 4, .f = 8, .kicks = 500,
	};
}

/* Small seeds are as good as large ones: create() gets a mixed one. */
struct filter *filter_create(const struct filter_ops *ops,
			     const struct filter_params *params)
{
	struct filter_params own = *params;
	struct filter *filter;

	own.seed = hash64(HASH_STEP, params->seed);
	filter = ops->create(&own);
	filter->ops = ops;
	filter->seed = own.seed;
	return filter;
}

/* Zeroed memory; a program that only measures need not go on without. Written,
 * so that no insertion pays for the page.
 */
void *filter_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memset(p, 0, size);
}
