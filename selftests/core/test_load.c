// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how full tables get, and the memory of a million entries.
 *
 * The load factor is that at the first insertion that fails, where a set would grow. It is measured
 * for tables of many sizes, and for sets of keys that are known to be hard for hash functions.
 *
 * DIVIDE=n leaves out as many of the progressions in large tables.
 */
#include "core.h"

/* In 1/1000. One in 12,000 tables of 4096 slots falls short of it by 0.001: for these tables, the
 * average must reach it, and each table the lower limit.
 */
#define LOAD_BAR	960
#define LOAD_BAR_SMALL	958
#define SMALL_SLOTS	8192
/* In 1/100. */
#define BYTES_BAR	230

static struct random rnd;
static struct ipcuckoo_mem mem;
static struct ipcuckoo_search_node *queue;

/* The keys of a family: the n-th key, from n = 0 on. All are different; @start is random. */
struct family {
	const char *name;
	u32 (*key)(u32 n, u32 start, u32 stride);
};

static u32 reverse(u32 x)
{
	u32 y = 0, i;

	for (i = 0; i < 32; i++)
		y |= (x >> i & 1) << (31 - i);
	return y;
}

/* A pseudo-random number of @bits bits (even); different for different @x. */
static u32 spread(u32 x, u32 start, u32 bits)
{
	u32 mask = U32_MAX >> (32 - bits);

	x = ((x ^ start) & mask) * 0x9e3779b1 & mask;
	x = (x ^ x >> bits / 2) * 0x7feb352d & mask;
	return x ^ x >> bits / 2;
}

static u32 key_run(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return start + n;
}

/* An arithmetic progression; adds one where it would repeat itself. */
static u32 key_progression(u32 n, u32 start, u32 stride)
{
	u64 period = 1ULL << (32 - (stride ? __builtin_ctz(stride) : 0));

	return start + n * stride + (u32)(n / period);
}

/* Complete /24 networks; the odd factor makes them different. */
static u32 key_run24(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return ((n >> 8) * 2654435 + start) << 8 | (n & 255);
}

/* Complete /16 networks */
static u32 key_run16(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return ((n >> 16) * 40503 + start) << 16 | (n & 0xffff);
}

/* Addresses *.*.0.k */
static u32 key_hole(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return ((n >> 6) * 40503 + start) << 16 | (n & 63);
}

/* Addresses x.y.z.1, which differ in the other octets only */
static u32 key_last_octet(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return (n * 1640531 + start) << 8 | 1;
}

static u32 key_reversed(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return reverse(start + n);
}

static u32 key_random(u32 n, u32 start, u32 stride)
{
	(void)stride;
	return spread(n, start, 32);
}

/* Words in the order of the number of their ones: no bit, one bit, ... */
static u32 key_few_bits(u32 n, u32 start, u32 stride)
{
	static u32 last_n, last;
	u32 low, ripple;

	(void)start;
	(void)stride;
	if (!n)
		return last_n = last = 0;
	if (n != ++last_n)
		printf("Bail out! keys of few bits must be drawn in order\n");
	low = last & -last;
	ripple = last + low;
	if (!last || ripple < last)
		/* The first word with one more bit */
		last = (2U << __builtin_popcount(last)) - 1;
	else
		last = (((ripple ^ last) >> 2) / low) | ripple;
	return last;
}

/* Addresses as in public lists: networks of which a few, many or all addresses are listed. The two
 * lowest bits of n choose how many.
 */
static u32 key_mix(u32 n, u32 start, u32 stride)
{
	u32 i = n >> 2;

	(void)stride;
	switch (n & 3) {
	case 0:
		return (((i >> 8) * 40503 + start) & 0x3fffff) << 8 | (i & 255);
	case 1:
		return 1U << 30 | (((i >> 3) * 2654435 + start) & 0x3fffff) << 8 |
		       (i & 7) * 29;
	case 2:
		return 2U << 30 | (start + i * 16) % (1U << 30);
	}
	return 3U << 30 | spread(i, start, 30);
}

static const struct family families[] = {
	{ "one run", key_run },
	{ "/24 runs", key_run24 },
	{ "/16 runs", key_run16 },
	{ "*.*.0.k", key_hole },
	{ "x.y.z.1", key_last_octet },
	{ "few bits set", key_few_bits },
	{ "bit reversal", key_reversed },
	{ "realistic mix", key_mix },
	{ "random", key_random },
};

