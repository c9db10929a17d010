// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: The contents of a set
 *
 * Hosts and prefixes of IPv4 and IPv6 are four tables (table.c). A prefix is
 * stored under a code that no other prefix has (entry.h). Hints (hint.c) tell
 * which of these tables, and which prefix lengths, are worth a probe.
 *
 * The contents of an approximate set are one filter (filter.c) instead, which is
 * made with the first entry and has its size for good. There are only hosts.
 *
 * How a look-up uses them, and why its answer holds for one moment, is said in
 * lookup.c.
 *
 * Making a table anew
 * -------------------
 *
 * A table that takes no more, or would be too empty, is made anew in process
 * context from the entries of the old one, and put in with a new version. When
 * an insertion fails at a load where that is to be expected, the new table is
 * larger; when it fails early, the new table has only another key. Both a
 * bounded number of times; then the set is full. An entry that was to be added
 * is in the new table before readers see it.
 *
 * Shrinking a table, and making a hint that suits the number of prefixes, are
 * optional. If there is no memory for them they are put off until the number of
 * entries has halved, or doubled: not tried again with each entry.
 *
 * Freeing an old version
 * ----------------------
 *
 * A version that was replaced is freed after a grace period, and with it the
 * tables that no later version has, in a work item: to free millions of records
 * takes seconds, for which no request should wait and no mutex be held. What it
 * takes stays charged until then (mem.h).
 *
 * Signals
 * -------
 *
 * Whatever takes time in proportion to the entries looks for a fatal signal, and
 * ends with -EINTR and nothing changed, or leaves the rest to the next change.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "entries.h"

enum {
	/* Tables of this many slots fill to 0.97 unless the key is bad; at
	 * EARLY (in 1/1000) or above a failure means that the table is full.
	 */
	EARLY_SLOTS	= 4096,
	EARLY		= 900,

	/* New keys (and somewhat larger tables) that are tried in a row. */
	ATTEMPTS	= 6,

	/* A table shrinks when deletions leave this share of it in use. */
	SHRINK_SHARE	= 8,
	SHRINK_SLOTS	= 4096,

	/* A deletion may leave stale marks in a hint, which counts such deletions. Never
	 * rebuild a hint that counts no more than STALE_MIN. STALE_MUCH is set in the
	 * count to have the next change rebuild it.
	 */
	STALE_MIN	= 1024,
	STALE_MUCH	= 1 << 30,

	/* Garbage collection cleans up to 2^GC_UNCOVER words of a hint for a prefix. */
	GC_UNCOVER	= 6,

	/* Entries copied between two looks at the scheduler. */
	COPY_BATCH	= 4096,
};

static struct ipcuckoo_version *current_version(const struct ipcuckoo_entries *e)
{
	return rcu_dereference_protected(e->version,
					 lockdep_is_held(&e->mutex));
}

/* A version like @v, or an empty one. */
static struct ipcuckoo_version *version_create(struct ipcuckoo_mem *mem,
					       const struct ipcuckoo_version *v,
					       enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *new = ipcuckoo_object_alloc(mem, sizeof(*new), how);

	if (IS_ERR(new))
		return new;
	if (v)
		*new = *v;
	new->mem = mem;
	new->gone = 0;
	return new;
}

/* The bits of ipcuckoo_version.gone. */
#define GONE_TABLE(kind)	BIT(kind)
#define GONE_HINT(v6)		BIT(IPCUCKOO_KINDS + (v6))
#define GONE_FILTER		BIT(IPCUCKOO_KINDS + 2)
#define GONE_ALL		(BIT(IPCUCKOO_KINDS + 3) - 1)

/* What a version takes, without records. */
static size_t version_memory(const struct ipcuckoo_version *v, u8 parts)
{
	size_t size = kmalloc_size_roundup(sizeof(*v));
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (parts & GONE_TABLE(i))
			size += ipcuckoo_table_memory(v->table[i]);
	for (i = 0; i < 2; i++)
		if (parts & GONE_HINT(i))
			size += ipcuckoo_hint_memory(v->hint[i]);
	if (parts & GONE_FILTER)
		size += ipcuckoo_filter_memory(v->filter);
	return size;
}

/* Free a version that nobody reads, and what is gone with it. Records of a table
 * have been put, or are in the one that replaced it.
 */
static void version_free(struct ipcuckoo_version *v)
{
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->gone & GONE_TABLE(i))
			ipcuckoo_table_destroy(v->table[i]);
	for (i = 0; i < 2; i++)
		if (v->gone & GONE_HINT(i))
			ipcuckoo_hint_destroy(v->hint[i]);
	if (v->gone & GONE_FILTER)
		ipcuckoo_filter_destroy(v->filter);
	ipcuckoo_object_free(v, v->mem, sizeof(*v));
}

/* After a grace period. A record may be another set's as well, which can drop it
 * just now: ipcuckoo_record_put() has it wait for a grace period of its own.
 */
static void version_work(struct work_struct *work)
{
	struct ipcuckoo_version *v = container_of(to_rcu_work(work),
						  struct ipcuckoo_version, work);
	struct ipcuckoo_mem *mem = v->mem;
	size_t retiring = v->retiring;
	int i;

	for (i = 0; v->gone == GONE_ALL && i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			ipcuckoo_table_put_records(v->table[i]);
	version_free(v);
	ipcuckoo_mem_release(mem, retiring);
}

static bool has_records(const struct ipcuckoo_version *v)
{
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i] && v->table[i]->with & IPCUCKOO_WITH_RECORDS)
			return true;
	return false;
}

/* No reader finds a version any more, nor what is gone with it. If all of it is,
 * its records go too, of so many bytes; some may be counted that others share.
 */
static void retire(struct ipcuckoo_version *v, u8 gone, size_t records, bool live)
{
	v->gone = gone;
	if (!live && (gone != GONE_ALL || !has_records(v))) {
		version_free(v);
		return;
	}
	v->retiring = version_memory(v, gone) + (gone == GONE_ALL ? records : 0);
	ipcuckoo_mem_retire(v->mem, v->retiring);
	INIT_RCU_WORK(&v->work, version_work);
	queue_rcu_work(ipcuckoo_free_wq, &v->work);
}

/* Put a version in that has all of the old one but what is @gone. */
static void publish(struct ipcuckoo_entries *e, struct ipcuckoo_version *v, u8 gone)
{
	struct ipcuckoo_version *old = current_version(e);
	size_t records = e->records;

	if (gone == GONE_ALL)
		e->records = 0;
	rcu_assign_pointer(e->version, v);
	e->layout++;
	retire(old, gone, records, e->live);
}

