// SPDX-License-Identifier: GPL-2.0-only
/* Changes of entries: see change.h. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "change.h"
#include "event.h"
#include "gc.h"
#include "set_gc.h"
#include "usage.h"

/**
 * ipcuckoo_change_failed() - count a change that failed in the statistics of the set
 * @set:	set
 * @err:	error of the change; one that has no counter, or 0, is not counted
 *
 * Context: any.
 * Return: @err.
 */
int ipcuckoo_change_failed(struct ipcuckoo_set *set, int err)
{
	static const int reasons[IPCUCKOO_FAILURES] = {
		[IPCUCKOO_FAILURE_FULL] = -ENOSPC,
		[IPCUCKOO_FAILURE_COPIES] = -EMLINK,
		[IPCUCKOO_FAILURE_QUOTA] = -EDQUOT,
		[IPCUCKOO_FAILURE_MEMORY] = -ENOMEM,
		[IPCUCKOO_FAILURE_EXIST] = -EEXIST,
		[IPCUCKOO_FAILURE_PENDING] = -ENOBUFS,
	};
	int i;

	for (i = 0; err && i < IPCUCKOO_FAILURES; i++)
		if (reasons[i] == err)
			atomic64_inc(&set->failed[i]);
	return err;
}

/* Would @new more entries in @e exceed the limit of the set if no entry had expired? This costs
 * little, and is nearly always enough. The answer for the entries that have not expired may take a
 * pass over the tables.
 */
static bool crowded(const struct ipcuckoo_set *set, struct ipcuckoo_entries *e, u32 new)
{
	u32 limit = ipcuckoo_set_limit(set);

	return ipcuckoo_set_closed(set) ||
	       (limit && (u64)ipcuckoo_usage_total(e) + new > limit);
}

/* Would @new more entries in @e exceed the limit of the set? With forceadd the answer is no,
 * because evict() makes room afterwards.
 */
static bool over_limit(const struct ipcuckoo_set *set, struct ipcuckoo_entries *e, u32 new)
{
	if (ipcuckoo_set_closed(set))
		return true;
	return crowded(set, e, new) && !set->forceadd &&
	       (u64)ipcuckoo_usage_live(e) + new > ipcuckoo_set_limit(set);
}

/* Can adding an existing entry change what is stored for it? Not if the set has no
 * extensions, never had an exception, and the request (@nomatch) adds none.
 */
static bool has_values(struct ipcuckoo_entries *e, bool nomatch)
{
	return nomatch || ipcuckoo_entries_has_exts(e);
}

/* Add an entry. On success @e owns the record of @value, and the pointer is cleared. */
static int add_value(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
		     struct ipcuckoo_value *value)
{
	int err = ipcuckoo_entries_add_value(e, entry, value);

	if (!err)
		value->record = NULL;
	return err;
}

/* After an addition to a set with forceadd, evict entries until the set is within its
 * limit. This comes after the addition, which may fail: then no entry must have been
 * evicted for it. @keep is the entry that was added last; it is not evicted.
 */
static void evict(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
		  const struct ipcuckoo_entry *keep)
{
	u32 total = ipcuckoo_usage_total(e), limit = ipcuckoo_set_limit(set);
	struct ipcuckoo_event_entries event = {};
	struct ipcuckoo_entry evicted;

	if (!set->forceadd || !limit || total <= limit)
		return;
	total = ipcuckoo_usage_live(e);
	if (total <= limit)
		return;
	if (e->live)
		ipcuckoo_event_entries_begin(&event, set, IPCUCKOO_EVENT_ENTRIES_DELETED,
					     total - limit);
	for (; total > limit && ipcuckoo_gc_evict(e, keep, &evicted); total--) {
		ipcuckoo_event_entries_put(&event, &evicted);
		cond_resched();
	}
	ipcuckoo_event_entries_end(&event);
}

/* Scratch contents */

/**
 * ipcuckoo_change_scratch_create() - make empty contents that no packet sees
 * @set:	set, locked, whose options they get
 *
 * Context: process context.
 * Return: contents, locked, to be freed with ipcuckoo_change_scratch_destroy(); or
 * ERR_PTR(-ENOMEM, -EDQUOT or -EINTR).
 */
struct ipcuckoo_entries *ipcuckoo_change_scratch_create(const struct ipcuckoo_set *set)
{
	struct ipcuckoo_entries *e;
	int err;

	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return ERR_PTR(-ENOMEM);
	err = ipcuckoo_entries_init(e, set->entries.mem, false);
	if (err) {
		kfree(e);
		return ERR_PTR(err);
	}
	e->shape = set->entries.shape;
	e->options = set->entries.options;
	mutex_lock_nested(&e->mutex, SINGLE_DEPTH_NESTING);
	return e;
}

