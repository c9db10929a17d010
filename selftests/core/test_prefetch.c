// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that what is prefetched for an address is what a look-up of it has to read: after an entry
 * was added, the memory that has changed in tables, filters and the first level of hints must be
 * prefetched for an address that the entry covers.
 *
 * DIVIDE=n adds one n-th of the entries.
 */
#include <linux/prefetch.h>

#include "core.h"
#include "prefetch.h"

enum {
	LINE = 64,
	/* At most two buckets of hosts and of prefixes, with their keys, and a word of the hint */
	PREFETCHES_MAX = 9,
};

static struct random rnd;
static struct ipcuckoo_mem mem;

/* What was prefetched */
static const char *prefetches[PREFETCHES_MAX + 1];
static u32 prefetch_count;

static void note(const void *at)
{
	if (prefetch_count <= PREFETCHES_MAX)
		prefetches[prefetch_count++] = at;
}

/* A part of the contents, as it was */
struct part {
	const char *name;
	const char *start;
	size_t size;
	char *copy;
	bool keys;
	bool hosts;
};

struct parts {
	struct part part[5];
	u32 count;
};

static void take(struct parts *parts, const char *name, const void *start, size_t size)
{
	struct part *part = &parts->part[parts->count++];

	*part = (struct part){ name, start, size, malloc(size), false, false };
	if (!part->copy)
		exit(1);
	memcpy(part->copy, start, size);
}

static void take_table(struct parts *parts, const char *name, const struct ipcuckoo_table *t,
		       bool hosts)
{
	if (!t)
		return;
	take(parts, name, t->words, t->nbuckets * sizeof(*t->words));
	if (!t->keys)
		return;
	take(parts, "keys", t->keys, ipcuckoo_table_slots(t) * t->key_size);
	parts->part[parts->count - 1].keys = true;
	parts->part[parts->count - 1].hosts = hosts;
}

/* With prefixes of several lengths, which of them a look-up probes depends on the hint. */
static void take_all(struct parts *parts, const struct ipcuckoo_version *v, bool v6)
{
	const struct ipcuckoo_hint *h = v->hint[v6];

	parts->count = 0;
	take_table(parts, "hosts", v->table[v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4],
		   true);
	if (h && h->only)
		take_table(parts, "prefixes", v->table[v6 ? IPCUCKOO_NETS6 : IPCUCKOO_NETS4],
			   false);
	if (h)
		take(parts, "hint", h->top, h->high ? (size_t)((char *)h->high - (char *)h->top) :
						      h->area[0].size);
	if (v->filter)
		take(parts, "filter", v->filter->words,
		     (size_t)v->filter->nbuckets * v->filter->shape.bits * IPCUCKOO_SLOTS / 8);
}

static void drop_all(struct parts *parts)
{
	while (parts->count)
		free(parts->part[--parts->count].copy);
}

static bool is_prefetched(const char *at, bool keys)
{
	u32 i;

	for (i = 0; i < prefetch_count; i++)
		if (keys ? prefetches[i] <= at && at < prefetches[i] + LINE :
			   (uintptr_t)prefetches[i] / LINE == (uintptr_t)at / LINE)
			return true;
	return false;
}

/* Check what was prefetched for an address of an entry that was added since the parts were taken.
 * @hits: most recent look-ups of hosts have matched, so that keys of hosts are prefetched, too.
 * Return: how many parts have changed.
 */
static u32 check_parts(const struct parts *parts, const struct ipcuckoo_entry *entry, bool hits)
{
	const struct part *part;
	u32 i, changed = 0;
	size_t at;

	for (i = 0; i < parts->count; i++) {
		part = &parts->part[i];
		for (at = 0; at < part->size && part->start[at] == part->copy[at]; at++)
			;
		if (at == part->size)
			continue;
		changed++;
		for (; at < part->size; at++)
			if (part->start[at] != part->copy[at])
				expect(is_prefetched(part->start + at, part->keys) ==
				       (!part->keys || !part->hosts || hits),
				       "%s: %s: byte %zu, %s", entry_text(entry), part->name, at,
				       hits ? "after hits" : "after misses");
	}
	expect(prefetch_count <= PREFETCHES_MAX, "%s: too much is prefetched", entry_text(entry));
	return changed;
}

static u8 only_length(const struct ipcuckoo_version *v, bool v6)
{
	return v->hint[v6] ? v->hint[v6]->only : 0;
}