/* May an entry be in the tables and not match? */
static bool needs_lpm(const struct ipcuckoo_version *v)
{
	u8 with = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		with |= v->table[kind] ? v->table[kind]->with : 0;
	return with & (IPCUCKOO_WITH_EXPIRES | IPCUCKOO_WITH_NOMATCH);
}

static int publish_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
			 struct ipcuckoo_table *t, enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v = current_version(e);
	struct ipcuckoo_table *old = v->table[kind];

	v = version_create(e->mem, v, how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->table[kind] = t;
	v->lpm = needs_lpm(v);
	if (old)
		e->displaced += old->displaced;
	publish(e, v, old ? GONE_TABLE(kind) : 0);
	return 0;
}

static int publish_hint(struct ipcuckoo_entries *e, bool v6,
			struct ipcuckoo_hint *h, enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v = current_version(e);
	struct ipcuckoo_hint *old = v->hint[v6];

	v = version_create(e->mem, v, how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->hint[v6] = h;
	publish(e, v, old ? GONE_HINT(v6) : 0);
	return 0;
}

static int publish_filter(struct ipcuckoo_entries *e, struct ipcuckoo_filter *f,
			  enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v = current_version(e);
	struct ipcuckoo_filter *old = v->filter;

	v = version_create(e->mem, v, how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->filter = f;
	if (old)
		e->displaced += old->displaced;
	publish(e, v, old ? GONE_FILTER : 0);
	return 0;
}

static int search_begin(struct ipcuckoo_entries *e)
{
	if (!e->queue)
		e->queue = ipcuckoo_search_alloc();
	return e->queue ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_entries_free_queue() - free the memory that searches for a slot use
 * @e:		contents
 *
 * The first insertion after this allocates it again.
 *
 * Context: the writer, before it releases e->mutex.
 */
void ipcuckoo_entries_free_queue(struct ipcuckoo_entries *e)
{
	lockdep_assert_held(&e->mutex);
	ipcuckoo_search_free(e->queue);
	e->queue = NULL;
}

/* One more entry that a table is made anew for. */
struct extra {
	struct ipcuckoo_key key;
	struct ipcuckoo_value value;
};

/* Fill an empty table that nobody reads from @from (or NULL), and with @extra
 * (or NULL).
 */
static int fill_table(struct ipcuckoo_table *to,
		      const struct ipcuckoo_table *from,
		      const struct extra *extra,
		      struct ipcuckoo_search_node *queue)
{
	struct ipcuckoo_value value;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_key key;
	u64 pos = 0;
	u32 n = 0;
	int err;

	ipcuckoo_guard_init(&guard);
	while (from && ipcuckoo_table_next(from, &pos, &key)) {
		value = ipcuckoo_table_value(from, pos - 1);
		err = ipcuckoo_table_insert_value(to, &guard, &key, &value, queue);
		if (err)
			return err;
		if (!(++n % COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % COPY_BATCH))
			cond_resched();
	}
	return extra ? ipcuckoo_table_insert_value(to, &guard, &extra->key,
						   &extra->value, queue) : 0;
}

/* What a table keeps: what the set was made with, and once there was an
 * exception, which are exceptions.
 */
static u8 with(const struct ipcuckoo_entries *e, const struct ipcuckoo_table *old,
	       const struct extra *extra)
{
	bool nomatch = extra && extra->value.nomatch;

	if (old)
		nomatch |= old->with & IPCUCKOO_WITH_NOMATCH;
	return (e->options & IPCUCKOO_O_TIMEOUT ? IPCUCKOO_WITH_EXPIRES : 0) |
	       (e->options & IPCUCKOO_RECORDED ? IPCUCKOO_WITH_RECORDS : 0) |
	       (nomatch ? IPCUCKOO_WITH_NOMATCH : 0);
}

/**
 * struct rehash - a new table that is to replace one of a set
 * @nbuckets:	its buckets; more if the entries do not fit in so many
 * @extra:	with this entry in it, or NULL
 * @with:	and these arrays beside its slots
 * @how:	what to do past the account's limit
 */
struct rehash {
	u32 nbuckets;
	const struct extra *extra;
	u8 with;
	enum ipcuckoo_charge how;
};

/* Fill a table with a new key from the old one, and publish it. Nothing has changed if
 * this fails.
 */
static int rehash_once(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		       const struct rehash *r, u32 nbuckets)
{
	struct ipcuckoo_table *t;
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	t = ipcuckoo_table_create_with(e->mem, nbuckets, ipcuckoo_kind_keyed(kind),
				       r->with, r->how);
	if (IS_ERR(t))
		return PTR_ERR(t);
	err = fill_table(t, current_version(e)->table[kind], r->extra, e->queue);
	if (!err)
		err = publish_table(e, kind, t, r->how);
	if (err)
		ipcuckoo_table_destroy(t);
	return err;
}

static int rehash(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		  const struct rehash *r)
{
	u32 nbuckets = r->nbuckets;
	int attempt, err = -ENOSPC;

	for (attempt = 0; attempt < ATTEMPTS && err == -ENOSPC; attempt++) {
		err = rehash_once(e, kind, r, nbuckets);
		if (attempt)
			nbuckets += nbuckets / 16 & ~1U;
		nbuckets = min_t(u32, nbuckets, IPCUCKOO_BUCKETS_MAX);
	}
	return err;
}

static int resize(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		  u32 nbuckets, const struct extra *extra, enum ipcuckoo_charge how)
{
	const struct rehash r = {
		.nbuckets = nbuckets,
		.extra = extra,
		.with = with(e, current_version(e)->table[kind], extra),
		.how = how,
	};

	return rehash(e, kind, &r);
}

/* Insert an entry for which the table has no free slot, or for which there is no table:
 * into a larger table, or, if the insertion failed at a low load factor, into one of the
 * same size with another key.
 */
static int grow(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		const struct extra *extra)
{
	struct ipcuckoo_table *t = current_version(e)->table[kind];
	u64 count = t ? t->count : 0;
	bool early = t && ipcuckoo_table_slots(t) >= EARLY_SLOTS &&
		     count * 1000 < ipcuckoo_table_slots(t) * EARLY;
	u32 nbuckets;
	int err;

	if (t && !early && t->nbuckets == IPCUCKOO_BUCKETS_MAX)
		return -ENOSPC;
	nbuckets = early ? t->nbuckets :
		   ipcuckoo_table_buckets(count + count / 4 + 1,
					  ipcuckoo_kind_keyed(kind));
	if (t && !early && nbuckets <= t->nbuckets)
		nbuckets = min_t(u32, t->nbuckets + max(t->nbuckets / 4 & ~1U, 2U),
				 IPCUCKOO_BUCKETS_MAX);
	err = resize(e, kind, nbuckets, extra, IPCUCKOO_CHARGE_WAIT);
	if (err)
		return err;
	if (early)
		e->rekeys++;
	else if (t)
		e->growths++;
	return 0;
}

/* Mark all entries of a kind in a hint that nobody reads yet. */
static int fill_hint(struct ipcuckoo_hint *h, const struct ipcuckoo_table *t,
		     enum ipcuckoo_kind kind)
{
	struct ipcuckoo_entry entry;
	struct ipcuckoo_key key;
	u64 pos = 0;
	u32 n = 0;

	while (t && ipcuckoo_table_next(t, &pos, &key)) {
		entry = ipcuckoo_entry_decode(kind, &key);
		key = ipcuckoo_entry_top(&entry.addr, entry.v6);
		if (ipcuckoo_kind_is_nets(kind))
			ipcuckoo_hint_add_prefix(h, &key, entry.len);
		else
			ipcuckoo_hint_add_host(h, key.hi);
		if (!(++n % COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % COPY_BATCH))
			cond_resched();
	}
	return 0;
}

static int rebuild_hint(struct ipcuckoo_entries *e, bool v6, u32 prefixes,
			enum ipcuckoo_charge how)
{
	const struct ipcuckoo_version *v = current_version(e);
	enum ipcuckoo_kind hosts = v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4;
	enum ipcuckoo_kind nets = v6 ? IPCUCKOO_NETS6 : IPCUCKOO_NETS4;
	struct ipcuckoo_hint *h;
	int err;

	h = ipcuckoo_hint_create(e->mem, prefixes, v6, how);
	if (IS_ERR(h))
		return PTR_ERR(h);
	err = fill_hint(h, v->table[hosts], hosts);
	if (!err)
		err = fill_hint(h, v->table[nets], nets);
	if (!err)
		err = publish_hint(e, v6, h, how);
	if (err)
		ipcuckoo_hint_destroy(h);
	return err;
}

/* Before @more prefixes are added: have a hint, and one that is worth it. A
 * hint too small for its prefixes is slow, not wrong, so that failing to make
 * a larger one is no failure; it is tried again when there are twice as many.
 */
static int prepare_hint(struct ipcuckoo_entries *e, bool v6, u32 more)
{
	struct ipcuckoo_hint *h = current_version(e)->hint[v6];
	u32 prefixes = ipcuckoo_entries_count(e, v6 ? IPCUCKOO_NETS6 :
					      IPCUCKOO_NETS4) + more;
	int err;

	if (h && prefixes <= h->capacity)
		return 0;
	if (!h)
		return rebuild_hint(e, v6, prefixes, IPCUCKOO_CHARGE_WAIT);
	err = rebuild_hint(e, v6, prefixes, IPCUCKOO_CHARGE_TRY);
	if (err && err != -EINTR)
		h->capacity = min_t(u64, 2ULL * prefixes, U32_MAX);
	return 0;
}

/* No barrier between the entry and its marks: a mark that is seen too early is
 * a probe in vain, which is what the reader would have answered a moment ago.
 * From the next step of the sequence on both are seen (LMM(bump:A)).
 */
static void mark_hint(struct ipcuckoo_hint *h,
		      const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key addr = ipcuckoo_entry_top(&entry->addr, entry->v6);

	if (!h)
		return;
	if (ipcuckoo_kind_is_nets(ipcuckoo_entry_kind(entry)))
		ipcuckoo_hint_add_prefix(h, &addr, entry->len);
	else
		ipcuckoo_hint_add_host(h, addr.hi);
}

/* Approximate contents */

static struct ipcuckoo_key filter_key(const struct ipcuckoo_entry *entry)
{
	return entry->v6 ? entry->addr : ipcuckoo_filter_key4(entry->addr.lo);
}

static int prepare_filter(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_filter *f;
	int err;

	if (current_version(e)->filter)
		return 0;
	f = ipcuckoo_filter_create(e->mem, &e->shape);
	if (IS_ERR(f))
		return PTR_ERR(f);
	err = publish_filter(e, f, IPCUCKOO_CHARGE_WAIT);
	if (err)
		ipcuckoo_filter_destroy(f);
	return err;
}

static int filter_add(struct ipcuckoo_entries *e,
		      const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key key = filter_key(entry);
	int err = prepare_filter(e);

	if (!err)
		err = ipcuckoo_filter_insert(current_version(e)->filter,
					     &e->guard, &key, e->queue);
	if (!err)
		e->generation++;
	return err;
}

static int filter_del(struct ipcuckoo_entries *e,
		      const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_filter *f = current_version(e)->filter;
	struct ipcuckoo_key key = filter_key(entry);

	if (!f || ipcuckoo_filter_delete(f, &e->guard, &key))
		return -ENOENT;
	e->generation++;
	return 0;
}

static int filter_copy(struct ipcuckoo_entries *to,
		       const struct ipcuckoo_filter *from)
{
	int err = from ? prepare_filter(to) : 0;

	return from && !err ? ipcuckoo_filter_copy(current_version(to)->filter, from) : err;
}

/* Exact contents, and what is common */

/* Bump the sequence number on its own, beside a change that is made in place. */
static void step(struct ipcuckoo_entries *e)
{
	spin_lock_bh(&e->guard.lock);
	ipcuckoo_guard_bump(&e->guard);
	spin_unlock_bh(&e->guard.lock);
}

/* Replace the value of an entry. Two kinds of change need bumps of the sequence number:
 *
 * - An entry becomes an exception, or ceases to be one: it decides differently about
 *   addresses that shorter prefixes cover as well. A reader must not combine it with
 *   prefixes that were added or deleted before or after; ipcuckoo_entries_add_value()
 *   explains this.
 * - An expired entry is added again. No reader may see the old value with the new
 *   deadline, which would make it valid again. So the deadline is written last, after a
 *   bump: a reader that sees it has an answer only if it read the rest after that bump.
 */
static void change_value(struct ipcuckoo_entries *e, struct ipcuckoo_table *t,
			 u64 slot, const struct ipcuckoo_value *value)
{
	struct ipcuckoo_value old = ipcuckoo_table_value(t, slot), next = *value;

	/* What had expired may be counted. */
	t->expired_at = 0;
	e->generation++;
	if (!value->nomatch && !old.nomatch &&
	    !ipcuckoo_expired(old.expires, ipcuckoo_now())) {
		ipcuckoo_table_set_value(t, slot, value);
		return;
	}
	next.expires = old.expires;
	step(e);
	ipcuckoo_table_set_value(t, slot, &next);
	step(e);
	ipcuckoo_table_set_value(t, slot, value);
	step(e);
}

/* An entry that has ended but was not removed yet is added again. */
static void revive(struct ipcuckoo_entries *e, struct ipcuckoo_table *t, u64 slot,
		   const struct ipcuckoo_value *value)
{
	struct ipcuckoo_record *old = ipcuckoo_table_value(t, slot).record;

	e->records += ipcuckoo_record_memory(value->record);
	e->records -= ipcuckoo_record_memory(old);
	change_value(e, t, slot, value);
	ipcuckoo_record_put(old, e->mem);
}

static bool has_expired(const struct ipcuckoo_table *t, u64 slot)
{
	return ipcuckoo_expired(ipcuckoo_table_value(t, slot).expires, ipcuckoo_now());
}

/**
 * ipcuckoo_entries_keeps() - is anything kept for entries?
 * @e:		contents
 *
 * Context: the writer.
 * Return: true as well if there were exceptions: adding one again as it is makes
 * it an entry like any other.
 */
bool ipcuckoo_entries_keeps(struct ipcuckoo_entries *e)
{
	return e->options || current_version(e)->lpm;
}

/**
 * ipcuckoo_entries_learn_exceptions() - have room for the first exception
 * @e:		exact contents
 * @kind:	of the exception
 *
 * The version says that there are exceptions before there is one: a reader who
 * came to the hint by an older version would take the mark of a short exception
 * for that of a prefix. Hence there is a table after this, if an empty one.
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR. After that no exception of this kind
 * takes memory to be noted.
 */
int ipcuckoo_entries_learn_exceptions(struct ipcuckoo_entries *e,
				      enum ipcuckoo_kind kind)
{
	const struct extra example = { .value.nomatch = true };
	struct ipcuckoo_table *t = current_version(e)->table[kind];
	const struct rehash r = {
		.nbuckets = t ? t->nbuckets :
			    ipcuckoo_table_buckets(1, ipcuckoo_kind_keyed(kind)),
		.with = with(e, t, &example),
		.how = IPCUCKOO_CHARGE_WAIT,
	};
	int err;

	if (t && t->with & IPCUCKOO_WITH_NOMATCH)
		return 0;
	err = search_begin(e);
	return err ?: rehash(e, kind, &r);
}

/* Should a table shrink that is about to get so many more entries? */
static bool sparse(const struct ipcuckoo_table *t, u32 more)
{
	return ipcuckoo_table_slots(t) > SHRINK_SLOTS && t->count < t->shrink_below &&
	       (u64)t->count + more < ipcuckoo_table_slots(t) / SHRINK_SHARE;
}

/* If there is no memory for a smaller table, the larger one stays. The next attempt comes
 * when half as many entries are left, because that table takes half as much.
 */
static void shrink(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	struct ipcuckoo_table *t = current_version(e)->table[kind];
	int err = search_begin(e);

	if (!err)
		err = resize(e, kind, ipcuckoo_table_buckets(t->count * 2ULL + more,
							     ipcuckoo_kind_keyed(kind)),
			     NULL, IPCUCKOO_CHARGE_TRY);
	if (!err)
		e->growths++;
	else if (err != -EINTR)
		t->shrink_below = t->count / 2;
}

/* After deletions: replace a table that is nearly empty by a smaller one, and a hint with
 * many stale marks by a clean one. If that fails, the set takes more memory, or look-ups
 * take longer, than they need to; their answers are the same.
 */
static void maybe_shrink(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	const struct ipcuckoo_table *t = current_version(e)->table[kind];
	bool v6 = ipcuckoo_kind_keyed(kind);
	struct ipcuckoo_hint *h = current_version(e)->hint[v6];
	u32 count = t->count;

	e->gc_pending &= ~BIT(kind);
	if (sparse(t, more))
		shrink(e, kind, more);
	if (h && h->stale > STALE_MIN + count) {
		h->stale = 0;
		rebuild_hint(e, v6, ipcuckoo_entries_count(e, v6 ?
				IPCUCKOO_NETS6 : IPCUCKOO_NETS4), IPCUCKOO_CHARGE_TRY);
	}
}

/* Do what garbage collection left undone because it would hold the lock too long. */
static void finish_gc(struct ipcuckoo_entries *e)
{
	while (e->gc_pending)
		maybe_shrink(e, __ffs(e->gc_pending), 0);
}

/* What is kept for an entry, if it is there and has not ended. */
static bool entry_value(const struct ipcuckoo_table *t, const struct ipcuckoo_key *key,
			struct ipcuckoo_value *value)
{
	u64 slot;

	if (!t || !ipcuckoo_table_find(t, key, &slot))
		return false;
	*value = ipcuckoo_table_value(t, slot);
	return !t->with || !ipcuckoo_expired(value->expires, ipcuckoo_now());
}

static int add_exact(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		     const struct extra *extra)
{
	struct ipcuckoo_table *t = current_version(e)->table[kind];
	u64 slot;
	int err;

	/* Whoever keeps no deadlines need not search twice. */
	if (t && e->options & IPCUCKOO_O_TIMEOUT &&
	    ipcuckoo_table_find(t, &extra->key, &slot)) {
		if (!has_expired(t, slot))
			return -EEXIST;
		revive(e, t, slot, &extra->value);
		return 0;
	}
	err = t ? ipcuckoo_table_insert_value(t, &e->guard, &extra->key,
					      &extra->value, e->queue) : -ENOSPC;
	if (err == -ENOSPC)
		err = grow(e, kind, extra);
	if (err)
		return err;
	e->records += ipcuckoo_record_memory(extra->value.record);
	e->generation++;
	return 0;
}

/**
 * ipcuckoo_entries_add_value() - add an entry
 * @e:		contents
 * @entry:	entry, host bits zero
 * @value:	what is kept for it; on success its record belongs to @e
 *
 * The longest entry that covers an address decides about it. So an exception is
 * added between two steps of the sequence. Without the one behind it, a reader
 * could miss the exception and see a prefix added after it, whose match it takes
 * back; without the one before it, a reader could see the exception and miss a
 * longer entry added before it, whose match it does not.
 *
 * Context: the writer; may sleep.
 * Return: 0, -EEXIST if it is there, -ENOSPC, -ENOMEM, -EDQUOT, -EINTR, or what
 * ipcuckoo_filter_insert() returns; then nothing has changed.
 */
int ipcuckoo_entries_add_value(struct ipcuckoo_entries *e,
			       const struct ipcuckoo_entry *entry,
			       struct ipcuckoo_value *value)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct extra extra = {
		.key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len),
		.value = *value,
	};
	int err;

	lockdep_assert_held(&e->mutex);
	finish_gc(e);
	err = search_begin(e);
	if (!err && ipcuckoo_kind_is_nets(kind))
		err = prepare_hint(e, entry->v6, 1);
	if (!err && value->nomatch)
		err = ipcuckoo_entries_learn_exceptions(e, kind);
	if (err)
		return err;
	if (ipcuckoo_entries_approximate(e))
		return filter_add(e, entry);
	if (value->nomatch)
		step(e);
	err = add_exact(e, kind, &extra);
	if (err)
		return err;
	mark_hint(current_version(e)->hint[entry->v6], entry);
	if (value->nomatch)
		step(e);
	return 0;
}

/**
 * ipcuckoo_entries_update() - an entry that is there is added once more
 * @e:		contents
 * @entry:	entry, host bits zero
 * @fresh:	what was made for it; what is left of it belongs to the caller
 * @given:	what the request says
 *
 * Context: the writer; may sleep.
 * Return: 0; -ENOENT if it is not there; -ENOMEM, -EDQUOT or -EINTR, which only the first
 * exception among entries of its kind can meet; then nothing has changed.
 */
int ipcuckoo_entries_update(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *fresh,
			    const struct ipcuckoo_given *given)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	struct ipcuckoo_value value;
	struct ipcuckoo_table *t;
	u64 slot;
	int err;

	lockdep_assert_held(&e->mutex);
	err = fresh->nomatch ? ipcuckoo_entries_learn_exceptions(e, kind) : 0;
	if (err)
		return err;
	t = current_version(e)->table[kind];
	if (!t || !ipcuckoo_table_find(t, &key, &slot))
		return -ENOENT;
	value = ipcuckoo_table_value(t, slot);
	e->records -= ipcuckoo_record_memory(value.record);
	ipcuckoo_value_update(&value, fresh, given, e->live);
	e->records += ipcuckoo_record_memory(value.record);
	change_value(e, t, slot, &value);
	return 0;
}

