// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Rebuilding tables and hints
 *
 * A table that is full or nearly empty is rebuilt in process context: the entries of the
 * old table are copied to a new one, which is published in a new version. If an insertion
 * fails at a high load factor, as expected, the new table is larger. If it fails at a low
 * load factor, the new table has the same size and another key. Both are tried a bounded
 * number of times; then the set is full. The entry to be added is in the new table before
 * readers see the table.
 *
 * Shrinking a table, making a larger hint for more prefixes, and cleaning a hint of stale marks
 * are optional. If there is no memory for that, it is tried again when the number of entries has
 * halved, that of prefixes has doubled, or half as many marks are stale again, and not with each
 * entry.
 *
 * Functions that take time in proportion to the number of entries check for a fatal
 * signal. Then they return -EINTR and have changed nothing.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "rebuild.h"
#include "usage.h"
#include "version.h"

enum {
	/* Tables of this many slots fill to 0.97 unless the key is bad. If an insertion
	 * fails at EARLY (in 1/1000) or above, the table is full.
	 */
	EARLY_SLOTS	= 4096,
	EARLY		= 900,

	/* Maximum number of tables that are tried in a row, each with a new key, and the later
	 * ones with more buckets.
	 */
	ATTEMPTS	= 6,

	/* A table shrinks when deletions leave less than one in SHRINK_SHARE slots in use. */
	SHRINK_SHARE	= 8,

	/* A deletion may leave stale marks in a hint, which counts such deletions. Never
	 * rebuild a hint while the count is STALE_MIN or less. Setting STALE_MUCH in the
	 * count makes the next change rebuild the hint.
	 */
	STALE_MIN	= 1024,
	STALE_MUCH	= 1 << 30,

	/* How many slots are copied at most while packets wait. */
	COPY_SLOTS	= 64,

	/* When garbage collection removes a prefix, it clears COVER in up to 2^GC_UNCOVER words. */
	GC_UNCOVER	= 6,
};

/**
 * ipcuckoo_rebuild_alloc_queue() - allocate the memory that searches for a free slot use
 * @e:		contents
 *
 * Context: the writer; ipcuckoo_rebuild_free_queue() frees it.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_rebuild_alloc_queue(struct ipcuckoo_entries *e)
{
	if (!e->queue)
		e->queue = ipcuckoo_search_alloc(GFP_KERNEL);
	return e->queue ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_rebuild_free_queue() - free the memory that searches for a free slot use
 * @e:		contents
 *
 * The first insertion after this allocates it again.
 *
 * Context: the writer, before it releases e->mutex.
 */
void ipcuckoo_rebuild_free_queue(struct ipcuckoo_entries *e)
{
	lockdep_assert_held(&e->mutex);
	ipcuckoo_search_free(e->queue);
	e->queue = NULL;
}

/* Hints */

/**
 * ipcuckoo_rebuild_mark() - mark an entry in a hint
 * @h:		hint, or NULL
 * @entry:	entry, which is in its table already
 *
 * No barrier is needed between the entry and its marks. A reader that sees a mark but not
 * the entry probes in vain: its answer was right a moment ago. After the next bump of the
 * sequence number readers see both (LMM(bump:A)).
 *
 * Context: the writer.
 */
void ipcuckoo_rebuild_mark(struct ipcuckoo_hint *h, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key addr = ipcuckoo_entry_top(&entry->addr, entry->v6);

	if (!h)
		return;
	if (ipcuckoo_kind_is_nets(ipcuckoo_entry_kind(entry)))
		ipcuckoo_hint_add_prefix(h, &addr, entry->len);
	else
		ipcuckoo_hint_add_host(h, addr.hi);
}

/* Mark all entries of a kind in a hint that has no readers yet. */
static int fill_hint(struct ipcuckoo_hint *h, const struct ipcuckoo_table *t,
		     enum ipcuckoo_kind kind)
{
	struct ipcuckoo_entry entry;
	struct ipcuckoo_key key;
	u64 pos = 0;
	u32 n = 0;

	while (t && ipcuckoo_table_next(t, &pos, &key)) {
		entry = ipcuckoo_entry_decode(kind, &key);
		ipcuckoo_rebuild_mark(h, &entry);
		if (!(++n % IPCUCKOO_COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % IPCUCKOO_COPY_BATCH))
			cond_resched();
	}
	return 0;
}

static int rebuild_hint(struct ipcuckoo_entries *e, bool v6, u32 prefixes,
			enum ipcuckoo_charge how)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
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
		err = ipcuckoo_version_replace_hint(e, v6, h, how);
	if (err)
		ipcuckoo_hint_destroy(h);
	return err;
}