/* Insert until an insertion fails. Returns the load factor in 1/1000, rounded down. */
static u32 fill(u32 nbuckets, bool keyed, const struct family *family, u32 stride)
{
	struct ipcuckoo_table *t = plain_table_create(&mem, nbuckets, keyed);
	struct ipcuckoo_key key = {};
	u32 start = random_u32(&rnd);
	struct ipcuckoo_guard guard;
	u32 n, load;
	int err = 0;

	ipcuckoo_guard_init(&guard);
	if (IS_ERR(t)) {
		printf("Bail out! no memory for a table\n");
		exit(1);
	}
	for (n = 0; !err; n++) {
		key.lo = family->key(n, start, stride);
		/* IPv6 hosts as in a list: a few networks, and patterns in them. */
		key.hi = keyed ? 0x2001067c00000000ULL + (n >> 4) * 0x10000ULL : 0;
		err = plain_table_insert(t, &guard, &key, queue);
	}
	expect_equal(err, -ENOSPC, "%s: insertion %u", family->name, n);
	expect_equal(t->count, n - 1, "%s: count", family->name);
	load = t->count * 1000ULL / ipcuckoo_table_slots(t);
	ipcuckoo_table_destroy(t);
	return load;
}

/**
 * struct load - load factors of some tables
 * @low:	the lowest load factor
 * @sum:	the sum of the load factors
 * @n:		number of tables
 */
struct load {
	u32 low;
	u64 sum;
	u32 n;
};

static void load_add(struct load *l, u32 load)
{
	l->low = l->n ? min(l->low, load) : load;
	l->sum += load;
	l->n++;
}

static void load_case(const struct load *l, u32 bar, const char *what)
{
	expect(l->low >= bar, "%s: expected a load of 0.%u, got 0.%03u", what, bar,
	       l->low);
	expect(l->sum >= (u64)LOAD_BAR * l->n, "%s: on average less than 0.%u", what,
	       LOAD_BAR);
	ktap_case("%s: filled to 0.%03u on average, 0.%03u at least (%u tables; bars 0.%u and 0.%u)",
		  what, (u32)(l->sum / l->n), l->low, l->n, LOAD_BAR, bar);
}

static void test_sizes(void)
{
	static const struct {
		u32 nbuckets;
		bool keyed;
		u32 tables;
	} sizes[] = {
		{ 1024, false, 20 }, { 1500, false, 20 }, { 4096, false, 10 },
		{ 10006, false, 10 }, { 16384, false, 10 }, { 65536, false, 5 }, { 131072, false, 3 },
		{ 131078, false, 3 }, { 300000, false, 2 }, { 393216, false, 2 },
		{ 1 << 20, false, 1 }, { 2098178, false, 1 }, { 2600000, false, 1 },
		{ 1024, true, 20 }, { 1500, true, 10 }, { 10006, true, 5 },
		{ 65536, true, 2 }, { 250000, true, 1 },
	};
	static const struct family random = { "random", key_random };
	char name[80];
	u32 i, j, slots;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct load l = {};

		slots = sizes[i].nbuckets * (sizes[i].nbuckets < IPCUCKOO_BUCKETS_NARROW ? 4 : 5);
		for (j = 0; j < sizes[i].tables; j++)
			load_add(&l, fill(sizes[i].nbuckets, sizes[i].keyed, &random, 0));
		snprintf(name, sizeof(name), "%u slots, %s", slots,
			 sizes[i].keyed ? "keyed" :
			 sizes[i].nbuckets < IPCUCKOO_BUCKETS_WHOLE ?
			 "with rests" : sizes[i].nbuckets < IPCUCKOO_BUCKETS_NARROW ?
			 "without rests" : "narrow");
		load_case(&l, slots < SMALL_SLOTS ? LOAD_BAR_SMALL : LOAD_BAR, name);
	}
}

static void test_families(void)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		struct load l = {};

		for (j = 0; j < 5; j++) {
			load_add(&l, fill(2048, false, &families[i], 0));
			load_add(&l, fill(3002, false, &families[i], 0));
			load_add(&l, fill(4096, true, &families[i], 0));
		}
		load_add(&l, fill(50000, false, &families[i], 0));
		load_add(&l, fill(50000, true, &families[i], 0));
		load_add(&l, fill(1 << 18, false, &families[i], 0));
		load_add(&l, fill(280000, false, &families[i], 0));
		load_case(&l, LOAD_BAR, families[i].name);
	}
}

