// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: The contents of a set
 *
 * Hosts and prefixes of IPv4 and IPv6 are in four tables (table.c). A prefix is stored
 * under a code that no other prefix has (entry.h). Hints (hint.c) tell readers which of
 * these tables, and which prefix lengths, they must probe.
 *
 * The contents of an approximate set are one filter (filter.c) instead. The filter is
 * allocated when the set is created, or before the first entry is added, and never
 * changes its size. It holds hosts only.
 *
 * lookup.c explains how a look-up uses tables and hints, and why its answer is right for
 * one moment. version.c replaces tables, rebuild.c makes new ones, gc.c removes expired
 * entries.
 *
 * Signals
 * -------
 *
 * Functions that take time in proportion to the number of entries check for a fatal
 * signal. Then they return -EINTR and have changed nothing, or they leave the rest of
 * their work to the next change.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "entries.h"
#include "rebuild.h"
#include "usage.h"
#include "version.h"

/* Approximate contents */

static struct ipcuckoo_key filter_key(const struct ipcuckoo_entry *entry)
{
	return entry->v6 ? entry->addr : ipcuckoo_filter_key4(entry->addr.lo);
}

static int prepare_filter(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_filter *f;
	int err;

	if (ipcuckoo_version_current(e)->filter)
		return 0;
	f = ipcuckoo_filter_create(e->mem, &e->shape);
	if (IS_ERR(f))
		return PTR_ERR(f);
	err = ipcuckoo_version_replace_filter(e, f, IPCUCKOO_CHARGE_WAIT);
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
		err = ipcuckoo_filter_insert(ipcuckoo_version_current(e)->filter,
					     &e->guard, &key, e->queue);
	if (!err)
		e->generation++;
	return err;
}

static int filter_del(struct ipcuckoo_entries *e,
		      const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_filter *f = ipcuckoo_version_current(e)->filter;
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

	if (!from || err)
		return err;
	return ipcuckoo_filter_copy(ipcuckoo_version_current(to)->filter, from);
}

/* Exact contents, and functions for both */

/* Bump the sequence number before or after a change in place. */
static void bump(struct ipcuckoo_entries *e)
{
	spin_lock_bh(&e->guard.lock);
	ipcuckoo_guard_bump(&e->guard);
	spin_unlock_bh(&e->guard.lock);
}

/* Replace the value of an entry. Two kinds of change need bumps of the sequence number:
 *
 * - An entry becomes an exception, or stops being one: then the answer changes for
 *   addresses that shorter prefixes cover too. A reader must not combine the new value
 *   with older prefixes, or the old value with newer prefixes;
 *   ipcuckoo_entries_add_value() explains this.
 * - An expired entry is added again. No reader may see the old value with the new
 *   deadline, which would make the old value valid again. So the deadline is written
 *   last, after a bump: a reader that sees the new deadline has an answer only if it read
 *   the rest of the value after that bump.
 */
static void change_value(struct ipcuckoo_entries *e, struct ipcuckoo_table *t,
			 u64 slot, const struct ipcuckoo_value *value, u32 now)
{
	struct ipcuckoo_value old = ipcuckoo_table_value(t, slot), next = *value;

	/* The number of expired entries may count this one. To count them again takes a pass. */
	t->expired += ipcuckoo_expired(value->expires, t->expired_at);
	t->expired -= ipcuckoo_expired(old.expires, t->expired_at);
	e->generation++;
	if (!value->nomatch && !old.nomatch &&
	    !ipcuckoo_expired(old.expires, now)) {
		ipcuckoo_table_set_value(t, slot, value);
		return;
	}
	next.expires = old.expires;
	bump(e);
	ipcuckoo_table_set_value(t, slot, &next);
	bump(e);
	ipcuckoo_table_set_value(t, slot, value);
	bump(e);
}

/* Add an entry that has expired but is still in the table. */
static void revive(struct ipcuckoo_entries *e, struct ipcuckoo_table *t, u64 slot,
		   const struct ipcuckoo_value *value, u32 now)
{
	struct ipcuckoo_record *old = ipcuckoo_table_value(t, slot).record;

	e->records += ipcuckoo_record_memory(value->record);
	e->records -= ipcuckoo_record_memory(old);
	change_value(e, t, slot, value, now);
	ipcuckoo_record_put(old, e->mem);
}