/**
 * ipcuckoo_rebuild_prepare_hint() - make a hint that is large enough for the prefixes
 * @e:		contents
 * @v6:		for IPv6
 * @more:	number of prefixes that will be added
 *
 * A hint that is too small makes look-ups slow, not wrong. So if there is a hint, it is no
 * error that a larger one cannot be made; the next attempt comes when there are twice as
 * many prefixes.
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_rebuild_prepare_hint(struct ipcuckoo_entries *e, bool v6, u32 more)
{
	struct ipcuckoo_hint *h = ipcuckoo_version_current(e)->hint[v6];
	u32 prefixes = ipcuckoo_usage_count(e, v6 ? IPCUCKOO_NETS6 :
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

/* Find the shortest prefix in @nets, of a length from @first to @last, that covers an
 * address. Return: its length, or -1 if there is none.
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

/* A short prefix was deleted: clear its COVER marks unless other prefixes need them. A
 * shorter prefix that covers it needs all of them; a longer one needs the marks of the
 * words that it covers. A signal does not end this loop: if it left a mark, addresses would
 * match that no entry covers. There are 2^16 words at most.
 */
static void uncover(struct ipcuckoo_hint *h, const struct ipcuckoo_table *nets,
		    const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_key addr = ipcuckoo_entry_top(&entry->addr, entry->v6);
	const u64 last = addr.hi | ~0ULL >> entry->len;
	u64 hi = addr.hi;
	int len;

	if (shortest(nets, &entry->addr, entry->v6, 0, entry->len - 1) >= 0)
		return;
	/* Behind the last word of the address space, @hi wraps around to 0. */
	do {
		addr.hi = hi;
		addr.lo = 0;
		if (!entry->v6)
			addr = (struct ipcuckoo_key){ .lo = hi >> 32 };
		len = shortest(nets, &addr, entry->v6, entry->len + 1,
			       ipcuckoo_hint_stride(h, hi));
		if (len < 0) {
			ipcuckoo_hint_uncover(h, hi);
			len = ipcuckoo_hint_stride(h, hi);
		}
		hi += BIT_ULL(64 - len);
		cond_resched();
	} while (hi && hi < last);
}

/**
 * ipcuckoo_rebuild_unmark() - clear the marks of an entry in a hint
 * @h:		hint, or NULL
 * @t:		table of the entry's kind, from which the entry was deleted
 * @entry:	entry
 * @gc:		called by garbage collection, which must not hold the mutex for long: leave
 *		the marks of very short prefixes; the next change will rebuild the hint
 *
 * Clears COVER only. Other marks of the entry stay, and are stale if no other entry needs
 * them: look-ups take longer, their answers are the same.
 *
 * Context: the writer; may sleep.
 */
void ipcuckoo_rebuild_unmark(struct ipcuckoo_hint *h, const struct ipcuckoo_table *t,
			     const struct ipcuckoo_entry *entry, bool gc)
{
	unsigned int stride;

	if (!h)
		return;
	h->stale++;
	stride = ipcuckoo_hint_stride(h, ipcuckoo_entry_top(&entry->addr, entry->v6).hi);
	if (!ipcuckoo_kind_is_nets(ipcuckoo_entry_kind(entry)) || entry->len > stride)
		return;
	if (gc && stride - entry->len > GC_UNCOVER)
		h->stale |= STALE_MUCH;
	else
		uncover(h, t, entry);
}

/* Tables */

/* The entry to be added, for which the old table has no room. */
struct extra {
	struct ipcuckoo_key key;
	struct ipcuckoo_value value;
};

/* Fill an empty table, which has no readers, with the entries of @from (or NULL) and with
 * @extra (or NULL).
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
		err = ipcuckoo_table_insert_absent(to, &guard, &key, &value, queue);
		if (err)
			return err;
		if (!(++n % IPCUCKOO_COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % IPCUCKOO_COPY_BATCH))
			cond_resched();
	}
	return extra ? ipcuckoo_table_insert_value(to, &guard, &extra->key,
						   &extra->value, queue) : 0;
}

/* The size of the keys in a new table. Most IPv6 prefixes are shorter than 64 bits. The low half of
 * their codes is 0, and is not stored as long as no longer prefix (@extra) is added.
 */