/* The shortest of the prefixes of an address with a length from @first to
 * @last, or -1 if there is none.
 */
static int shortest(const struct ipcuckoo_table *nets,
		    const struct ipcuckoo_key *addr, bool v6, int first, int last)
{
	struct ipcuckoo_key code;
	int len;

	for (len = first; len <= last; len++) {
		code = ipcuckoo_entry_code(addr, v6, len);
		if (ipcuckoo_table_has(nets, &code))
			return len;
	}
	return -1;
}

/* A short prefix was deleted: clear the marks that no other one justifies. A
 * shorter one justifies all of them, a longer one those under it.
 */
static void uncover(struct ipcuckoo_hint *h, const struct ipcuckoo_table *nets,
		    const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key addr = ipcuckoo_entry_top(&entry->addr, entry->v6);
	u64 word = addr.hi >> (64 - h->stride);
	u64 end = word + (1U << (h->stride - entry->len));
	int len;

	if (shortest(nets, &entry->addr, entry->v6, 0, entry->len - 1) >= 0)
		return;
	while (word < end) {
		if (fatal_signal_pending(current)) {
			h->stale |= STALE_MUCH;
			return;
		}
		addr.hi = word << (64 - h->stride);
		addr.lo = 0;
		if (!entry->v6)
			addr = (struct ipcuckoo_key){ .lo = addr.hi >> 32 };
		len = shortest(nets, &addr, entry->v6, entry->len + 1, h->stride);
		if (len < 0)
			ipcuckoo_hint_uncover(h, word++);
		else
			word += 1U << (h->stride - len);
		cond_resched();
	}
}

