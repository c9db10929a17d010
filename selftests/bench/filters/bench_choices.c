// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where cuckoo tables come from: of two random bins the emptier.
 *
 * Y. Azar, A. Broder, A. Karlin, E. Upfal: Balanced Allocations. STOC 1994.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "filter.h"
#include "hash.h"
#include "report.h"

#define RUNS		9
#define SIZES		5
#define SIZES_QUICK	4

struct fullest {
	u32 n;
	double one;		/* balls in the fullest bin, mean of the runs, with one choice */
	double two;		/* with the emptier of two */
};

/* Throws @n balls into @n bins. Returns the number of balls in the fullest bin. */
static unsigned int throw_balls(u64 seed, u32 n, bool two)
{
	struct random random = random_seed(seed);
	u8 *balls = filter_alloc(n);
	unsigned int most = 0;
	u32 i, bin, other;

	for (i = 0; i < n; i++) {
		bin = random_below(&random, n);
		if (two) {
			other = random_below(&random, n);
			if (balls[other] < balls[bin])
				bin = other;
		}
		if (++balls[bin] > most)
			most = balls[bin];
	}
	free(balls);
	return most;
}

static double one_formula(u32 n)
{
	return log(n) / log(log(n));
}

static double two_formula(u32 n)
{
	return log2(log(n));
}

/* Theta is a statement about all n. What can be tested is whether the factor stays within
 * bounds, or the difference, if the factor is known to be one.
 */
static void claim_choices(const struct fullest *first,
			  const struct fullest *last)
{
	double factor = last->one / one_formula(last->n);
	double apart = last->two - two_formula(last->n);
	bool one = factor > 1 && factor < 2.5;
	bool two = fabs(apart) < 2 && last->two - first->two < 3;

	report_claim("N balls in N bins: the fullest has Theta(log N / "
		     "log log N), with the emptier of two random choices "
		     "Theta(log log N)", "Azar et al., STOC 1994",
		     one && two ? REPORT_HOLDS :
		     one || two ? REPORT_PARTLY : REPORT_FAILS,
		     "From N = %u to %u it goes from %.1f to %.1f with one "
		     "choice, %.2f and %.2f times ln N / ln ln N, whose next "
		     "terms are slow to vanish; from %.1f to %.1f with two, "
		     "%+.1f and %+.1f beside log2 ln N.",
		     first->n, last->n, first->one, last->one,
		     first->one / one_formula(first->n), factor, first->two,
		     last->two, first->two - two_formula(first->n), apart);
}

void bench_choices(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "one", "%.1f" }, { "lnN/lnlnN", "%.2f" },
		{ "two", "%.1f" }, { "log2 lnN", "%.2f" },
	};
	unsigned int i, run, sizes = bench->quick ? SIZES_QUICK : SIZES;
	struct fullest fullest[SIZES] = {}, *f;
	char label[16];

	report_section("Two random choices");
	report_text("N balls thrown into N bins: how many are in the fullest "
		    "one, if a ball goes into a random bin, and if it goes "
		    "into the emptier of two. Means of %u runs.", RUNS);
	report_table("choices", "Balls in the fullest of N bins", "N", columns,
		     4);
	for (i = 0; i < sizes; i++) {
		f = &fullest[i];
		f->n = 256 << 4 * i;
		for (run = 0; run < RUNS; run++) {
			f->one += throw_balls(bench->seed + run, f->n, false);
			f->two += throw_balls(bench->seed + run, f->n, true);
		}
		f->one /= RUNS;
		f->two /= RUNS;
		snprintf(label, sizeof(label), "%u", f->n);
		report_row(label, (double[]){ f->one, one_formula(f->n),
			   f->two, two_formula(f->n) });
	}
	claim_choices(&fullest[0], &fullest[sizes - 1]);
}