static enum ipcuckoo_key_size key_size(const struct ipcuckoo_table *old, enum ipcuckoo_kind kind,
				       const struct extra *extra)
{
	if (!ipcuckoo_kind_keyed(kind))
		return IPCUCKOO_KEY32;
	if (!ipcuckoo_kind_is_nets(kind) || (extra && extra->key.lo))
		return IPCUCKOO_KEY128;
	return old ? old->key_size : IPCUCKOO_KEY64;
}

/* The parallel arrays that a new table needs: those for the options of the set; and the array
 * of exceptions, if the old table has it or @extra is an exception.
 */
static u8 needed_exts(const struct ipcuckoo_entries *e, const struct ipcuckoo_table *old,
		      const struct extra *extra)
{
	bool nomatch = extra && extra->value.nomatch;

	if (old)
		nomatch |= old->exts & IPCUCKOO_EXT_NOMATCH;
	return (e->options & IPCUCKOO_O_TIMEOUT ? IPCUCKOO_EXT_EXPIRES : 0) |
	       (e->options & IPCUCKOO_RECORD_OPTIONS ? IPCUCKOO_EXT_RECORDS : 0) |
	       (nomatch ? IPCUCKOO_EXT_NOMATCH : 0);
}

/**
 * struct rehash - a new table that is to replace another
 * @nbuckets:	number of buckets; increased if the entries do not fit
 * @extra:	entry to be added, or NULL
 * @exts:	parallel arrays of the new table, IPCUCKOO_EXT_*
 * @how:	what to do if the new table exceeds the memory limit
 */
struct rehash {
	u32 nbuckets;
	const struct extra *extra;
	u8 exts;
	enum ipcuckoo_charge how;
};

/* Create a table with a new key, copy the entries of the old one to it, and publish it. On
 * error nothing has changed.
 */
static int rehash_once(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		       const struct rehash *r, u32 nbuckets)
{
	const struct ipcuckoo_table *old = ipcuckoo_version_current(e)->table[kind];
	struct ipcuckoo_table *t;
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	t = ipcuckoo_table_create_exts(e->mem, nbuckets, key_size(old, kind, r->extra),
				       r->exts, r->how);
	if (IS_ERR(t))
		return PTR_ERR(t);
	err = fill_table(t, old, r->extra, e->queue);
	if (!err)
		err = ipcuckoo_version_replace_table(e, kind, t, r->how);
	if (err)
		ipcuckoo_table_destroy(t);
	return err;
}

/* @nbuckets after it has grown by 1/@share, and by two at least: small tables grow, too. */
static u32 enlarged(u32 nbuckets, u32 share)
{
	return min_t(u32, nbuckets + max(nbuckets / share & ~1U, 2U), IPCUCKOO_BUCKETS_MAX);
}

static int rehash(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		  const struct rehash *r)
{
	u32 nbuckets = r->nbuckets;
	int attempt, err = -ENOSPC;

	for (attempt = 0; attempt < ATTEMPTS && err == -ENOSPC; attempt++) {
		err = rehash_once(e, kind, r, nbuckets);
		if (attempt)
			nbuckets = enlarged(nbuckets, 16);
	}
	return err;
}

static int resize(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
		  u32 nbuckets, const struct extra *extra, enum ipcuckoo_charge how)
{
	const struct rehash r = {
		.nbuckets = nbuckets,
		.extra = extra,
		.exts = needed_exts(e, ipcuckoo_version_current(e)->table[kind], extra),
		.how = how,
	};

	return rehash(e, kind, &r);
}

/* The number of buckets of a table for @entries, which will replace @t (NULL if there is none). */
static u32 buckets(const struct ipcuckoo_entries *e, const struct ipcuckoo_table *t,
		   enum ipcuckoo_kind kind, const struct extra *extra, u64 entries)
{
	return ipcuckoo_table_buckets(entries, key_size(t, kind, extra), needed_exts(e, t, extra));
}

/* The number of buckets of @t (NULL if there is no table yet) after it has grown by 1/@share. */
static u32 grown(const struct ipcuckoo_entries *e, const struct ipcuckoo_table *t,
		 enum ipcuckoo_kind kind, const struct extra *extra, u32 share)
{
	u32 count = t ? t->count : 0;
	u32 nbuckets = buckets(e, t, kind, extra, (u64)count + count / share + 1);

	if (t && nbuckets <= t->nbuckets)
		nbuckets = enlarged(t->nbuckets, share);
	return nbuckets;
}

static void has_grown(struct ipcuckoo_entries *e)
{
	e->growths++;
	e->loose = true;
}