static bool has_expired(const struct ipcuckoo_table *t, u64 slot, u32 now)
{
	return t->exts & IPCUCKOO_EXT_EXPIRES && ipcuckoo_expired(t->expires[slot], now);
}

/**
 * ipcuckoo_entries_has_exts() - are extensions stored for entries?
 * @e:		contents
 *
 * Context: the writer.
 * Return: true also if a table has room for exceptions. Then adding an entry again can
 * change it: from an exception to an ordinary entry.
 */
bool ipcuckoo_entries_has_exts(struct ipcuckoo_entries *e)
{
	return e->options || ipcuckoo_version_current(e)->lpm;
}

/**
 * ipcuckoo_entries_prepare_exceptions() - prepare a table for the first exception
 * @e:		exact contents
 * @kind:	kind of the exception
 *
 * Makes a table, or an array for exceptions beside the table, and publishes a version with
 * lpm set, before there is an exception. This order matters: a short exception sets COVER
 * in the hint, which versions share. A reader with a version without lpm takes COVER for
 * a match.
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR. After success, marking an entry of this
 * kind as an exception needs no memory.
 */
int ipcuckoo_entries_prepare_exceptions(struct ipcuckoo_entries *e,
					enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];

	if (t && t->exts & IPCUCKOO_EXT_NOMATCH)
		return 0;
	return ipcuckoo_rebuild_with_exceptions(e, kind);
}

/* Shrink tables and clean hints that garbage collection left, as it must not hold the mutex
 * for so long.
 */
static void finish_gc(struct ipcuckoo_entries *e)
{
	while (e->gc_pending)
		ipcuckoo_rebuild_maybe_shrink(e, __ffs(e->gc_pending), 0);
}

/* Get the value of an entry. Return: false if it is not in the table, or has expired. */
static bool entry_value(const struct ipcuckoo_table *t, const struct ipcuckoo_key *key,
			struct ipcuckoo_value *value)
{
	u64 slot;

	if (!t || !ipcuckoo_table_find(t, key, &slot))
		return false;
	*value = ipcuckoo_table_value(t, slot);
	return !t->exts || !ipcuckoo_expired(value->expires, ipcuckoo_now());
}

static void count_added(struct ipcuckoo_entries *e, const struct ipcuckoo_value *value)
{
	e->records += ipcuckoo_record_memory(value->record);
	e->generation++;
}

static int add_exact(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
		     const struct ipcuckoo_key *key, const struct ipcuckoo_value *value)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];
	u32 now = ipcuckoo_now();
	u64 slot;
	int err;

	/* Without timeouts, the insertion below is enough to find the entry. */
	if (t && e->options & IPCUCKOO_O_TIMEOUT &&
	    ipcuckoo_table_find(t, key, &slot)) {
		if (!has_expired(t, slot, now))
			return -EEXIST;
		revive(e, t, slot, value, now);
		return 0;
	}
	/* Readers ask for a prefix length only if it is counted, so this comes first. */
	ipcuckoo_usage_count_len(e, entry->len, 1);
	err = t ? ipcuckoo_table_insert_value(t, &e->guard, key, value, e->queue) : -ENOSPC;
	if (err == -ENOSPC)
		err = ipcuckoo_rebuild_grow(e, kind, key, value);
	if (err) {
		ipcuckoo_usage_count_len(e, entry->len, -1);
		return err;
	}
	count_added(e, value);
	return 0;
}

/**
 * ipcuckoo_entries_add_value() - add an entry
 * @e:		contents
 * @entry:	entry, host bits zero
 * @value:	its value; on success @e owns the record in it
 *
 * The longest entry that covers an address decides about it. So the sequence number
 * is bumped before an exception is added, and after it. Without the bump after it, a
 * reader could miss the exception and see a shorter prefix that was added later: the
 * address would match, though at no moment it should. Without the bump before it, a
 * reader could see the exception and miss a longer prefix that was added earlier:
 * the address would not match, though it should.
 *
 * Context: the writer; may sleep.
 * Return: 0, or an error, and then no entry was added: -EEXIST if it is there, -ENOSPC,
 * -ENOMEM, -EDQUOT, -EINTR, or an error of ipcuckoo_filter_insert().
 */