/* Remove an exact entry, expired or not. Garbage collection (@gc) must not hold the
 * lock for long: it leaves shrinking the table and cleaning most of the hint to the
 * next change of the set.
 */
static int remove(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
		  bool gc)
{
	const struct ipcuckoo_version *v = current_version(e);
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	struct ipcuckoo_table *t = v->table[kind];
	struct ipcuckoo_hint *h = v->hint[entry->v6];
	struct ipcuckoo_record *record = NULL;
	u64 slot;

	if (!t)
		return -ENOENT;
	if (t->with && ipcuckoo_table_find(t, &key, &slot))
		record = ipcuckoo_table_value(t, slot).record;
	if (ipcuckoo_table_delete(t, &e->guard, &key))
		return -ENOENT;
	e->records -= ipcuckoo_record_memory(record);
	ipcuckoo_record_put(record, e->mem);
	if (h)
		h->stale++;
	if (ipcuckoo_kind_is_nets(kind) && entry->len <= h->stride) {
		if (gc && h->stride - entry->len > GC_UNCOVER)
			h->stale |= STALE_MUCH;
		else
			uncover(h, t, entry);
	}
	if (gc)
		e->gc_pending |= BIT(kind);
	else
		maybe_shrink(e, kind, 0);
	return 0;
}

