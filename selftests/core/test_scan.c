// SPDX-License-Identifier: GPL-2.0
/*
 * Looks every IPv4 address up, and compares the answer with a bitmap of 2^32 bits.
 *
 * The bitmap is filled from the entries that were added, not from a listing of the set. Two threads
 * share the addresses.
 *
 * DIVIDE=n looks up one in n blocks of 256 addresses, spread evenly, and in the others the words of 64
 * addresses in or beside which the bitmap changes: so all ends of runs of members are looked up.
 */
#include <pthread.h>

#include "core.h"

enum {
	THREADS		= 2,
	BLOCK		= 256,
	TOLD		= 3,
};

static struct random rnd;
static u64 *bitmap;

static void bitmap_set(u32 first, u32 last)
{
	u64 i;

	for (i = first; i <= last; i++) {
		if (!(i & 63) && i + 63 <= last) {
			bitmap[i >> 6] = U64_MAX;
			i += 63;
		} else {
			bitmap[i >> 6] |= 1ULL << (i & 63);
		}
	}
}

/**
 * struct scan - the work of one thread
 * @set:	the set to look up in
 * @thread:	number of the thread
 * @divide:	all of one in @divide blocks is looked up
 * @lookups, @positives:	number of look-ups, and of those that match
 * @false_positives, @false_negatives:	number of wrong answers
 * @wrong:	the first few of these
 */
struct scan {
	struct ipcuckoo_entries *set;
	u32 thread;
	u32 divide;
	u64 lookups, positives;
	u64 false_positives, false_negatives;
	u32 wrong[TOLD];
};

static void count_wrong(struct scan *s, u32 addr, bool positive)
{
	u64 n = s->false_positives + s->false_negatives;

	if (n < TOLD)
		s->wrong[n] = addr;
	if (positive)
		s->false_positives++;
	else
		s->false_negatives++;
}

/* Does a run of members or of non-members end in a word, or between it and one of its neighbours? */
static bool changes(u32 addr)
{
	u64 word = bitmap[addr >> 6];
	u64 before = bitmap[(addr - 64) >> 6] >> 63;
	u64 behind = bitmap[(addr + 64) >> 6] & 1;

	return (word && ~word) || (word & 1) != before || word >> 63 != behind;
}

static void scan_block(struct scan *s, u32 addr, bool all)
{
	u64 expected, got, i, j;

	rcu_read_lock();
	for (i = 0; i < BLOCK; i += 64) {
		if (!all && !changes(addr + i))
			continue;
		got = 0;
		for (j = 0; j < 64; j++)
			got |= (u64)ipcuckoo_entries_match4(s->set, addr + i + j) << j;
		s->lookups += 64;
		expected = bitmap[(addr + i) >> 6];
		s->positives += __builtin_popcountll(got);
		for (j = 0; got != expected && j < 64; j++)
			if ((got ^ expected) >> j & 1)
				count_wrong(s, addr + i + j, got >> j & 1);
	}
	rcu_read_unlock();
}

/* A multiplication spreads the blocks of which all is looked up. The first and last are among them. */
static void *scan_thread(void *arg)
{
	u32 blocks = 1U << 24, i;
	struct scan *s = arg;

	for (i = s->thread; i < blocks; i += THREADS)
		scan_block(s, i * BLOCK, !i || i == blocks - 1 ||
					 i * 0x9e3779b1U <= U32_MAX / s->divide);
	shim_reader_unregister();
	return NULL;
}

static void scan(struct ipcuckoo_entries *set, u32 divide, const char *name)
{
	u64 least = (1ULL << 32) / divide - (divide > 1 ? (1ULL << 32) / divide / 50 : 0);
	struct scan parts[THREADS] = {}, all = {};
	double start = ktap_seconds();
	pthread_t threads[THREADS];
	u32 i, j;

	for (i = 0; i < THREADS; i++) {
		parts[i].set = set;
		parts[i].thread = i;
		parts[i].divide = divide;
		if (pthread_create(&threads[i], NULL, scan_thread, &parts[i]))
			exit(1);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all.lookups += parts[i].lookups;
		all.positives += parts[i].positives;
		all.false_positives += parts[i].false_positives;
		all.false_negatives += parts[i].false_negatives;
		for (j = 0; j < TOLD && j < parts[i].false_positives +
					     parts[i].false_negatives; j++)
			printf("# wrong: %s\n",
			       entry_text(&(struct ipcuckoo_entry){
					key4(parts[i].wrong[j]), 32, false }));
	}
	start = ktap_seconds() - start;
	expect(all.lookups >= least, "%llu look-ups", all.lookups);
	expect_equal(all.false_positives, 0, "false positives");
	expect_equal(all.false_negatives, 0, "false negatives");
	ktap_case("%s: %llu addresses, %llu in the set, %llu false positives, %llu false negatives (%.0f million a second)",
		  name, all.lookups, all.positives, all.false_positives,
		  all.false_negatives, all.lookups / start / 1e6);
}

static struct ipcuckoo_mem mem;

static struct ipcuckoo_entries *create(u32 hosts, u32 nets)
{
	const u32 more[IPCUCKOO_KINDS] = {
		[IPCUCKOO_HOSTS4] = hosts, [IPCUCKOO_NETS4] = nets,
	};
	struct ipcuckoo_entries *set = calloc(1, sizeof(*set));

	if (!set || ipcuckoo_entries_init(set, &mem, true))
		exit(1);
	memset(bitmap, 0, 1ULL << 29);
	mutex_lock(&set->mutex);
	expect_equal(ipcuckoo_entries_reserve(set, more), 0, "reserve");
	return set;
}

