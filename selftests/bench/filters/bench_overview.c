// SPDX-License-Identifier: GPL-2.0-only
/* All filters side by side, with one number of entries. */
#include <math.h>

#include "bench.h"
#include "bloom.h"
#include "filter.h"
#include "measure.h"
#include "report.h"

#define ENTRIES		1000000
#define ENTRIES_QUICK	500000
#define CONTENDERS_MAX	16

/* Parameters with which a kind of filter can take all entries: matrices may overflow (their rate
 * shows the cost), hash tables get a load factor that they can reach.
 */
static struct filter_params params_for(const struct filter_ops *ops, u64 seed,
				       u64 n)
{
	struct filter_params params = filter_defaults(seed, n);

	params.overfill = true;
	params.undo = true;
	if (ops == &filter_hashtable)
		params.n = n / 0.95;
	if (ops == &filter_hashtable1)
		params.n = n / 0.45;
	if (ops == &filter_semisort)
		params.f = 9;
	return params;
}

static void row(const struct bench *bench, const struct contender *contender,
		u64 n)
{
	struct filter *filter = filter_create(contender->ops,
					      &contender->params);
	u64 refused = measure_fill(filter, bench->seed, 0, n);
	u64 non_members = bench->non_members / 10;
	double hits = measure_hits(filter, bench->seed, n, non_members);
	double cells[] = {
		filter_bits(filter) / (double)n, 100 * hits / non_members,
		100 * filter_fpp(filter), refused,
		contender->ratio[MEASURE_ADD], contender->ratio[MEASURE_HIT],
		contender->ratio[MEASURE_MISS],
	};

	report_row(contender->name, cells);
	filter_destroy(filter);
}

/* The largest example of the textbook, and the parameters that the libraries compute. */
static void examples(void)
{
	struct filter_params params = filter_defaults(1, 100000);
	struct bloom_shape shape = bloom_shape(&params);
	double rate = bloom_rate(1e9, 32e9, 24);

	report_claim("Bloom filter of 10^9 entries, m/n = 32, k = 24: rate, size",
		     "2.17e-7, 3814.7 MiB",
		     fabs(rate / 2.17e-7 - 1) < 0.01 ? REPORT_HOLDS :
						       REPORT_FAILS,
		     "%.3g by the formula (1 - exp(-kn/m))^k, %.1f MiB; but "
		     "the best k for m/n = 32 is 22 (32 ln 2 = 22.2), with "
		     "%.3g.", rate, 32e9 / 8 / 1048576,
		     bloom_rate(1e9, 32e9, 22));
	report_claim("Bloom filter for tryInit(100000, 0.03)",
		     "m = n log2(e) log2(1/e), k = (m/n) ln 2", REPORT_HOLDS,
		     "m = %llu bits, %.2f an entry, and k = %u, which would "
		     "have %.4f.", shape.m, shape.m / 1e5, shape.k,
		     bloom_rate(1e5, shape.m, shape.k));
}

void bench_overview(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "bits/entry", "%.2f" }, { "false %", "%.3f" },
		{ "formula %", "%.3f" }, { "refused", "%.0f" },
		{ "add", "%.2f" }, { "hit", "%.2f" }, { "miss", "%.2f" },
	};
	struct contender contender[CONTENDERS_MAX] = {};
	u32 n = bench->quick ? ENTRIES_QUICK : ENTRIES;
	unsigned int i;

	report_section("All filters side by side");
	for (i = 0; i < filter_count; i++) {
		contender[i].ops = filter_all[i];
		contender[i].name = filter_all[i]->name;
		contender[i].params = params_for(filter_all[i], bench->seed, n);
	}
	measure_race(contender, filter_count, bench->seed, n, bench->rounds);
	report_text("%u entries, made for 3 %% false positives where that can "
		    "be chosen. Times are ratios to the plain Bloom filter's "
		    "(add %.0f, hit %.0f, miss %.0f ns), medians of %u "
		    "interleaved rounds. Matrices have 8 rows of n/8 entries "
		    "at 3 %% each. The hash table has 4 slots a bucket unless "
		    "it says otherwise, and both are filled to what they bear. "
		    "Our insertions, and the look-ups of a set, "
		    "pay for locks that the kernel does not take. \"ours, "
		    "filter\" is the kernel's cuckoo filter with fingerprints "
		    "of 8, 16 and 32 bits. Its other bucket is h(f) - i "
		    "modulo the number of buckets, where the published one "
		    "has i xor h(f) and needs a power of two of them: its "
		    "memory follows the capacity.",
		    n, contender[0].ns[MEASURE_ADD],
		    contender[0].ns[MEASURE_HIT], contender[0].ns[MEASURE_MISS],
		    bench->rounds);
	report_table("overview", "Side by side", "filter", columns, 7);
	for (i = 0; i < filter_count; i++)
		row(bench, &contender[i], n);
	report_text(TIMES_COMPARE);
	examples();
}
