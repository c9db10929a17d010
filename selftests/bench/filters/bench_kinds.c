// SPDX-License-Identifier: GPL-2.0-only
/* The filters in the figures of the M-BMBF's publication, see bench_kinds.h. */
#include "bench_kinds.h"

const struct kind_name kinds[KINDS] = {
	[BLOOM] = { "Bloom rm", &filter_bloom },
	[SPLIT] = { "split", &filter_split },
	[BALANCED] = { "2BDBF r", &filter_2bdbf },
	[GROWING] = { "2BDBF grow", &filter_2bdbf },
	[DYNAMIC] = { "dynamic", &filter_dynamic },
	[MBMBF] = { "M-BMBF", &filter_mbmbf },
	[OURS] = { "ours", &filter_table },
};

const u32 kind_rows[KIND_ROWS] = { 2, 4, 8, 12, 16, 20 };
const u32 kind_entries[KIND_ENTRIES] = {
	10000, 25000, 50000, 75000, 100000, 150000, ENTRIES_MAX,
};

/**
 * kind_params() - the parameters of a kind of filter
 * @bench:	has the seed
 * @kind:	the kind
 * @r:		rows
 * @n:		number of entries, for filters that must know it in advance
 */
struct filter_params kind_params(const struct bench *bench, enum kind kind,
				 u32 r, u32 n)
{
	struct filter_params params = {
		.seed = bench->seed, .n = n, .m = ROW_BITS, .k = HASHES,
		.r = r, .s = GROUPS, .overfill = true,
	};

	if (kind == BLOOM)
		params.m *= r;
	if (kind == BALANCED)
		params.s = r;
	if (kind == GROWING)
		params.s = GROUP_BASE;
	params.grow = kind == GROWING || kind == DYNAMIC;
	return params;
}
