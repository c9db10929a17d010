// SPDX-License-Identifier: GPL-2.0
/*
 * Tests extensions with every combination of options: random operations on a set, sometimes with a
 * shadow beside it, and on naive references, which must agree after each operation.
 *
 * A reference is an unsorted array that is searched from end to end. It knows when each entry
 * expires. Garbage collection tells when it has removed an entry, which the reference checks. The
 * clock moves only when the test moves it.
 *
 * Memory fails as in test_model.c: a failure must change nothing and leak nothing.
 *
 * DIVIDE=n does one n-th of the operations.
 */
#include <pthread.h>
#include <sched.h>

#include "draw.h"
#include "value.h"
#include "version.h"

/* Reference */

/**
 * struct book_entry - an entry and its extensions, in the reference
 * @entry:	the entry
 * @id:		number of its record; entries of a set and its shadow may share one
 * @expires:	as in struct ipcuckoo_value
 * @nomatch:	as in struct ipcuckoo_value
 * @packets, @bytes: counters
 * @info:	skbinfo
 * @comment:	"" for none
 */
struct book_entry {
	struct ipcuckoo_entry entry;
	u64 id;
	u32 expires;
	bool nomatch;
	u64 packets, bytes;
	struct ipcuckoo_skbinfo info;
	char comment[IPCUCKOO_COMMENT_MAX + 1];
};

struct book {
	struct book_entry *entries;
	u32 count, room;
};

static bool same_entry(const struct ipcuckoo_entry *a, const struct ipcuckoo_entry *b)
{
	return a->v6 == b->v6 && a->len == b->len && a->addr.hi == b->addr.hi &&
	       a->addr.lo == b->addr.lo;
}

static struct book_entry *book_find(const struct book *b, const struct ipcuckoo_entry *entry)
{
	u32 i;

	for (i = 0; i < b->count; i++)
		if (same_entry(&b->entries[i].entry, entry))
			return &b->entries[i];
	return NULL;
}

static struct book_entry *book_add(struct book *b, const struct ipcuckoo_entry *entry)
{
	if (b->count == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->entries = realloc(b->entries, b->room * sizeof(*b->entries));
		if (!b->entries)
			exit(1);
	}
	b->entries[b->count].entry = *entry;
	return &b->entries[b->count++];
}

static void book_del(struct book *b, struct book_entry *k)
{
	*k = b->entries[--b->count];
}

static bool has_expired(const struct book_entry *k)
{
	return k->expires && k->expires <= shim_seconds;
}

static bool covers(const struct ipcuckoo_entry *entry, const struct ipcuckoo_key *addr,
		   bool v6)
{
	u64 hi = v6 ? entry->addr.hi ^ addr->hi : (entry->addr.lo ^ addr->lo) << 32;
	u64 lo = v6 ? entry->addr.lo ^ addr->lo : 0;

	if (entry->v6 != v6)
		return false;
	if (entry->len > 64)
		return !hi && !(lo >> (128 - entry->len));
	return !entry->len || !(hi >> (64 - entry->len));
}

/* The longest entry that covers an address and has not expired. */
static struct book_entry *book_decide(const struct book *b, const struct ipcuckoo_key *addr,
				bool v6)
{
	struct book_entry *k, *best = NULL;

	for (k = b->entries; k < b->entries + b->count; k++)
		if (covers(&k->entry, addr, v6) && !has_expired(k) &&
		    (!best || k->entry.len > best->entry.len))
			best = k;
	return best;
}

/* Count a packet in all entries that share the record. */
static void book_hit(struct book *b, u64 id, u64 packets, u64 bytes)
{
	struct book_entry *k;

	for (k = b->entries; k < b->entries + b->count; k++) {
		if (k->id != id)
			continue;
		k->packets += packets;
		k->bytes += bytes;
	}
}

/* A run */

/**
 * struct plan - parameters of a run
 * @name:	name of the run
 * @weight:	see struct draw
 * @bases:	see struct draw
 * @shortest:	see struct draw
 * @high:	with more entries than this, more are deleted than added
 * @bulk:	at the end, a table grows large and shrinks
 */
struct plan {
	const char *name;
	u8 weight[IPCUCKOO_KINDS];
	u32 bases;
	u8 shortest;
	u32 high;
	bool bulk;
};

/* Contents and their reference */
struct side {
	struct ipcuckoo_entries *e;
	struct book book;
};

struct run {
	const struct plan *plan;
	struct draw draw;
	u32 options;
	bool except;
	struct ipcuckoo_mem mem;
	struct side set;
	struct side shadow;	/* .e is NULL if there is none */
	u64 ids;
	u64 expired;
	bool growing;
	u32 step;
	const char *op;
};

/* Counts what has happened in all runs, to check that everything has. */
static struct {
	u32 updates, revivals, collected, failures, quotas, commits, shared, shrunk;
	u32 matches, exceptions, parts, evictions;
} met;

static u32 below(struct run *r, u32 n)
{
	return random_below(&r->draw.random, n);
}

static struct ipcuckoo_entry present(struct run *r, const struct side *s)
{
	return s->book.count ? s->book.entries[below(r, s->book.count)].entry :
			       draw_entry(&r->draw);
}

static bool context(struct run *r, bool held)
{
	if (held)
		return true;
	return expect(false, "options %u, %s, step %u, %s: see above", r->options,
		      r->plan->name, r->step, r->op);
}

/* Comparisons */

static void check_record(struct run *r, struct ipcuckoo_record *record,
			 const struct book_entry *k)
{
	const struct ipcuckoo_skbinfo *info = ipcuckoo_record_info(record, ipcuckoo_record_options(record));
	const struct ipcuckoo_hits *hits = ipcuckoo_record_hits(record, ipcuckoo_record_options(record));
	const char *comment = ipcuckoo_record_comment(record);
	const char *who = entry_text(&k->entry);

	context(r, expect(!!record == !!(r->options & IPCUCKOO_RECORD_OPTIONS), "record of %s",
			  who));
	context(r, expect(!!info == !!(r->options & IPCUCKOO_O_SKBINFO), "skbinfo of %s",
			  who));
	context(r, expect(!!hits == !!(r->options & IPCUCKOO_O_COUNTERS), "hits of %s",
			  who));
	if (r->options & IPCUCKOO_O_COMMENT)
		context(r, expect(!strcmp(comment ?: "", k->comment),
				  "comment of %s: expected %s, got %s", who, k->comment,
				  comment ?: ""));
	else
		context(r, expect(!comment, "%s has a comment", who));
	if (info) {
		context(r, expect_equal(info->mark, k->info.mark, "mark of %s", who));
		context(r, expect_equal(info->prio, k->info.prio, "prio of %s", who));
		context(r, expect_equal(info->queue, k->info.queue, "queue of %s", who));
	}
	if (hits) {
		context(r, expect_equal(atomic64_read(&hits->packets), k->packets,
					"packets of %s", who));
		context(r, expect_equal(atomic64_read(&hits->bytes), k->bytes,
					"bytes of %s", who));
	}
}

