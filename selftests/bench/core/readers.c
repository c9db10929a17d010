// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of look-ups beside a writer. A thread looks up non-members, because only a miss
 * has to check the sequence again. Another thread, on the other processor, deletes and adds entries
 * at a given rate, in a table so full that entries have to be displaced.
 *
 * SEED		repeats a run
 * ROUNDS	number of rounds; all rates take turns in each (15)
 * ENTRIES	entries of the set (1000000)
 * MS		milliseconds for each rate in a round (200)
 */
#include <pthread.h>
#include <sched.h>

#include "bench.h"
#include "retries.h"

enum {
	BATCH		= 64,		/* look-ups in one read-side section */
	NON_MEMBERS	= 1 << 16,
	CHURN		= 1 << 14,	/* entries that are deleted and added */
	FLAT_OUT	= ~0U,
};

static const struct rate {
	const char *name;
	u32 updates;
} rates[] = {
	{ "0", 0 },
	{ "1k", 1000 },
	{ "100k", 100000 },
	{ "flat out", FLAT_OUT },
};

/**
 * struct bench - a set, its reader and its writer
 * @non_members:	addresses that the reader looks up
 * @churn:	entries that the writer deletes and adds
 * @seconds:	length of a turn
 * @stop:	the reader's turn is over
 * @changes:	changes of the writer in all turns
 * @updates:	updates a second in the last turn
 * @ns:		time of a look-up in the last turn
 * @again:	retries in a million look-ups
 */
struct bench {
	struct ipcuckoo_entries set;
	struct ipcuckoo_mem mem;
	struct random random;
	bool v6;
	struct ipcuckoo_key non_members[NON_MEMBERS];
	struct ipcuckoo_entry churn[CHURN];
	double seconds;
	bool stop;
	u64 changes;
	double updates, ns, again;
};

/* Members and non-members differ in their first bit. */
static struct ipcuckoo_entry draw(struct bench *b, bool non_member)
{
	struct ipcuckoo_entry entry = bench_host(&b->random, b->v6);
	u64 *word = b->v6 ? &entry.addr.hi : &entry.addr.lo;
	u64 first = b->v6 ? 1ULL << 63 : 1ULL << 31;

	*word = non_member ? *word | first : *word & ~first;
	return entry;
}

static struct bench *create(u64 seed, bool v6, u32 entries)
{
	struct bench *b = calloc(1, sizeof(*b));
	u32 more[IPCUCKOO_KINDS] = {}, count = 0;
	struct ipcuckoo_entry entry;
	int err;

	if (!b)
		bench_die("out of memory");
	ipcuckoo_mem_open(&b->mem, 0, ipcuckoo_record_reap);
	if (ipcuckoo_entries_init(&b->set, &b->mem, true))
		bench_die("out of memory");
	b->random = random_seed(seed);
	b->v6 = v6;
	mutex_lock(&b->set.mutex);
	more[v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4] = entries;
	if (ipcuckoo_entries_reserve(&b->set, more))
		bench_die("out of memory");
	while (count < entries) {
		entry = draw(b, false);
		err = ipcuckoo_entries_add(&b->set, &entry);
		if (err && err != -EEXIST)
			bench_die("an insertion failed: %d", err);
		if (!err && count < CHURN)
			b->churn[count] = entry;
		count += !err;
	}
	for (count = 0; count < NON_MEMBERS; count++)
		b->non_members[count] = draw(b, true).addr;
	return b;
}

static void destroy(struct bench *b)
{
	mutex_unlock(&b->set.mutex);
	ipcuckoo_entries_exit(&b->set);
	rcu_barrier();
	free(b);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_die("cannot run on processor %d: two are needed", cpu);
}

/* Delete the n-th entry, or add another one instead. */
static void update(struct bench *b, u64 n)
{
	struct ipcuckoo_entry *entry = &b->churn[n / 2 % CHURN];
	int err;

	if (!(n & 1)) {
		err = ipcuckoo_entries_del(&b->set, entry);
	} else {
		do {
			*entry = draw(b, false);
			err = ipcuckoo_entries_add(&b->set, entry);
		} while (err == -EEXIST);
	}
	if (err)
		bench_die("an update failed: %d", err);
}

