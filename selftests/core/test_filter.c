// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations on approximate contents and on a naive reference, which must agree after each
 * operation.
 *
 * The reference is a list of the stored elements. It computes fingerprint and buckets as filter.c
 * documents them, and considers two elements the same if these are the same. So it knows what a
 * filter with this hash must answer, false positives included, and the comparison is exact.
 *
 * It also assigns a bucket to each element, which may differ from the filter's. By searching all
 * possible assignments, it knows whether another element fits. If not, the filter must refuse it;
 * if so, the filter must accept it: these filters have so few buckets that the bounded search can
 * read all of them.
 *
 * As in test_model.c, operations are also tried with failing memory.
 *
 * DIVIDE=n does one n-th of the operations.
 */
#include <linux/jhash.h>

#include "core.h"

/* Location and fingerprint: a filter cannot tell elements apart that have the same. */
struct likeness {
	u32 bucket[2];	/* the lower one first */
	u32 print;
};

/* An element that is stored, and the bucket that the reference has assigned to it. */
struct stored {
	struct likeness like;
	u32 bucket;
};

struct plan {
	const char *name;
	struct ipcuckoo_filter_shape shape;
	u32 pool;	/* elements to draw from */
	u32 steps;
};

enum {
	POOL_MAX = 4096,
};

struct run {
	const struct plan *plan;
	struct random random;
	struct ipcuckoo_mem mem;
	struct ipcuckoo_entries set;
	struct ipcuckoo_entry pool[POOL_MAX];
	struct stored *stored;
	u32 count;
	u32 step;
	u32 collisions;		/* non-members that matched, as expected */
	u32 refused;		/* additions refused because the filter was full */
	u32 ninths;		/* ninth copies refused */
	u32 crowded;		/* additions refused because of copies of others */
	u32 failures;		/* allocations that failed */
	bool growing;
	const char *op;
};

static bool context(struct run *r, bool held)
{
	if (held)
		return true;
	return expect(false, "%s, step %u, %s: see above", r->plan->name,
		      r->step, r->op);
}

static struct ipcuckoo_filter *filter(const struct run *r)
{
	return rcu_access_pointer(r->set.version)->filter;
}

/* Reference */

static u32 naive_alt(const struct ipcuckoo_filter *f, u32 bucket, u32 print)
{
	u32 h = print * 0x61c88647U;

	h = (h ^ h / 32768) * 0x85ebca6bU;
	h = (u64)h * f->nbuckets / (1ULL << 32) | 1;
	return ((u64)h + f->nbuckets - bucket) % f->nbuckets;
}

static struct likeness likeness(const struct run *r,
				const struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_filter *f = filter(r);
	u32 k[4] = { entry->addr.hi >> 32, entry->addr.hi, entry->addr.lo >> 32,
		     entry->addr.lo };
	u32 s[3], i;
	struct likeness like;
	u64 product;
	u64 max = (1ULL << r->plan->shape.bits) - 1;

	if (!entry->v6)
		k[2] = 0xffff;
	product = k[3] * (f->seed[1] * (1ULL << 32) + f->seed[0]);
	k[0] += product / (1ULL << 32);
	k[1] += product;
	for (i = 0; i < 3; i++)
		s[i] = 0xdeadbeef + 3 * sizeof(k[0]) + f->seed[0] + k[i];
	s[2] += f->seed[1];
	__jhash_final(s[0], s[1], s[2]);
	like.print = s[1] * max / (1ULL << 32) + 1;
	like.bucket[0] = (u64)s[2] * f->nbuckets / (1ULL << 32);
	like.bucket[1] = naive_alt(f, like.bucket[0], like.print);
	if (like.bucket[1] < like.bucket[0])
		like = (struct likeness){ { like.bucket[1], like.bucket[0] },
					  like.print };
	return like;
}

static bool alike(const struct likeness *a, const struct likeness *b)
{
	return a->print == b->print && a->bucket[0] == b->bucket[0] &&
	       a->bucket[1] == b->bucket[1];
}

static u32 naive_copies(const struct run *r, const struct ipcuckoo_entry *entry)
{
	struct likeness like;
	u32 i, n = 0;

	if (!r->count)
		return 0;
	like = likeness(r, entry);
	for (i = 0; i < r->count; i++)
		n += alike(&r->stored[i].like, &like);
	return n;
}