int ipcuckoo_entries_add_value(struct ipcuckoo_entries *e,
			       const struct ipcuckoo_entry *entry,
			       struct ipcuckoo_value *value)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	int err;

	lockdep_assert_held(&e->mutex);
	finish_gc(e);
	err = ipcuckoo_rebuild_alloc_queue(e);
	if (!err && ipcuckoo_kind_is_nets(kind))
		err = ipcuckoo_rebuild_prepare_hint(e, entry->v6, 1);
	if (!err && value->nomatch)
		err = ipcuckoo_entries_prepare_exceptions(e, kind);
	if (err)
		return err;
	if (ipcuckoo_entries_approximate(e))
		return filter_add(e, entry);
	if (value->nomatch)
		bump(e);
	err = add_exact(e, entry, &key, value);
	if (err)
		return err;
	ipcuckoo_rebuild_mark(ipcuckoo_version_current(e)->hint[entry->v6], entry);
	if (value->nomatch)
		bump(e);
	return 0;
}

/* Find the slot of an entry, expired or not. */
static bool find_slot(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
		      struct ipcuckoo_table **t, u64 *slot)
{
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);

	*t = ipcuckoo_version_current(e)->table[ipcuckoo_entry_kind(entry)];
	return *t && ipcuckoo_table_find(*t, &key, slot);
}

/**
 * ipcuckoo_entries_update() - update an entry that exists and is added again
 * @e:		contents
 * @entry:	entry, host bits zero
 * @fresh:	value made from the request; the caller must put its record afterwards
 * @attrs:	attributes of the entry in the request
 *
 * Context: the writer; may sleep.
 * Return: 0, or an error, and then nothing has changed: -ENOENT if there is no such entry;
 * -ENOSPC, -ENOMEM, -EDQUOT or -EINTR, only if this is the first exception of its kind
 * (ipcuckoo_entries_prepare_exceptions()).
 */
int ipcuckoo_entries_update(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *fresh,
			    const struct ipcuckoo_entry_attrs *attrs)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_value value;
	struct ipcuckoo_table *t;
	u64 slot;
	int err;

	lockdep_assert_held(&e->mutex);
	err = fresh->nomatch ? ipcuckoo_entries_prepare_exceptions(e, kind) : 0;
	if (err)
		return err;
	if (!find_slot(e, entry, &t, &slot))
		return -ENOENT;
	value = ipcuckoo_table_value(t, slot);
	e->records -= ipcuckoo_record_memory(value.record);
	ipcuckoo_value_update(&value, fresh, attrs, e->live);
	e->records += ipcuckoo_record_memory(value.record);
	change_value(e, t, slot, &value, ipcuckoo_now());
	return 0;
}

/* Remove the entry in a slot: see ipcuckoo_entries_remove(). */
static void remove_at(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry, u64 slot,
		      bool gc)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_table *t = v->table[kind];
	struct ipcuckoo_record *record = ipcuckoo_table_value(t, slot).record;

	ipcuckoo_table_delete_at(t, &e->guard, slot);
	e->records -= ipcuckoo_record_memory(record);
	ipcuckoo_record_put(record, e->mem);
	ipcuckoo_usage_count_len(e, entry->len, -1);
	ipcuckoo_rebuild_unmark(v->hint[entry->v6], t, entry, gc);
	if (gc)
		e->gc_pending |= BIT(kind);
	else
		ipcuckoo_rebuild_maybe_shrink(e, kind, 0);
}

/**
 * ipcuckoo_entries_remove() - remove an entry, whether it has expired or not
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @gc:		called by garbage collection, which must not hold the mutex for long: leave
 *		shrinking the table and cleaning most of the hint to the next change
 *
 * Context: the writer; may sleep.
 * Return: 0, or -ENOENT.
 */
int ipcuckoo_entries_remove(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			    bool gc)
{
	struct ipcuckoo_table *t;
	u64 slot;

	if (!find_slot(e, entry, &t, &slot))
		return -ENOENT;
	remove_at(e, entry, slot, gc);
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
	err = ipcuckoo_entries_remove(e, entry, false);
	if (!err)
		e->generation++;
	return err;
}

