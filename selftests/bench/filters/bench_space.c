// SPDX-License-Identifier: GPL-2.0-only
/* Bits an entry, depending on the error rate, and where the curves intersect. */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "filter.h"
#include "measure.h"
#include "report.h"

#define SLOTS		(1 << 18)
#define POINTS_MAX	24
/* With at least so many false positives, the measured rate is used instead of the formula. */
#define HITS_MIN	100

struct point {
	double bits;
	double rate;
};

struct curve {
	const char *name;
	const char *title;
	const struct filter_ops *ops;
	unsigned int n;
	struct point point[POINTS_MAX];
};

static const struct report_column columns[] = {
	{ "bits/entry", "%.2f" }, { "rate", "%.3g" }, { "measured", "%.3g" },
	{ "formula", "%.3g" }, { "load", "%.4f" },
};

/* A filter filled to the first refusal, or, if it never refuses, to its design number. */
static void add_point(struct curve *curve, const struct bench *bench,
		      const struct filter_params *params, const char *label)
{
	struct filter *filter = filter_create(curve->ops, params);
	u64 n = measure_fill_up(filter, params->seed, params->n);
	u64 non_members = bench->non_members / 5;
	double hits = measure_hits(filter, params->seed, n + 1, non_members);
	struct point *point = &curve->point[curve->n++];

	point->bits = filter_bits(filter) / (double)n;
	point->rate = hits < HITS_MIN ? filter_fpp(filter) : hits / non_members;
	report_row(label, (double[]){ point->bits, point->rate,
		   hits < HITS_MIN ? NAN : hits / non_members,
		   filter_fpp(filter), (double)n / params->n });
	filter_destroy(filter);
}

static void bloom_curve(struct curve *curve, const struct bench *bench)
{
	static const double fpps[] = {
		0.4, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 3e-4,
		1e-4, 1e-5,
	};
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	char label[16];
	unsigned int i;

	report_table(curve->name, curve->title, "made for", columns, 5);
	for (i = 0; i < sizeof(fpps) / sizeof(*fpps); i++) {
		params.fpp = fpps[i];
		snprintf(label, sizeof(label), "%g", fpps[i]);
		add_point(curve, bench, &params, label);
	}
}

static void cuckoo_curve(struct curve *curve, const struct bench *bench)
{
	static const unsigned int widths[] = {
		5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20,
	};
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	char label[16];
	unsigned int i;

	params.undo = true;
	report_table(curve->name, curve->title, "fingerprint bits", columns, 5);
	for (i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		params.f = widths[i];
		snprintf(label, sizeof(label), "%u", widths[i]);
		add_point(curve, bench, &params, label);
	}
}

/* Single points, not a curve: these filters hold the number they are created for. */
static void ours_points(struct curve *curve, const struct bench *bench)
{
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	char label[16];
	unsigned int i;

	report_table(curve->name, curve->title, "fingerprint bits", columns, 5);
	for (i = 0; i < 3; i++) {
		curve->ops = &filter_ours[i];
		snprintf(label, sizeof(label), "%u", 8 << i);
		add_point(curve, bench, &params, label);
	}
}

/* Bits of a curve for a rate, interpolated between its points. */
static double bits_at(const struct curve *curve, double rate)
{
	const struct point *a, *b;
	unsigned int i;

	for (i = 1; i < curve->n; i++) {
		a = &curve->point[i - 1];
		b = &curve->point[i];
		if (b->rate <= rate && rate <= a->rate)
			return a->bits + (b->bits - a->bits) *
			       log(rate / a->rate) / log(b->rate / a->rate);
	}
	return NAN;
}

/* The rate of a curve for a number of bits. */
static double rate_at(const struct curve *curve, double bits)
{
	double rate;

	for (rate = 0.3; rate > 1e-5; rate *= 0.99)
		if (bits_at(curve, rate) >= bits)
			return rate;
	return NAN;
}

/* The rate below which @a takes less memory than @b, or NAN. */
static double crossing(const struct curve *a, const struct curve *b)
{
	double rate, last = NAN, difference;

	for (rate = 0.3; rate > 1e-5; rate *= 0.99) {
		difference = bits_at(a, rate) - bits_at(b, rate);
		if (difference < 0 && last >= 0)
			return rate;
		if (!isnan(difference))
			last = difference;
	}
	return NAN;
}

/* Solves (log2(1/e) + @spare) / @load = 1.44 log2(1/e). */
static double crossing_formula(double spare, double load)
{
	return exp2(-spare / load / (1 / M_LN2 - 1 / load));
}