/**
 * ipcuckoo_rebuild_grow() - insert an entry for which the table has no free slot
 * @e:		contents
 * @kind:	kind of the entry, of which there may be no table yet
 * @key:	its code
 * @value:	its value
 *
 * Replaces the table by one that is twice as large, or if there is no memory for that, larger by a
 * quarter; or, if the insertion failed at a low load factor, by one of the same size with
 * another key; or, if the keys of the table are too short for the entry, by one with longer keys.
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR; then nothing has changed.
 */
int ipcuckoo_rebuild_grow(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
			  const struct ipcuckoo_key *key, const struct ipcuckoo_value *value)
{
	const struct extra extra = { .key = *key, .value = *value };
	struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	bool longer = t && !ipcuckoo_table_takes(t, key);
	bool early = t && !longer && ipcuckoo_table_slots(t) >= EARLY_SLOTS &&
		     t->count * 1000ULL < ipcuckoo_table_slots(t) * EARLY;
	u32 least;
	int err;

	if (longer) {
		least = buckets(e, t, kind, &extra, t->count + 1ULL);
		return resize(e, kind, max(t->nbuckets, least), &extra, IPCUCKOO_CHARGE_WAIT);
	}
	if (t && !early && t->nbuckets == IPCUCKOO_BUCKETS_MAX)
		return -ENOSPC;
	if (early) {
		err = resize(e, kind, t->nbuckets, &extra, IPCUCKOO_CHARGE_WAIT);
		if (!err)
			e->rekeys++;
		return err;
	}
	err = resize(e, kind, grown(e, t, kind, &extra, 1), &extra, IPCUCKOO_CHARGE_WAIT);
	if (err == -ENOMEM || err == -EDQUOT)
		err = resize(e, kind, grown(e, t, kind, &extra, 4), &extra, IPCUCKOO_CHARGE_WAIT);
	if (!err && t)
		has_grown(e);
	return err;
}

/**
 * ipcuckoo_rebuild_is_full() - would ipcuckoo_rebuild_expect() grow a table?
 * @e:		exact contents
 * @kind:	kind of its entries
 * @more:	how many additions wait
 *
 * Context: the writer, a process or a packet.
 */
bool ipcuckoo_rebuild_is_full(const struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	u64 slots = t ? ipcuckoo_table_slots(t) : 0;
	u64 full = e->loose ? slots / 4 * 3 : div_u64(slots * IPCUCKOO_LOAD_LIMIT, 1000);

	return (t ? t->count : 0) + (u64)more > full;
}

/* The number of entries that a table was made for, or that it has if these are more. */
static u64 room(const struct ipcuckoo_table *t)
{
	return max_t(u64, t->count,
		     div_u64(ipcuckoo_table_slots(t) * IPCUCKOO_LOAD_TARGET, 1000));
}

/**
 * ipcuckoo_rebuild_with_exceptions() - replace a table by one that can have exceptions
 * @e:		contents
 * @kind:	kind of entries, of which there may be no table yet
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR; then nothing has changed.
 */
int ipcuckoo_rebuild_with_exceptions(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct extra example = { .value.nomatch = true };
	struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	const struct rehash r = {
		/* A narrow table is replaced by one that is not: it needs more buckets. */
		.nbuckets = t && !t->narrow ? t->nbuckets :
			    buckets(e, t, kind, &example, t ? room(t) : 1),
		.exts = needed_exts(e, t, &example),
		.how = IPCUCKOO_CHARGE_WAIT,
	};

	return ipcuckoo_rebuild_alloc_queue(e) ?: rehash(e, kind, &r);
}

/* Will a table be nearly empty even after @more additions, and may it be shrunk? */
static bool sparse(const struct ipcuckoo_table *t, u32 more)
{
	return ipcuckoo_table_slots(t) > IPCUCKOO_SHRINK_SLOTS && t->count < t->shrink_below &&
	       (u64)t->count + more < ipcuckoo_table_slots(t) / SHRINK_SHARE;
}

/* Has a hint (or NULL) many stale marks? @count: entries of the kind whose deletion left them. */
static bool is_stale(const struct ipcuckoo_hint *h, u32 count)
{
	return h && h->stale > STALE_MIN + count;
}

/* Replace a table by a smaller one. If there is no memory for it, the larger table stays, and
 * the next attempt comes when only half as many entries are left, which need half as much
 * memory.
 */
static void shrink(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	int err = ipcuckoo_rebuild_alloc_queue(e);

	if (!err)
		err = resize(e, kind, buckets(e, t, kind, NULL, t->count * 2ULL + more),
			     NULL, IPCUCKOO_CHARGE_TRY);
	if (!err)
		e->growths++;
	else if (err != -EINTR)
		t->shrink_below = t->count / 2;
}