/* Strides of once and three times each power of two. */
static void test_progressions(void)
{
	static const struct family progression = { "progression", key_progression };
	u32 larges = ktap_share(25), shift, stride;
	struct load small = {}, large = {};

	for (shift = 0; shift <= 24; shift++) {
		for (stride = 1; stride <= 3; stride += 2) {
			load_add(&small, fill(4096, false, &progression,
					      stride << shift));
			load_add(&small, fill(5002, false, &progression,
					      stride << shift));
			if (shift * larges % 25 < larges)
				load_add(&large, fill(1 << 18, false, &progression,
						      stride << shift));
		}
	}
	load_case(&small, LOAD_BAR, "progressions, small tables");
	load_case(&large, LOAD_BAR, "progressions, 2^20 slots");
}

/* Measures the memory of a set of a million hosts, grown in steps or reserved at once. */
static void test_million(bool reserve)
{
	const u32 more[IPCUCKOO_KINDS] = { [IPCUCKOO_HOSTS4] = 1000000 };
	struct ipcuckoo_entries *set = calloc(1, sizeof(*set));
	struct ipcuckoo_entry entry;
	double start = ktap_seconds();
	u32 n, bytes;

	if (!set || ipcuckoo_entries_init(set, &mem, true))
		exit(1);
	mutex_lock(&set->mutex);
	if (reserve)
		expect_equal(ipcuckoo_entries_reserve(set, more), 0, "reserve");
	for (n = 0; n < 1000000; n++) {
		entry = host4(key_mix(n, 12345, 0));
		expect_equal(ipcuckoo_entries_add(set, &entry), 0, "add");
	}
	expect_equal(ipcuckoo_entries_trim(set), 0, "trim");
	ipcuckoo_rebuild_free_queue(set);
	ipcuckoo_search_exit();
	expect_equal(ipcuckoo_usage_count(set, IPCUCKOO_HOSTS4), 1000000, "count");
	if (reserve)
		expect_equal(set->growths, 0, "growths after a reservation");
	bytes = (ipcuckoo_usage_memory(set) + sizeof(*set)) / 10000;
	expect(bytes <= BYTES_BAR, "%u.%02u bytes an entry", bytes / 100, bytes % 100);
	printf("# a million hosts %s: %u growths, %u rekeys, %.2f s\n",
	       reserve ? "announced" : "unannounced", set->growths, set->rekeys,
	       ktap_seconds() - start);
	set_exit(set);
	free(set);
	ktap_case("a million hosts %s: %u.%02u bytes an entry (bar %u.%02u)",
		  reserve ? "announced" : "unannounced", bytes / 100, bytes % 100,
		  BYTES_BAR / 100, BYTES_BAR % 100);
}

/* Shrinking a set to its contents must work at every size. */
static void test_fit(void)
{
	struct ipcuckoo_entries *set = calloc(1, sizeof(*set));
	struct ipcuckoo_entry entry;
	u32 n, load;

	if (!set || ipcuckoo_entries_init(set, &mem, true))
		exit(1);
	mutex_lock(&set->mutex);
	for (n = 0; n < 3000; n++) {
		entry = host4(random_u32(&rnd));
		if (ipcuckoo_entries_add(set, &entry))
			continue;
		entry = (struct ipcuckoo_entry){ { n, random_u64(&rnd) }, 128, true };
		expect_equal(ipcuckoo_entries_add(set, &entry), 0, "add");
		expect_equal(ipcuckoo_entries_trim(set), 0, "trim with %u", n);
	}
	load = 2000ULL * n / ipcuckoo_usage_slots(set);
	expect(load > 800, "load of 0.%03u", load);
	set_exit(set);
	free(set);
	ktap_case("a set is trimmed after each of 3000 additions");
}

int main(void)
{
	u64 seed = ktap_begin("test_load");

	rnd = random_seed(seed);
	shim_random_seed(seed);
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	queue = ipcuckoo_search_alloc(GFP_KERNEL);
	test_sizes();
	test_families();
	test_progressions();
	test_million(true);
	test_million(false);
	test_fit();
	ipcuckoo_search_free(queue);
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
