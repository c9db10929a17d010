// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how long garbage collection prevents changes of a set: how long it holds the lock each
 * time, in sets of which no entry, one in a hundred, half, or all entries have expired.
 *
 * SEED		repeats a run
 * ROUNDS	number of sets, each with other hosts and another key (9)
 * ENTRIES	entries of a set (1000000)
 *
 * The samples of a round are the longest time of 99.9 % of the holds, and the longest of all. The
 * latter is often due to an interrupt of this machine, or to work of its allocator that RCU does in
 * the kernel. Only time in which the thread runs counts.
 */
#include "bench.h"

struct plan {
	const char *name;
	u32 options;
	bool v6;
	bool nets;	/* prefixes of all lengths, not hosts */
	u32 expired;	/* how many of a thousand entries expire */
};

static const struct plan plans[] = {
	{ "IPv4 hosts, none has expired", IPCUCKOO_O_TIMEOUT, false, false, 0 },
	{ "IPv4 hosts, one of a hundred has expired", IPCUCKOO_O_TIMEOUT, false, false, 10 },
	{ "IPv4 hosts, half have expired", IPCUCKOO_O_TIMEOUT, false, false, 500 },
	{ "IPv4 hosts, all have expired", IPCUCKOO_O_TIMEOUT, false, false, 1000 },
	{ "IPv4 hosts with all options, half have expired", IPCUCKOO_O_ALL, false, false, 500 },
	{ "IPv6 hosts with all options, half have expired", IPCUCKOO_O_ALL, true, false, 500 },
	{ "IPv4 prefixes, half have expired", IPCUCKOO_O_TIMEOUT, false, true, 500 },
	{ "IPv6 prefixes, half have expired", IPCUCKOO_O_TIMEOUT, true, true, 500 },
};

/* Timeouts of entries that have expired when gc runs, and of those that have not */
enum { SOON = 10, LATE = 100000 };

/* Make a prefix: from /8 to /32, or from /16 to /64. Most are long, as in real lists. */
static void shorten(struct random *random, struct ipcuckoo_entry *entry)
{
	u32 span = entry->v6 ? 48 : 24, longest = entry->v6 ? 64 : 32;
	struct ipcuckoo_key code;

	entry->len = longest - random_below(random, 1 + random_below(random, span + 1));
	code = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	*entry = ipcuckoo_entry_decode(ipcuckoo_entry_kind(entry), &code);
}

static void fill(struct ipcuckoo_entries *set, struct random *random, const struct plan *plan,
		 u32 entries)
{
	struct ipcuckoo_entry_attrs attrs = { .comment = "comment", .comment_len = 7 };
	struct ipcuckoo_value value;
	struct ipcuckoo_entry entry;
	int err;

	while (entries) {
		entry = bench_host(random, plan->v6);
		if (plan->nets)
			shorten(random, &entry);
		attrs.timeout = random_below(random, 1000) < plan->expired ? SOON : LATE;
		err = ipcuckoo_value_make(&value, plan->options, &attrs, set->mem);
		if (!err)
			err = ipcuckoo_entries_add_value(set, &entry, &value);
		if (err && err != -EEXIST)
			bench_die("an insertion failed: %d", err);
		if (err)
			ipcuckoo_record_put(value.record, set->mem);
		entries -= !err;
	}
}

/* Run gc to its end. Returns the number of holds. */
static size_t collect(struct ipcuckoo_entries *set, double *us, size_t room)
{
	size_t n = 0;
	bool more = true;
	u64 pos = 0;
	double start;

	while (more) {
		start = bench_thread_seconds();
		mutex_lock(&set->mutex);
		more = ipcuckoo_gc_part(set, &pos, IPCUCKOO_GC_SLOTS, NULL, NULL);
		ipcuckoo_rebuild_free_queue(set);
		mutex_unlock(&set->mutex);
		if (n == room)
			bench_die("too many holds");
		us[n++] = (bench_thread_seconds() - start) * 1e6;
	}
	return n;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A round. Sets the longest time of 99.9 % of the holds, and that of all holds. */
static void run(const struct plan *plan, u64 seed, u32 entries, double *usual, double *longest)
{
	struct random random = random_seed(seed);
	struct ipcuckoo_entries set = {};
	struct ipcuckoo_mem mem = {};
	size_t room = 1000 + entries, n;
	double *us = calloc(room, sizeof(*us));

	shim_seconds = 1;
	ipcuckoo_value_init();
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	if (!us || ipcuckoo_entries_init(&set, &mem, true))
		bench_die("out of memory");
	set.options = plan->options;
	mutex_lock(&set.mutex);
	fill(&set, &random, plan, entries);
	mutex_unlock(&set.mutex);
	shim_seconds += 2 * SOON;
	n = collect(&set, us, room);
	qsort(us, n, sizeof(*us), ascending);
	*usual = us[(size_t)(n * 0.999)];
	*longest = us[n - 1];
	mutex_lock(&set.mutex);
	ipcuckoo_entries_flush(&set);
	mutex_unlock(&set.mutex);
	ipcuckoo_entries_exit(&set);
	rcu_barrier();
	free(us);
}

static void print(const struct plan *plan, const char *which, u32 entries, unsigned int rounds,
		  const double *samples)
{
	char name[120], params[200];

	snprintf(name, sizeof(name), "%s, %s", plan->name, which);
	snprintf(params, sizeof(params),
		 "\"family\": \"%s\", \"entries\": %u, \"holds\": \"%s\", \"seed\": %llu",
		 bench_family(plan->v6), entries, which, (unsigned long long)ktap.seed);
	bench_print(&(struct bench_line){ "gc", name, "us", params, samples, rounds });
}

int main(void)
{
	unsigned int rounds = bench_option("ROUNDS", 9, BENCH_ROUNDS_MAX), r;
	double usual[BENCH_ROUNDS_MAX], longest[BENCH_ROUNDS_MAX];
	u32 entries, i;

	bench_begin();
	entries = bench_option("ENTRIES", 1000000, 1 << 26);
	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		for (r = 0; r < rounds; r++)
			run(&plans[i], ktap.seed + r, entries, &usual[r], &longest[r]);
		print(&plans[i], "99.9 %", entries, rounds, usual);
		print(&plans[i], "all", entries, rounds, longest);
	}
	return 0;
}