/**
 * ipcuckoo_entries_del() - delete an entry
 * @e:		contents
 * @entry:	entry, host bits zero
 *
 * Context: the writer; may sleep.
 * Return: 0, or -ENOENT.
 */
int ipcuckoo_entries_del(struct ipcuckoo_entries *e,
			 const struct ipcuckoo_entry *entry)
{
	int err;

	lockdep_assert_held(&e->mutex);
	if (ipcuckoo_entries_approximate(e))
		return filter_del(e, entry);
	if (e->options & IPCUCKOO_O_TIMEOUT && !ipcuckoo_entries_has(e, entry))
		return -ENOENT;
	finish_gc(e);
	err = remove(e, entry, false);
	if (!err)
		e->generation++;
	return err;
}

/**
 * ipcuckoo_entries_has() - is this very entry there?
 * @e:		contents
 * @entry:	entry, host bits zero
 *
 * Context: the writer.
 * Return: if so; in approximate contents, if so maybe.
 */
bool ipcuckoo_entries_has(struct ipcuckoo_entries *e,
			  const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value value;

	if (ipcuckoo_entries_approximate(e))
		return ipcuckoo_entries_copies(e, entry);
	return ipcuckoo_entries_get(e, entry, &value);
}

/**
 * ipcuckoo_entries_get() - what is kept for this very entry
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @value:	set to it; its record stays with @e
 *
 * Context: the writer.
 * Return: false if it is not there.
 */
