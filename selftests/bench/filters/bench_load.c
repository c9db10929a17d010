// SPDX-License-Identifier: GPL-2.0-only
/* How full cuckoo tables get, depending on the slots of a bucket. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "cuckoo.h"
#include "filter.h"
#include "measure.h"
#include "ours.h"
#include "report.h"

#define SLOTS		(1 << 18)
#define SLOTS_QUICK	(1 << 15)
#define RUNS		9
#define PLACES		100000	/* how many are examined to find the farthest */

struct loads {
	double median;
	double low;
	double high;
};

/* Number of entries when the first one is refused, as a share of @slots; median, minimum and
 * maximum of several runs with different seeds.
 */
static struct loads fill_up(const struct bench *bench,
			    const struct filter_ops *ops,
			    struct filter_params params, u64 slots)
{
	struct filter *filter;
	double load[RUNS], median;
	unsigned int run;

	for (run = 0; run < RUNS; run++) {
		params.seed = bench->seed + run;
		filter = filter_create(ops, &params);
		load[run] = measure_fill_up(filter, params.seed, 2 * slots) /
			    (double)slots;
		filter_destroy(filter);
	}
	median = measure_median(load, RUNS);	/* and now they are sorted */
	return (struct loads){ median, load[0], load[RUNS - 1] };
}

/* @filters have 8, 16 and 32 bits; the verdict is about the one with 16. */
static void claim_load(unsigned int b, double published,
		       const struct loads *filters, const struct loads *table)
{
	const struct loads *filter = &filters[1];
	char claim[80], text[16], narrow[160] = "";
	bool more = filter->median > published + 0.025;
	bool less = filter->median < published - 0.01;

	snprintf(claim, sizeof(claim), "load factor with %u slot%s a bucket",
		 b, b > 1 ? "s" : "");
	snprintf(text, sizeof(text), "%.0f %%", 100 * published);
	if (filters[0].median < published - 0.01)
		snprintf(narrow, sizeof(narrow),
			 " Fingerprints of 8 bits get to %.1f %% only: a bucket "
			 "has at most 255 others that it can share entries with.",
			 100 * filters[0].median);
	report_claim(claim, text, less ? REPORT_FAILS :
				  more ? REPORT_PARTLY : REPORT_HOLDS,
		     "%.1f %% at the first refusal (%.1f to %.1f in %u runs); "
		     "the hash table with whole keys %.1f %%.%s%s",
		     100 * filter->median, 100 * filter->low,
		     100 * filter->high, RUNS, 100 * table->median,
		     narrow,
		     more ? " Reached with room to spare: the known threshold "
			    "for two choices of buckets of two is 89.7 %, and "
			    "500 evictions come near it." :
		     less ? " 500 evictions do not get there: entries and "
			    "buckets form a graph in which every component may "
			    "have one cycle at most, and near the threshold "
			    "some component has two before chains get long." :
			    "");
}

/* A filter that is created for a number slightly below a power of two. */
static void claim_capacity(const struct bench *bench)
{
	struct filter_params params = filter_defaults(bench->seed, 9);
	struct filter *small = filter_create(&filter_cuckoo, &params), *ours;
	struct loads full;
	u64 n = 1 << 16;

	params.n = n;
	full = fill_up(bench, &filter_cuckoo, params, n);
	ours = filter_create(&filter_ours[0], &params);
	report_claim("NewFilter(9) makes 16 slots", "16",
		     cuckoo_slots(small) == 16 ? REPORT_HOLDS : REPORT_FAILS,
		     "%llu. The other side of that rounding: NewFilter(%llu) "
		     "makes %llu slots, of which %.1f %% are filled when the "
		     "first entry is refused. It does not hold what it was "
		     "made for. Our filter made for as many has %llu slots, "
		     "and refuses %llu.", cuckoo_slots(small), n, n,
		     100 * full.median, ours_filter_slots(ours),
		     measure_fill(ours, bench->seed, 0, n));
	filter_destroy(ours);
	filter_destroy(small);
}

/* Why the other bucket is i xor hash(f), not i xor f. */

struct alternates {
	struct loads hashed;
	struct loads bare;
	double farthest;	/* two buckets that are f apart, in buckets */
};

static double farthest(const struct filter *filter, u64 seed)
{
	struct cuckoo_place place;
	double most = 0;
	u32 i;

	for (i = 0; i < PLACES; i++) {
		place = cuckoo_place((const struct cuckoo *)filter,
				     key_nth(seed, i));
		most = fmax(most, fabs((double)place.bucket[0] -
				       (double)place.bucket[1]));
	}
	return most;
}