/**
 * ipcuckoo_change_scratch_destroy() - unlock and free scratch contents
 * @e:		contents; ipcuckoo_set_replace() may have moved their entries to the set
 */
void ipcuckoo_change_scratch_destroy(struct ipcuckoo_entries *e)
{
	mutex_unlock(&e->mutex);
	ipcuckoo_entries_exit(e);
	kfree(e);
}

/* Add an entry in the form that the set stores. With @update, one that exists gets the value of the
 * request.
 */
static int add_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
		   const struct ipcuckoo_entry *entry, const struct ipcuckoo_entry_attrs *attrs,
		   bool update)
{
	struct ipcuckoo_value value;
	int err, late;

	if (crowded(set, e, 1) && !ipcuckoo_entries_holds(e, entry) && over_limit(set, e, 1))
		return -ENOSPC;
	err = ipcuckoo_value_make(&value, e->options, attrs, e->mem);
	if (err)
		return err;
	err = add_value(e, entry, &value);
	if (!err) {
		evict(set, e, entry);
	} else if (err == -EEXIST && update && has_values(e, attrs->nomatch)) {
		late = ipcuckoo_entries_update(e, entry, &value, attrs);
		err = late ?: err;
	}
	ipcuckoo_record_put(value.record, e->mem);
	return err;
}

/**
 * ipcuckoo_change_add_one() - add an entry to contents that no packet sees
 * @set:	the set that will get the contents
 * @e:		contents, locked
 * @entry:	entry of the request; changed to the form that the set stores
 * @attrs:	its attributes in the request
 *
 * Context: process context.
 * Return: 0; -EEXIST if the entry existed and now has the value of the request; or
 * another error of uapi/ipcuckoo.h, and then nothing has changed.
 */
int ipcuckoo_change_add_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry,
			    const struct ipcuckoo_entry_attrs *attrs)
{
	int err = ipcuckoo_set_normalize_new(set, entry);

	if (!err)
		err = add_one(set, e, entry, attrs, true);
	return err == -EEXIST ? err : ipcuckoo_change_failed(set, err);
}

/**
 * ipcuckoo_change_del_one() - delete an entry from contents that no packet sees
 * @set:	the set that will get the contents
 * @e:		contents, locked
 * @entry:	entry of the request; changed to the form that the set stores
 *
 * Context: process context.
 * Return: 0, -ENOENT if there is no such entry, or another error of uapi/ipcuckoo.h.
 */
int ipcuckoo_change_del_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry)
{
	int err = ipcuckoo_set_normalize(set, entry);

	return err ?: ipcuckoo_entries_del(e, entry);
}

/* Single entries of a set */

/* May entries have expired whose room @more entries need? Then the caller calls
 * ipcuckoo_set_gc(), but not for an entry that exists: that needs no room. There is one pass in
 * a second at most, because each finds out when the next entry expires.
 */
static bool needs_gc(struct ipcuckoo_set *set, u32 more)
{
	return crowded(set, &set->entries, more) &&
	       ipcuckoo_expired(ipcuckoo_gc_nearest(&set->entries), ipcuckoo_now());
}

static void notify_one(struct ipcuckoo_set *set, enum ipcuckoo_event what,
		       const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_event_entries event;

	ipcuckoo_event_entries_begin(&event, set, what, 1);
	ipcuckoo_event_entries_put(&event, entry);
	ipcuckoo_event_entries_end(&event);
}

/**
 * ipcuckoo_change_add_live() - add an entry to a set
 * @set:	set, locked
 * @entry:	entry of the request; changed to the form that the set stores
 * @attrs:	its attributes in the request
 * @exist:	an entry that exists is not an error: it gets the value of the request
 *
 * Context: process context.
 * Return: 0, or an error of uapi/ipcuckoo.h, and then nothing has changed.
 */