bool ipcuckoo_entries_get(struct ipcuckoo_entries *e,
			  const struct ipcuckoo_entry *entry,
			  struct ipcuckoo_value *value)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);

	return entry_value(current_version(e)->table[kind], &key, value);
}

/**
 * ipcuckoo_entries_copies() - how often may an entry be there?
 * @e:		approximate contents
 * @entry:	host
 *
 * Context: the writer.
 */
unsigned int ipcuckoo_entries_copies(struct ipcuckoo_entries *e,
				     const struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_filter *f = current_version(e)->filter;
	struct ipcuckoo_key key = filter_key(entry);

	return f ? ipcuckoo_filter_copies(f, &key) : 0;
}

/**
 * ipcuckoo_entries_find() - the longest entry that covers an address
 * @e:		contents
 * @entry:	a host; or a prefix, to find just it
 * @len:	set to the length of what was found, or IPCUCKOO_LEN_NONE
 *
 * Context: the writer.
 * Return: false if there is none, or if it is an exception.
 */
bool ipcuckoo_entries_find(struct ipcuckoo_entries *e,
			   const struct ipcuckoo_entry *entry, u8 *len)
{
	struct ipcuckoo_entry at = *entry;
	bool host = entry->len == (entry->v6 ? 128 : 32);
	struct ipcuckoo_value value;
	int i;

	*len = IPCUCKOO_LEN_NONE;
	if (ipcuckoo_entries_approximate(e)) {
		if (!ipcuckoo_entries_copies(e, entry))
			return false;
		*len = entry->len;
		return true;
	}
	for (i = entry->len; i >= 0 && (host || i == entry->len); i--) {
		at.len = i;
		if (ipcuckoo_entries_get(e, &at, &value)) {
			*len = i;
			return !value.nomatch;
		}
	}
	return false;
}

/* A position is a kind and a position in its table. */
#define POS_KIND_SHIFT	60

/**
 * ipcuckoo_entries_next_value() - the next entry, in no particular order
 * @e:		contents
 * @pos:	where to go on; 0 to begin with. Means nothing any more once
 *		@e->layout has moved
 * @entry:	set to the entry
 * @value:	set to what is kept for it; its record stays with @e. Entries
 *		that have ended but were not removed are told as well
 *
 * Context: the writer.
 * Return: false at the end.
 */
bool ipcuckoo_entries_next_value(struct ipcuckoo_entries *e, u64 *pos,
				 struct ipcuckoo_entry *entry,
				 struct ipcuckoo_value *value)
{
	const struct ipcuckoo_version *v = current_version(e);
	u64 kind = *pos >> POS_KIND_SHIFT;
	u64 at = *pos & (BIT_ULL(POS_KIND_SHIFT) - 1);
	struct ipcuckoo_key key;

	for (; kind < IPCUCKOO_KINDS; kind++, at = 0) {
		if (!v->table[kind] ||
		    !ipcuckoo_table_next(v->table[kind], &at, &key))
			continue;
		*pos = kind << POS_KIND_SHIFT | at;
		*entry = ipcuckoo_entry_decode(kind, &key);
		*value = ipcuckoo_table_value(v->table[kind], at - 1);
		return true;
	}
	*pos = kind << POS_KIND_SHIFT;
	return false;
}

/* Put in a version that shares nothing with the old one. */
static void replace_all(struct ipcuckoo_entries *e, struct ipcuckoo_version *v)
{
	e->displaced = ipcuckoo_entries_displaced(e);
	e->gc_pending = 0;
	publish(e, v, GONE_ALL);
}

/* Free all tables and hints at once if garbage collection has left no entry. */
static void free_if_empty(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v;

	if (ipcuckoo_entries_total(e) || ipcuckoo_entries_slots(e) <= SHRINK_SLOTS)
		return;
	v = version_create(e->mem, NULL, IPCUCKOO_CHARGE_TRY);
	if (!IS_ERR(v))
		replace_all(e, v);
}

/**
 * ipcuckoo_entries_gc() - remove expired entries from a part of the tables
 * @e:		contents
 * @pos:	where to continue; 0 begins a pass
 * @slots:	how many slots to look at, at most
 * @removed:	called for each entry after it was removed; may be NULL
 * @data:	passed to @removed
 *
 * Skips tables in which nothing can have expired. A displacement may move an expired
 * entry from the part that is still to come to the part that is done: it does not match
 * any more, and its deadline calls for another pass, which removes it. The generation
 * does not change, because shadows and listings leave expired entries out already. If
 * few entries are left in a table, the next change of the set shrinks it; garbage
 * collection does not, so that no writer waits while it makes a new table. If none are
 * left, the tables are freed at once.
 *
 * Context: the writer; may sleep.
 * Return: true if there is more to look at, false at the end of the pass.
 */
bool ipcuckoo_entries_gc(struct ipcuckoo_entries *e, u64 *pos, u32 slots,
			 ipcuckoo_gc_fn removed, void *data)
{
	u64 kind = *pos >> POS_KIND_SHIFT;
	u64 at = *pos & (BIT_ULL(POS_KIND_SHIFT) - 1), end;
	struct ipcuckoo_entry entry;
	struct ipcuckoo_table *t;
	struct ipcuckoo_key key;

	for (; kind < IPCUCKOO_KINDS; kind++, at = 0) {
		t = current_version(e)->table[kind];
		if (!t || !(t->with & IPCUCKOO_WITH_EXPIRES) || (!at && !ipcuckoo_table_due(t)))
			continue;
		end = ipcuckoo_table_slots(t);
		if (!at)
			t->passed = 0;
		while (at < end && slots) {
			u64 stop = min(end, at + slots);

			slots -= stop - at;
			if (!ipcuckoo_table_next_expired(t, &at, stop, &key))
				continue;
			slots += stop - at;
			slots -= min_t(u32, slots, IPCUCKOO_GC_REMOVAL);
			entry = ipcuckoo_entry_decode(kind, &key);
			remove(e, &entry, true);
			e->expired++;
			if (removed)
				removed(data, &entry);
		}
		if (at < end) {
			*pos = kind << POS_KIND_SHIFT | at;
			return true;
		}
		t->nearest = t->passed;
	}
	free_if_empty(e);
	return false;
}