static void check_value(struct run *r, const struct ipcuckoo_value *value,
			const struct book_entry *k)
{
	const char *who = entry_text(&k->entry);

	context(r, expect_equal(value->expires, k->expires, "expiry of %s", who));
	context(r, expect_equal(value->nomatch, k->nomatch, "exception %s", who));
	check_record(r, value->record, k);
}

static bool look_up(struct run *r, const struct ipcuckoo_key *addr, bool v6,
		    struct ipcuckoo_record **record)
{
	bool mapped = v6 && ipcuckoo_key_mapped(addr);
	enum ipcuckoo_decision decision;

	rcu_read_lock();
	decision = ipcuckoo_entries_decide(r->set.e, addr, v6, mapped, record);
	rcu_read_unlock();
	return decision == IPCUCKOO_MATCH;
}

static struct book_entry *decide(struct run *r, const struct ipcuckoo_key *addr, bool v6)
{
	const struct book *b = &r->set.book;
	struct ipcuckoo_key addr4 = key4((u32)addr->lo);
	struct book_entry *k = NULL;

	if (v6 && ipcuckoo_key_mapped(addr))
		k = book_decide(b, &addr4, false);
	return k ?: book_decide(b, addr, v6);
}

/* Compare what a packet gets, and then what the writer gets for the address in one family. */
static void check_match(struct run *r, struct ipcuckoo_key addr, bool v6)
{
	struct ipcuckoo_entry host = { addr, family_bits(v6), v6 };
	struct book_entry *k = decide(r, &addr, v6);
	bool expected = k && !k->nomatch;
	struct ipcuckoo_record *record;
	u8 len = 0;

	context(r, expect_equal(match(r->set.e, &addr, v6), expected, "match of %s",
				entry_text(&host)));
	context(r, expect_equal(look_up(r, &addr, v6, &record), expected, "record of %s",
				entry_text(&host)));
	if (expected)
		check_record(r, record, k);
	met.matches += expected;
	met.exceptions += k && k->nomatch;
	k = book_decide(&r->set.book, &addr, v6);
	context(r, expect_equal(ipcuckoo_entries_find(r->set.e, &host, &len),
				k && !k->nomatch, "find of %s", entry_text(&host)));
	if (k)
		context(r, expect_equal(len, k->entry.len, "length for %s",
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

static void check_one(struct run *r, const struct side *s,
		      const struct ipcuckoo_entry *entry)
{
	const struct book_entry *k = book_find(&s->book, entry);
	struct ipcuckoo_value value;
	bool there = k && !has_expired(k);

	context(r, expect_equal(ipcuckoo_entries_has(s->e, entry), there, "has %s",
				entry_text(entry)));
	if (context(r, expect_equal(ipcuckoo_entries_get(s->e, entry, &value), there,
				    "get %s", entry_text(entry))) && there)
		check_value(r, &value, k);
}

static void check_counts(struct run *r, const struct side *s)
{
	u32 kinds[IPCUCKOO_KINDS] = {}, live[IPCUCKOO_KINDS] = {}, nearest = U32_MAX, told, i;

	for (i = 0; i < s->book.count; i++) {
		const struct book_entry *k = &s->book.entries[i];

		kinds[ipcuckoo_entry_kind(&k->entry)]++;
		live[ipcuckoo_entry_kind(&k->entry)] += !has_expired(k);
		if (k->expires)
			nearest = min(nearest, k->expires);
	}
	told = ipcuckoo_gc_nearest(s->e);
	context(r, expect(nearest == U32_MAX || (told && told <= nearest),
			  "the earliest expiry is %u, not %u", nearest, told));
	for (i = 0; i < IPCUCKOO_KINDS; i++) {
		context(r, expect_equal(ipcuckoo_usage_count(s->e, i), kinds[i],
					"count of kind %u", i));
		context(r, expect_equal(ipcuckoo_usage_live_of(s->e, i), live[i],
					"count of kind %u without expired entries", i));
	}
}

/* Check that a listing has all entries, each once, with their extensions. Writes their records to
 * @records, if that is not NULL.
 */
static void check_listing(struct run *r, const struct side *s,
			  struct ipcuckoo_record **records, u32 *n)
{
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
	size_t bytes = 0;
	struct book_entry *k;
	u32 listed = 0;
	u64 pos = 0;

	while (listed <= s->book.count &&
	       ipcuckoo_entries_next_value(s->e, &pos, &entry, &value)) {
		listed++;
		bytes += ipcuckoo_record_memory(value.record);
		if (value.record)
			records[(*n)++] = value.record;
		k = book_find(&s->book, &entry);
		if (context(r, expect(k, "%s is listed", entry_text(&entry))))
			check_value(r, &value, k);
	}
	context(r, expect_equal(listed, s->book.count, "entries listed"));
	context(r, expect_equal(s->e->records, bytes, "bytes of records"));
}

static void sum_memory(const struct side *s, unsigned long *bytes, unsigned long *objects)
{
	const struct ipcuckoo_version *v = rcu_access_pointer(s->e->version);
	int i, j;

	*bytes += sizeof(*v);
	*objects += 1 + !!s->e->queue;
	for (i = 0; i < IPCUCKOO_KINDS; i++) {
		*bytes += v->table[i] ? sizeof(*v->table[i]) : 0;
		*objects += !!v->table[i];
		for (j = 0; v->table[i] && j < 3; j++) {
			*bytes += v->table[i]->area[j].size;
			*objects += !!v->table[i]->area[j].data;
		}
	}
	for (i = 0; i < 2; i++) {
		*bytes += v->hint[i] ? sizeof(*v->hint[i]) : 0;
		*objects += !!v->hint[i];
		for (j = 0; v->hint[i] && j < 2; j++) {
			*bytes += v->hint[i]->area[j].size;
			*objects += !!v->hint[i]->area[j].data;
		}
	}
}

static int pointer_order(const void *a, const void *b)
{
	struct ipcuckoo_record *const *p = a, *const *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* Check listings, counts and memory of set and shadow. A shared record is charged once. */
static void check_all(struct run *r)
{
	u32 n = 0, i, room = r->set.book.count + r->shadow.book.count + 2;
	struct ipcuckoo_record **records = calloc(room, sizeof(*records));
	unsigned long bytes = 0, objects = 0;

	if (!records)
		exit(1);
	check_counts(r, &r->set);
	check_listing(r, &r->set, records, &n);
	sum_memory(&r->set, &bytes, &objects);
	if (r->shadow.e) {
		check_counts(r, &r->shadow);
		check_listing(r, &r->shadow, records, &n);
		sum_memory(&r->shadow, &bytes, &objects);
	}
	qsort(records, n, sizeof(*records), pointer_order);
	for (i = 0; i < n; i++) {
		if (i && records[i] == records[i - 1]) {
			met.shared++;
			continue;
		}
		bytes += ipcuckoo_record_memory(records[i]);
		objects += 1 + !!ipcuckoo_record_comment(records[i]);
	}
	context(r, expect_equal(atomic_long_read(&r->mem.used), bytes, "bytes charged"));
	ipcuckoo_search_exit();
	context(r, expect_equal(shim_objects, objects, "objects in memory"));
	free(records);
}

/* Operations on the set or the shadow */

static void draw_attrs(struct run *r, struct ipcuckoo_entry_attrs *attrs, char *comment)
{
	static const u32 longest[] = { 1, 6, 300, IPCUCKOO_TIMEOUT_MAX };
	u32 i, len = below(r, 3) ? below(r, 12) : below(r, IPCUCKOO_COMMENT_MAX + 1);

	for (i = 0; i < len; i++)
		comment[i] = 'a' + below(r, 26);
	*attrs = (struct ipcuckoo_entry_attrs){
		.nomatch = r->except && !below(r, 3),
		.packets = below(r, 2) ? IPCUCKOO_COUNTER_KEEP : random_u64(&r->draw.random),
		.bytes = below(r, 2) ? IPCUCKOO_COUNTER_KEEP : random_u64(&r->draw.random),
		.info.mark = random_u64(&r->draw.random),
		.info.prio = random_u32(&r->draw.random),
		.info.queue = below(r, 65536),
		.comment = comment,
		.comment_len = len,
	};
	if (r->options & IPCUCKOO_O_TIMEOUT && below(r, 4))
		attrs->timeout = 1 + below(r, longest[below(r, 4)]);
}

/* Set all extensions except the counters. */
static void book_set(struct run *r, struct book_entry *k, const struct ipcuckoo_entry_attrs *attrs)
{
	k->id = ++r->ids;
	k->expires = attrs->timeout ? shim_seconds + attrs->timeout + 1 : 0;
	k->nomatch = attrs->nomatch;
	k->info = attrs->info;
	memcpy(k->comment, attrs->comment, attrs->comment_len);
	k->comment[attrs->comment_len] = '\0';
}

struct addition {
	struct side *side;
	struct ipcuckoo_entry entry;
	struct ipcuckoo_entry_attrs attrs;
	bool update;
};

static int call_add(struct run *r, void *arg)
{
	struct addition *a = arg;
	struct ipcuckoo_value value;
	int err, late;

	err = ipcuckoo_value_make(&value, r->options, &a->attrs, &r->mem);
	if (err)
		return err;
	err = ipcuckoo_entries_add_value(a->side->e, &a->entry, &value);
	if (err == -EEXIST && a->update) {
		late = ipcuckoo_entries_update(a->side->e, &a->entry, &value, &a->attrs);
		err = late ?: err;
	}
	if (err)
		ipcuckoo_record_put(value.record, &r->mem);
	return err;
}

struct deletion {
	struct side *side;
	struct ipcuckoo_entry entry;
};

static int call_del(struct run *r, void *arg)
{
	struct deletion *d = arg;

	(void)r;
	return ipcuckoo_entries_del(d->side->e, &d->entry);
}

static int call_reserve(struct run *r, void *arg)
{
	return ipcuckoo_entries_reserve(r->set.e, arg);
}

static int call_trim(struct run *r, void *arg)
{
	struct side *s = arg;

	(void)r;
	return ipcuckoo_entries_trim(s->e);
}

static int call_learn(struct run *r, void *arg)
{
	return ipcuckoo_entries_prepare_exceptions(r->set.e, *(u32 *)arg);
}

static int call_flush(struct run *r, void *arg)
{
	(void)arg;
	return ipcuckoo_entries_flush(r->set.e);
}

/* Call @op with its first allocation failing, then the second, and so on, until none fails. Returns
 * the result of the last call, or of an earlier one that succeeded in spite of a failure.
 */
static int try_hard(struct run *r, struct side *s, int (*op)(struct run *r, void *arg),
		    void *arg)
{
	u64 generation = s->e->generation;
	unsigned long n;
	bool failed;
	int err;

	if (below(r, 16))
		return op(r, arg);
	for (n = 1; ; n++) {
		shim_fail_at = n;
		err = op(r, arg);
		failed = !shim_fail_at;
		shim_fail_at = 0;
		if (err != -ENOMEM)
			break;
		met.failures++;
		context(r, expect(failed, "-ENOMEM only if an allocation failed"));
		context(r, expect_equal(s->e->generation, generation,
					"generation after failure %lu", n));
		check_all(r);
		if (ktap_failing())
			break;
	}
	return err;
}

static void book_count(u64 *count, u64 given, bool there)
{
	if (given != IPCUCKOO_COUNTER_KEEP)
		*count = given;
	else if (!there)
		*count = 0;
}

/* Apply an addition that succeeded to the reference. */
static void book_addition(struct run *r, const struct addition *a)
{
	struct book_entry *k = book_find(&a->side->book, &a->entry);
	bool there = k && !has_expired(k);

	met.updates += there;
	met.revivals += k && !there;
	k = k ?: book_add(&a->side->book, &a->entry);
	book_count(&k->packets, a->attrs.packets, there);
	book_count(&k->bytes, a->attrs.bytes, there);
	book_set(r, k, &a->attrs);
}

static void op_add(struct run *r, struct side *s, struct ipcuckoo_entry entry)
{
	const struct book_entry *k = book_find(&s->book, &entry);
	struct addition a = { .side = s, .entry = entry, .update = below(r, 2) };
	char comment[IPCUCKOO_COMMENT_MAX];
	u64 generation = s->e->generation;
	bool there = k && !has_expired(k);
	int err;

	r->op = "add";
	draw_attrs(r, &a.attrs, comment);
	err = try_hard(r, s, call_add, &a);
	context(r, expect_equal(err, there ? -EEXIST : 0, "add of %s",
				entry_text(&entry)));
	context(r, expect_equal(s->e->generation, generation + (!there || a.update),
				"generation"));
	if (!there || a.update)
		book_addition(r, &a);
	check_one(r, s, &entry);
	check_edges(r, &entry);
}

/* All extensions of an existing entry can be changed without allocating memory, except when it
 * becomes the first exception.
 */
static void op_update(struct run *r, struct side *s)
{
	struct addition a = { .side = s, .entry = present(r, s) };
	char comment[IPCUCKOO_COMMENT_MAX];
	struct ipcuckoo_value value;
	struct book_entry *k;

	k = book_find(&s->book, &a.entry);
	if (!k || has_expired(k))
		return;
	r->op = "update";
	draw_attrs(r, &a.attrs, comment);
	if (ipcuckoo_value_make(&value, r->options, &a.attrs, &r->mem))
		exit(1);
	shim_fail_at = !a.attrs.nomatch;
	context(r, expect_equal(ipcuckoo_entries_update(s->e, &a.entry, &value, &a.attrs),
				0, "update of %s", entry_text(&a.entry)));
	context(r, expect(shim_fail_at || a.attrs.nomatch, "an update allocates no memory"));
	shim_fail_at = 0;
	ipcuckoo_record_put(value.record, &r->mem);
	book_addition(r, &a);
	check_one(r, s, &a.entry);
	check_edges(r, &a.entry);
}

static void op_del(struct run *r, struct side *s, struct ipcuckoo_entry entry)
{
	struct book_entry *k = book_find(&s->book, &entry);
	struct deletion d = { s, entry };
	u64 generation = s->e->generation;
	bool there = k && !has_expired(k);

	r->op = "del";
	context(r, expect_equal(try_hard(r, s, call_del, &d), there ? 0 : -ENOENT,
				"del of %s", entry_text(&entry)));
	context(r, expect_equal(s->e->generation, generation + there, "generation"));
	if (there)
		book_del(&s->book, k);
	check_one(r, s, &entry);
	check_edges(r, &entry);
}

/* Evict an entry to make room for another one. */
static void op_evict(struct run *r, struct side *s)
{
	struct ipcuckoo_entry keep = present(r, s), gone;
	u64 generation = s->e->generation;
	struct book_entry *k;

	r->op = "evict";
	if (!ipcuckoo_gc_evict(s->e, &keep, &gone)) {
		k = book_find(&s->book, &keep);
		context(r, expect(ipcuckoo_usage_live(s->e) <= (k && !has_expired(k)),
				  "an entry is evicted"));
		return;
	}
	context(r, expect(!same_entry(&gone, &keep), "the entry that must stay is not evicted: %s",
			  entry_text(&gone)));
	context(r, expect_equal(s->e->generation, generation + 1, "generation"));
	k = book_find(&s->book, &gone);
	if (!context(r, expect(k && !has_expired(k), "the evicted entry %s was a member",
			       entry_text(&gone))))
		return;
	book_del(&s->book, k);
	check_one(r, s, &gone);
	check_edges(r, &gone);
	met.evictions++;
}

/* Operations on the set */

static void op_look(struct run *r)
{
	struct ipcuckoo_entry entry = draw_entry(&r->draw);

	r->op = "look-up";
	check_one(r, &r->set, &entry);
	check_match(r, draw_addr(&r->draw, entry.v6), entry.v6);
	entry = present(r, &r->set);
	check_edges(r, &entry);
}

static void op_hit(struct run *r)
{
	struct ipcuckoo_entry entry = present(r, &r->set);
	u64 packets = below(r, 100), bytes = below(r, 100000);
	struct ipcuckoo_key edge[4];
	struct ipcuckoo_record *record;
	struct ipcuckoo_hits *hits;
	struct book_entry *k;

	r->op = "hit";
	edges(&entry, edge);
	k = decide(r, &edge[0], entry.v6);
	if (!look_up(r, &edge[0], entry.v6, &record) || !k)
		return;
	hits = ipcuckoo_record_hits(record, ipcuckoo_record_options(record));
	if (hits) {
		u64 id = k->id;

		atomic64_add(packets, &hits->packets);
		atomic64_add(bytes, &hits->bytes);
		book_hit(&r->set.book, id, packets, bytes);
		book_hit(&r->shadow.book, id, packets, bytes);
	}
	check_match(r, edge[0], entry.v6);
}

static void op_reserve(struct run *r)
{
	u32 more[IPCUCKOO_KINDS], kind;

	r->op = "reserve";
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		more[kind] = r->plan->weight[kind] && below(r, 2) ? below(r, 300) : 0;
	context(r, expect_equal(try_hard(r, &r->set, call_reserve, more), 0, "reserve"));
	kind = below(r, IPCUCKOO_KINDS);
	if (r->except)
		context(r, expect_equal(try_hard(r, &r->set, call_learn, &kind), 0,
					"prepare for exceptions"));
	check_all(r);
}

static void op_fit(struct run *r)
{
	r->op = "fit";
	context(r, expect_equal(try_hard(r, &r->set, call_trim, &r->set), 0, "trim"));
	check_all(r);
}

static void op_flush(struct run *r)
{
	r->op = "flush";
	context(r, expect_equal(try_hard(r, &r->set, call_flush, NULL), 0, "flush"));
	r->set.book.count = 0;
	check_all(r);
}

static void op_relax(struct run *r)
{
	r->op = "relax";
	ipcuckoo_rebuild_free_queue(r->set.e);
	check_all(r);
}

/* Add until the memory limit is reached. The addition that fails must change nothing. */
static void op_quota(struct run *r)
{
	struct addition a = { .side = &r->set };
	char comment[IPCUCKOO_COMMENT_MAX];
	u64 generation;
	int i, err;

	r->op = "quota";
	WRITE_ONCE(r->mem.limit, atomic_long_read(&r->mem.used) + below(r, 4096) + 1);
	for (i = 0; i < 200 && !ktap_failing(); i++) {
		a.entry = draw_entry(&r->draw);
		a.update = true;
		draw_attrs(r, &a.attrs, comment);
		generation = r->set.e->generation;
		err = call_add(r, &a);
		if (!err || err == -EEXIST) {
			book_addition(r, &a);
			continue;
		}
		context(r, expect_equal(err, -EDQUOT, "add of %s", entry_text(&a.entry)));
		context(r, expect_equal(r->set.e->generation, generation, "generation"));
		met.quotas++;
		break;
	}
	context(r, expect((unsigned long)atomic_long_read(&r->mem.used) <= r->mem.limit,
			  "no more is charged than the limit"));
	WRITE_ONCE(r->mem.limit, 0);
	check_all(r);
}

static bool in_table(const struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_version *v = rcu_access_pointer(e->version);
	const struct ipcuckoo_table *t = v->table[ipcuckoo_entry_kind(entry)];
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);

	return t && ipcuckoo_table_has(t, &key);
}

/* Check that only expired entries were removed. */
static void book_collected(struct run *r)
{
	struct book *b = &r->set.book;
	u32 i = 0;

	while (i < b->count) {
		if (!has_expired(&b->entries[i]) || in_table(r->set.e, &b->entries[i].entry)) {
			i++;
			continue;
		}
		book_del(b, &b->entries[i]);
		r->expired++;
		met.collected++;
	}
	context(r, expect_equal(r->set.e->expired, r->expired, "entries removed"));
	check_counts(r, &r->set);
}

static void op_change(struct run *r, struct side *s);

static void count_collected(void *count, const struct ipcuckoo_entry *entry)
{
	(void)entry;
	++*(u64 *)count;
}

/* Garbage collection in small parts; if @disturbed, with changes and time passing between them. */
static void collect(struct run *r, bool disturbed)
{
	struct ipcuckoo_entries *e = r->set.e;
	u32 next, slots = 1 + below(r, below(r, 2) ? 3000 : 150);
	u64 generation, before, pos = 0, told = e->expired;
	bool more = true;
	u32 layout;

	while (more && !ktap_failing()) {
		r->op = disturbed ? "disturbed garbage collection" : "garbage collection";
		generation = e->generation;
		layout = e->layout;
		before = pos;
		shim_fail_at = below(r, 4) ? 0 : 1 + below(r, 3);
		more = ipcuckoo_gc_part(e, &pos, slots, count_collected, &told);
		shim_fail_at = 0;
		met.parts++;
		context(r, expect(!more || pos >> 60 != before >> 60 ||
				  pos <= before + slots, "a part of %u slots: %llu to %llu",
				  slots, before, pos));
		context(r, expect_equal(e->generation, generation, "generation"));
		context(r, expect(e->layout == layout || !ipcuckoo_usage_total(e),
				  "garbage collection creates no table"));
		context(r, expect_equal(told, e->expired, "entries that were reported"));
		book_collected(r);
		if (!disturbed)
			continue;
		shim_seconds += !below(r, 8);
		if (!below(r, 4))
			op_change(r, &r->set);
	}
	if (!disturbed)
		context(r, expect_equal(ipcuckoo_gc_part(e, &(u64){ 0 }, ~0U, NULL,
							       NULL), false,
					"garbage collection has reached its end"));
	check_all(r);
	if (disturbed)
		return;
	for (pos = 0; pos < r->set.book.count; pos++) {
		const struct book_entry *k = &r->set.book.entries[pos];

		context(r, expect(!has_expired(k), "%s was not removed", entry_text(&k->entry)));
	}
	next = ipcuckoo_gc_nearest(e);
	context(r, expect(!next || next > shim_seconds, "gc is due again at %u", next));
}

static void op_collect(struct run *r)
{
	if (!(r->options & IPCUCKOO_O_TIMEOUT))
		return;
	if (below(r, 2))
		collect(r, true);
	collect(r, false);
}

static void op_clock(struct run *r)
{
	r->op = "clock";
	shim_seconds += 1 + below(r, 30);
	op_look(r);
}

/* The shadow */

static void shadow_drop(struct run *r)
{
	mutex_unlock(&r->shadow.e->mutex);
	ipcuckoo_entries_exit(r->shadow.e);
	free(r->shadow.e);
	r->shadow.e = NULL;
	r->shadow.book.count = 0;
	check_all(r);
}

/* Begin with all entries that have not expired. Sometimes an allocation fails meanwhile. */
static void shadow_begin(struct run *r)
{
	bool doomed = !below(r, 4);
	u32 i;
	int err;

	r->op = "copy";
	r->shadow.e = calloc(1, sizeof(*r->shadow.e));
	if (!r->shadow.e || ipcuckoo_entries_init(r->shadow.e, &r->mem, false))
		exit(1);
	mutex_lock(&r->shadow.e->mutex);
	r->shadow.e->options = r->options;
	if (doomed)
		shim_fail_at = 1 + below(r, 20);
	err = ipcuckoo_entries_copy(r->shadow.e, r->set.e);
	shim_fail_at = 0;
	context(r, expect(!err || (doomed && err == -ENOMEM), "copy: %d", err));
	if (err) {
		shadow_drop(r);
		return;
	}
	for (i = 0; i < r->set.book.count; i++) {
		if (has_expired(&r->set.book.entries[i]))
			continue;
		*book_add(&r->shadow.book, &r->set.book.entries[i].entry) =
			r->set.book.entries[i];
	}
	check_all(r);
}

static void shadow_commit(struct run *r)
{
	struct book old = r->set.book;
	u64 generation = r->set.e->generation;

	r->op = "commit";
	if (below(r, 2))
		context(r, expect_equal(try_hard(r, &r->shadow, call_trim, &r->shadow), 0,
					"trim of a shadow"));
	ipcuckoo_entries_replace(r->set.e, r->shadow.e);
	context(r, expect(r->set.e->generation > generation, "the generation increases"));
	r->set.book = r->shadow.book;
	r->shadow.book = old;
	met.commits++;
	shadow_drop(r);
}

static void op_shadow(struct run *r)
{
	if (!r->shadow.e)
		shadow_begin(r);
	else if (below(r, 3))
		shadow_commit(r);
	else
		shadow_drop(r);
}

/* Mostly add until there are many entries, then mostly delete. */
static void op_change(struct run *r, struct side *s)
{
	bool mostly = below(r, 10);

	if (s->book.count >= r->plan->high)
		r->growing = false;
	else if (s->book.count < r->plan->high / 8)
		r->growing = true;
	if (!below(r, 6))
		op_update(r, s);
	else if (r->growing == mostly)
		op_add(r, s, below(r, 8) ? draw_entry(&r->draw) : present(r, s));
	else if (!below(r, 8))
		op_evict(r, s);
	else
		op_del(r, s, below(r, 8) ? present(r, s) : draw_entry(&r->draw));
}

static void run_step(struct run *r)
{
	u32 pick = below(r, 1000);

	if (!pick)
		op_flush(r);
	else if (pick < 10)
		op_fit(r);
	else if (pick < 15)
		op_reserve(r);
	else if (pick < 35)
		op_shadow(r);
	else if (pick < 45)
		op_quota(r);
	else if (pick < 50)
		op_relax(r);
	else if (pick < 70)
		op_collect(r);
	else if (pick < 100)
		op_clock(r);
	else if (pick < 120)
		check_all(r);
	else if (pick < 200)
		op_look(r);
	else if (pick < 350)
		op_hit(r);
	else if (pick < 500 && r->shadow.e)
		op_change(r, &r->shadow);
	else
		op_change(r, &r->set);
}

/* A table grows large; half of the entries expire, and most of the others are deleted. */
static void bulk(struct run *r)
{
	struct addition a = { .side = &r->set };
	char comment[IPCUCKOO_COMMENT_MAX];
	u32 i, n = ktap_share(5000);
	u64 slots;

	r->op = "bulk";
	for (i = 0; i < n; i++) {
		a.entry = host4(0x0a000000 + 7 * i);
		if (in_table(r->set.e, &a.entry))
			continue;
		draw_attrs(r, &a.attrs, comment);
		if (a.attrs.timeout)
			a.attrs.timeout = 9;
		context(r, expect_equal(call_add(r, &a), 0, "add"));
		book_addition(r, &a);
	}
	slots = ipcuckoo_usage_slots(r->set.e);
	check_all(r);
	shim_seconds += 10;
	if (r->options & IPCUCKOO_O_TIMEOUT)
		collect(r, false);
	r->op = "bulk";
	for (i = r->set.book.count; i-- > 300; ) {
		if (has_expired(&r->set.book.entries[i]))
			continue;
		context(r, expect_equal(ipcuckoo_entries_del(r->set.e,
							     &r->set.book.entries[i].entry),
					0, "del"));
		book_del(&r->set.book, &r->set.book.entries[i]);
	}
	check_all(r);
	met.shrunk += ipcuckoo_usage_slots(r->set.e) < slots / 2;
}

static void run_plan(const struct plan *plan, u32 options, bool except, u64 seed,
		     u32 steps)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		exit(1);
	r->plan = plan;
	r->options = options;
	r->except = except;
	r->draw = (struct draw){
		.random = random_seed(seed),
		.weight = plan->weight,
		.nbases = plan->bases,
		.shortest = plan->shortest,
	};
	choose_bases(&r->draw);
	r->set.e = calloc(1, sizeof(*r->set.e));
	ipcuckoo_mem_open(&r->mem, 0, ipcuckoo_record_reap);
	if (!r->set.e || ipcuckoo_entries_init(r->set.e, &r->mem, true))
		exit(1);
	mutex_lock(&r->set.e->mutex);
	r->set.e->options = options;
	for (r->step = 0; r->step < steps && !ktap_failing(); r->step++)
		run_step(r);
	if (plan->bulk)
		bulk(r);
	r->op = "end";
	if (r->shadow.e)
		shadow_drop(r);
	check_all(r);
	mutex_unlock(&r->set.e->mutex);
	ipcuckoo_entries_exit(r->set.e);
	ipcuckoo_mem_close(&r->mem);
	context(r, expect_equal(atomic_long_read(&r->mem.used), 0,
				"bytes charged at the end"));
	ipcuckoo_search_exit();
	context(r, expect_equal(shim_objects, 0, "objects at the end"));
	free(r->set.e);
	free(r->set.book.entries);
	free(r->shadow.book.entries);
	free(r);
}

static const struct plan plans[] = {
	{ "few entries of all kinds", { 1, 1, 2, 2 }, 4, 1, 40, false },
	{ "IPv4 prefixes that nest", { 1, 0, 9, 0 }, 8, 4, 150, false },
	{ "IPv6 prefixes that nest", { 0, 1, 0, 9 }, 8, 4, 150, false },
	{ "hosts", { 1, 1, 0, 0 }, 64, 0, 600, true },
};

/* Grace periods */

static struct ipcuckoo_mem account;

/* A reader that stays in its read-side section until it is told to leave. */
static bool reading, leave;

static void *reader(void *arg)
{
	(void)arg;
	rcu_read_lock();
	__atomic_store_n(&reading, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE))
		sched_yield();
	rcu_read_unlock();
	shim_reader_unregister();
	return NULL;
}

static void add_recorded(struct ipcuckoo_entries *e, u32 addr)
{
	const struct ipcuckoo_entry_attrs attrs = ipcuckoo_entry_attrs_default(0);
	struct ipcuckoo_entry entry = host4(addr);
	struct ipcuckoo_value value;

	if (ipcuckoo_value_make(&value, e->options, &attrs, e->mem) ||
	    ipcuckoo_entries_add_value(e, &entry, &value))
		exit(1);
}

static struct ipcuckoo_entries *recorded_set(void)
{
	struct ipcuckoo_entries *e = calloc(1, sizeof(*e));

	ipcuckoo_mem_open(&account, 0, ipcuckoo_record_reap);
	if (!e || ipcuckoo_entries_init(e, &account, true))
		exit(1);
	mutex_lock(&e->mutex);
	e->options = IPCUCKOO_O_COUNTERS;
	return e;
}

/* If an entry is deleted during a grace period, a reader who began after the grace period may use
 * its record: the record must wait for the next grace period.
 */
static void test_late(void)
{
	struct ipcuckoo_entries *e = recorded_set();
	struct ipcuckoo_entry first = host4(1), second = host4(2);
	unsigned long objects, used;
	pthread_t thread;

	add_recorded(e, 1);
	add_recorded(e, 2);
	shim_rcu_batch = 1000;
	rcu_barrier();
	objects = shim_objects;
	used = atomic_long_read(&account.used);
	expect_equal(ipcuckoo_entries_del(e, &first), 0, "del");
	if (pthread_create(&thread, NULL, reader, NULL))
		exit(1);
	while (!__atomic_load_n(&reading, __ATOMIC_ACQUIRE))
		sched_yield();
	expect_equal(ipcuckoo_entries_del(e, &second), 0, "del");
	expect_equal(shim_objects, objects, "objects before any grace period");
	expect_equal(atomic_long_read(&account.used), used, "bytes before any grace period");
	rcu_barrier();
	expect_equal(shim_objects, objects - 1, "objects after the first grace period");
	__atomic_store_n(&leave, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	rcu_barrier();
	expect_equal(shim_objects, objects - 2, "objects after the second");
	shim_rcu_batch = 1;
	set_exit(e);
	free(e);
	expect_nothing_left(&account);
	ktap_case("a record that retires during a grace period waits for the next one");
}

/* At the memory limit, flushes must succeed. Each wait frees a part of the limit, because records
 * stay charged until they are freed.
 */
static void test_flushes(void)
{
	struct ipcuckoo_entries *e = recorded_set();
	unsigned long most = 0;
	u32 i, round;

	shim_rcu_batch = 1000000;
	add_recorded(e, 0);
	WRITE_ONCE(account.limit, 3 << 20);
	for (round = 0; round < 100; round++) {
		for (i = 1; i <= 2000; i++)
			add_recorded(e, i);
		expect_equal(ipcuckoo_entries_flush(e), 0, "flush");
		most = max_t(unsigned long, most, atomic_long_read(&account.used));
	}
	expect(most > 3 << 20 && most <= 4 << 20, "at most %lu bytes are charged", most);
	expect(account.wait.waits && account.wait.waits < 25, "%u waits", account.wait.waits);
	shim_rcu_batch = 1;
	set_exit(e);
	free(e);
	expect_nothing_left(&account);
	ktap_case("200,000 records are added and flushed at the memory limit");
}

/* Operations that take long must end at a fatal signal, and must have changed nothing. */
static void test_signals(void)
{
	struct ipcuckoo_entries *e = recorded_set(), *shadow = calloc(1, sizeof(*shadow));
	const u32 more[IPCUCKOO_KINDS] = { 100000, 0, 0, 0 };
	unsigned long at, slots;
	u32 i;

	for (i = 0; i < 50000; i++)
		add_recorded(e, i);
	slots = ipcuckoo_usage_slots(e);
	if (!shadow)
		exit(1);
	for (at = 1; at < 10; at++) {
		shim_fatal_at = at;
		expect_equal(ipcuckoo_entries_reserve(e, more), -EINTR, "reserve");
		expect_equal(ipcuckoo_usage_slots(e), slots, "slots");
		if (ipcuckoo_entries_init(shadow, &account, false))
			exit(1);
		shadow->options = e->options;
		mutex_lock(&shadow->mutex);
		shim_fatal_at = at;
		expect_equal(ipcuckoo_entries_copy(shadow, e), -EINTR, "copy");
		shim_fatal_at = 0;
		set_exit(shadow);
		*shadow = (struct ipcuckoo_entries){};
	}
	expect_equal(ipcuckoo_usage_total(e), 50000, "entries");
	expect_equal(ipcuckoo_entries_reserve(e, more), 0, "reserve without a signal");
	set_exit(e);
	free(e);
	free(shadow);
	expect_nothing_left(&account);
	ktap_case("growth and copies end at a fatal signal");
}

/* A signal during the deletion of a short prefix must leave no mark of it in the hint: a look-up in
 * a set without exceptions and timeouts would take the mark for a match.
 */
static void test_signal_in_deletion(void)
{
	struct ipcuckoo_entry wide = { .addr.lo = 0x0a000000, .len = 8 }, entry = {};
	struct ipcuckoo_entries *e = calloc(1, sizeof(*e));
	unsigned long at;
	u32 i, addr, wrong = 0;

	if (!e || ipcuckoo_entries_init(e, &account, true))
		exit(1);
	mutex_lock(&e->mutex);
	for (i = 0; i < 20000; i++) {
		entry = (struct ipcuckoo_entry){ .addr.lo = 0xc0000000u + i * 7, .len = 32 };
		expect_equal(ipcuckoo_entries_add(e, &entry), 0, "a host");
	}
	for (i = 0; i < 2000; i++) {
		entry = (struct ipcuckoo_entry){ .addr.lo = 0x50000000u + (i << 8), .len = 24 };
		expect_equal(ipcuckoo_entries_add(e, &entry), 0, "a prefix");
	}
	for (at = 1; at < 20; at++) {
		expect_equal(ipcuckoo_entries_add(e, &wide), 0, "adding the wide prefix");
		shim_fatal_at = at;
		expect_equal(ipcuckoo_entries_del(e, &wide), 0, "deleting the wide prefix");
		shim_fatal_at = 0;
		rcu_read_lock();
		for (addr = 0x0a000000; addr <= 0x0affffff; addr += 0xffff)
			wrong += ipcuckoo_entries_match4(e, addr);
		rcu_read_unlock();
		expect_equal(wrong, 0, "matches of a deleted prefix, signal %lu", at);
	}
	set_exit(e);
	free(e);
	expect_nothing_left(&account);
	ktap_case("a prefix does not match after its deletion, even with a fatal signal");
}

/* Add a host and delete it again, until that cleans the hint, @most times at most. Return: how often
 * that took; 0 if the hint is not clean.
 */
static u32 clean_after(struct ipcuckoo_entries *e, u32 most)
{
	const struct ipcuckoo_hint *h = ipcuckoo_version_current(e)->hint[0];
	struct ipcuckoo_entry host = { .addr.lo = 0x0b000001, .len = 32 };
	u32 n;

	for (n = 1; n <= most; n++) {
		expect_equal(ipcuckoo_entries_add(e, &host), 0, "adding a host");
		expect_equal(ipcuckoo_entries_del(e, &host), 0, "deleting it");
		if (ipcuckoo_version_current(e)->hint[0] != h)
			return n;
	}
	return 0;
}

/* A hint has many stale marks. If it cannot be cleaned without memory, that is tried again sooner; and
 * with the next deletion, if only a signal prevented it.
 */
static void test_stale_hint(void)
{
	struct ipcuckoo_entry entry = { .addr.lo = 0x0a000000, .len = 24 };
	struct ipcuckoo_entries *e = calloc(1, sizeof(*e));
	u32 i, often, later;

	if (!e || ipcuckoo_entries_init(e, &account, true))
		exit(1);
	mutex_lock(&e->mutex);
	expect_equal(ipcuckoo_entries_add(e, &entry), 0, "a prefix");
	entry.len = 32;
	/* Filling a hint looks for a signal now and then. */
	for (i = 0; i < IPCUCKOO_COPY_BATCH; i++, entry.addr.lo++)
		expect_equal(ipcuckoo_entries_add(e, &entry), 0, "a host");
	often = clean_after(e, 100000);
	expect(often, "many deletions make a hint clean");
	expect_equal(clean_after(e, 100000), often, "deletions, again");

	expect_equal(clean_after(e, often - 1), 0, "fewer deletions");
	WRITE_ONCE(account.limit, atomic_long_read(&account.used) + 64);
	expect_equal(clean_after(e, 10), 0, "more, without memory");
	WRITE_ONCE(account.limit, 0);
	later = clean_after(e, 100000);
	expect(later > often / 4 && later < often * 3 / 4, "with memory, it is clean after %u of %u",
	       later, often);

	expect_equal(clean_after(e, often - 1), 0, "fewer deletions");
	shim_fatal_at = 1;
	expect_equal(clean_after(e, 1), 0, "one more, and a signal");
	shim_fatal_at = 0;
	expect_equal(clean_after(e, 1), 1, "one more");
	set_exit(e);
	free(e);
	expect_nothing_left(&account);
	ktap_case("a hint that could not be cleaned is cleaned later");
}

/* Garbage collection leaves the marks of short prefixes in the hint. When the set is trimmed, no
 * look-up may take them for a match, also if there is no memory for a part of that.
 */
static void test_trim_after_gc(void)
{
	struct ipcuckoo_entry entry = { .len = 24 }, all = {};
	struct ipcuckoo_value value;
	struct ipcuckoo_entries *e;
	unsigned long at;
	u64 pos;
	u32 i;

	for (at = 0; at < 6; at++) {
		e = calloc(1, sizeof(*e));
		if (!e || ipcuckoo_entries_init(e, &account, true))
			exit(1);
		e->options = IPCUCKOO_O_TIMEOUT;
		mutex_lock(&e->mutex);
		value = (struct ipcuckoo_value){ .expires = ipcuckoo_now() + 3 };
		for (i = 0; i < 40; i++) {
			entry.addr.lo = 0x0a000000 + (i << 8);
			expect_equal(ipcuckoo_entries_add_value(e, &entry, &value), 0, "a prefix");
		}
		expect_equal(ipcuckoo_entries_add_value(e, &all, &value), 0, "0.0.0.0/0");
		shim_seconds += 10;
		for (pos = 0; ipcuckoo_gc_part(e, &pos, 4096, NULL, NULL);)
			;
		expect_equal(ipcuckoo_usage_total(e), 0, "entries");
		shim_fail_at = at;
		ipcuckoo_entries_trim(e);
		shim_fail_at = 0;
		rcu_read_lock();
		expect(!ipcuckoo_entries_match4(e, 0x01020304), "no match, failure %lu", at);
		rcu_read_unlock();
		set_exit(e);
		free(e);
	}
	expect_nothing_left(&account);
	ktap_case("expired prefixes do not match when the set is trimmed");
}

/* Add random prefixes until every slot of their table is taken. Returns whether it came to that:
 * the table may have grown before.
 */
static bool fill_up(struct ipcuckoo_entries *e, struct random *random, bool v6)
{
	enum ipcuckoo_kind kind = v6 ? IPCUCKOO_NETS6 : IPCUCKOO_NETS4;
	const struct ipcuckoo_table *t;
	struct ipcuckoo_entry entry;
	u32 i;

	for (i = 0; i < 64; i++) {
		entry = v6 ? entry6(random_u64(random), 0, 16 + random_below(random, 48)) :
			     entry4(random_u64(random), 8 + random_below(random, 24));
		ipcuckoo_entries_add(e, &entry);
		t = ipcuckoo_version_current(e)->table[kind];
		if (t->count == ipcuckoo_table_slots(t))
			return true;
	}
	return false;
}

/* If every slot of a table is taken, the first entry that needs another kind of table finds room:
 * the first prefix of 64 bits or longer, which has a longer key, and the first exception.
 */
static void test_full(u64 seed)
{
	struct random random = random_seed(seed);
	struct ipcuckoo_value value = {};
	struct ipcuckoo_entries *e;
	struct ipcuckoo_entry entry;
	u32 round, rounds = max_t(u32, ktap_share(2000), 100), full[2] = {};
	bool longer;

	for (round = 0; round < rounds; round++) {
		longer = round % 2;
		e = calloc(1, sizeof(*e));
		if (!e || ipcuckoo_entries_init(e, &account, true))
			exit(1);
		mutex_lock(&e->mutex);
		if (fill_up(e, &random, longer)) {
			full[longer]++;
			entry = longer ? entry6(1, 2, 127) : entry4(1, 31);
			value.nomatch = !longer;
			expect_equal(ipcuckoo_entries_add_value(e, &entry, &value), 0,
				     "round %u", round);
		}
		set_exit(e);
		free(e);
	}
	printf("# %u and %u tables were full\n", full[0], full[1]);
	expect(full[0] && full[1], "both cases have occurred");
	expect_nothing_left(&account);
	ktap_case("full tables take the first exception, and the first long prefix");
}

/* An entry of a batch that takes longer than its timeout has expired when it is added. The number
 * of expired entries, which was counted in this second already, includes it all the same.
 */
static void test_added_late(void)
{
	struct ipcuckoo_value value = { .expires = ipcuckoo_now() + 1 };
	struct ipcuckoo_entry first = host4(1), late = host4(2);
	struct ipcuckoo_entries *e = calloc(1, sizeof(*e));

	if (!e || ipcuckoo_entries_init(e, &account, true))
		exit(1);
	e->options = IPCUCKOO_O_TIMEOUT;
	mutex_lock(&e->mutex);
	expect_equal(ipcuckoo_entries_add_value(e, &first, &value), 0, "an entry");
	shim_seconds += 2;
	expect_equal(ipcuckoo_usage_live(e), 0, "entries before");
	expect_equal(ipcuckoo_entries_add_value(e, &late, &value), 0, "an entry that has expired");
	expect_equal(ipcuckoo_usage_live(e), 0, "entries that have not expired");
	expect_equal(ipcuckoo_entries_remove(e, &first, false), 0, "removal of the first");
	expect_equal(ipcuckoo_usage_live(e), 0, "entries after its removal");
	expect_equal(ipcuckoo_entries_remove(e, &late, false), 0, "removal of the other");
	expect_equal(ipcuckoo_usage_live(e), 0, "entries at the end");
	set_exit(e);
	free(e);
	expect_nothing_left(&account);
	ktap_case("an entry that has expired when it is added does not count");
}

int main(void)
{
	u64 seed = ktap_begin("test_values");
	u32 steps = ktap_share(250);
	u32 options, i, except;

	ipcuckoo_value_init();
	for (options = 0; options <= IPCUCKOO_O_ALL; options++) {
		for (i = 0; i < ARRAY_SIZE(plans); i++) {
			for (except = 0; except < 2; except++) {
				shim_random_seed(++seed);
				run_plan(&plans[i], options, except, seed, steps);
			}
		}
		ktap_case("%s%s%s%s%s", options ? "options" : "no options",
			  options & IPCUCKOO_O_TIMEOUT ? ", timeout" : "",
			  options & IPCUCKOO_O_COUNTERS ? ", counters" : "",
			  options & IPCUCKOO_O_COMMENT ? ", comment" : "",
			  options & IPCUCKOO_O_SKBINFO ? ", skbinfo" : "");
	}
	printf("# %u updates, %u revivals, %u collected in %u parts, %u commits, %u records shared, "
	       "%u tables shrunk; %u allocations and %u quotas failed; %u matches, %u exceptions, "
	       "%u evictions\n",
	       met.updates, met.revivals, met.collected, met.parts, met.commits, met.shared,
	       met.shrunk, met.failures, met.quotas, met.matches, met.exceptions,
	       met.evictions);
	expect(met.updates && met.revivals && met.collected && met.commits && met.shared &&
	       met.failures && met.matches && met.exceptions && met.evictions,
	       "each of these has happened");
	ktap_case("all operations and cases have occurred");
	test_late();
	test_flushes();
	test_signals();
	test_signal_in_deletion();
	test_stale_hint();
	test_trim_after_gc();
	test_full(seed);
	test_added_late();
	return ktap_end();
}
