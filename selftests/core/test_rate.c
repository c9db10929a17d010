// SPDX-License-Identifier: GPL-2.0
/*
 * Counts false positives of the filter, and compares their rate with the one that filter.c derives.
 * Also tests how full a filter gets, and that it always has room for its capacity.
 *
 * For each width, 100,000,000 non-members are looked up, half of each family. DIVIDE=n looks up one n-th
 * of them, and fills filters up to one n-th of the capacities.
 */
#include <math.h>

#include "core.h"

/* Allowed deviation of a count, in standard deviations: a right count exceeds it once in 1.7
 * million.
 */
#define SIGMAS		5.0

/* Load factor, in 1/1000, that large filters must reach; they have 4096 buckets or more. */
#define LOAD_BAR	965
#define LARGE		16384

/* Limit of the memory of a fingerprint, in multiples of its size, in filters of a million. */
#define BYTES_BAR	1.055

#define MEMBERS		200000

static struct ipcuckoo_search_node *queue;
static struct ipcuckoo_guard guard;
static struct ipcuckoo_mem mem;
static struct random rnd;

static struct ipcuckoo_filter *create(u32 capacity, u8 bits, bool multi)
{
	const struct ipcuckoo_filter_shape shape = { capacity, bits, multi };
	struct ipcuckoo_filter *f = ipcuckoo_filter_create(&mem, &shape);

	if (IS_ERR(f)) {
		printf("Bail out! no memory for a filter\n");
		exit(1);
	}
	return f;
}

/* Members are in 192.0.0.0/2 and c000::/2, non-members in the rest. No two IPv4 members are the
 * same: the step is odd, and there are less than 2^30 of them.
 */
static struct ipcuckoo_key member(void)
{
	static u32 last;

	if (random_below(&rnd, 2))
		return ipcuckoo_filter_key4((last += 0x9e3779b1) | 3U << 30);
	return (struct ipcuckoo_key){ random_u64(&rnd) | 3ULL << 62,
				      random_u64(&rnd) };
}

/* Add members until @n are stored, or an addition fails. Returns the last error. */
static int fill(struct ipcuckoo_filter *f, u32 n)
{
	struct ipcuckoo_key key;
	int err = 0;

	while (f->count < n && (!err || err == -EEXIST)) {
		key = member();
		err = ipcuckoo_filter_insert(f, &guard, &key, queue);
	}
	return err == -EEXIST ? 0 : err;
}

static u64 count_matches(const struct ipcuckoo_filter *f, u64 n)
{
	struct ipcuckoo_key key;
	u64 i, found = 0;

	for (i = 0; i < n / 2; i++) {
		key.hi = random_u64(&rnd) & ~(1ULL << 63);
		key.lo = key.hi * 0x9e3779b97f4a7c15ULL;
		found += ipcuckoo_filter_probe(f, &key);
		key = ipcuckoo_filter_key4(key.lo >> 33);
		found += ipcuckoo_filter_probe(f, &key);
	}
	return found;
}

/* A filter for MEMBERS, filled with @members of them. */
static void test_rate(u8 bits, u32 members)
{
	u64 non_members = (u64)ktap_share(100000000) * members / MEMBERS, found;
	struct ipcuckoo_filter *f = create(MEMBERS, bits, false);
	double slots = 4.0 * f->nbuckets, load, rate, sigma;

	expect_equal(fill(f, members), 0, "members");
	load = f->count / slots;
	rate = 8 * load / ((1ULL << bits) - 1);
	found = count_matches(f, non_members);
	sigma = sqrt(non_members * rate);
	if (bits == 32)
		expect(found <= 2, "%llu non-members of %llu matched", found, non_members);
	else
		expect(fabs(found - non_members * rate) < SIGMAS * sigma,
		       "%llu non_members of %llu matched, %.0f should have, give or take %.0f",
		       found, non_members, non_members * rate, SIGMAS * sigma);
	ktap_case("%2u bits, load %.3f: %.4g of 10^8 non-members match; 2b a / (2^w - 1) is %.4g, 2b / 2^w %.4g",
		  bits, load, found * 1e8 / non_members, rate * 1e8,
		  8e8 / (1ULL << bits));
	ipcuckoo_filter_destroy(f);
}

/* A filter that was created for a number of different entries must accept as many, at every size.
 * With multi, entries that match already are stored, too.
 */
static void test_capacity(u8 bits, bool multi)
{
	u32 capacity, n = 0, max = ktap_share(3000);
	struct ipcuckoo_filter *f;

	for (capacity = 1; capacity <= max; capacity++, n++) {
		f = create(capacity, bits, multi);
		expect_equal(fill(f, capacity), 0, "capacity %u, at %u", capacity,
			     f->count);
		expect_equal(fill(f, capacity + 1), -ENOSPC, "one more than %u",
			     capacity);
		ipcuckoo_filter_destroy(f);
	}
	ktap_case("%2u bits%s: filled to each capacity from 1 to %u", bits,
		  multi ? ", multi" : "", n);
}

static void test_load(u8 bits)
{
	static const u32 sizes[] = { LARGE, 100000, 1000000 };
	u32 i, load, low = 1000;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct ipcuckoo_filter *f = create(sizes[i], bits, false);
		double bytes = (double)ipcuckoo_filter_memory(f) / sizes[i];
		bool small = sizes[i] < 1000000;

		f->shape.capacity = U32_MAX;
		expect_equal(fill(f, U32_MAX), -ENOSPC, "capacity %u", sizes[i]);
		load = f->count * 250ULL / f->nbuckets;
		printf("# %u bits, made for %u: took %u, load 0.%03u; %.3f bytes an entry when full\n",
		       bits, sizes[i], f->count, load, bytes);
		expect(small || bytes <= bits / 8 * BYTES_BAR,
		       "%.3f bytes an entry", bytes);
		low = min(low, load);
		ipcuckoo_filter_destroy(f);
	}
	expect(low >= LOAD_BAR, "a load of 0.%03u", low);
	ktap_case("%2u bits: filled to 0.%03u at least (bar 0.%u)", bits, low, LOAD_BAR);
}

int main(void)
{
	u64 seed = ktap_begin("test_rate");
	u32 bits;

	rnd = random_seed(seed);
	shim_random_seed(seed);
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	queue = ipcuckoo_search_alloc(GFP_KERNEL);
	ipcuckoo_guard_init(&guard);
	for (bits = 8; bits <= 32; bits *= 2)
		test_rate(bits, MEMBERS);
	test_rate(8, MEMBERS / 3);
	for (bits = 8; bits <= 32; bits *= 2) {
		test_capacity(bits, false);
		test_capacity(bits, true);
	}
	for (bits = 8; bits <= 32; bits *= 2)
		test_load(bits);
	ipcuckoo_search_free(queue);
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