static void destroy(struct ipcuckoo_entries *set)
{
	set_exit(set);
	free(set);
}

/* Add runs and single addresses, until the table is full. */
static void fill(struct ipcuckoo_entries *set)
{
	struct ipcuckoo_version *v = rcu_access_pointer(set->version);
	struct ipcuckoo_table *t = v->table[IPCUCKOO_HOSTS4];
	u32 addr = 0, run = 3, n = 0;
	struct ipcuckoo_key key;
	int err = 0;

	while (err != -ENOSPC) {
		key = key4(addr);
		err = plain_table_insert(t, &set->guard, &key, set->queue);
		if (!err) {
			bitmap_set(addr, addr);
			n++;
		} else if (err == -EEXIST) {
			expect(bitmap[addr >> 6] >> (addr & 63) & 1,
			       "%08x is there already", addr);
		}
		if (n == 4)
			addr = U32_MAX - 4;
		else
			addr++;
		if (!run--) {
			addr = random_u32(&rnd);
			run = random_below(&rnd, 2) ? 0 : random_below(&rnd, 64);
		}
	}
	expect_equal(t->count, n, "count");
	printf("# %u entries in %u buckets, %s: load %.4f, %llu displaced\n", n,
	       t->nbuckets, t->rests ? "with rests" : "without rests",
	       (double)n / ipcuckoo_table_slots(t), t->displaced);
}

static void test_hosts(u32 hosts, u32 divide, const char *name)
{
	struct ipcuckoo_entries *set = create(hosts, 0);

	fill(set);
	scan(set, divide, name);
	destroy(set);
}

/* Add prefixes of all lengths except the shortest, many of them nested, and hosts; then delete a
 * third of them.
 */
static void test_nets(u32 divide)
{
	enum { NETS = 30000, HOSTS = 100000 };
	struct ipcuckoo_entries *set = create(HOSTS, NETS);
	struct ipcuckoo_entry *entries, *e;
	u32 i, j, n = 0, near = 0;
	int err;

	entries = calloc(NETS + HOSTS, sizeof(*entries));
	if (!entries)
		exit(1);
	for (i = 0; i < NETS + HOSTS; i++) {
		if (!random_below(&rnd, 8))
			near = random_u32(&rnd);
		e = &entries[n];
		*e = entry4(near ^ random_u32(&rnd) >> random_below(&rnd, 32),
			    i >= NETS ? 32 : i < 5 ? 5 + i : 10 + i % 22);
		err = ipcuckoo_entries_add(set, e);
		expect(!err || err == -EEXIST, "add: %d", err);
		n += !err;
	}
	for (i = j = 0; i < n; i++) {
		if (i % 3 == 0)
			expect_equal(ipcuckoo_entries_del(set, &entries[i]), 0, "del");
		else
			entries[j++] = entries[i];
	}
	for (i = 0; i < j; i++) {
		e = &entries[i];
		bitmap_set(e->addr.lo,
			   e->addr.lo | (u32)((1ULL << (32 - e->len)) - 1));
	}
	printf("# %u prefixes, %u hosts\n",
	       ipcuckoo_usage_count(set, IPCUCKOO_NETS4),
	       ipcuckoo_usage_count(set, IPCUCKOO_HOSTS4));
	scan(set, divide, "prefixes of 27 lengths and hosts");
	destroy(set);
	free(entries);
}

struct round_trip {
	struct ipcuckoo_bijection b;
	u32 inverse[3];
	u32 thread;
	u32 step;
	u64 wrong;
};

static void *round_trip_thread(void *arg)
{
	struct round_trip *r = arg;
	u32 first = r->thread << 31, i;
	u64 wrong = 0;

	for (i = 0; i < 1U << 31; i += r->step)
		wrong += ipcuckoo_unpermute(&r->b, r->inverse,
				ipcuckoo_permute(&r->b, first | i)) != (first | i);
	r->wrong = wrong;
	return NULL;
}

/* A permutation that can be inverted for every word is a bijection. One in @step words is tried. */
static void test_bijection(u32 step)
{
	struct round_trip parts[THREADS] = { { .step = step } };
	pthread_t threads[THREADS];
	u32 i, j;

	get_random_bytes(&parts[0].b, sizeof(parts[0].b));
	for (i = 0; i < 3; i++) {
		parts[0].b.mul[i] |= 1;
		parts[0].inverse[i] = ipcuckoo_inverse(parts[0].b.mul[i]);
	}
	for (i = 1; i < THREADS; i++) {
		parts[i] = parts[0];
		parts[i].thread = i;
	}
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, round_trip_thread, &parts[i]))
			exit(1);
	for (j = 0; j < THREADS; j++) {
		pthread_join(threads[j], NULL);
		expect_equal(parts[j].wrong, 0, "words that the inverse does not restore");
	}
	ktap_case("the permutation can be inverted for %llu words", (1ULL << 32) / step);
}

int main(void)
{
	u64 seed = ktap_begin("test_scan");
	u32 divide = ktap_option("DIVIDE", 1);

	rnd = random_seed(seed);
	shim_random_seed(seed);
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	bitmap = aligned_alloc(1 << 21, 1ULL << 29);
	if (!bitmap) {
		printf("Bail out! no memory for the bitmap\n");
		return 1;
	}
	test_bijection(divide | 1);
	test_hosts(1000000, divide, "16-bit slots");
	test_hosts(400000, 32 * divide, "32-bit slots");
	test_hosts(10000000, 32 * divide, "12-bit slots");
	test_nets(32 * divide);
	free(bitmap);
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