/* Free a slot in a bucket, if possible, by moving entries to their other buckets. Each bucket is
 * tried once.
 */
static bool naive_room(struct run *r, u32 bucket, bool *tried)
{
	u32 i, n = 0;

	if (tried[bucket])
		return false;
	tried[bucket] = true;
	for (i = 0; i < r->count; i++)
		n += r->stored[i].bucket == bucket;
	if (n < IPCUCKOO_SLOTS)
		return true;
	for (i = 0; i < r->count; i++) {
		struct stored *s = &r->stored[i];
		u32 other = s->like.bucket[0] + s->like.bucket[1] - bucket;

		if (s->bucket != bucket || !naive_room(r, other, tried))
			continue;
		s->bucket = other;
		return true;
	}
	return false;
}

/* Add an element, if there is any assignment with a slot for it. There is none if both its buckets
 * belong to a group of buckets that is full of elements with both buckets in the group.
 */
static bool naive_add(struct run *r, const struct ipcuckoo_entry *entry)
{
	struct stored s = { .like = likeness(r, entry) };
	bool *tried = calloc(filter(r)->nbuckets, sizeof(*tried));
	bool room = true;

	if (!tried)
		exit(1);
	s.bucket = s.like.bucket[0];
	if (!naive_room(r, s.bucket, tried)) {
		s.bucket = s.like.bucket[1];
		room = naive_room(r, s.bucket, tried);
	}
	if (room)
		r->stored[r->count++] = s;
	free(tried);
	return room;
}

static void naive_del(struct run *r, const struct ipcuckoo_entry *entry)
{
	struct likeness like = likeness(r, entry);
	u32 i = 0;

	while (!alike(&r->stored[i].like, &like))
		i++;
	r->stored[i] = r->stored[--r->count];
}

/* The elements: hosts of both families. Some are mapped forms of others, and many differ only in
 * their last bits.
 */
static void fill_pool(struct run *r)
{
	u64 hi = random_u64(&r->random);
	u32 base = random_u32(&r->random), i;

	for (i = 0; i < r->plan->pool; i++) {
		struct ipcuckoo_entry *entry = &r->pool[i];
		bool near = random_below(&r->random, 2);

		*entry = host4(near ? base + i : random_u32(&r->random));
		if (!random_below(&r->random, 3))
			*entry = entry6(near ? hi : random_u64(&r->random),
					near ? i : random_u64(&r->random), 128);
		else if (!random_below(&r->random, 8))
			*entry = entry6(0, 0xffffULL << 32 | (u32)(base + i / 2), 128);
	}
}

static struct ipcuckoo_entry *draw(struct run *r)
{
	return &r->pool[random_below(&r->random, r->plan->pool)];
}

/* Comparisons */

static void check_entry(struct run *r, const struct ipcuckoo_entry *entry)
{
	u32 expected = naive_copies(r, entry);
	u8 len = 0;

	context(r, expect_equal(match(&r->set, &entry->addr, entry->v6),
				expected > 0, "match of %s", entry_text(entry)));
	context(r, expect_equal(ipcuckoo_entries_copies(&r->set, entry), expected,
				"copies of %s", entry_text(entry)));
	context(r, expect_equal(ipcuckoo_entries_has(&r->set, entry), expected > 0,
				"has %s", entry_text(entry)));
	context(r, expect_equal(ipcuckoo_entries_find(&r->set, entry, &len) ? len : -1,
				expected ? (int)family_bits(entry->v6) : -1,
				"find of %s", entry_text(entry)));
}