static struct alternates alternates_row(const struct bench *bench,
					unsigned int f, u64 slots)
{
	struct filter_params params = filter_defaults(bench->seed, slots);
	struct alternates a;
	struct filter *filter;
	char label[16];

	params.f = f;
	a.hashed = fill_up(bench, &filter_cuckoo, params, slots);
	params.unhashed = true;
	a.bare = fill_up(bench, &filter_cuckoo, params, slots);
	filter = filter_create(&filter_cuckoo, &params);
	a.farthest = farthest(filter, bench->seed);
	filter_destroy(filter);
	snprintf(label, sizeof(label), "%u", f);
	report_row(label, (double[]){ a.hashed.median, a.hashed.low,
		   a.hashed.high, a.bare.median, a.bare.low, a.bare.high,
		   a.farthest });
	return a;
}

static void alternates(const struct bench *bench, u64 slots)
{
	static const struct report_column columns[] = {
		{ "hash(f)", "%.4f" }, { "lowest", "%.4f" },
		{ "highest", "%.4f" }, { "f itself", "%.4f" },
		{ "lowest", "%.4f" }, { "highest", "%.4f" },
		{ "farthest", "%.0f" },
	};
	static const unsigned int widths[] = { 4, 6, 8, 12, 16 };
	struct alternates a[5];
	unsigned int i;

	report_table("load-alternate", "Load at the first refusal, 4 slots, if "
		     "the other bucket is i xor hash(f), and if it is i xor f; "
		     "then also how many buckets away it is at most",
		     "fingerprint bits", columns, 7);
	for (i = 0; i < 5; i++)
		a[i] = alternates_row(bench, widths[i], slots);
	report_claim("the other bucket is i xor hash(f), not i xor f: else, "
		     "with small fingerprints, evicted items land next to "
		     "where they were", "Fan et al., CoNEXT 2014",
		     a[2].bare.median < a[2].hashed.median - 0.01 ?
		     REPORT_HOLDS : REPORT_FAILS,
		     "i xor f is within %.0f buckets of i with 8 bits, of "
		     "%llu, and so is all that evictions reach: the table "
		     "falls apart into blocks of 2^f buckets, and the one that "
		     "happens to get the most entries is full when the others "
		     "are not. %.1f %% instead of %.1f %% with 8 bits, %.1f %% "
		     "instead of %.1f %% with 4. With 16 bits, which reach "
		     "every bucket here, it makes no difference: %.1f %% and "
		     "%.1f %%.",
		     a[2].farthest, slots / 4, 100 * a[2].bare.median,
		     100 * a[2].hashed.median, 100 * a[0].bare.median,
		     100 * a[0].hashed.median, 100 * a[4].bare.median,
		     100 * a[4].hashed.median);
}

/* Our tables, which have buckets of four slots: the filter, and the table of whole keys. */
static void ours_row(const struct bench *bench, u64 slots)
{
	struct filter_params params = filter_defaults(bench->seed, slots);
	struct loads filter[3], table;
	unsigned int i;

	params.overfill = true;
	for (i = 0; i < 3; i++) {
		params.n = ours_filter_capacity(slots, 8 << i);
		filter[i] = fill_up(bench, &filter_ours[i], params, slots);
	}
	/* Created for so many entries, it has exactly these slots. */
	params.n = slots * 0.9549;
	table = fill_up(bench, &filter_table, params, slots);
	report_row("4, ours", (double[]){ NAN, filter[1].median, filter[1].low,
		   filter[1].high, filter[0].median, filter[2].median,
		   table.median });
}

void bench_load(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "published", "%.2f" }, { "16-bit", "%.4f" },
		{ "lowest", "%.4f" }, { "highest", "%.4f" },
		{ "8-bit", "%.4f" }, { "32-bit", "%.4f" },
		{ "whole keys", "%.4f" },
	};
	static const double published[] = { 0.50, 0.84, 0.95, 0.98 };
	u64 slots = bench->quick ? SLOTS_QUICK : SLOTS;
	struct filter_params params = filter_defaults(bench->seed, slots);
	struct loads filter[4][3], table[4];
	unsigned int i, j;
	char label[16];

	report_section("Load factor");
	report_text("%llu slots filled until the first refusal, after %u "
		    "evictions; ours after a search of 512 buckets, and past "
		    "the capacity that it would hold on to. Whole keys are "
		    "those of the hash table, and of our exact one. Medians of "
		    "%u runs.", slots, params.kicks, RUNS);
	report_table("load", "Load at the first refusal", "slots a bucket",
		     columns, 7);
	for (i = 0; i < 4; i++) {
		params.b = 1 << i;
		for (j = 0; j < 3; j++) {
			params.f = 8 << j;
			filter[i][j] = fill_up(bench, &filter_cuckoo, params,
					       slots);
		}
		table[i] = fill_up(bench, &filter_hashtable, params, slots);
		snprintf(label, sizeof(label), "%u", params.b);
		report_row(label, (double[]){ published[i],
			   filter[i][1].median, filter[i][1].low,
			   filter[i][1].high, filter[i][0].median,
			   filter[i][2].median, table[i].median });
	}
	ours_row(bench, slots);
	for (i = 0; i < 4; i++)
		claim_load(1 << i, published[i], filter[i], &table[i]);
	claim_capacity(bench);
	alternates(bench, slots);
}