/* Changes in place
 *
 * A packet cannot sleep, so it adds to the tables and hints that are there, and deletes from them.
 * It leaves alone what a process has to replace, and the marks of short prefixes, which are many.
 */

/* Can a hint take the marks of a prefix, or lose them, in a moment? */
static bool is_quick(const struct ipcuckoo_hint *h, const struct ipcuckoo_entry *entry)
{
	return !h || !ipcuckoo_kind_is_nets(ipcuckoo_entry_kind(entry)) ||
	       entry->len > ipcuckoo_hint_stride(h, ipcuckoo_entry_top(&entry->addr,
								       entry->v6).hi);
}

/* Is there a hint that has room for one more prefix? Hosts need no room. */
static bool has_hint(const struct ipcuckoo_version *v, const struct ipcuckoo_entry *entry)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	const struct ipcuckoo_hint *h = v->hint[entry->v6];

	if (!ipcuckoo_kind_is_nets(kind))
		return true;
	return h && v->table[kind] && v->table[kind]->count < h->capacity;
}

/* After a change in place: would ipcuckoo_entries_tidy() do anything for entries of this kind? */
static int wants_process(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, bool added)
{
	return added ? ipcuckoo_rebuild_is_full(e, kind, 0) : ipcuckoo_rebuild_is_due(e, kind);
}

/**
 * ipcuckoo_entries_find_in_place() - is this entry in the contents, for a packet
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @now:	the second
 *
 * Context: the writer, a process or a packet.
 * Return: 0 if it is; -ENOENT, or -ETIME if it is there and has expired.
 */
int ipcuckoo_entries_find_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
				   u32 now)
{
	struct ipcuckoo_table *t;
	u64 slot;

	if (!find_slot(e, entry, &t, &slot))
		return -ENOENT;
	return has_expired(t, slot, now) ? -ETIME : 0;
}

static int insert_in_place(struct ipcuckoo_entries *e, struct ipcuckoo_table *t,
			   const struct ipcuckoo_key *key, const struct ipcuckoo_value *value)
{
	struct ipcuckoo_search_node *queue;
	int err;

	/* Most entries need no search. */
	err = ipcuckoo_table_insert_absent(t, &e->guard, key, value, NULL);
	if (!err)
		return 0;
	queue = ipcuckoo_search_alloc(GFP_ATOMIC | __GFP_NOWARN);
	err = ipcuckoo_table_insert_absent(t, &e->guard, key, value, queue);
	ipcuckoo_search_free(queue);
	return err;
}

/**
 * ipcuckoo_entries_add_in_place() - add an entry that is not there, if there is room for it
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @value:	its value, no exception; on success @e owns the record in it
 *
 * Context: the writer, a process or a packet.
 * Return: 0; 1 likewise, and a process should call ipcuckoo_entries_tidy() soon; or -EAGAIN if
 * ipcuckoo_entries_add_value() has to add it.
 */
int ipcuckoo_entries_add_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
				  const struct ipcuckoo_value *value)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);
	struct ipcuckoo_table *t = v->table[ipcuckoo_entry_kind(entry)];

	if (!t || !has_hint(v, entry) || !is_quick(v->hint[entry->v6], entry))
		return -EAGAIN;
	ipcuckoo_usage_count_len(e, entry->len, 1);
	if (insert_in_place(e, t, &key, value)) {
		ipcuckoo_usage_count_len(e, entry->len, -1);
		return -EAGAIN;
	}
	count_added(e, value);
	ipcuckoo_rebuild_mark(v->hint[entry->v6], entry);
	return wants_process(e, ipcuckoo_entry_kind(entry), true);
}

/**
 * ipcuckoo_entries_revive_in_place() - add an entry that is there, but has expired
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @value:	its value; @e owns the record in it
 * @now:	the second
 *
 * Context: the writer, a process or a packet.
 */
void ipcuckoo_entries_revive_in_place(struct ipcuckoo_entries *e,
				      const struct ipcuckoo_entry *entry,
				      const struct ipcuckoo_value *value, u32 now)
{
	struct ipcuckoo_table *t;
	u64 slot;

	if (find_slot(e, entry, &t, &slot))
		revive(e, t, slot, value, now);
}