int ipcuckoo_change_add_live(struct ipcuckoo_set *set, struct ipcuckoo_entry *entry,
			     const struct ipcuckoo_entry_attrs *attrs, bool exist)
{
	int err = ipcuckoo_set_normalize(set, entry);

	if (err)
		return err;
	if (needs_gc(set, 1) && !ipcuckoo_entries_holds(&set->entries, entry))
		ipcuckoo_set_gc(set);
	/* The addition itself finds an entry that exists, but only after it has made room for a
	 * first exception.
	 */
	if (!exist && attrs->nomatch && ipcuckoo_entries_holds(&set->entries, entry))
		return ipcuckoo_change_failed(set, -EEXIST);
	err = add_one(set, &set->entries, entry, attrs, exist);
	if (!err)
		notify_one(set, IPCUCKOO_EVENT_ENTRIES_ADDED, entry);
	if (err == -EEXIST && exist) {
		if (ipcuckoo_entries_has_exts(&set->entries))
			notify_one(set, IPCUCKOO_EVENT_ENTRIES_UPDATED, entry);
		return 0;
	}
	return ipcuckoo_change_failed(set, err);
}

/**
 * ipcuckoo_change_del_live() - delete an entry from a set
 * @set:	set, locked
 * @entry:	entry of the request; changed to the form that the set stores
 *
 * Context: process context.
 * Return: 0, -ENOENT if there is no such entry, or another error of uapi/ipcuckoo.h.
 */
int ipcuckoo_change_del_live(struct ipcuckoo_set *set, struct ipcuckoo_entry *entry)
{
	int err = ipcuckoo_set_normalize(set, entry);

	if (!err)
		err = ipcuckoo_entries_del(&set->entries, entry);
	if (!err)
		notify_one(set, IPCUCKOO_EVENT_ENTRIES_DELETED, entry);
	return err;
}

/* Changes in place: packets of rules of ip_set make them */

/* May there be no room for one more entry? Return: 0; -ENOSPC if there is none; or -EAGAIN if
 * entries may have expired, or one has to be evicted, which takes a process.
 */
static int check_room(const struct ipcuckoo_set *set, struct ipcuckoo_entries *e, u32 now)
{
	if (!crowded(set, e, 1))
		return 0;
	if (ipcuckoo_set_closed(set))
		return -ENOSPC;
	return set->forceadd || ipcuckoo_expired(ipcuckoo_gc_nearest(e), now) ? -EAGAIN : -ENOSPC;
}

/* Add an entry that is not there, or has expired. */
static int add_in_place(struct ipcuckoo_set *set, const struct ipcuckoo_entry *entry,
			struct ipcuckoo_value *value, const struct ipcuckoo_entry_attrs *attrs,
			bool expired, u32 now)
{
	struct ipcuckoo_entries *e = &set->entries;
	int err = check_room(set, e, now);

	if (!err)
		err = ipcuckoo_record_make_atomic(&value->record, e->options, attrs, e->mem);
	if (err)
		return err;
	if (expired)
		ipcuckoo_entries_revive_in_place(e, entry, value, now);
	else
		err = ipcuckoo_entries_add_in_place(e, entry, value);
	if (err < 0)
		ipcuckoo_record_put(value->record, e->mem);
	return err;
}

/**
 * ipcuckoo_change_add_in_place() - add an entry to a set without sleeping
 * @set:	exact set, of which the caller is the writer
 * @entry:	entry, in the form that the set stores
 * @attrs:	its attributes: no comment, and no exception
 * @exist:	an entry that exists is not an error: it gets these attributes
 * @comment:	but it keeps its comment
 *
 * Context: any but hard interrupts.
 * Return: 0; 1 likewise, and a process should call ipcuckoo_entries_tidy() soon; -EEXIST, -ENOSPC,
 * -EDQUOT or -ENOMEM, and then nothing has changed; or -EAGAIN: only ipcuckoo_change_add_live() can
 * tell.
 */
int ipcuckoo_change_add_in_place(struct ipcuckoo_set *set, const struct ipcuckoo_entry *entry,
				 const struct ipcuckoo_entry_attrs *attrs, bool exist,
				 bool comment)
{
	struct ipcuckoo_entries *e = &set->entries;
	u32 now = ipcuckoo_now();
	struct ipcuckoo_value value = {
		.expires = ipcuckoo_deadline_from(now, attrs->timeout),
	};
	int err;

	if (ipcuckoo_event_wanted(set))
		return -EAGAIN;
	if (exist)
		err = ipcuckoo_entries_update_in_place(e, entry, value.expires, attrs, comment,
						       now);
	else
		err = ipcuckoo_entries_find_in_place(e, entry, now) ?: -EEXIST;
	if (err == -ENOENT || err == -ETIME)
		err = add_in_place(set, entry, &value, attrs, err == -ETIME, now);
	/* Most entries expire later than the one for which gc is queued. */
	if (err >= 0 && value.expires && (!set->gc_at || set->gc_at > value.expires))
		ipcuckoo_set_gc_schedule(set);
	return err;
}

