// SPDX-License-Identifier: GPL-2.0-only
/* Adds the same element again and again, until it is refused. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "cuckoo.h"
#include "filter.h"
#include "measure.h"
#include "ours.h"
#include "report.h"

#define SLOTS		(1 << 12)
#define OTHERS		(SLOTS / 4 * 3)
#define OTHERS_1	(SLOTS / 4)	/* one slot: 50 % at most */
#define ELEMENTS	1000
#define ELEMENTS_QUICK	100

struct copies {
	double expected;	/* share of elements that were stored 2b times */
	double half;		/* stored b times: both buckets are the same */
	double kicks;		/* evictions of the refused insertion, mean */
	double lost;		/* other elements that are not found any more, mean */
	double found;		/* share that is still found after as many deletions */
};

static u64 kicks_of(const struct filter *filter)
{
	return filter->ops == &filter_cuckoo ?
	       ((const struct cuckoo *)filter)->kicked :
	       ours_filter_moved(filter);
}

/* Test one element in a filter that has @n others. */
static void one(const struct filter_ops *ops, const struct filter_params *params,
		u64 seed, u32 element, u64 n, struct copies *sum)
{
	struct filter *filter = filter_create(ops, params);
	u32 key = key_nth(seed, element);
	unsigned int copies = 0;
	u64 kicked, before;

	measure_fill(filter, seed, 0, n);
	before = measure_hits(filter, seed, 0, n);
	do {
		kicked = kicks_of(filter);
	} while (!filter_add(filter, key) && ++copies < 100);
	sum->expected += copies == 2 * params->b;
	sum->half += copies == params->b;
	sum->kicks += kicks_of(filter) - kicked;
	sum->lost += before - measure_hits(filter, seed, 0, n);
	while (copies--)
		filter_del(filter, key);
	sum->found += filter_test(filter, key);
	filter_destroy(filter);
}

static struct copies many(const struct bench *bench,
			  const struct filter_ops *ops,
			  struct filter_params params, u64 n)
{
	unsigned int elements = bench->quick ? ELEMENTS_QUICK : ELEMENTS;
	struct copies sum = {};
	unsigned int i;

	for (i = 0; i < elements; i++) {
		params.seed = bench->seed + i;
		one(ops, &params, bench->seed, n + i, n, &sum);
	}
	sum.expected /= elements;
	sum.half /= elements;
	sum.kicks /= elements;
	sum.lost /= elements;
	sum.found /= elements;
	return sum;
}

static void copies_row(const char *label, const struct copies *copies)
{
	report_row(label, (double[]){ copies->expected, copies->half,
		   copies->kicks, copies->lost, copies->found });
}

/* Measure the published filter, and derive the claims from the rows. */
static void rows(const struct bench *bench, struct copies *ninth,
		 struct copies *undo, struct copies *tiny)
{
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	struct copies copies;
	char label[32];

	for (params.b = 1; params.b <= 8; params.b *= 2) {
		copies = many(bench, &filter_cuckoo, params,
			      params.b == 1 ? OTHERS_1 : OTHERS);
		if (params.b == 4)
			*ninth = copies;
		snprintf(label, sizeof(label), "%u, as published", params.b);
		copies_row(label, &copies);
	}
	params.b = 4;
	params.undo = true;
	*undo = many(bench, &filter_cuckoo, params, OTHERS);
	copies_row("4, undone", undo);
	params.undo = false;
	params.n = 9;
	*tiny = many(bench, &filter_cuckoo, params, 0);
	copies_row("4, NewFilter(9)", tiny);
}

static void ours_rows(const struct bench *bench)
{
	struct filter_params params = filter_defaults(bench->seed, 0);
	struct copies copies;
	unsigned int i;
	char label[32];

	for (i = 0; i < 3; i++) {
		params.n = ours_filter_capacity(SLOTS, 8 << i);
		copies = many(bench, &filter_ours[i], params, OTHERS);
		snprintf(label, sizeof(label), "4, ours, %u bits", 8 << i);
		copies_row(label, &copies);
	}
	params.n = 9;
	copies = many(bench, &filter_ours[0], params, 0);
	copies_row("4, ours, made for 9", &copies);
}

static void claim_ours(const struct bench *bench)
{
	struct filter_params params = filter_defaults(bench->seed, 1000);
	struct filter *filter = filter_create(&filter_table, &params);
	int first = filter_add(filter, 1), second = filter_add(filter, 1);

	report_claim("checking before inserting may take a non-member for a "
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
	struct copies ninth = {}, undo, tiny;

	report_section("One element again and again");
	report_text("Added until it is refused, to a filter of %u slots that "
		    "has %u others (%u with 1 slot), with 8 bits unless it "
		    "says otherwise. \"2b stored\" and \"b stored\" are "
		    "shares of elements; \"lost\" counts others that were "
		    "found before and are not after; \"found\" is the share "
		    "that still seems to be there when as many copies as were "
		    "stored are deleted again. Ours is \"multi\" here, and "
		    "moves nothing for an element that it then refuses.",
		    SLOTS, OTHERS, OTHERS_1);
	report_table("copies", "Copies of one element", "slots, failure",
		     columns, 5);
	rows(bench, &ninth, &undo, &tiny);
	ours_rows(bench);
	claim_ninth(&ninth, &undo, &tiny);
	claim_ours(bench);
}