static void claim_crossing(const struct curve *bloom,
			   const struct curve *cuckoo,
			   const struct curve *sorted)
{
	double plain = crossing(cuckoo, bloom), semi = crossing(sorted, bloom);

	report_claim("a cuckoo filter takes less space than a Bloom filter "
		     "where the error rate is below 3 %", "3 %",
		     plain > 0.025 ? REPORT_HOLDS :
		     semi > 0.02 ? REPORT_PARTLY : REPORT_FAILS,
		     "The plain one does so below %.2f %% only; the "
		     "semi-sorted one, which saves a bit, below %.2f %%: the "
		     "3 %% are the latter's. By the formulas, "
		     "(log2(1/e) + 3) / 0.95 = 1.44 log2(1/e) at e = %.2f %%, "
		     "with + 2 at %.2f %%; both at a little more here, for "
		     "the load is 0.96, empty slots match nothing (%.2f and "
		     "%.2f %% with that), and Bloom's k is rounded. At 3 %% "
		     "Bloom takes %.2f bits an entry, cuckoo %.2f, "
		     "semi-sorted %.2f; at 0.1 %% %.2f, %.2f, %.2f.",
		     100 * plain, 100 * semi, 100 * crossing_formula(3, 0.95),
		     100 * crossing_formula(2, 0.95),
		     100 * crossing_formula(3 + log2(0.963), 0.963),
		     100 * crossing_formula(2 + log2(0.963), 0.963), bits_at(bloom, 0.03),
		     bits_at(cuckoo, 0.03), bits_at(sorted, 0.03),
		     bits_at(bloom, 1e-3), bits_at(cuckoo, 1e-3),
		     bits_at(sorted, 1e-3));
	report_claim("semi-sorting saves one bit an entry", "1 bit",
		     bits_at(cuckoo, 1e-3) - bits_at(sorted, 1e-3) > 0.9 ?
		     REPORT_HOLDS : REPORT_FAILS,
		     "%.2f bits at 1 %%, %.2f at 0.1 %% (1 / load, for a slot "
		     "saves it, used or not).",
		     bits_at(cuckoo, 1e-2) - bits_at(sorted, 1e-2),
		     bits_at(cuckoo, 1e-3) - bits_at(sorted, 1e-3));
}

/* Bits for a rate with @b slots: (log2(1/e) + log2(2b)) / the load factor that is reached. */
static double bits_with(const struct bench *bench, unsigned int b, double rate)
{
	struct filter_params params = filter_defaults(bench->seed, SLOTS);
	double exact = -log2(rate) + log2(2 * b);
	struct filter *filter;
	double load;

	params.b = b;
	params.f = ceil(exact);
	filter = filter_create(&filter_cuckoo, &params);
	load = measure_fill_up(filter, bench->seed, SLOTS) / (double)SLOTS;
	filter_destroy(filter);
	return exact / load;
}

/* Bits of the narrowest fingerprints that keep within a rate. */
static double bits_within(const struct curve *ours, double rate)
{
	unsigned int i;

	for (i = 0; i < ours->n; i++)
		if (ours->point[i].rate <= rate)
			return ours->point[i].bits;
	return NAN;
}

static void best_slots(const struct bench *bench, const struct curve *ours)
{
	static const struct report_column slots[] = {
		{ "b = 1", "%.2f" }, { "b = 2", "%.2f" }, { "b = 4", "%.2f" },
		{ "b = 8", "%.2f" }, { "ours", "%.2f" },
	};
	static const double rates[] = { 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5 };
	unsigned int i, j, best = 0;
	double bits[5], least = 0;
	char label[16];

	report_table("space-slots",
		     "Bits an entry by slots of a bucket, at the load reached; "
		     "ours with 8, 16 or 32 bits, whichever keep within the "
		     "rate", "error rate", slots, 5);
	for (i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		for (j = 0; j < 4; j++)
			bits[j] = bits_with(bench, 1 << j, rates[i]);
		bits[4] = bits_within(ours, rates[i]);
		snprintf(label, sizeof(label), "%g", rates[i]);
		report_row(label, bits);
		if (bits[2] <= bits[1] && bits[2] <= bits[3]) {
			best++;
			least = fmax(least, rates[i]);
		}
	}
	report_claim("4 slots a bucket are the best in practice",
		     "(log2(1/e) + 3) / load", best == i ? REPORT_HOLDS :
		     best ? REPORT_PARTLY : REPORT_FAILS,
		     "They take the fewest bits at %u of the %u rates above, "
		     "the highest of which is %g; for higher rates 2 slots "
		     "take less, for they compare with half as many "
		     "fingerprints.", best, i, least);
}