/**
 * ipcuckoo_change_del_in_place() - delete an entry from a set without sleeping
 * @set:	exact set, of which the caller is the writer
 * @entry:	entry, in the form that the set stores
 *
 * Context: any but hard interrupts.
 * Return: 0; 1 likewise, and a process should call ipcuckoo_entries_tidy() soon; -ENOENT; or
 * -EAGAIN: ipcuckoo_change_del_live() has to delete it.
 */
int ipcuckoo_change_del_in_place(struct ipcuckoo_set *set, const struct ipcuckoo_entry *entry)
{
	return ipcuckoo_event_wanted(set) ? -EAGAIN :
	       ipcuckoo_entries_del_in_place(&set->entries, entry);
}

/* Batches on a set */

/**
 * struct addition - a batch that is being added
 * @set:	the set
 * @batch:	the batch
 * @exist:	an entry that exists is not an error
 * @absent:	a bit for each entry of the batch, set if it is not in the set
 * @values:	the value to store for each entry; NULL if there is nothing to store
 * @except:	a bit for each kind of which the batch has exceptions
 * @last:	the entry that was added last
 */
struct addition {
	struct ipcuckoo_set *set;
	const struct ipcuckoo_batch *batch;
	bool exist;
	unsigned long *absent;
	struct ipcuckoo_value *values;
	unsigned long except;
	struct ipcuckoo_entry last;
};

/* Add the entries of the batch that are not in the set to scratch contents. There an entry
 * that comes more than once in the batch counts once.
 */
static int add_absent(struct addition *add, struct ipcuckoo_entries *scratch)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;
	int err;

	while (ipcuckoo_batch_next(add->batch, &at, &entry)) {
		if (!test_bit(at.n, add->absent))
			continue;
		ipcuckoo_set_normalize(add->set, &entry);
		err = ipcuckoo_entries_add(scratch, &entry);
		if (err && err != -EEXIST)
			return err;
	}
	return 0;
}

/* Count the different entries of the batch that are not in the set. Slow: only for a batch
 * that could exceed the limit.
 */
static int count_distinct(struct addition *add, u32 *distinct)
{
	struct ipcuckoo_entries *scratch = ipcuckoo_change_scratch_create(add->set);
	int err;

	if (IS_ERR(scratch))
		return PTR_ERR(scratch);
	err = add_absent(add, scratch);
	*distinct = ipcuckoo_usage_total(scratch);
	ipcuckoo_change_scratch_destroy(scratch);
	return err;
}

/* Make the value of the entry at @at, if the batch needs values. This is done before any
 * entry is added, because it allocates memory and can fail.
 */
static int make_value(struct addition *add, const struct ipcuckoo_batch_cursor *at,
		      enum ipcuckoo_kind kind)
{
	struct ipcuckoo_entries *e = &add->set->entries;
	struct ipcuckoo_entry_attrs attrs;

	if (!add->values)
		return 0;
	attrs = ipcuckoo_batch_attrs(add->batch, at, add->set->timeout);
	if (attrs.nomatch)
		add->except |= BIT(kind);
	return ipcuckoo_value_make(&add->values[at->n], e->options, &attrs, e->mem);
}

/* Remove expired entries if the batch could exceed the limit. This comes first: gc must not remove
 * entries that prepare_entries() has found.
 */
static void make_room(struct addition *add)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	u32 more = ipcuckoo_batch_total(add->batch);
	struct ipcuckoo_entry entry;

	if (!needs_gc(add->set, more))
		return;
	while (ipcuckoo_batch_next(add->batch, &at, &entry))
		if (!ipcuckoo_set_normalize(add->set, &entry) &&
		    ipcuckoo_entries_holds(&add->set->entries, &entry))
			more--;
	if (needs_gc(add->set, more))
		ipcuckoo_set_gc(add->set);
}

/* Check that @new more entries do not exceed the limit; @new counts an entry each time that
 * it comes in the batch. Return: 0, -ENOSPC, or an error of count_distinct().
 */
static int check_limit(struct addition *add, u32 new)
{
	struct ipcuckoo_set *set = add->set;
	int err;

	if (!new || !over_limit(set, &set->entries, new))
		return 0;
	err = set->entries.shape.multi ? 0 : count_distinct(add, &new);
	if (err)
		return err;
	return over_limit(set, &set->entries, new) ? -ENOSPC : 0;
}