/**
 * ipcuckoo_entries_update_in_place() - update an entry that a packet adds again
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @expires:	its new deadline
 * @attrs:	its other attributes: no comment, and no exception
 * @comment:	the entry keeps its comment
 * @now:	the second
 *
 * Context: the writer, a process or a packet.
 * Return: 0; -ENOENT, or -ETIME if it has expired; or -EAGAIN if a shadow shares its record, so
 * that ipcuckoo_entries_update() has to make another one.
 */
int ipcuckoo_entries_update_in_place(struct ipcuckoo_entries *e,
				     const struct ipcuckoo_entry *entry, u32 expires,
				     const struct ipcuckoo_entry_attrs *attrs, bool comment,
				     u32 now)
{
	struct ipcuckoo_record *record;
	struct ipcuckoo_value value;
	struct ipcuckoo_table *t;
	u64 slot;

	if (!find_slot(e, entry, &t, &slot))
		return -ENOENT;
	if (has_expired(t, slot, now))
		return -ETIME;
	if (!t->exts)
		return 0;
	if (t->exts == IPCUCKOO_EXT_EXPIRES) {
		ipcuckoo_table_extend(t, slot, expires);
		e->generation++;
		return 0;
	}
	value = ipcuckoo_table_value(t, slot);
	record = value.record;
	e->records -= ipcuckoo_record_memory(record);
	if (!ipcuckoo_value_refresh(&value, expires, attrs, comment, e->mem)) {
		e->records += ipcuckoo_record_memory(record);
		return -EAGAIN;
	}
	e->records += ipcuckoo_record_memory(record);
	change_value(e, t, slot, &value, now);
	return 0;
}

/**
 * ipcuckoo_entries_del_in_place() - delete an entry without sleeping
 * @e:		exact contents
 * @entry:	entry, host bits zero
 *
 * Leaves shrinking the table and cleaning the hint to ipcuckoo_entries_tidy().
 *
 * Context: the writer, a process or a packet.
 * Return: 0; 1 likewise, and a process should call ipcuckoo_entries_tidy() soon; -ENOENT if the
 * entry is not there, or has expired; or -EAGAIN if ipcuckoo_entries_del() has to delete it.
 */
int ipcuckoo_entries_del_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_table *t;
	u64 slot;

	if (!find_slot(e, entry, &t, &slot) || has_expired(t, slot, ipcuckoo_now()))
		return -ENOENT;
	if (!is_quick(ipcuckoo_version_current(e)->hint[entry->v6], entry))
		return -EAGAIN;
	remove_at(e, entry, slot, true);
	e->generation++;
	return wants_process(e, ipcuckoo_entry_kind(entry), false);
}

/**
 * ipcuckoo_entries_tidy() - resize tables, and clean hints, after changes in place
 * @e:		exact contents
 * @limit:	how many entries there can be; 0: no limit
 *
 * Context: the writer; may sleep.
 */
void ipcuckoo_entries_tidy(struct ipcuckoo_entries *e, u32 limit)
{
	int kind;

	finish_gc(e);
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		if (ipcuckoo_usage_count(e, kind))
			ipcuckoo_rebuild_expect(e, kind, 0, limit);
}

/**
 * ipcuckoo_entries_expect() - make room before changes of packets that have waited are applied
 * @e:		exact contents
 * @entry:	one of the entries
 * @more:	how many changes wait
 * @limit:	how many entries there can be; 0: no limit
 *
 * Context: the writer; may sleep.
 */
void ipcuckoo_entries_expect(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			     u32 more, u32 limit)
{
	ipcuckoo_rebuild_expect(e, ipcuckoo_entry_kind(entry), more, limit);
}

/**
 * ipcuckoo_entries_has() - is this entry in the contents?
 * @e:		contents
 * @entry:	entry, host bits zero
 *
 * A prefix that covers @entry does not count.
 *
 * Context: the writer.
 * Return: true if it is there and has not expired; in approximate contents, true for some
 * non-members too.
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
 * ipcuckoo_entries_get() - get the value of an entry
 * @e:		exact contents
 * @entry:	entry, host bits zero
 * @value:	set to its value; @e still owns the record in it
 *
 * Context: the writer.
 * Return: false if the entry is not there, or has expired.
 */