/**
 * ipcuckoo_rebuild_maybe_shrink() - after deletions, shrink a table and clean a hint
 * @e:		contents
 * @kind:	kind of the entries that were deleted
 * @more:	entries that will be added
 *
 * Replaces the table if it is nearly empty, and the hint if it has many stale marks. If
 * that fails, the set takes more memory, or look-ups take longer, than necessary; their
 * answers are the same.
 *
 * Context: the writer; may sleep.
 */
void ipcuckoo_rebuild_maybe_shrink(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				   u32 more)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	bool v6 = ipcuckoo_kind_keyed(kind);
	struct ipcuckoo_hint *h = ipcuckoo_version_current(e)->hint[v6];
	u32 count = t->count;
	int err;

	e->gc_pending &= ~BIT(kind);
	if (sparse(t, more))
		shrink(e, kind, more);
	if (!is_stale(h, count))
		return;
	err = rebuild_hint(e, v6, ipcuckoo_usage_count(e, v6 ? IPCUCKOO_NETS6 : IPCUCKOO_NETS4),
			   IPCUCKOO_CHARGE_TRY);
	if (err && err != -EINTR)
		h->stale = (STALE_MIN + count) / 2;
}

static int reserve_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	u64 count = t ? t->count : 0, want = count + more;
	u32 nbuckets;
	int err;

	if (t && want * 1000 <= ipcuckoo_table_slots(t) * IPCUCKOO_LOAD_LIMIT)
		return 0;
	if (t)
		want = max(want, count + count / 4);
	nbuckets = buckets(e, t, kind, NULL, want);
	if (t && nbuckets <= t->nbuckets)
		return 0;
	err = resize(e, kind, nbuckets, NULL, IPCUCKOO_CHARGE_WAIT);
	if (!err && t)
		has_grown(e);
	return err;
}

/**
 * ipcuckoo_rebuild_is_due() - would ipcuckoo_rebuild_maybe_shrink() replace anything?
 * @e:		contents
 * @kind:	kind of entries of which there is a table
 *
 * Context: the writer, a process or a packet.
 */
bool ipcuckoo_rebuild_is_due(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);

	return sparse(v->table[kind], 0) ||
	       is_stale(v->hint[ipcuckoo_kind_keyed(kind)], v->table[kind]->count);
}

/**
 * ipcuckoo_rebuild_reserve() - grow a table before entries are added
 * @e:		exact contents
 * @kind:	kind of the entries
 * @more:	how many will be added
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_rebuild_reserve(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more)
{
	int err = ipcuckoo_rebuild_alloc_queue(e);

	if (!err && e->gc_pending & BIT(kind))
		ipcuckoo_rebuild_maybe_shrink(e, kind, more);
	if (!err && ipcuckoo_kind_is_nets(kind))
		err = ipcuckoo_rebuild_prepare_hint(e, ipcuckoo_kind_keyed(kind), more);
	return err ?: reserve_table(e, kind, more);
}

/* Copy a table, and publish the copy, while packets change the table. Only the first and the last
 * step keep them away.
 */
static void copy_beside_packets(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				struct ipcuckoo_copy *copy, struct ipcuckoo_version *v)
{
	struct ipcuckoo_table *old = v->table[kind];
	bool more = true;

	spin_lock_bh(&e->packets);
	old->copy = copy;
	e->locked = false;
	spin_unlock_bh(&e->packets);
	while (more) {
		cond_resched();
		spin_lock_bh(&e->packets);
		ipcuckoo_table_copy(old, COPY_SLOTS);
		more = !copy->failed && copy->done < ipcuckoo_table_slots(old);
		if (!more) {
			old->copy = NULL;
			e->locked = true;
			if (WARN_ON_ONCE(!copy->failed && copy->to->count != old->count))
				copy->failed = true;
			if (!copy->failed)
				ipcuckoo_version_publish_table(e, kind, v, copy->to);
		}
		spin_unlock_bh(&e->packets);
	}
}

