/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/types.h>

/**
 * struct bench - how much to measure
 * @seed:	seed of all random numbers
 * @quick:	do less work than the claims ask for
 * @rounds:	rounds of time measurements
 * @non_members:	number of look-ups to measure a false-positive rate
 */
struct bench {
	u64 seed;
	bool quick;
	unsigned int rounds;
	u64 non_members;
};

/* Below tables of times. */
#define TIMES_COMPARE	"Times compare styles of code as much as they compare " \
			"filters: all of these are written plainly, in one " \
			"process and for one thread, but for ours, which is " \
			"the kernel's code. What is counted, bits, errors and " \
			"refusals, does not depend on that."

/* bench_<what>.c, in the order of the report. */
void bench_overview(const struct bench *bench);
void bench_choices(const struct bench *bench);
void bench_load(const struct bench *bench);
void bench_rate(const struct bench *bench);
void bench_reads(const struct bench *bench);
void bench_copies(const struct bench *bench);
void bench_delete(const struct bench *bench);
void bench_space(const struct bench *bench);
void bench_matrix(const struct bench *bench);
void bench_times(const struct bench *bench);	/* a part of bench_matrix() */

#endif /* _BENCH_H */