static void check_all(struct run *r)
{
	const struct ipcuckoo_filter *f = filter(r);
	unsigned long objects = 1 + !!r->set.queue + (f ? 2 : 0);
	struct ipcuckoo_entry entry;
	u64 pos = 0;
	u32 i;

	for (i = 0; i < r->plan->pool && !ktap_failing(); i++)
		check_entry(r, &r->pool[i]);
	context(r, expect_equal(ipcuckoo_usage_total(&r->set), r->count,
				"entries"));
	context(r, expect_equal(plain_entries_next(&r->set, &pos, &entry), false,
				"listing"));
	context(r, expect_equal(atomic_long_read(&r->mem.used),
				sizeof(*rcu_access_pointer(r->set.version)) +
				(f ? sizeof(*f) + f->area.size : 0), "bytes charged"));
	context(r, expect_equal(shim_objects, objects, "objects in memory"));
	if (f)
		context(r, expect(f->nbuckets <= IPCUCKOO_SEARCH, "%u buckets",
				  f->nbuckets));
	context(r, expect(ipcuckoo_usage_slots(&r->set) * IPCUCKOO_LOAD_TARGET / 1000 >=
			  r->plan->shape.capacity, "%llu slots for %u entries",
			  ipcuckoo_usage_slots(&r->set), r->plan->shape.capacity));
}

/* Operations */

static int add(struct run *r, const struct ipcuckoo_entry *entry)
{
	u64 generation = r->set.generation;
	int err;

	for (;;) {
		shim_fail_at = random_below(&r->random, 8) ? 0 :
			       1 + random_below(&r->random, 4);
		err = ipcuckoo_entries_add(&r->set, entry);
		shim_fail_at = 0;
		context(r, expect_equal(r->set.generation, generation + !err,
					"generation"));
		if (err != -ENOMEM)
			return err;
		r->failures++;
	}
}

static void op_add(struct run *r)
{
	const struct ipcuckoo_filter_shape *shape = &r->plan->shape;
	const struct ipcuckoo_entry *entry = draw(r);
	u32 copies = naive_copies(r, entry);
	int err, expected = 0;

	r->op = "add";
	if (copies && !shape->multi)
		expected = -EEXIST;
	else if (copies == IPCUCKOO_COPIES_MAX)
		expected = -EMLINK;
	else if (r->count == shape->capacity)
		expected = -ENOSPC;
	context(r, expect_equal(ipcuckoo_entries_holds(&r->set, entry),
				copies && !shape->multi, "holds %s",
				entry_text(entry)));
	err = add(r, entry);
	if (!expected && !naive_add(r, entry)) {
		context(r, expect(shape->multi, "no place for %s", entry_text(entry)));
		expected = -EMLINK;
		r->crowded++;
	}
	context(r, expect_equal(err, expected, "add of %s", entry_text(entry)));
	r->refused += expected == -ENOSPC;
	r->ninths += copies == IPCUCKOO_COPIES_MAX;
	check_entry(r, entry);
}

static void op_del(struct run *r)
{
	const struct ipcuckoo_entry *entry = draw(r);
	u32 copies = naive_copies(r, entry);
	u64 generation = r->set.generation;
	int err;

	r->op = "del";
	err = ipcuckoo_entries_del(&r->set, entry);
	context(r, expect_equal(err, copies ? 0 : -ENOENT, "del of %s",
				entry_text(entry)));
	context(r, expect_equal(r->set.generation, generation + !err, "generation"));
	if (!err && copies)
		naive_del(r, entry);
	check_entry(r, entry);
}

static void op_look(struct run *r)
{
	struct ipcuckoo_entry entry;

	r->op = "look-up";
	check_entry(r, draw(r));
	entry = entry6(random_u64(&r->random), random_u64(&r->random), 128);
	r->collisions += !!naive_copies(r, &entry);
	check_entry(r, &entry);
	entry = host4(random_u32(&r->random));
	r->collisions += !!naive_copies(r, &entry);
	check_entry(r, &entry);
}

static void op_flush(struct run *r)
{
	r->op = "flush";
	context(r, expect_equal(ipcuckoo_entries_flush(&r->set), 0, "flush"));
	r->count = 0;
	check_all(r);
}

/* Shrink the filter. An empty filter then uses no memory. */
static void op_fit(struct run *r)
{
	r->op = "fit";
	context(r, expect_equal(ipcuckoo_entries_trim(&r->set), 0, "trim"));
	context(r, expect_equal(!!filter(r), r->count > 0, "the set has a filter"));
	check_all(r);
}

