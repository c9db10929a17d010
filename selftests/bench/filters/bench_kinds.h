/* SPDX-License-Identifier: GPL-2.0-only */
/* The filters in the figures of the M-BMBF's publication, and their parameters. */
#ifndef _BENCH_KINDS_H
#define _BENCH_KINDS_H

#include "bench.h"
#include "filter.h"

/* Parameters of the publication */
#define ROW_BITS	131072
#define HASHES		10
#define ROWS		8	/* where it does not vary */
#define GROUPS		2
#define GROUP_BASE	8	/* rows that the 2BDBF grows by */
#define ENTRIES_MAX	200000
#define ENTRIES_TIME	10000	/* for time against rows */

enum kind {
	BLOOM,		/* one filter with the bits of all rows */
	SPLIT,
	BALANCED,	/* 2BDBF with r rows from the start */
	GROWING,	/* 2BDBF that grows */
	DYNAMIC,
	MBMBF,
	OURS,
	KINDS
};

struct kind_name {
	const char *name;
	const struct filter_ops *ops;
};

/* Numbers of rows and of entries, along the axes */
#define KIND_ROWS	6
#define KIND_ENTRIES	7

extern const struct kind_name kinds[KINDS];
extern const u32 kind_rows[KIND_ROWS];
extern const u32 kind_entries[KIND_ENTRIES];

struct filter_params kind_params(const struct bench *bench, enum kind kind,
				 u32 r, u32 n);

#endif /* _BENCH_KINDS_H */
