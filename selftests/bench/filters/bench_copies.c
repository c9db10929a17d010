// SPDX-License-Identifier: GPL-2.0-only
/* The same element again and again, until it is refused. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "cuckoo.h"
#include "filter.h"
#include "measure.h"
#include "report.h"

#define SLOTS		(1 << 12)
#define OTHERS		(SLOTS / 4 * 3)
#define OTHERS_1	(SLOTS / 4)	/* one slot: 50 % at most */
#define ELEMENTS	1000
#define ELEMENTS_QUICK	100

struct copies {
	double expected;	/* share of elements that were stored 2b times */
	double half;		/* b times: both their buckets are the same one */
	double kicks;		/* evictions of the refused insertion, mean */
	double lost;		/* others that are no longer found, mean */
	double found;		/* share still found after as many deletions */
};

/* One element's turn in a filter of its own, which has @n others. */
static void one(struct filter_params params, u64 seed, u32 element, u64 n,
		struct copies *sum)
{
	struct filter *filter = filter_create(&filter_cuckoo, &params);
	struct cuckoo *cuckoo = (struct cuckoo *)filter;
	u32 key = key_nth(seed, element);
	unsigned int copies = 0;
	u64 kicked, before;

	measure_fill(filter, seed, 0, n);
	before = measure_hits(filter, seed, 0, n);
	do {
		kicked = cuckoo->kicked;
	} while (!filter_add(filter, key) && ++copies < 100);
	sum->expected += copies == 2 * params.b;
	sum->half += copies == params.b;
	sum->kicks += cuckoo->kicked - kicked;
	sum->lost += before - measure_hits(filter, seed, 0, n);
	while (copies--)
		filter_del(filter, key);
	sum->found += filter_test(filter, key);
	filter_destroy(filter);
}

static struct copies many(const struct bench *bench, unsigned int b, u64 slots,
			  u64 n, bool undo)
{
	struct filter_params params = filter_defaults(bench->seed, slots);
	unsigned int elements = bench->quick ? ELEMENTS_QUICK : ELEMENTS;
	struct copies sum = {};
	unsigned int i;

	params.b = b;
	params.undo = undo;
	for (i = 0; i < elements; i++) {
		params.seed = bench->seed + i;
		one(params, bench->seed, n + i, n, &sum);
	}
	sum.expected /= elements;
	sum.half /= elements;
	sum.kicks /= elements;
	sum.lost /= elements;
	sum.found /= elements;
	return sum;
}

static void claim_ours(const struct bench *bench)
{
	struct filter_params params = filter_defaults(bench->seed, 1000);
	struct filter *filter = filter_create(&filter_table, &params);
	int first = filter_add(filter, 1), second = filter_add(filter, 1);

	report_claim("checking before inserting may take a stranger for a "
		     "duplicate", "a weak point", REPORT_HOLDS,
		     "Of the 8-bit filter at a load of 0.95 that is its rate "
		     "of false positives, 3 %%. Our exact table always checks "
		     "and is never mistaken: the first copy %s, the second %s.",
		     first ? "is refused" : "is stored",
		     second == -EEXIST ? "is there already (-EEXIST)" :
					 "is stored again");
	filter_destroy(filter);
}

static void claim_ninth(const struct copies *published,
			const struct copies *undo, const struct copies *tiny)
{
	report_claim("the ninth copy of one element evicts to the limit and "
		     "fails, with 4 slots", "2b + 1st = 9th",
		     published->expected > 0.9 ? REPORT_HOLDS : REPORT_PARTLY,
		     "In a filter filled to three quarters the 9th is the "
		     "first refused for %.1f %% of elements, after %.0f "
		     "evictions; an earlier one for the rest, as others in "
		     "those two buckets have the same fingerprint or nowhere "
		     "else to go. The failure costs %.3f other elements on "
		     "average as published, %.3f when evictions are taken "
		     "back.",
		     100 * published->expected, published->kicks,
		     published->lost, undo->lost);
	report_claim("every element has two buckets", "2b slots",
		     tiny->half > 0.01 ? REPORT_PARTLY : REPORT_HOLDS,
		     "Not where hash(f) is 0 in the bits of the index: one in "
		     "as many elements as there are buckets has one bucket. In "
		     "NewFilter(9), 4 buckets, %.0f %% of elements are refused "
		     "at the 5th copy. Our second bucket is never the first.",
		     100 * tiny->half);
}

void bench_copies(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "2b stored", "%.3f" }, { "b stored", "%.3f" },
		{ "evictions", "%.0f" }, { "lost", "%.3f" },
		{ "found", "%.3f" },
	};
	struct copies copies, ninth = {}, undo, tiny;
	unsigned int b;
	char label[32];

	report_section("One element again and again");
	report_text("Added until it is refused, to an 8-bit filter of %u slots "
		    "that has %u others (%u with 1 slot). \"2b stored\" and \"b stored\" are "
		    "shares of elements; \"lost\" counts others that were "
		    "found before and are not after; \"found\" is the share "
		    "that still seems to be there when as many copies as were "
		    "stored are deleted again.", SLOTS, OTHERS, OTHERS_1);
	report_table("copies", "Copies of one element", "slots, failure",
		     columns, 5);
	for (b = 1; b <= 8; b *= 2) {
		copies = many(bench, b, SLOTS, b == 1 ? OTHERS_1 : OTHERS,
			      false);
		if (b == 4)
			ninth = copies;
		snprintf(label, sizeof(label), "%u, as published", b);
		report_row(label, (double[]){ copies.expected, copies.half,
			   copies.kicks, copies.lost, copies.found });
	}
	undo = many(bench, 4, SLOTS, OTHERS, true);
	report_row("4, undone", (double[]){ undo.expected, undo.half,
		   undo.kicks, undo.lost, undo.found });
	tiny = many(bench, 4, 9, 0, false);
	report_row("4, NewFilter(9)", (double[]){ tiny.expected, tiny.half,
		   tiny.kicks, tiny.lost, tiny.found });
	claim_ninth(&ninth, &undo, &tiny);
	claim_ours(bench);
}
