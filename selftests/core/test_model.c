// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations on the contents of a set and on a naive reference, which must agree after each
 * operation.
 *
 * The reference is a sorted array. It answers a look-up with one binary search for every prefix
 * length. It is simple enough to serve as the specification.
 *
 * Every operation is also tried with failing memory: its first allocation fails, then the second,
 * and so on until none is left. A failure must change nothing and leak nothing.
 *
 * DIVIDE=n does one n-th of the operations.
 */
#include "draw.h"

/* Reference */

struct naive {
	struct ipcuckoo_entry *entries;
	u32 count;
	u32 room;
	u32 kinds[IPCUCKOO_KINDS];
};

static int naive_order(const struct ipcuckoo_entry *a,
		       const struct ipcuckoo_entry *b)
{
	if (a->v6 != b->v6)
		return a->v6 ? 1 : -1;
	if (a->addr.hi != b->addr.hi)
		return a->addr.hi < b->addr.hi ? -1 : 1;
	if (a->addr.lo != b->addr.lo)
		return a->addr.lo < b->addr.lo ? -1 : 1;
	return (int)a->len - (int)b->len;
}

/* Index of the first entry that is not before @entry. */
static u32 naive_index(const struct naive *n, const struct ipcuckoo_entry *entry)
{
	u32 low = 0, high = n->count;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (naive_order(&n->entries[middle], entry) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool naive_has(const struct naive *n, const struct ipcuckoo_entry *entry)
{
	u32 i = naive_index(n, entry);

	return i < n->count && !naive_order(&n->entries[i], entry);
}

static enum ipcuckoo_kind naive_kind(const struct ipcuckoo_entry *entry)
{
	bool host = entry->len == family_bits(entry->v6);

	if (entry->v6)
		return host ? IPCUCKOO_HOSTS6 : IPCUCKOO_NETS6;
	return host ? IPCUCKOO_HOSTS4 : IPCUCKOO_NETS4;
}

static void naive_add(struct naive *n, const struct ipcuckoo_entry *entry)
{
	u32 i = naive_index(n, entry);

	if (n->count == n->room) {
		n->room = n->room ? 2 * n->room : 64;
		n->entries = realloc(n->entries, n->room * sizeof(*entry));
		if (!n->entries)
			exit(1);
	}
	memmove(&n->entries[i + 1], &n->entries[i],
		(n->count - i) * sizeof(*entry));
	n->entries[i] = *entry;
	n->count++;
	n->kinds[naive_kind(entry)]++;
}

static void naive_del(struct naive *n, const struct ipcuckoo_entry *entry)
{
	u32 i = naive_index(n, entry);

	n->kinds[naive_kind(entry)]--;
	n->count--;
	memmove(&n->entries[i], &n->entries[i + 1],
		(n->count - i) * sizeof(*entry));
}

static void naive_flush(struct naive *n)
{
	n->count = 0;
	memset(n->kinds, 0, sizeof(n->kinds));
}

/* Length of the longest entry that covers an address, or -1. */
static int naive_find(const struct naive *n, const struct ipcuckoo_key *addr,
		      bool v6)
{
	struct ipcuckoo_entry entry = { .v6 = v6 };
	int len;

	for (len = family_bits(v6); len >= 0; len--) {
		entry.addr = cut(*addr, v6, len);
		entry.len = len;
		if (naive_has(n, &entry))
			return len;
	}
	return -1;
}

/* A run */

/**
 * struct plan - parameters of a run
 * @name:	name of the run
 * @weight:	see struct draw
 * @bases:	see struct draw
 * @low, @high:	the set grows and shrinks between these numbers of entries
 * @steps:	number of operations
 * @shortest, @longest, @only: see struct draw
 */
struct plan {
	const char *name;
	u8 weight[IPCUCKOO_KINDS];
	u32 bases;
	u32 low, high;
	u32 steps;
	u8 shortest;
	u8 longest;
	u8 only;
};

struct run {
	const struct plan *plan;
	struct draw draw;
	struct ipcuckoo_mem mem;
	struct ipcuckoo_entries set;
	struct naive naive;
	bool growing;
	u32 step;
	u32 failures;		/* allocations that failed, without harm */
	u32 quotas;
	u32 hint_sizes;		/* bit n: there was a hint of stride n */
	u32 key_sizes;		/* the sizes of keys that tables had, combined with OR */
	const char *op;
};

static const struct ipcuckoo_version *version(const struct ipcuckoo_entries *e)
{
	return rcu_access_pointer(e->version);
}

static struct ipcuckoo_entry draw_present(struct run *r)
{
	if (!r->naive.count)
		return draw_entry(&r->draw);
	return r->naive.entries[random_below(&r->draw.random, r->naive.count)];
}

/* Comparisons */

static bool context(struct run *r, bool held)
{
	if (held)
		return true;
	return expect(false, "%s, step %u, %s: see above", r->plan->name,
		      r->step, r->op);
}

static void check_match(struct run *r, struct ipcuckoo_key addr, bool v6)
{
	struct ipcuckoo_entry host = { addr, family_bits(v6), v6 };
	int expected = naive_find(&r->naive, &addr, v6);
	struct ipcuckoo_key addr4 = key4(addr.lo);
	bool either = v6 && ipcuckoo_key_mapped(&addr) &&
		      naive_find(&r->naive, &addr4, false) >= 0;
	u8 len = 0;

	context(r, expect_equal(match(&r->set, &addr, v6), expected >= 0 || either,
				"match of %s", entry_text(&host)));
	context(r, expect_equal(ipcuckoo_entries_find(&r->set, &host, &len) ?
				len : -1, expected, "find of %s",
				entry_text(&host)));
}

static void check_edges(struct run *r, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key edge[4];
	int i;

	edges(entry, edge);
	for (i = 0; i < 4; i++)
		check_match(r, edge[i], entry->v6);
}

static void check_counts(struct run *r)
{
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		context(r, expect_equal(ipcuckoo_usage_count(&r->set, kind),
					r->naive.kinds[kind], "count of kind %d",
					kind));
}

/* Check that exactly the existing tables, filters and hints are charged. */
static void check_memory(struct run *r)
{
	const struct ipcuckoo_version *v = version(&r->set);
	unsigned long bytes = sizeof(*v), objects = 1 + !!r->set.queue;
	int i, j;

	for (i = 0; i < IPCUCKOO_KINDS; i++) {
		bytes += v->table[i] ? sizeof(*v->table[i]) : 0;
		objects += v->table[i] ? 2 : 0;
		for (j = 0; v->table[i] && j < 2; j++)
			bytes += v->table[i]->area[j].size;
		objects += v->table[i] && v->table[i]->keys;
		r->key_sizes |= v->table[i] ? v->table[i]->key_size : 0;
	}
	for (i = 0; i < 2; i++) {
		bytes += v->hint[i] ? sizeof(*v->hint[i]) : 0;
		objects += v->hint[i] ? 2 : 0;
		for (j = 0; v->hint[i] && j < 2; j++)
			bytes += v->hint[i]->area[j].size;
		objects += v->hint[i] && v->hint[i]->deep;
		if (v->hint[i])
			r->hint_sizes |= 1U << v->hint[i]->stride;
	}
	context(r, expect_equal(atomic_long_read(&r->mem.used), bytes,
				"bytes charged"));
	ipcuckoo_search_exit();
	context(r, expect_equal(shim_objects, objects, "objects in memory"));
	context(r, expect_equal(ipcuckoo_usage_memory(&r->set), bytes, "memory that is reported"));
}

static int order(const void *a, const void *b)
{
	return naive_order(a, b);
}

/* Check that a listing has all entries, each once. */
static void check_listing(struct run *r, struct ipcuckoo_entries *e)
{
	struct ipcuckoo_entry *all, entry;
	u64 pos = 0;
	u32 i, n = 0;

	all = malloc((r->naive.count + 1) * sizeof(*all));
	if (!all)
		exit(1);
	while (n <= r->naive.count && plain_entries_next(e, &pos, &entry))
		all[n++] = entry;
	if (context(r, expect_equal(n, r->naive.count, "entries listed"))) {
		qsort(all, n, sizeof(*all), order);
		for (i = 0; i < n; i++)
			context(r, expect(!naive_order(&all[i],
						       &r->naive.entries[i]),
					  "expected %s in the list, got %s",
					  entry_text(&r->naive.entries[i]),
					  entry_text(&all[i])));
	}
	free(all);
}

static void check_all(struct run *r)
{
	check_counts(r);
	check_memory(r);
	check_listing(r, &r->set);
}

/* Failing memory */

/* Call @op with its first allocation failing, then the second, and so on, until none fails. Returns
 * the result of the last call, or of an earlier one that succeeded in spite of a failure.
 */
static int try_hard(struct run *r, int (*op)(struct run *r, void *arg), void *arg)
{
	u64 generation = r->set.generation;
	unsigned long n;
	bool failed;
	int err;

	if (random_below(&r->draw.random, 8))
		return op(r, arg);
	for (n = 1; ; n++) {
		shim_fail_at = n;
		err = op(r, arg);
		failed = !shim_fail_at;
		shim_fail_at = 0;
		if (err != -ENOMEM)
			break;
		r->failures++;
		context(r, expect(failed, "-ENOMEM only if an allocation failed"));
		context(r, expect_equal(r->set.generation, generation,
					"generation after failure %lu", n));
		check_all(r);
		if (ktap_failing())
			break;
	}
	return err;
}

static int call_add(struct run *r, void *arg)
{
	return ipcuckoo_entries_add(&r->set, arg);
}

static int call_del(struct run *r, void *arg)
{
	return ipcuckoo_entries_del(&r->set, arg);
}

static int call_reserve(struct run *r, void *arg)
{
	return ipcuckoo_entries_reserve(&r->set, arg);
}

static int call_trim(struct run *r, void *arg)
{
	(void)arg;
	return ipcuckoo_entries_trim(&r->set);
}

static int call_flush(struct run *r, void *arg)
{
	(void)arg;
	return ipcuckoo_entries_flush(&r->set);
}

/* Operations */

static void op_add(struct run *r, struct ipcuckoo_entry entry)
{
	bool there = naive_has(&r->naive, &entry);
	u64 generation = r->set.generation;
	int err;

	r->op = "add";
	context(r, expect_equal(ipcuckoo_entries_has(&r->set, &entry), there,
				"has %s", entry_text(&entry)));
	err = try_hard(r, call_add, &entry);
	context(r, expect_equal(err, there ? -EEXIST : 0, "add of %s",
				entry_text(&entry)));
	context(r, expect_equal(r->set.generation, generation + !err,
				"generation"));
	if (!err && !there)
		naive_add(&r->naive, &entry);
	check_edges(r, &entry);
}

static void op_del(struct run *r, struct ipcuckoo_entry entry)
{
	bool there = naive_has(&r->naive, &entry);
	u64 generation = r->set.generation;
	int err;

	r->op = "del";
	err = try_hard(r, call_del, &entry);
	context(r, expect_equal(err, there ? 0 : -ENOENT, "del of %s",
				entry_text(&entry)));
	context(r, expect_equal(r->set.generation, generation + !err,
				"generation"));
	if (!err && there)
		naive_del(&r->naive, &entry);
	context(r, expect(!ipcuckoo_entries_has(&r->set, &entry),
			  "%s is not a member after its deletion", entry_text(&entry)));
	check_edges(r, &entry);
}

static void op_look(struct run *r)
{
	struct ipcuckoo_entry entry = draw_entry(&r->draw);
	u8 len = 0;

	r->op = "look-up";
	context(r, expect_equal(ipcuckoo_entries_has(&r->set, &entry),
				naive_has(&r->naive, &entry), "has %s",
				entry_text(&entry)));
	if (entry.len < family_bits(entry.v6))
		context(r, expect_equal(ipcuckoo_entries_find(&r->set, &entry,
							      &len),
					naive_has(&r->naive, &entry),
					"find of %s", entry_text(&entry)));
	check_match(r, draw_addr(&r->draw, entry.v6), entry.v6);
	entry = draw_present(r);
	check_edges(r, &entry);
}

static void op_reserve(struct run *r)
{
	u32 more[IPCUCKOO_KINDS], kind, total = 0;

	r->op = "reserve";
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		more[kind] = r->plan->weight[kind] && random_below(&r->draw.random, 2) ?
			     random_below(&r->draw.random, 300) : 0;
	context(r, expect_equal(try_hard(r, call_reserve, more), 0, "reserve"));
	check_all(r);
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += r->naive.kinds[kind] + more[kind];
	context(r, expect(ipcuckoo_usage_slots(&r->set) >= total ||
			  !(more[0] | more[1] | more[2] | more[3]),
			  "%llu slots for %u entries",
			  ipcuckoo_usage_slots(&r->set), total));
}

static void op_fit(struct run *r)
{
	r->op = "fit";
	context(r, expect_equal(try_hard(r, call_trim, NULL), 0, "trim"));
	check_all(r);
}

static void op_flush(struct run *r)
{
	u64 generation = r->set.generation;

	r->op = "flush";
	context(r, expect_equal(try_hard(r, call_flush, NULL), 0, "flush"));
	context(r, expect_equal(r->set.generation, generation + 1, "generation"));
	naive_flush(&r->naive);
	check_all(r);
}

/* Fill a shadow with a copy of the set and a few more entries, then replace the set by it.
 * Sometimes an allocation fails meanwhile, and the shadow is destroyed.
 */
static void op_replace(struct run *r)
{
	struct ipcuckoo_entries *shadow = calloc(1, sizeof(*shadow));
	bool doomed = !random_below(&r->draw.random, 4);
	struct ipcuckoo_entry entry;
	u64 generation;
	u32 i;
	int err;

	r->op = "replace";
	if (!shadow || ipcuckoo_entries_init(shadow, &r->mem, false))
		exit(1);
	mutex_lock(&shadow->mutex);
	if (doomed)
		shim_fail_at = 1 + random_below(&r->draw.random, 20);
	err = ipcuckoo_entries_copy(shadow, &r->set);
	shim_fail_at = 0;
	context(r, expect(!err || (doomed && err == -ENOMEM), "copy: %d", err));
	if (!err)
		check_listing(r, shadow);
	if (!err && !doomed) {
		if (r->naive.count && !random_below(&r->draw.random, 3)) {
			entry = draw_present(r);
			context(r, expect_equal(ipcuckoo_entries_del(shadow, &entry),
						0, "del in a shadow"));
			naive_del(&r->naive, &entry);
		}
		for (i = 0; i < 10; i++) {
			entry = draw_entry(&r->draw);
			err = naive_has(&r->naive, &entry) ? -EEXIST : 0;
			context(r, expect_equal(ipcuckoo_entries_add(shadow, &entry),
						err, "add to a shadow"));
			if (!err)
				naive_add(&r->naive, &entry);
		}
		generation = r->set.generation;
		ipcuckoo_entries_replace(&r->set, shadow);
		context(r, expect(r->set.generation > generation,
				  "the generation increases"));
	}
	mutex_unlock(&shadow->mutex);
	ipcuckoo_entries_exit(shadow);
	free(shadow);
	check_all(r);
}

/* Add until the memory limit is reached. The addition that fails must change nothing. */
static void op_quota(struct run *r)
{
	struct ipcuckoo_entry entry;
	u64 generation;
	int i, err;

	r->op = "quota";
	WRITE_ONCE(r->mem.limit, atomic_long_read(&r->mem.used) +
				 random_below(&r->draw.random, 4096) + 1);
	for (i = 0; i < 200 && !ktap_failing(); i++) {
		entry = draw_entry(&r->draw);
		generation = r->set.generation;
		err = ipcuckoo_entries_add(&r->set, &entry);
		if (naive_has(&r->naive, &entry)) {
			context(r, expect_equal(err, -EEXIST, "add of %s",
						entry_text(&entry)));
			continue;
		}
		if (!err) {
			naive_add(&r->naive, &entry);
			continue;
		}
		context(r, expect_equal(err, -EDQUOT, "add of %s",
					entry_text(&entry)));
		context(r, expect_equal(r->set.generation, generation,
					"generation"));
		r->quotas++;
		break;
	}
	context(r, expect((unsigned long)atomic_long_read(&r->mem.used) <=
			  r->mem.limit, "no more is charged than the limit"));
	WRITE_ONCE(r->mem.limit, 0);
	check_all(r);
}

static void op_relax(struct run *r)
{
	r->op = "relax";
	ipcuckoo_rebuild_free_queue(&r->set);
	check_memory(r);
}

/* Mostly add until the set has its maximum size, then mostly delete. */
static void op_change(struct run *r)
{
	bool mostly = random_below(&r->draw.random, 10);

	if (r->naive.count >= r->plan->high)
		r->growing = false;
	else if (r->naive.count <= r->plan->low)
		r->growing = true;
	if (r->growing == mostly)
		op_add(r, random_below(&r->draw.random, 16) ? draw_entry(&r->draw) :
							 draw_present(r));
	else
		op_del(r, random_below(&r->draw.random, 16) ? draw_present(r) :
							 draw_entry(&r->draw));
}

static void run_step(struct run *r)
{
	u32 pick = random_below(&r->draw.random, 4000);

	if (!pick)
		op_flush(r);
	else if (pick < 20)
		op_fit(r);
	else if (pick < 36)
		op_reserve(r);
	else if (pick < 44)
		op_replace(r);
	else if (pick < 60)
		op_quota(r);
	else if (pick < 80)
		op_relax(r);
	else if (pick < 120)
		check_all(r);
	else if (pick < 800)
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
	r->plan = plan;
	r->draw = (struct draw){
		.random = random_seed(seed),
		.weight = plan->weight,
		.nbases = plan->bases,
		.shortest = plan->shortest,
		.longest = plan->longest,
		.only = plan->only,
	};
	choose_bases(&r->draw);
	ipcuckoo_mem_open(&r->mem, 0, ipcuckoo_record_reap);
	if (ipcuckoo_entries_init(&r->set, &r->mem, true))
		exit(1);
	mutex_lock(&r->set.mutex);
	for (r->step = 0; r->step < steps && !ktap_failing(); r->step++)
		run_step(r);
	r->op = "end";
	check_all(r);
	printf("# %s: %u steps, %u growths, %u rekeys, %llu displaced, strides %s%s%s, "
	       "%u allocations and %u quotas failed\n",
	       plan->name, r->step, r->set.growths, r->set.rekeys,
	       ipcuckoo_usage_displaced(&r->set),
	       r->hint_sizes >> 8 & 1 ? "8 " : "",
	       r->hint_sizes >> 12 & 1 ? "12 " : "",
	       r->hint_sizes >> 16 & 1 ? "16" : "", r->failures, r->quotas);
	if (plan->longest && steps == plan->steps)
		expect_equal(r->key_sizes, IPCUCKOO_KEY64 | IPCUCKOO_KEY128, "sizes of keys");
	set_exit(&r->set);
	expect_nothing_left(&r->mem);
	free(r->naive.entries);
	free(r);
	ktap_case("%s", plan->name);
}

static const struct plan plans[] = {
	{ "few entries of all kinds", { 1, 1, 1, 1 }, 4, 0, 40, 20000, 1, 0, 0 },
	{ "IPv4 hosts", { 1, 0, 0, 0 }, 64, 0, 6000, 15000, 0, 0, 0 },
	{ "IPv6 hosts", { 0, 1, 0, 0 }, 64, 0, 6000, 15000, 0, 0, 0 },
	{ "IPv4 prefixes that nest", { 1, 0, 9, 0 }, 8, 0, 300, 15000, 4, 0, 0 },
	{ "IPv6 prefixes that nest", { 0, 1, 0, 9 }, 8, 0, 300, 15000, 4, 0, 0 },
	{ "short IPv4 prefixes", { 1, 0, 1, 0 }, 32, 0, 70, 4000, 0, 0, 0 },
	{ "IPv4 prefixes, all strides", { 1, 0, 9, 0 }, 64, 20, 1400, 15000, 9, 0, 0 },
	{ "IPv4 prefixes of all lengths, the largest stride", { 1, 0, 9, 0 }, 64, 900, 1500, 15000,
	  0, 0, 0 },
	{ "IPv6 prefixes, all strides", { 0, 1, 0, 9 }, 64, 20, 1400, 15000, 9, 0, 0 },
	{ "IPv6 prefixes, few of 64 bits or longer", { 0, 1, 0, 9 }, 64, 20, 1400, 15000, 9, 63, 0 },
	{ "IPv4 prefixes of one length", { 0, 0, 1, 0 }, 64, 20, 1500, 15000, 0, 0, 24 },
	{ "IPv6 prefixes of one length", { 0, 0, 0, 1 }, 64, 20, 1500, 15000, 0, 0, 24 },
	{ "hosts, and prefixes of one length", { 1, 1, 4, 4 }, 64, 0, 900, 15000, 0, 0, 30 },
	{ "many entries of all kinds", { 3, 3, 3, 3 }, 64, 100, 8000, 15000, 12, 0, 0 },
};

int main(void)
{
	u64 seed = ktap_begin("test_model");
	u32 i;

	for (i = 0; i < ARRAY_SIZE(plans); i++) {
		shim_random_seed(seed + i);
		run_plan(&plans[i], seed + i);
	}
	return ktap_end();
}