bool ipcuckoo_entries_get(struct ipcuckoo_entries *e,
			  const struct ipcuckoo_entry *entry,
			  struct ipcuckoo_value *value)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_key key = ipcuckoo_entry_code(&entry->addr, entry->v6, entry->len);

	return entry_value(ipcuckoo_version_current(e)->table[kind], &key, value);
}

/**
 * ipcuckoo_entries_copies() - count the fingerprints of an entry in a filter
 * @e:		approximate contents
 * @entry:	host
 *
 * Context: the writer.
 * Return: the number of copies of @entry at most; other entries may have added them.
 */
unsigned int ipcuckoo_entries_copies(struct ipcuckoo_entries *e,
				     const struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_filter *f = ipcuckoo_version_current(e)->filter;
	struct ipcuckoo_key key = filter_key(entry);

	return f ? ipcuckoo_filter_copies(f, &key) : 0;
}

/**
 * ipcuckoo_entries_find() - find the longest entry that covers an address
 * @e:		contents
 * @entry:	a host; or a prefix, and then only an equal entry is found
 * @len:	set to the length of the entry, or IPCUCKOO_LEN_NONE if there is none
 *
 * Context: the writer.
 * Return: true if there is one and it is no exception.
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

/**
 * ipcuckoo_entries_next_value() - the next entry, in no particular order
 * @e:		contents
 * @pos:	position to continue at, which is advanced; 0 to begin. Invalid once
 *		@e->layout has changed
 * @entry:	set to the entry
 * @value:	set to its value; @e still owns the record in it
 *
 * Returns expired entries that were not removed yet, too.
 *
 * Context: the writer.
 * Return: false at the end.
 */
bool ipcuckoo_entries_next_value(struct ipcuckoo_entries *e, u64 *pos,
				 struct ipcuckoo_entry *entry,
				 struct ipcuckoo_value *value)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	u64 kind = *pos >> IPCUCKOO_POS_KIND_SHIFT;
	u64 at = *pos & (BIT_ULL(IPCUCKOO_POS_KIND_SHIFT) - 1);
	struct ipcuckoo_key key;

	for (; kind < IPCUCKOO_KINDS; kind++, at = 0) {
		if (!v->table[kind] ||
		    !ipcuckoo_table_next(v->table[kind], &at, &key))
			continue;
		*pos = kind << IPCUCKOO_POS_KIND_SHIFT | at;
		*entry = ipcuckoo_entry_decode(kind, &key);
		*value = ipcuckoo_table_value(v->table[kind], at - 1);
		return true;
	}
	*pos = kind << IPCUCKOO_POS_KIND_SHIFT;
	return false;
}

/**
 * ipcuckoo_entries_replace_all() - publish a version that shares nothing with the old one
 * @e:		contents
 * @v:		the new version
 *
 * Context: the writer.
 */
void ipcuckoo_entries_replace_all(struct ipcuckoo_entries *e, struct ipcuckoo_version *v)
{
	e->displaced = ipcuckoo_usage_displaced(e);
	e->gc_pending = 0;
	ipcuckoo_version_publish(e, v, IPCUCKOO_PART_ALL);
}

/**
 * ipcuckoo_entries_reserve() - grow tables before entries are added
 * @e:		contents
 * @more:	for each kind, the number of entries that will be added
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_entries_reserve(struct ipcuckoo_entries *e,
			     const u32 more[IPCUCKOO_KINDS])
{
	int kind, err = 0;

	if (ipcuckoo_entries_approximate(e))
		return ipcuckoo_rebuild_alloc_queue(e) ?: prepare_filter(e);
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++)
		if (more[kind])
			err = ipcuckoo_rebuild_reserve(e, kind, more[kind]);
	return err;
}

/**
 * ipcuckoo_entries_copy() - copy the entries of a set, except expired ones
 * @to:		contents that no packet sees, empty, with the same options
 * @from:	contents of the set; the caller is the writer of both
 *
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR; on error @to may have some entries.
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
		return filter_copy(to, ipcuckoo_version_current(from)->filter);
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		more[kind] = ipcuckoo_usage_count(from, kind);
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
		if (!(++n % IPCUCKOO_COPY_BATCH) && fatal_signal_pending(current))
			return -EINTR;
		if (!(n % IPCUCKOO_COPY_BATCH))
			cond_resched();
	}
	return 0;
}

/**
 * ipcuckoo_entries_trim() - replace tables and hints by the smallest that suffice
 * @e:		contents
 *
 * Context: the writer; may sleep.
 * Return: 0, -ENOSPC, -ENOMEM, -EDQUOT or -EINTR. It can fail because it needs memory
 * itself; the entries are the same in any case.
 */