static bool same_entry(const struct ipcuckoo_entry *a, const struct ipcuckoo_entry *b)
{
	return a->v6 == b->v6 && a->len == b->len && a->addr.hi == b->addr.hi &&
	       a->addr.lo == b->addr.lo;
}

/* The position of a slot, any of all. */
static u64 random_position(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = current_version(e);
	u64 at = (ipcuckoo_entries_slots(e) * (u32)get_random_u64()) >> 32;
	u64 kind, slots;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		slots = v->table[kind] ? ipcuckoo_table_slots(v->table[kind]) : 0;
		if (at < slots)
			return kind << POS_KIND_SHIFT | at;
		at -= slots;
	}
	return 0;
}

/**
 * ipcuckoo_entries_evict() - remove an entry, any one that has not expired
 * @e:		exact contents
 * @keep:	one that stays
 * @gone:	set to the one that was removed
 *
 * Context: the writer; may sleep.
 * Return: false if there is no other than @keep.
 */
bool ipcuckoo_entries_evict(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *keep,
			    struct ipcuckoo_entry *gone)
{
	u64 pos = random_position(e);
	u32 now = ipcuckoo_now();
	struct ipcuckoo_value value;
	int ends = 0;

	lockdep_assert_held(&e->mutex);
	while (ends < 2) {
		if (!ipcuckoo_entries_next_value(e, &pos, gone, &value)) {
			ends++;
			pos = 0;
			continue;
		}
		if (same_entry(gone, keep) || ipcuckoo_expired(value.expires, now))
			continue;
		remove(e, gone, false);
		e->generation++;
		return true;
	}
	return false;
}

static int reserve(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	const struct ipcuckoo_table *t = current_version(e)->table[kind];
	u64 count = t ? t->count : 0, want = count + more;
	u32 nbuckets;
	int err;

	if (t && want * 1000 <= ipcuckoo_table_slots(t) * IPCUCKOO_LOAD_LIMIT)
		return 0;
	if (t)
		want = max(want, count + count / 4);
	nbuckets = ipcuckoo_table_buckets(want, ipcuckoo_kind_keyed(kind));
	if (t && nbuckets <= t->nbuckets)
		return 0;
	err = resize(e, kind, nbuckets, NULL, IPCUCKOO_CHARGE_WAIT);
	if (!err && t)
		e->growths++;
	return err;
}

/**
 * ipcuckoo_entries_reserve() - make room before entries are added
 * @e:		contents
 * @more:	entries to come, for each kind
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_entries_reserve(struct ipcuckoo_entries *e,
			     const u32 more[IPCUCKOO_KINDS])
{
	int kind, err = search_begin(e);

	if (!err && ipcuckoo_entries_approximate(e))
		return prepare_filter(e);
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++) {
		if (more[kind] && e->gc_pending & BIT(kind))
			maybe_shrink(e, kind, more[kind]);
		if (more[kind] && ipcuckoo_kind_is_nets(kind))
			err = prepare_hint(e, ipcuckoo_kind_keyed(kind),
					   more[kind]);
		if (more[kind] && !err)
			err = reserve(e, kind, more[kind]);
	}
	return err;
}

/**
 * ipcuckoo_entries_copy() - add all entries of another set
 * @to:		a shadow, empty, made with the same options
 * @from:	contents, of which the caller is the writer as well. What has ended
 *		is left out
 *
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR; @to may then have a part of them.
 */
int ipcuckoo_entries_copy(struct ipcuckoo_entries *to,
			  struct ipcuckoo_entries *from)
{
	u32 more[IPCUCKOO_KINDS], n = 0, now = ipcuckoo_now();
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
	int kind, err;
	u64 pos = 0;

	if (ipcuckoo_entries_approximate(from))
		return filter_copy(to, current_version(from)->filter);
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		more[kind] = ipcuckoo_entries_count(from, kind);
	err = ipcuckoo_entries_reserve(to, more);
	if (err)
		return err;
	while (ipcuckoo_entries_next_value(from, &pos, &entry, &value)) {
		if (ipcuckoo_expired(value.expires, now))
			continue;
		ipcuckoo_record_get(value.record);
		err = ipcuckoo_entries_add_value(to, &entry, &value);
		if (err)
			ipcuckoo_record_put(value.record, to->mem);
		if (err && err != -EEXIST)
			return err;
		if (!(++n % COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % COPY_BATCH))
			cond_resched();
	}
	return 0;
}

/* Replace a table by the smallest that holds its entries, unless it has that size. */
static int trim_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_table *t = current_version(e)->table[kind];
	u32 nbuckets;

	if (!t)
		return 0;
	if (!t->count)
		return publish_table(e, kind, NULL, IPCUCKOO_CHARGE_TRY);
	nbuckets = ipcuckoo_table_buckets(t->count, ipcuckoo_kind_keyed(kind));
	return nbuckets < t->nbuckets ?
	       resize(e, kind, nbuckets, NULL, IPCUCKOO_CHARGE_TRY) : 0;
}

/* Likewise a hint. A set without prefixes needs none. */
static int trim_hint(struct ipcuckoo_entries *e, bool v6)
{
	u32 prefixes = ipcuckoo_entries_count(e, v6 ? IPCUCKOO_NETS6 :
					      IPCUCKOO_NETS4);
	struct ipcuckoo_hint *h = current_version(e)->hint[v6];

	if (!h)
		return 0;
	if (!prefixes)
		return publish_hint(e, v6, NULL, IPCUCKOO_CHARGE_TRY);
	return ipcuckoo_hint_size(prefixes, v6) <
	       h->area[0].size + h->area[1].size ?
	       rebuild_hint(e, v6, prefixes, IPCUCKOO_CHARGE_TRY) : 0;
}