/* Add an entry, and check what is prefetched for an address that it covers. Return: how many parts
 * have changed; 0 if the addition has changed more than what belongs to the entry: parts were
 * replaced, entries were displaced, or the prefix is the first one of another length.
 */
static u32 check_entry(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry, bool hits)
{
	const struct ipcuckoo_version *v = rcu_access_pointer(e->version);
	struct ipcuckoo_key addr = entry->addr;
	struct parts parts;
	u64 displaced = ipcuckoo_usage_displaced(e);
	u8 only = only_length(v, entry->v6);
	u32 changed = 0;

	take_all(&parts, v, entry->v6);
	expect_equal(ipcuckoo_entries_add(e, entry), 0, "add");
	/* A random address of the entry */
	if (entry->v6 && entry->len <= 64) {
		addr.hi |= entry->len < 64 ? random_u64(&rnd) >> entry->len : 0;
		addr.lo = random_u64(&rnd);
	} else if (!entry->v6 && entry->len < 32) {
		addr.lo |= random_u32(&rnd) >> entry->len;
	}
	prefetch_count = 0;
	ipcuckoo_recent_hits = hits ? IPCUCKOO_HITS_MANY : 0;
	rcu_read_lock();
	shim_prefetched = note;
	if (entry->v6)
		ipcuckoo_prefetch6(e, &addr);
	else
		ipcuckoo_prefetch4(e, addr.lo);
	shim_prefetched = NULL;
	rcu_read_unlock();
	if (rcu_access_pointer(e->version) == v && only_length(v, entry->v6) == only &&
	    ipcuckoo_usage_displaced(e) == displaced)
		changed = check_parts(&parts, entry, hits);
	drop_all(&parts);
	return changed;
}

/**
 * struct plan - contents to be tested
 * @name:	what they are
 * @len:	lengths of entries of IPv4 and IPv6, chosen at random
 * @bits:	of fingerprints, if they are approximate
 */
struct plan {
	const char *name;
	u8 len[2][3];
	u8 bits;
};

static const struct plan plans[] = {
	{ "hosts", { { 32, 32, 32 }, { 128, 128, 128 } }, 0 },
	{ "prefixes of one length", { { 24, 24, 24 }, { 48, 48, 48 } }, 0 },
	{ "hosts and prefixes of one length", { { 32, 32, 20 }, { 128, 128, 64 } }, 0 },
	{ "hosts and prefixes", { { 32, 22, 25 }, { 128, 29, 52 } }, 0 },
	{ "fingerprints of 8 bits", { { 32, 32, 32 }, { 128, 128, 128 } }, 8 },
	{ "fingerprints of 16 bits", { { 32, 32, 32 }, { 128, 128, 128 } }, 16 },
	{ "fingerprints of 32 bits", { { 32, 32, 32 }, { 128, 128, 128 } }, 32 },
};

static void test_plan(const struct plan *plan)
{
	/* So that entries are in their second buckets, too, and few are displaced */
	const u32 count = ktap_share(2000), more[IPCUCKOO_KINDS] = { count, count, count, count };
	struct ipcuckoo_entries *e = calloc(1, sizeof(*e));
	struct ipcuckoo_entry entry;
	u32 n, changed = 0;
	bool v6;
	u8 len;

	if (!e || ipcuckoo_entries_init(e, &mem, true))
		exit(1);
	mutex_lock(&e->mutex);
	if (plan->bits)
		e->shape = (struct ipcuckoo_filter_shape){ count, plan->bits, false };
	else
		expect_equal(ipcuckoo_entries_reserve(e, more), 0, "reserve");
	for (n = 0; n < count; n++) {
		v6 = random_below(&rnd, 2);
		len = plan->len[v6][random_below(&rnd, 3)];
		/* From 224.0.0.0 on, hints have no word of their own for an address. */
		entry = v6 ? entry6(random_u64(&rnd), random_u64(&rnd), len) :
			     entry4(random_below(&rnd, 0xe0000000), len);
		if (ipcuckoo_entries_holds(e, &entry))
			continue;
		changed += !!check_entry(e, &entry, random_below(&rnd, 2));
	}
	expect(changed >= count / 2, "only %u additions have changed something", changed);
	set_exit(e);
	free(e);
	ktap_case("%s: what look-ups read is prefetched", plan->name);
}

int main(void)
{
	u64 seed = ktap_begin("test_prefetch");
	size_t i;

	rnd = random_seed(seed);
	shim_random_seed(seed);
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	for (i = 0; i < ARRAY_SIZE(plans); i++)
		test_plan(&plans[i]);
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