/* The writer's turn; it ends when the reader's ends. */
static void write_until_stop(struct bench *b, u32 updates)
{
	double start = bench_seconds();
	u64 n = 0, due;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
		due = updates == FLAT_OUT ? BATCH :
		      (u64)((bench_seconds() - start) * updates) - n;
		/* In batches, so that the end of the turn is noticed in time. */
		for (due = min_t(u64, due, BATCH); due; due--)
			update(b, b->changes + n++);
	}
	b->changes += n;
	b->updates = n / (bench_seconds() - start);
}

static double read_for(struct bench *b, double seconds)
{
	double start = bench_seconds(), cpu = bench_thread_seconds();
	u64 n = 0, hits = 0, before = bench_retries;
	u32 i;

	do {
		rcu_read_lock();
		for (i = 0; i < BATCH; i++, n++) {
			const struct ipcuckoo_key *key = &b->non_members[n % NON_MEMBERS];

			hits += b->v6 ? ipcuckoo_entries_match6(&b->set, key) :
					ipcuckoo_entries_match4(&b->set, key->lo);
		}
		rcu_read_unlock();
	} while (n % (BATCH * 64) || bench_seconds() - start < seconds);
	cpu = bench_thread_seconds() - cpu;
	if (hits)
		bench_die("%llu non-members were found", hits);
	b->again = (bench_retries - before) * 1e6 / n;
	return cpu * 1e9 / n;
}

static void *reader(void *arg)
{
	struct bench *b = arg;

	pin(1);
	/* Warm the caches up, and give the writer time to start. */
	read_for(b, b->seconds / 10);
	b->ns = read_for(b, b->seconds);
	__atomic_store_n(&b->stop, true, __ATOMIC_RELEASE);
	shim_reader_unregister();
	return NULL;
}

static void turn(struct bench *b, const struct rate *rate)
{
	pthread_t thread;

	b->stop = false;
	if (pthread_create(&thread, NULL, reader, b))
		bench_die("cannot begin a thread");
	write_until_stop(b, rate->updates);
	pthread_join(thread, NULL);
}

/* The results of a turn: each has a "what" in the report, a unit, and a figure. */
enum { COST, RETRIES, UPDATES, FIGURES };

static const struct {
	const char *what;
	const char *unit;
} figures[FIGURES] = {
	[COST] = { "cost", "ns" },
	[RETRIES] = { "retries", "of a million" },
	[UPDATES] = { "updates", "a second" },
};

static void print(bool v6, u32 entries, const struct rate *rate, int figure,
		  const double *samples, unsigned int rounds)
{
	char name[80], params[200];
	struct bench_line line = {
		.part = "writer", .name = name, .unit = figures[figure].unit,
		.params = params, .samples = samples, .rounds = rounds,
	};

	snprintf(name, sizeof(name), "%s hosts, %s updates a second: %s",
		 bench_family_name(v6), rate->name, figures[figure].what);
	snprintf(params, sizeof(params),
		 "\"family\": \"%s\", \"entries\": %u, \"rate\": \"%s\", \"what\": \"%s\", \"where\": \"user space\", \"seed\": %llu",
		 bench_family(v6), entries, rate->name, figures[figure].what,
		 (unsigned long long)ktap.seed);
	bench_print(&line);
}

static void measure(bool v6, u32 entries, unsigned int rounds, double seconds)
{
	double samples[ARRAY_SIZE(rates)][FIGURES][BENCH_ROUNDS_MAX];
	struct bench *b = create(ktap.seed, v6, entries);
	unsigned int i, r, f;

	b->seconds = seconds;
	for (r = 0; r < rounds; r++) {
		for (i = 0; i < ARRAY_SIZE(rates); i++) {
			turn(b, &rates[i]);
			samples[i][COST][r] = b->ns;
			samples[i][RETRIES][r] = b->again;
			samples[i][UPDATES][r] = b->updates;
		}
	}
	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (f = 0; f < FIGURES; f++)
			print(v6, entries, &rates[i], f, samples[i][f], rounds);
	destroy(b);
}

int main(void)
{
	unsigned int rounds = bench_option("ROUNDS", 15, BENCH_ROUNDS_MAX);
	u32 entries = bench_option("ENTRIES", 1000000, 1 << 26);
	double seconds = bench_option("MS", 200, 60000) / 1000.0;

	bench_begin();
	pin(0);
	measure(false, entries, rounds, seconds);
	measure(true, entries, rounds, seconds);
	return 0;
}