int ipcuckoo_entries_trim(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = ipcuckoo_version_current(e)->filter;

	if (f)
		return f->count ? 0 : ipcuckoo_version_replace_filter(e, NULL, IPCUCKOO_CHARGE_TRY);
	return ipcuckoo_rebuild_trim(e);
}

/**
 * ipcuckoo_entries_clear() - delete all entries, in one step, without fail
 * @e:		contents
 * @v:		an empty version, which belongs to @e after this
 *
 * Context: the writer.
 */
void ipcuckoo_entries_clear(struct ipcuckoo_entries *e, struct ipcuckoo_version *v)
{
	lockdep_assert_held(&e->mutex);
	e->generation++;
	ipcuckoo_entries_replace_all(e, v);
	ipcuckoo_usage_clear_lens(e);
}

/**
 * ipcuckoo_entries_flush() - delete all entries, in one step
 * @e:		contents
 *
 * Succeeds at the memory limit too: it needs little memory, and frees much.
 *
 * Context: the writer; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_entries_flush(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v = ipcuckoo_version_create(e->mem, NULL,
							     IPCUCKOO_CHARGE_ANYWAY);

	if (IS_ERR(v))
		return PTR_ERR(v);
	ipcuckoo_entries_clear(e, v);
	return 0;
}

/**
 * ipcuckoo_entries_replace() - replace contents by others, in one step
 * @e:		contents
 * @from:	the new contents, of a shadow or scratch contents; after this call the only
 *		thing to do with @from is ipcuckoo_entries_exit()
 *
 * Context: the writer of both.
 */
void ipcuckoo_entries_replace(struct ipcuckoo_entries *e,
			      struct ipcuckoo_entries *from)
{
	struct ipcuckoo_version *v = ipcuckoo_version_current(from);
	struct ipcuckoo_lens old;

	ipcuckoo_usage_add_lens(e, v, &old);
	e->displaced += from->displaced;
	e->growths += from->growths;
	e->rekeys += from->rekeys;
	e->expired += from->expired;
	RCU_INIT_POINTER(from->version, NULL);
	e->generation++;
	ipcuckoo_entries_replace_all(e, v);
	e->records = from->records;
	ipcuckoo_usage_drop_lens(e, &old);
}

/**
 * ipcuckoo_entries_init() - initialise empty contents
 * @e:		zeroed memory
 * @mem:	account to charge
 * @live:	there will be readers; false for shadows and scratch contents
 *
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_entries_init(struct ipcuckoo_entries *e, struct ipcuckoo_mem *mem,
			  bool live)
{
	struct ipcuckoo_version *v = ipcuckoo_version_create(mem, NULL, IPCUCKOO_CHARGE_WAIT);

	if (IS_ERR(v))
		return PTR_ERR(v);
	ipcuckoo_guard_init(&e->guard);
	mutex_init(&e->mutex);
	spin_lock_init(&e->packets);
	e->mem = mem;
	e->live = live;
	RCU_INIT_POINTER(e->version, v);
	return 0;
}

/**
 * ipcuckoo_entries_exit() - free all entries
 * @e:		contents. No look-up can begin any more, but some may still be running, so
 *		the caller frees *@e after a grace period
 *
 * Context: process context; no other code has a reference to @e.
 */
void ipcuckoo_entries_exit(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v = rcu_access_pointer(e->version);

	ipcuckoo_search_free(e->queue);
	if (v)
		ipcuckoo_version_retire(v, IPCUCKOO_PART_ALL, e->records, e->live);
	mutex_destroy(&e->mutex);
}