/**
 * ipcuckoo_entries_trim() - replace tables and hints by the smallest that suffice
 * @e:		contents
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR, for it takes some memory itself; the
 * entries are untouched in any case.
 */
int ipcuckoo_entries_trim(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = current_version(e)->filter;
	int kind, err = search_begin(e);

	if (f)
		return f->count ? 0 : publish_filter(e, NULL, IPCUCKOO_CHARGE_TRY);
	e->gc_pending = 0;
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++)
		err = trim_table(e, kind);
	err = err ?: trim_hint(e, false);
	return err ?: trim_hint(e, true);
}

/**
 * ipcuckoo_entries_flush() - delete all entries, in one step
 * @e:		contents
 *
 * At the account's limit as well: what it takes is little, and gives back much.
 *
 * Context: the writer; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_entries_flush(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v = version_create(e->mem, NULL,
						    IPCUCKOO_CHARGE_ANYWAY);

	lockdep_assert_held(&e->mutex);
	if (IS_ERR(v))
		return PTR_ERR(v);
	e->generation++;
	replace_all(e, v);
	return 0;
}

/**
 * ipcuckoo_entries_replace() - swap a shadow in, in one step
 * @e:		contents
 * @shadow:	its next contents; only good for ipcuckoo_entries_exit() after
 *
 * Context: the writer of both.
 */
void ipcuckoo_entries_replace(struct ipcuckoo_entries *e,
			      struct ipcuckoo_entries *shadow)
{
	struct ipcuckoo_version *v = current_version(shadow);

	e->displaced += shadow->displaced;
	e->growths += shadow->growths;
	e->rekeys += shadow->rekeys;
	e->expired += shadow->expired;
	RCU_INIT_POINTER(shadow->version, NULL);
	e->generation++;
	replace_all(e, v);
	e->records = shadow->records;
}

/**
 * ipcuckoo_entries_count() - entries of a kind, those that have expired included
 * @e:		contents
 * @kind:	kind
 *
 * Context: the writer.
 */
u32 ipcuckoo_entries_count(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_table *t = current_version(e)->table[kind];

	return t ? t->count : 0;
}

/**
 * ipcuckoo_entries_live() - entries of a kind that have not expired
 * @e:		contents
 * @kind:	kind
 *
 * Context: the writer; may let others run.
 */
u32 ipcuckoo_entries_live(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	struct ipcuckoo_table *t = current_version(e)->table[kind];

	return t ? t->count - ipcuckoo_table_expired(t) : 0;
}

/**
 * ipcuckoo_entries_live_total() - entries of all kinds that have not expired
 * @e:		contents
 *
 * What a person or a program is told, and what limits go by.
 *
 * Context: the writer; may let others run.
 */
u32 ipcuckoo_entries_live_total(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = current_version(e)->filter;
	u32 total = f ? f->count : 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += ipcuckoo_entries_live(e, kind);
	return total;
}

/**
 * ipcuckoo_entries_nearest() - when gc is due
 * @e:		contents
 *
 * Context: the writer.
 * Return: a second since boot before which no entry expires; 0: none does.
 */
u32 ipcuckoo_entries_nearest(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = current_version(e);
	u32 nearest = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		if (v->table[kind])
			nearest = min_not_zero(nearest, v->table[kind]->nearest);
	return nearest;
}

/**
 * ipcuckoo_entries_total() - entries of all kinds, those that have expired included
 * @e:		contents
 *
 * Context: the writer.
 */
u32 ipcuckoo_entries_total(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = current_version(e)->filter;
	u32 total = f ? f->count : 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += ipcuckoo_entries_count(e, kind);
	return total;
}

/**
 * ipcuckoo_entries_slots() - places for entries
 * @e:		contents
 *
 * Context: the writer.
 * Return: how many there are; for a filter, also while it is not made.
 */
u64 ipcuckoo_entries_slots(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = current_version(e);
	u64 slots = 0;
	int i;

	if (ipcuckoo_entries_approximate(e))
		return (u64)ipcuckoo_filter_buckets(&e->shape) * IPCUCKOO_SLOTS;
	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			slots += ipcuckoo_table_slots(v->table[i]);
	return slots;
}

/**
 * ipcuckoo_entries_displaced() - entries moved to their other bucket so far
 * @e:		contents
 *
 * Context: the writer.
 */
u64 ipcuckoo_entries_displaced(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = current_version(e);
	u64 displaced = e->displaced;
	int i;

	if (v->filter)
		displaced += v->filter->displaced;
	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			displaced += v->table[i]->displaced;
	return displaced;
}

/**
 * ipcuckoo_entries_fallbacks() - look-ups that took the lock so far
 * @e:		contents
 */
u64 ipcuckoo_entries_fallbacks(struct ipcuckoo_entries *e)
{
	u64 fallbacks;

	spin_lock_bh(&e->guard.lock);
	fallbacks = e->fallbacks;
	spin_unlock_bh(&e->guard.lock);
	return fallbacks;
}

/**
 * ipcuckoo_entries_memory() - what the entries take
 * @e:		contents
 *
 * Context: the writer.
 * Return: bytes, rounding included, without *@e itself.
 */
size_t ipcuckoo_entries_memory(struct ipcuckoo_entries *e)
{
	return version_memory(current_version(e), GONE_ALL) + e->records;
}

/**
 * ipcuckoo_entries_init() - make empty contents
 * @e:		zeroed memory
 * @mem:	account for the memory of the entries
 * @live:	readers will come; false for a shadow
 *
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_entries_init(struct ipcuckoo_entries *e, struct ipcuckoo_mem *mem,
			  bool live)
{
	struct ipcuckoo_version *v = version_create(mem, NULL, IPCUCKOO_CHARGE_WAIT);

	if (IS_ERR(v))
		return PTR_ERR(v);
	ipcuckoo_guard_init(&e->guard);
	mutex_init(&e->mutex);
	e->mem = mem;
	e->live = live;
	RCU_INIT_POINTER(e->version, v);
	return 0;
}

/**
 * ipcuckoo_entries_exit() - free all entries
 * @e:		contents; no reader can begin a look-up any more, but some may
 *		not have ended one, so that *@e itself is freed by RCU
 *
 * Context: process context, nobody else knows of @e.
 */
void ipcuckoo_entries_exit(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v = rcu_access_pointer(e->version);

	ipcuckoo_search_free(e->queue);
	if (v)
		retire(v, GONE_ALL, e->records, e->live);
	mutex_destroy(&e->mutex);
}
