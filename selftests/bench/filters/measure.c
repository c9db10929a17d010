// SPDX-License-Identifier: GPL-2.0-only
/* Measures capacity, false positives and time of filters; see measure.h. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hash.h"
#include "measure.h"

/* Minimum number of look-ups in a sample, which take a few hundred microseconds. */
#define SAMPLE_QUERIES	50000

/**
 * measure_fill() - add keys
 * @filter:	a filter
 * @seed:	seed of the keys
 * @first:	number of the first key
 * @n:		number of keys
 *
 * Return: how many keys were refused.
 */
u64 measure_fill(struct filter *filter, u64 seed, u32 first, u64 n)
{
	u64 i, refused = 0;

	for (i = 0; i < n; i++)
		refused += filter_add(filter, key_nth(seed, first + i)) ==
			   -ENOSPC;
	return refused;
}

/* Add keys, from the first on, until one is refused. Returns its number. */
u64 measure_fill_up(struct filter *filter, u64 seed, u64 max)
{
	u64 i;

	for (i = 0; i < max; i++)
		if (filter_add(filter, key_nth(seed, i)) == -ENOSPC)
			break;
	return i;
}

/* Of @n keys from number @first on, how many match? */
u64 measure_hits(const struct filter *filter, u64 seed, u32 first, u64 n)
{
	u64 i, hits = 0;

	for (i = 0; i < n; i++)
		hits += filter_test(filter, key_nth(seed, first + i));
	return hits;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median. Sorts @values. */
double measure_median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Time in which this thread has run; time of other processes does not count. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Look all keys up, repeatedly if they are few. Returns the ns for one look-up. */
static double time_queries(const struct filter *filter, const u32 *key, u32 n)
{
	static volatile u32 sink;
	u32 i, turn, turns = SAMPLE_QUERIES / n + 1, found = 0;
	double start = now_ns();

	for (turn = 0; turn < turns; turn++)
		for (i = 0; i < n; i++)
			found += filter_test(filter, key[i]);
	sink = found;
	(void)sink;
	return (now_ns() - start) / n / turns;
}

/* One sample: create a filter, fill it, look keys up. */
static void sample(const struct contender *contender, const u32 *key, u32 n,
		   double ns[MEASURE_OPS])
{
	struct filter *filter = filter_create(contender->ops,
					      &contender->params);
	double start = now_ns();
	u32 i;

	for (i = 0; i < n; i++)
		filter_add(filter, key[i]);
	ns[MEASURE_ADD] = (now_ns() - start) / n;
	ns[MEASURE_HIT] = time_queries(filter, key, n);
	ns[MEASURE_MISS] = time_queries(filter, key + n, n);
	ns[MEASURE_QUERY] = (ns[MEASURE_HIT] + ns[MEASURE_MISS]) / 2;
	filter_destroy(filter);
}

/* Ratios are computed within a round, so that load that affects a whole round, such as that of
 * another process, cancels out.
 */
static void summarise(struct contender *contender, unsigned int n,
		      const double *ns, unsigned int rounds)
{
	double time[rounds], ratio[rounds], reference;
	unsigned int i, round, op;

	for (i = 0; i < n; i++) {
		for (op = 0; op < MEASURE_OPS; op++) {
			for (round = 0; round < rounds; round++) {
				reference = ns[round * n * MEASURE_OPS + op];
				time[round] = ns[(round * n + i) *
						 MEASURE_OPS + op];
				ratio[round] = time[round] / reference;
			}
			contender[i].ns[op] = measure_median(time, rounds);
			contender[i].ratio[op] = measure_median(ratio, rounds);
		}
	}
}

/**
 * measure_race() - compare times
 * @contender:	the filters; the first is the one that the others are compared with
 * @n:		number of filters
 * @seed:	seed of the keys and of the filters
 * @entries:	number of keys to add and to look up, and of non-members to look up
 * @rounds:	number of rounds; all filters take turns in each
 */
void measure_race(struct contender *contender, unsigned int n, u64 seed,
		  u32 entries, unsigned int rounds)
{
	double *ns = filter_alloc(rounds * n * MEASURE_OPS * sizeof(*ns));
	u32 *key = filter_alloc(2 * (size_t)entries * sizeof(*key));
	unsigned int i, turn, round;

	for (i = 0; i < 2 * entries; i++)
		key[i] = key_nth(seed, i);
	for (round = 0; round < rounds; round++) {
		for (turn = 0; turn < n; turn++) {
			i = (round + turn) % n;
			contender[i].params.seed = seed;
			sample(&contender[i], key, entries,
			       ns + (round * n + i) * MEASURE_OPS);
		}
	}
	summarise(contender, n, ns, rounds);
	free(key);
	free(ns);
}
