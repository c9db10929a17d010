// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of an insertion at different load factors: hosts are added one by one to a
 * table of a fixed size, until an insertion fails. The fuller the table, the longer the search for
 * an entry that can be displaced.
 *
 * SEED		repeats a run
 * ROUNDS	number of tables, each with another key (9)
 * SLOTS	approximate slots of a table (1048576)
 *
 * The shim performs some checks that a production kernel does not, so the figures are a little too
 * high.
 */
#include "bench.h"

/* Load factors, in 1/1000, at which insertions are timed. */
static const u32 steps[] = {
	50, 100, 200, 300, 400, 500, 600, 700, 750, 800, 850, 875, 900, 910,
	920, 930, 940, 945, 950, 955, 960, 963, 966, 969,
};

enum {
	STEPS = ARRAY_SIZE(steps),
	/* The time is an average over so many thousandths of the slots before the load factor. */
	WINDOW = 3,
};

struct insert {
	struct ipcuckoo_entries set;
	struct ipcuckoo_mem mem;
	struct random random;
	bool v6;
	u64 slots;
	u32 count;
};

/* Add until the set has @count entries. Return: false if the table would have to grow. */
static bool fill(struct insert *insert, u32 count)
{
	struct ipcuckoo_entry entry;
	int err;

	while (insert->count < count) {
		entry = bench_host(&insert->random, insert->v6);
		err = ipcuckoo_entries_add(&insert->set, &entry);
		if (err && err != -EEXIST)
			bench_die("an insertion failed: %d", err);
		insert->count += !err;
		if (ipcuckoo_usage_slots(&insert->set) != insert->slots)
			return false;
	}
	return true;
}

static void begin(struct insert *insert, u64 seed, bool v6, u32 slots)
{
	u32 more[IPCUCKOO_KINDS] = {};

	*insert = (struct insert){ .random = random_seed(seed), .v6 = v6 };
	ipcuckoo_mem_open(&insert->mem, 0, ipcuckoo_record_reap);
	if (ipcuckoo_entries_init(&insert->set, &insert->mem, true))
		bench_die("out of memory");
	mutex_lock(&insert->set.mutex);
	more[v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4] =
		(u64)slots * IPCUCKOO_LOAD_TARGET / 1000;
	if (ipcuckoo_entries_reserve(&insert->set, more))
		bench_die("out of memory");
	insert->slots = ipcuckoo_usage_slots(&insert->set);
}

static void end(struct insert *insert)
{
	mutex_unlock(&insert->set.mutex);
	ipcuckoo_entries_exit(&insert->set);
	rcu_barrier();
}

/* Fill one table. Load factors that it does not reach have no figure. */
static double run(u64 seed, bool v6, u32 slots, double ns[STEPS])
{
	struct insert insert;
	double start;
	u32 i, from;

	begin(&insert, seed, v6, slots);
	for (i = 0; i < STEPS; i++) {
		if (!fill(&insert, insert.slots * (steps[i] - WINDOW) / 1000))
			break;
		from = insert.count;
		start = bench_thread_seconds();
		if (!fill(&insert, insert.slots * steps[i] / 1000))
			break;
		ns[i] = (bench_thread_seconds() - start) * 1e9 /
			(insert.count - from);
	}
	while (i == STEPS && fill(&insert, insert.count + 1))
		;
	/* The entry that did not fit is in the larger table. */
	start = (double)(insert.count - 1) / insert.slots;
	for (; i < STEPS; i++)
		ns[i] = -1;
	end(&insert);
	return start;
}

static void measure(bool v6, u32 slots, unsigned int rounds)
{
	double ns[BENCH_ROUNDS_MAX][STEPS], samples[BENCH_ROUNDS_MAX];
	double reached[BENCH_ROUNDS_MAX];
	struct bench_line line = { .part = "insert", .samples = samples };
	char name[80], params[160];
	unsigned int i, r;

	for (r = 0; r < rounds; r++)
		reached[r] = run(ktap.seed + r, v6, slots, ns[r]);
	line.name = name;
	line.params = params;
	line.unit = "ns";
	for (i = 0; i < STEPS; i++) {
		line.rounds = 0;
		for (r = 0; r < rounds; r++)
			if (ns[r][i] >= 0)
				samples[line.rounds++] = ns[r][i];
		/* Leave out load factors that only some of the tables have reached. */
		if (line.rounds < rounds)
			break;
		snprintf(name, sizeof(name), "%s hosts, load %.3f",
			 bench_family_name(v6), steps[i] / 1000.0);
		snprintf(params, sizeof(params),
			 "\"family\": \"%s\", \"load\": %.3f, \"slots\": %u, \"seed\": %llu",
			 bench_family(v6), steps[i] / 1000.0, slots,
			 (unsigned long long)ktap.seed);
		bench_print(&line);
	}
	snprintf(name, sizeof(name), "%s hosts, load before the first failure",
		 bench_family_name(v6));
	snprintf(params, sizeof(params), "\"family\": \"%s\", \"slots\": %u, \"seed\": %llu",
		 bench_family(v6), slots, (unsigned long long)ktap.seed);
	line.unit = "of the slots";
	line.samples = reached;
	line.rounds = rounds;
	bench_print(&line);
}

int main(void)
{
	unsigned int rounds = bench_option("ROUNDS", 9, BENCH_ROUNDS_MAX);
	u32 slots = bench_option("SLOTS", 1 << 20, 1 << 26);

	bench_begin();
	measure(false, slots, rounds);
	measure(true, slots, rounds);
	return 0;
}