/* Check each entry of the batch, set its bit in add->absent if it is not in the set, and make
 * its value. Count the entries that are not in the set: in @new, and by kind in @more. On
 * error @at is at the entry at fault.
 */
static int prepare_entries(struct addition *add, struct ipcuckoo_batch_cursor *at,
			   u32 more[IPCUCKOO_KINDS], u32 *new)
{
	struct ipcuckoo_entries *e = &add->set->entries;
	struct ipcuckoo_entry entry;
	enum ipcuckoo_kind kind;
	int err;

	while (ipcuckoo_batch_next(add->batch, at, &entry)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		err = ipcuckoo_set_normalize_new(add->set, &entry);
		if (err)
			return err;
		kind = ipcuckoo_entry_kind(&entry);
		if (!ipcuckoo_entries_holds(e, &entry)) {
			__set_bit(at->n, add->absent);
			more[kind]++;
			++*new;
		} else if (!add->exist) {
			return -EEXIST;
		}
		err = make_value(add, at, kind);
		if (err)
			return err;
	}
	return 0;
}

/* Do all that can fail before any entry is added: check the entries and the limit, make the
 * values, grow the tables. On error @at is at the entry at fault, or behind the last one if
 * the error is not about one entry.
 */
static int prepare_add(struct addition *add, struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_entries *e = &add->set->entries;
	u32 more[IPCUCKOO_KINDS] = {}, new = 0;
	enum ipcuckoo_kind kind;
	int err;

	make_room(add);
	err = prepare_entries(add, at, more, &new);
	if (!err)
		err = check_limit(add, new);
	/* The addition of a single entry grows the table itself, or changes nothing. */
	if (!err && new > 1)
		err = ipcuckoo_entries_reserve(e, more);
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++)
		if (add->except & BIT(kind))
			err = ipcuckoo_entries_prepare_exceptions(e, kind);
	return err;
}

/* Delete those of the first @end entries of the batch that this batch has added. */
static void undo_add(struct addition *add, u32 end)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;

	while (ipcuckoo_batch_next(add->batch, &at, &entry) && at.n < end) {
		if (!test_bit(at.n, add->absent))
			continue;
		ipcuckoo_set_normalize(add->set, &entry);
		ipcuckoo_entries_del(&add->set->entries, &entry);
	}
}

/* Add the entries that are not in the set. The tables are large enough for all of them,
 * so this fails only if a search for a free slot fails far below the usual load factor
 * and there is no memory for another table; or, in a filter, if there are too many copies
 * of an entry. Then undo_add() deletes from a filter only fingerprints that this function
 * added.
 */
static int apply_add(struct addition *add, struct ipcuckoo_change_result *result)
{
	struct ipcuckoo_batch_cursor begin = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_value none = {}, *value;
	struct ipcuckoo_entry entry;
	int err;

	result->at = begin;
	while (ipcuckoo_batch_next(add->batch, &result->at, &entry)) {
		if (!test_bit(result->at.n, add->absent)) {
			result->unchanged++;
			continue;
		}
		ipcuckoo_set_normalize(add->set, &entry);
		value = add->values ? &add->values[result->at.n] : &none;
		err = add_value(&add->set->entries, &entry, value);
		if (!err) {
			result->changed++;
			add->last = entry;
		} else if (err == -EEXIST) {
			/* The entry comes twice in this batch. */
			__clear_bit(result->at.n, add->absent);
			result->unchanged++;
		} else {
			undo_add(add, result->at.n);
			return err;
		}
	}
	return 0;
}

/* Notify listeners of the entries that this batch has added, or of the others, which it has
 * updated; @count is their number.
 */
static void notify(struct addition *add, bool added, u32 count)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_event_entries event;
	struct ipcuckoo_entry entry;

	ipcuckoo_event_entries_begin(&event, add->set,
				     added ? IPCUCKOO_EVENT_ENTRIES_ADDED :
				     IPCUCKOO_EVENT_ENTRIES_UPDATED, count);
	while (event.on && ipcuckoo_batch_next(add->batch, &at, &entry)) {
		if (test_bit(at.n, add->absent) != added)
			continue;
		ipcuckoo_set_normalize(add->set, &entry);
		ipcuckoo_event_entries_put(&event, &entry);
	}
	ipcuckoo_event_entries_end(&event);
}

/* Store the values of entries that existed before, or come more than once in the batch:
 * the last value in the batch wins. This cannot fail: prepare_add() has made the values,
 * and has prepared the tables for exceptions.
 */