/* Replace a table by a larger one, while packets change the contents. */
static int grow_beside_packets(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 nbuckets)
{
	static struct lock_class_key guard_key;
	struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	const struct ipcuckoo_table *old = v->table[kind];
	struct ipcuckoo_copy copy = { .queue = e->queue };

	copy.to = ipcuckoo_table_create_exts(e->mem, nbuckets, key_size(old, kind, NULL),
					     needed_exts(e, old, NULL), IPCUCKOO_CHARGE_TRY);
	if (IS_ERR(copy.to))
		return PTR_ERR(copy.to);
	v = ipcuckoo_version_create(e->mem, v, IPCUCKOO_CHARGE_TRY);
	if (IS_ERR(v)) {
		ipcuckoo_table_destroy(copy.to);
		return PTR_ERR(v);
	}
	ipcuckoo_guard_init(&copy.guard);
	/* Entries move in the copy while they move in the table. */
	lockdep_set_class(&copy.guard.lock, &guard_key);
	copy_beside_packets(e, kind, &copy, v);
	if (!copy.failed)
		return 0;
	ipcuckoo_table_destroy(copy.to);
	ipcuckoo_object_free(v, e->mem, sizeof(*v));
	return -ENOSPC;
}

/**
 * ipcuckoo_rebuild_expect() - grow a table ahead of the additions of packets
 * @e:		exact contents
 * @kind:	kind of the entries, of which there may be no table yet
 * @more:	how many additions wait
 * @limit:	how many entries there can be; 0: no limit
 *
 * Packets that find no room leave their additions to a process, and more come until it has grown
 * the table. So a table that has no room for those that wait gets room for several times as many,
 * and one that has grown since it was trimmed grows again before it is full. Packets change the
 * contents meanwhile, so the caller has to look up again what it knew about entries.
 *
 * Context: a process, as the writer of a set of ip_set; may sleep. Without memory for the larger
 * table, nothing changes.
 */
void ipcuckoo_rebuild_expect(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more,
			     u32 limit)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	u64 want = 2ULL * ipcuckoo_usage_count(e, kind) + 4ULL * more;
	u32 nbuckets;
	int err;

	if (!ipcuckoo_rebuild_is_full(e, kind, more) || ipcuckoo_rebuild_alloc_queue(e))
		return;
	nbuckets = buckets(e, t, kind, NULL, limit ? min_t(u64, want, limit) : want);
	if (t && nbuckets <= t->nbuckets)
		return;
	err = t ? grow_beside_packets(e, kind, nbuckets) :
		  resize(e, kind, nbuckets, NULL, IPCUCKOO_CHARGE_TRY);
	if (!err && t)
		has_grown(e);
}

/* Replace a table by the smallest that holds its entries, unless it has that size. */
static int trim_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	u32 nbuckets;

	if (!t)
		return 0;
	if (!t->count)
		return ipcuckoo_version_replace_table(e, kind, NULL, IPCUCKOO_CHARGE_TRY);
	nbuckets = buckets(e, t, kind, NULL, t->count);
	return nbuckets < t->nbuckets ?
	       resize(e, kind, nbuckets, NULL, IPCUCKOO_CHARGE_TRY) : 0;
}

/* Replace a hint by the smallest that suffices. A set without prefixes needs no hint. */
static int trim_hint(struct ipcuckoo_entries *e, bool v6)
{
	u32 prefixes = ipcuckoo_usage_count(e, v6 ? IPCUCKOO_NETS6 :
					      IPCUCKOO_NETS4);
	struct ipcuckoo_hint *h = ipcuckoo_version_current(e)->hint[v6];

	if (!h)
		return 0;
	if (!prefixes)
		return ipcuckoo_version_replace_hint(e, v6, NULL, IPCUCKOO_CHARGE_TRY);
	return ipcuckoo_hint_size(prefixes, v6) <
	       h->area[0].size + h->area[1].size ?
	       rebuild_hint(e, v6, prefixes, IPCUCKOO_CHARGE_TRY) : 0;
}

/**
 * ipcuckoo_rebuild_trim() - replace tables and hints by the smallest that suffice
 * @e:		exact contents
 *
 * Hints come first, because garbage collection leaves COVER marks of some short prefixes that have
 * expired. A longest-prefix match does not rely on COVER. But once trimming has freed all tables
 * with deadlines, look-ups do rely on it, and such a mark would be a wrong answer.
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR. It can fail because it needs memory
 * itself; the entries are the same in any case.
 */
int ipcuckoo_rebuild_trim(struct ipcuckoo_entries *e)
{
	int kind, err = ipcuckoo_rebuild_alloc_queue(e);

	err = err ?: trim_hint(e, false);
	err = err ?: trim_hint(e, true);
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++)
		err = trim_table(e, kind);
	if (!err) {
		e->gc_pending = 0;
		e->loose = false;
	}
	return err;
}
