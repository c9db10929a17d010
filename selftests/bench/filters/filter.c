// SPDX-License-Identifier: GPL-2.0-only
/* Common functions of all filters. */
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
 * filter_defaults() - parameters for any filter
 * @seed:	seed
 * @n:		entries
 *
 * With these, cuckoo filters are as commonly published. The matrices have eight rows,
 * which hold @n entries together.
 */
struct filter_params filter_defaults(u64 seed, u64 n)
{
	return (struct filter_params){
		.seed = seed, .n = n, .fpp = 0.03,
		.r = 8, .s = 2,
		.b = 4, .f = 8, .kicks = 500,
	};
}

/* The seed is hashed before create() gets it, so that small seeds are as good as large ones. */
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

/* Allocate zeroed memory; exits if there is none. All pages are written, so that no insertion has
 * to wait for a page fault.
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