static void apply_updates(struct addition *add)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry_attrs attrs;
	struct ipcuckoo_entry entry;

	while (add->values && ipcuckoo_batch_next(add->batch, &at, &entry)) {
		if (test_bit(at.n, add->absent))
			continue;
		ipcuckoo_set_normalize(add->set, &entry);
		attrs = ipcuckoo_batch_attrs(add->batch, &at, add->set->timeout);
		ipcuckoo_entries_update(&add->set->entries, &entry,
					&add->values[at.n], &attrs);
	}
}

static int begin_addition(struct addition *add)
{
	u32 total = ipcuckoo_batch_total(add->batch);

	add->absent = bitmap_zalloc(total, GFP_KERNEL);
	if (!add->absent)
		return -ENOMEM;
	if (!has_values(&add->set->entries, add->batch->ext[IPCUCKOO_WIRE_NOMATCH]))
		return 0;
	add->values = kvcalloc(total, sizeof(*add->values), GFP_KERNEL_ACCOUNT);
	return add->values ? 0 : -ENOMEM;
}

static void end_addition(struct addition *add)
{
	u32 n = ipcuckoo_batch_total(add->batch);

	while (add->values && n--)
		ipcuckoo_record_put(add->values[n].record, add->set->entries.mem);
	kvfree(add->values);
	bitmap_free(add->absent);
}

/**
 * ipcuckoo_change_add() - add a batch of entries to a set
 * @set:	set, locked
 * @batch:	entries
 * @exist:	an entry that exists is not an error: it gets the value of the batch
 * @result:	filled in
 *
 * Context: process context.
 * Return: 0; -EINTR for a fatal signal, or another error of uapi/ipcuckoo.h, and then
 * no entry was added or changed.
 */
int ipcuckoo_change_add(struct ipcuckoo_set *set,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result)
{
	struct addition add = {
		.set = set,
		.batch = batch,
		.exist = exist,
	};
	int err;

	*result = (struct ipcuckoo_change_result){ .at.kind = IPCUCKOO_KINDS };
	err = begin_addition(&add);
	if (!err) {
		result->at = (struct ipcuckoo_batch_cursor)IPCUCKOO_BATCH_BEGIN;
		err = prepare_add(&add, &result->at);
	}
	if (!err)
		err = apply_add(&add, result);
	if (!err) {
		apply_updates(&add);
		notify(&add, true, result->changed);
		if (ipcuckoo_entries_has_exts(&set->entries))
			notify(&add, false, result->unchanged);
		evict(set, &set->entries, &add.last);
	}
	end_addition(&add);
	return ipcuckoo_change_failed(set, err);
}

/* Check a batch before anything is deleted. On error @at is at the entry at fault. */
static int check_del(struct ipcuckoo_set *set, const struct ipcuckoo_batch *batch,
		     bool exist, struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_entry entry;
	int err;

	while (ipcuckoo_batch_next(batch, at, &entry)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		err = ipcuckoo_set_normalize(set, &entry);
		if (err)
			return err;
		if (!exist && !ipcuckoo_entries_has(&set->entries, &entry))
			return -ENOENT;
	}
	return 0;
}

/**
 * ipcuckoo_change_del() - delete a batch of entries from a set
 * @set:	set, locked
 * @batch:	entries
 * @exist:	an entry that does not exist is not an error
 * @result:	filled in
 *
 * Context: process context.
 * Return: 0; -EINTR for a fatal signal, or another error of uapi/ipcuckoo.h, and then
 * nothing was deleted.
 */
int ipcuckoo_change_del(struct ipcuckoo_set *set,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_event_entries event;
	struct ipcuckoo_entry entry;
	int err;

	*result = (struct ipcuckoo_change_result){ .at = IPCUCKOO_BATCH_BEGIN };
	err = check_del(set, batch, exist, &result->at);
	if (err)
		return err;
	ipcuckoo_event_entries_begin(&event, set, IPCUCKOO_EVENT_ENTRIES_DELETED,
				     ipcuckoo_batch_total(batch));
	while (ipcuckoo_batch_next(batch, &at, &entry)) {
		ipcuckoo_set_normalize(set, &entry);
		if (ipcuckoo_entries_del(&set->entries, &entry)) {
			result->unchanged++;
		} else {
			result->changed++;
			ipcuckoo_event_entries_put(&event, &entry);
		}
	}
	ipcuckoo_event_entries_end(&event);
	return 0;
}
