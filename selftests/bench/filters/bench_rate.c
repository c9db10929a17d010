// SPDX-License-Identifier: GPL-2.0-only
/* False positives of the cuckoo filter, depending on the width of its fingerprints. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "filter.h"
#include "measure.h"
#include "ours.h"
#include "report.h"

#define SLOTS	(1 << 20)
#define LOAD	0.95

struct rate {
	double measured;
	double error;		/* two standard deviations of it */
	double formula;		/* rate for the slots that are used */
	double bound;		/* rate for all slots */
};

static struct rate rate_of(const struct bench *bench,
			   const struct filter_ops *ops, unsigned int f,
			   bool ours)
{
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	struct filter *filter;
	struct rate rate;
	u64 n = SLOTS * LOAD;
	double hits;

	params.f = f;
	params.undo = true;
	if (ours)
		params.n = ours_filter_capacity(SLOTS, f);
	filter = filter_create(ops, &params);
	measure_fill(filter, bench->seed, 0, n);
	hits = measure_hits(filter, bench->seed, n, bench->non_members);
	rate.measured = hits / bench->non_members;
	rate.error = 2 * sqrt(hits) / bench->non_members;
	rate.formula = filter_fpp(filter);
	rate.bound = 1 - pow(1 - ldexp(1, -f), 2 * params.b);
	filter_destroy(filter);
	return rate;
}

static void claim_rate(const struct rate *rate, unsigned int f,
		       const char *published, double upper)
{
	char claim[80];

	snprintf(claim, sizeof(claim),
		 "false positives of %u-bit fingerprints, 4 slots", f);
	report_claim(claim, published, rate->measured < upper ? REPORT_HOLDS :
								REPORT_FAILS,
		     "%.3g +- %.2g at a load of %.2f; the bound "
		     "1-(1-2^-f)^(2b) is %.3g, and what the used slots give, "
		     "with 2^f - 1 values of a fingerprint, %.3g.",
		     rate->measured, rate->error, LOAD, rate->bound,
		     rate->formula);
}

/* Is the rate within three standard deviations of that of the used slots? */
static bool as_expected(const struct rate *rate)
{
	return fabs(rate->measured - rate->formula) <= 1.5 * rate->error;
}

static void claim_ours(const struct rate *narrow, const struct rate *wide)
{
	report_claim("our filter: of all non-members 8 a / (2^f - 1) match at a "
		     "load of a, fewer where there are copies", "README.md",
		     as_expected(narrow) && as_expected(wide) ? REPORT_HOLDS :
								REPORT_FAILS,
		     "%.3g +- %.2g with 8 bits, where that is %.3g and copies, "
		     "for there are but 255 fingerprints, make it %.3g; "
		     "%.3g +- %.2g with 16 bits, where it is %.3g.",
		     narrow->measured, narrow->error, 8 * LOAD / 0xff,
		     narrow->formula, wide->measured, wide->error,
		     8 * LOAD / 0xffff);
}

void bench_rate(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "bound", "%.3g" }, { "formula", "%.3g" },
		{ "measured", "%.3g" }, { "+- 2 s.d.", "%.2g" },
	};
	static const struct {
		const char *label;
		const struct filter_ops *ops;
		unsigned int f;
		bool ours;	/* created for a capacity, not for slots */
	} kinds[] = {
		{ "cuckoo 8", &filter_cuckoo, 8 },
		{ "cuckoo 12", &filter_cuckoo, 12 },
		{ "cuckoo 16", &filter_cuckoo, 16 },
		{ "semi-sorted 9", &filter_semisort, 9 },
		{ "ours, filter 8", &filter_ours[0], 8, true },
		{ "ours, filter 16", &filter_ours[1], 16, true },
		{ "ours, filter 32", &filter_ours[2], 32, true },
		{ "ours, table", &filter_table, 0 },
	};
	struct rate rate[sizeof(kinds) / sizeof(*kinds)];
	unsigned int i;

	report_section("False positives of the cuckoo filter");
	report_text("%.0f entries in %u slots, %llu non-members looked up. "
		    "Semi-sorted with 9 bits takes the space of 8.",
		    SLOTS * LOAD, SLOTS, bench->non_members);
	report_table("rate", "Rate of false positives", "filter, bits", columns,
		     4);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		rate[i] = rate_of(bench, kinds[i].ops, kinds[i].f,
				  kinds[i].ours);
		if (kinds[i].ops->exact)
			rate[i].bound = 0;
		report_row(kinds[i].label, (double[]){ rate[i].bound,
			   rate[i].formula, rate[i].measured, rate[i].error });
	}
	claim_rate(&rate[0], 8, "about 3 %", 0.0315);
	claim_rate(&rate[2], 16, "about 0.01 %", 0.00013);
	claim_ours(&rate[4], &rate[5]);
}
