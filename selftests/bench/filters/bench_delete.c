// SPDX-License-Identifier: GPL-2.0-only
/* Deletes elements that were never added. */
#include <math.h>

#include "bench.h"
#include "filter.h"
#include "hash.h"
#include "measure.h"
#include "ours.h"
#include "report.h"

#define SLOTS		(1 << 20)
#define SLOTS_QUICK	(1 << 17)
#define LOAD		0.95

struct deletion {
	double non_members;
	double matched;		/* non-members that matched before any deletion */
	double deleted;		/* deletions that succeeded */
	double lost;		/* entries that are not found any more */
};

static struct deletion delete_non_members(const struct bench *bench,
					const struct filter_ops *ops,
					const struct filter_params *params,
					u32 n)
{
	struct filter *filter = filter_create(ops, params);
	struct deletion d = { .non_members = n };
	u32 i;

	measure_fill(filter, bench->seed, 0, n);
	d.lost = measure_hits(filter, bench->seed, 0, n);
	d.matched = measure_hits(filter, bench->seed, n, n);
	for (i = 0; i < n; i++)
		d.deleted += !filter_del(filter, key_nth(bench->seed, n + i));
	d.lost -= measure_hits(filter, bench->seed, 0, n);
	filter_destroy(filter);
	return d;
}

static double each(const struct deletion *d)
{
	return d->deleted ? d->lost / d->deleted : NAN;
}

enum kind {
	COUNTING,
	CUCKOO_8,
	CUCKOO_16,
	OURS_8,
	OURS_16,
	HASHTABLE,
	TABLE,
	KINDS
};

static void claim_delete(const struct deletion *d)
{
	const struct deletion *narrow = &d[CUCKOO_8], *wide = &d[CUCKOO_16];
	double exact = d[HASHTABLE].deleted + d[TABLE].deleted;

	report_claim("deleting what was never added removes another's "
		     "fingerprint", "a weak point; Fan et al., CoNEXT 2014",
		     narrow->lost > 0 && wide->lost > 0 ? REPORT_HOLDS :
							  REPORT_FAILS,
		     "Of %.0f non-members %.0f are \"deleted\" from the 8-bit "
		     "filter, about those that match, and %.0f entries are "
		     "found no more, %.2f a deletion: the rest have a copy. "
		     "With 16 bits %.0f and %.0f; so it is with ours, made "
		     "\"multi\" (%.0f and %.0f with 8 bits), which has no "
		     "deletion otherwise. A counting Bloom filter loses %.2f "
		     "entries a deletion, for each of its counters may be "
		     "another's. Of whole keys, in the hash table and our "
		     "exact one, %.0f are deleted.",
		     narrow->non_members, narrow->deleted, narrow->lost,
		     each(narrow), wide->deleted, wide->lost, d[OURS_8].deleted,
		     d[OURS_8].lost, each(&d[COUNTING]), exact);
}

void bench_delete(const struct bench *bench)
{
	static const struct report_column columns[] = {
		{ "match %", "%.4f" }, { "deleted %", "%.4f" },
		{ "lost", "%.0f" }, { "a deletion", "%.2f" },
	};
	static const struct {
		const char *label;
		const struct filter_ops *ops;
		unsigned int f;
		bool ours;	/* created for a capacity, not for slots */
	} kinds[] = {
		[COUNTING] = { "counting", &filter_counting, 0 },
		[CUCKOO_8] = { "cuckoo 8", &filter_cuckoo, 8 },
		[CUCKOO_16] = { "cuckoo 16", &filter_cuckoo, 16 },
		[OURS_8] = { "ours, filter 8", &filter_ours[0], 8, true },
		[OURS_16] = { "ours, filter 16", &filter_ours[1], 16, true },
		[HASHTABLE] = { "hash table", &filter_hashtable, 0 },
		[TABLE] = { "ours, table", &filter_table, 0 },
	};
	u64 slots = bench->quick ? SLOTS_QUICK : SLOTS;
	struct filter_params params;
	struct deletion d[KINDS];
	u32 n = slots * LOAD;
	unsigned int i;

	report_section("Deletion of what was never added");
	report_text("%u entries in %llu slots; as many non-members are deleted. "
		    "\"match\" is their share that the filter took for entries "
		    "before, \"lost\" are entries that it does not find "
		    "afterwards.", n, slots);
	report_table("delete", "Non-members deleted", "filter, bits", columns, 4);
	for (i = 0; i < KINDS; i++) {
		params = filter_defaults(bench->seed, slots);
		params.f = kinds[i].f;
		params.undo = true;
		if (kinds[i].ours)
			params.n = ours_filter_capacity(slots, kinds[i].f);
		d[i] = delete_non_members(bench, kinds[i].ops, &params, n);
		report_row(kinds[i].label, (double[]){
			   100 * d[i].matched / n, 100 * d[i].deleted / n,
			   d[i].lost, each(&d[i]) });
	}
	claim_delete(d);
}