/* Replace the filter by a copy; sometimes this fails because an allocation does. */
static void op_replace(struct run *r)
{
	struct ipcuckoo_entries *shadow = calloc(1, sizeof(*shadow));
	bool doomed = !random_below(&r->random, 3);
	int err;

	r->op = "replace";
	if (!shadow || ipcuckoo_entries_init(shadow, &r->mem, false))
		exit(1);
	shadow->shape = r->plan->shape;
	mutex_lock(&shadow->mutex);
	shim_fail_at = doomed ? 1 + random_below(&r->random, 4) : 0;
	err = ipcuckoo_entries_copy(shadow, &r->set);
	shim_fail_at = 0;
	context(r, expect(!err || (doomed && err == -ENOMEM), "copy: %d", err));
	if (!err) {
		context(r, expect_equal(ipcuckoo_usage_total(shadow), r->count,
					"entries of a copy"));
		ipcuckoo_entries_replace(&r->set, shadow);
	}
	mutex_unlock(&shadow->mutex);
	ipcuckoo_entries_exit(shadow);
	free(shadow);
	check_all(r);
}

static void op_quota(struct run *r)
{
	struct ipcuckoo_entry *entry = draw(r);

	if (filter(r))
		return;
	r->op = "quota";
	WRITE_ONCE(r->mem.limit, 1);
	context(r, expect_equal(ipcuckoo_entries_add(&r->set, entry), -EDQUOT,
				"add of %s", entry_text(entry)));
	WRITE_ONCE(r->mem.limit, 0);
	check_all(r);
}

static void op_change(struct run *r)
{
	if (r->count == r->plan->shape.capacity)
		r->growing = random_below(&r->random, 20);
	else if (r->count <= r->plan->shape.capacity / 2)
		r->growing = true;
	if (!r->plan->shape.multi || r->growing == !!random_below(&r->random, 10))
		op_add(r);
	else
		op_del(r);
}

static void run_step(struct run *r)
{
	u32 pick = random_below(&r->random, 2000);

	if (pick < 2)
		op_flush(r);
	else if (pick < 8)
		op_fit(r);
	else if (pick < 16)
		op_replace(r);
	else if (pick < 18)
		op_quota(r);
	else if (pick < 400)
		op_look(r);
	else
		op_change(r);
}

static void run_plan(const struct plan *plan, u64 seed)
{
	u32 steps = ktap_share(plan->steps);
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		exit(1);
	r->stored = calloc(plan->shape.capacity, sizeof(*r->stored));
	ipcuckoo_mem_open(&r->mem, 0, ipcuckoo_record_reap);
	if (!r->stored || ipcuckoo_entries_init(&r->set, &r->mem, true))
		exit(1);
	r->plan = plan;
	r->random = random_seed(seed);
	r->set.shape = plan->shape;
	fill_pool(r);
	mutex_lock(&r->set.mutex);
	for (r->step = 0; r->step < steps && !ktap_failing(); r->step++)
		run_step(r);
	r->op = "end";
	check_all(r);
	printf("# %s: %u steps, %llu displaced, %u non-members matched as expected, %u refused when full, %u as ninth copies, %u for copies of others, %u allocations failed\n",
	       plan->name, r->step, ipcuckoo_usage_displaced(&r->set),
	       r->collisions, r->refused, r->ninths, r->crowded,
	       r->failures);
	set_exit(&r->set);
	expect_nothing_left(&r->mem);
	free(r->stored);
	free(r);
	ktap_case("%s", plan->name);
}

static const struct plan plans[] = {
	{ "8 bits", { 400, 8, false }, 1000, 20000 },
	{ "16 bits", { 400, 16, false }, 1000, 20000 },
	{ "32 bits", { 400, 32, false }, 1000, 20000 },
	{ "8 bits, five elements", { 5, 8, false }, 40, 10000 },
	{ "8 bits, multi", { 400, 8, true }, 300, 30000 },
	{ "16 bits, multi", { 400, 16, true }, 300, 30000 },
	{ "32 bits, multi", { 400, 32, true }, 300, 30000 },
	{ "8 bits, multi, few elements", { 200, 8, true }, 30, 20000 },
	{ "32 bits, multi, few elements", { 60, 32, true }, 8, 20000 },
};

int main(void)
{
	u64 seed = ktap_begin("test_filter");
	u32 i;

	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		shim_random_seed(seed + i);
		run_plan(&plans[i], seed + i);
	}
	return ktap_end();
}