/* Our exact table has no error rate, so it is a line: for a million hosts and for fewer. */
static void exact_bits(const struct bench *bench, const struct curve *bloom,
		       const struct curve *cuckoo)
{
	static const u64 numbers[] = { 10000, 100000, 400000, 1000000 };
	struct filter_params params;
	double bits = 0, non_members = 100000;
	struct filter *filter;
	unsigned int i;
	char label[32];

	report_table("space-exact", "Our exact table", "entries", columns, 5);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		params = filter_defaults(bench->seed, numbers[i]);
		filter = filter_create(&filter_table, &params);
		measure_fill(filter, bench->seed, 0, numbers[i]);
		snprintf(label, sizeof(label), "%llu", numbers[i]);
		bits = filter_bits(filter) / (double)filter->count;
		report_row(label, (double[]){ bits, 0,
			   measure_hits(filter, bench->seed, numbers[i],
					non_members) / non_members, 0,
			   filter->count / (double)numbers[i] });
		filter_destroy(filter);
	}
	report_text("Our table of a million hosts takes %.1f bits an entry and "
		    "does not err. For as many, a Bloom filter errs with "
		    "%.2g %%, a cuckoo filter with %.2g %%. Below some 940000 "
		    "hosts ours keeps a bit of each beside its slots, below "
		    "470000 two, below 225000 four.",
		    bits, 100 * rate_at(bloom, bits),
		    100 * rate_at(cuckoo, bits));
}

/* The cost of having a power of two of buckets, for other numbers of entries. */
static void sizes(const struct bench *bench)
{
	static const struct report_column kinds[] = {
		{ "cuckoo 8", "%.2f" }, { "ours 8", "%.2f" },
		{ "cuckoo 16", "%.2f" }, { "ours 16", "%.2f" },
		{ "cuckoo 32", "%.2f" }, { "ours 32", "%.2f" },
	};
	static const u64 numbers[] = { 240000, 260000, 300000, 400000, 500000 };
	const struct filter_ops *ops;
	struct filter_params params;
	struct filter *filter;
	unsigned int i, j;
	double bits[6];
	char label[16];

	report_table("space-sizes", "Bits an entry by entries: published "
		     "filters have a power of two of buckets, at a load of "
		     "0.95 at most; ours has what the number takes", "entries",
		     kinds, 6);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		for (j = 0; j < 6; j++) {
			ops = j % 2 ? &filter_ours[j / 2] : &filter_cuckoo;
			params = filter_defaults(bench->seed, numbers[i]);
			params.f = 8 << j / 2;
			if (ops == &filter_cuckoo)
				params.n /= 0.95;
			filter = filter_create(ops, &params);
			measure_fill(filter, bench->seed, 0, numbers[i]);
			bits[j] = filter_bits(filter) / (double)filter->count;
			filter_destroy(filter);
		}
		snprintf(label, sizeof(label), "%llu", numbers[i]);
		report_row(label, bits);
	}
}

void bench_space(const struct bench *bench)
{
	struct curve bloom = { "space-bloom", "Bloom", &filter_bloom };
	struct curve blocked = { "space-blocked", "Blocked Bloom",
				 &filter_blocked };
	struct curve counting = { "space-counting", "Counting Bloom",
				  &filter_counting };
	struct curve cuckoo = { "space-cuckoo", "Cuckoo", &filter_cuckoo };
	struct curve sorted = { "space-semisort", "Semi-sorted cuckoo",
				&filter_semisort };
	struct curve ours = { "space-filter",
			      "Our filter, filled to its capacity" };

	report_section("Bits an entry against the error rate");
	report_text("Bloom filters made for %u entries; cuckoo filters of as "
		    "many slots filled to the first refusal, 4 slots a bucket. "
		    "\"rate\" is what was measured with %llu non-members, or the "
		    "formula where that met fewer than %u. Sizes here suit the "
		    "published cuckoo filters.", SLOTS,
		    bench->non_members / 5, HITS_MIN);
	bloom_curve(&bloom, bench);
	bloom_curve(&blocked, bench);
	bloom_curve(&counting, bench);
	cuckoo_curve(&cuckoo, bench);
	cuckoo_curve(&sorted, bench);
	ours_points(&ours, bench);
	sizes(bench);
	exact_bits(bench, &bloom, &cuckoo);
	best_slots(bench, &ours);
	claim_crossing(&bloom, &cuckoo, &sorted);
}
