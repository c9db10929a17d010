// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "batch.h"
#include "compat.h"
#include "event.h"

/* Entries between two looks at the scheduler. */
#define RESCHED_BATCH	4096

static struct ipcuckoo_entry unpack(const struct ipcuckoo_batch *batch,
				    const struct ipcuckoo_batch_cursor *at)
{
	static const u8 sizes[] = {
		[IPCUCKOO_HOSTS4] = IPCUCKOO_HOST4_SIZE,
		[IPCUCKOO_HOSTS6] = IPCUCKOO_HOST6_SIZE,
		[IPCUCKOO_NETS4] = IPCUCKOO_NET4_SIZE,
		[IPCUCKOO_NETS6] = IPCUCKOO_NET6_SIZE,
	};
	const u8 *data = batch->data[at->kind] +
			 (size_t)at->index * sizes[at->kind];
	struct ipcuckoo_entry entry = {
		.v6 = at->kind == IPCUCKOO_HOSTS6 || at->kind == IPCUCKOO_NETS6,
	};

	if (entry.v6) {
		entry.addr.hi = get_unaligned_be64(data);
		entry.addr.lo = get_unaligned_be64(data + 8);
		entry.len = at->kind == IPCUCKOO_NETS6 ? data[16] : 128;
	} else {
		entry.addr.lo = get_unaligned_be32(data);
		entry.len = at->kind == IPCUCKOO_NETS4 ? data[4] : 32;
	}
	return entry;
}

/**
 * ipcuckoo_batch_next() - the next entry of a batch
 * @batch:	batch
 * @at:		the entry before it, or IPCUCKOO_BATCH_BEGIN
 * @entry:	set to the entry as it was sent; nothing of it is checked
 *
 * Context: process context; may let others run.
 * Return: false at the end.
 */
bool ipcuckoo_batch_next(const struct ipcuckoo_batch *batch,
			 struct ipcuckoo_batch_cursor *at,
			 struct ipcuckoo_entry *entry)
{
	at->index++;
	at->n++;
	if (batch->comments)
		at->comment = at->n ? at->comment + strlen(at->comment) + 1 :
				      batch->comments;
	while (at->kind < IPCUCKOO_KINDS && at->index >= batch->count[at->kind]) {
		at->kind++;
		at->index = 0;
	}
	if (at->kind >= IPCUCKOO_KINDS)
		return false;
	if (!(at->n % RESCHED_BATCH))
		cond_resched();
	*entry = unpack(batch, at);
	return true;
}

/**
 * ipcuckoo_batch_given() - what a batch says of an entry
 * @batch:	batch
 * @at:		the entry
 * @timeout:	of an entry that is given none
 */
struct ipcuckoo_given
ipcuckoo_batch_given(const struct ipcuckoo_batch *batch,
		     const struct ipcuckoo_batch_cursor *at, u32 timeout)
{
	struct ipcuckoo_given given = ipcuckoo_given_nothing(timeout);
	size_t n = at->n;
	const u8 *p;

	if (batch->timeouts)
		given.timeout = get_unaligned_be32(batch->timeouts + 4 * n);
	if (batch->nomatches)
		given.nomatch = batch->nomatches[n];
	if (batch->counters) {
		p = batch->counters + IPCUCKOO_COUNTERS_SIZE * n;
		given.packets = get_unaligned_be64(p);
		given.bytes = get_unaligned_be64(p + 8);
	}
	if (batch->skbinfos) {
		p = batch->skbinfos + IPCUCKOO_SKBINFO_SIZE * n;
		given.info.mark = get_unaligned_be64(p);
		given.info.prio = get_unaligned_be32(p + 8);
		given.info.queue = get_unaligned_be16(p + 12);
	}
	if (at->comment) {
		given.comment = at->comment;
		given.comment_len = strlen(at->comment);
	}
	return given;
}

static u32 total(const struct ipcuckoo_batch *batch)
{
	u32 total = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += batch->count[kind];
	return total;
}

/* Put the entries that are not in the set into a shadow, to see how many
 * different ones there are.
 */
static int add_absent(struct ipcuckoo_set *set, struct ipcuckoo_entries *shadow,
		      const struct ipcuckoo_batch *batch,
		      const unsigned long *absent)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;
	int err;

	while (ipcuckoo_batch_next(batch, &at, &entry)) {
		if (!test_bit(at.n, absent))
			continue;
		ipcuckoo_set_check(set, &entry);
		err = ipcuckoo_entries_add(shadow, &entry);
		if (err && err != -EEXIST)
			return err;
	}
	return 0;
}

/* Entries that are not in the set, each counted once. Only asked for when the
 * batch could overflow the set.
 */
static int count_distinct(struct ipcuckoo_set *set,
			  const struct ipcuckoo_batch *batch,
			  const unsigned long *absent, u32 *distinct)
{
	struct ipcuckoo_entries *shadow;
	int err;

	shadow = kzalloc(sizeof(*shadow), GFP_KERNEL_ACCOUNT);
	if (!shadow)
		return -ENOMEM;
	err = ipcuckoo_entries_init(shadow, set->entries.mem, false);
	if (err)
		goto out;
	mutex_lock_nested(&shadow->mutex, SINGLE_DEPTH_NESTING);
	err = add_absent(set, shadow, batch, absent);
	*distinct = ipcuckoo_entries_total(shadow);
	mutex_unlock(&shadow->mutex);
	ipcuckoo_entries_exit(shadow);
out:
	kfree(shadow);
	return err;
}

/**
 * struct addition - a batch that is being added
 * @set:	to this set
 * @batch:	the batch
 * @exist:	entries that are there already are no error
 * @absent:	a bit for each entry that is not there
 * @values:	what is to be kept for each entry, or NULL where sets keep nothing
 * @except:	a bit for each kind that gets an exception
 * @last:	what was added last
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

/* Make what is to be kept for an entry: whatever takes memory. */
static int make_value(struct addition *add, const struct ipcuckoo_batch_cursor *at,
		      enum ipcuckoo_kind kind)
{
	struct ipcuckoo_entries *e = &add->set->entries;
	struct ipcuckoo_given given;

	if (!add->values)
		return 0;
	given = ipcuckoo_batch_given(add->batch, at, add->set->timeout);
	if (given.nomatch)
		add->except |= BIT(kind);
	return ipcuckoo_value_make(&add->values[at->n], e->options, &given, e->mem);
}

static int check_limit(struct addition *add, u32 new)
{
	struct ipcuckoo_set *set = add->set;
	u32 limit = ipcuckoo_set_limit(set);
	int err;

	if (!limit || set->forceadd || ipcuckoo_set_count(set) + new <= limit)
		return 0;
	err = set->entries.shape.multi ? 0 :
	      count_distinct(set, add->batch, add->absent, &new);
	if (err)
		return err;
	return ipcuckoo_set_count(set) + new > limit ? -ENOSPC : 0;
}

/* Find everything that could go wrong with an addition, and make room for it,
 * before anything is changed.
 */
static int prepare_add(struct addition *add, struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_entries *e = &add->set->entries;
	u32 more[IPCUCKOO_KINDS] = {}, new = 0;
	struct ipcuckoo_entry entry;
	enum ipcuckoo_kind kind;
	int err;

	/* Now, for what is found there must not be swept any more. */
	if (ipcuckoo_set_limit(add->set) &&
	    ipcuckoo_set_count(add->set) + total(add->batch) > ipcuckoo_set_limit(add->set))
		ipcuckoo_set_sweep(add->set);
	while (ipcuckoo_batch_next(add->batch, at, &entry)) {
		err = ipcuckoo_set_check(add->set, &entry);
		if (err)
			return err;
		kind = ipcuckoo_entry_kind(&entry);
		if (!ipcuckoo_entries_holds(e, &entry)) {
			__set_bit(at->n, add->absent);
			more[kind]++;
			new++;
		} else if (!add->exist) {
			return -EEXIST;
		}
		err = make_value(add, at, kind);
		if (err)
			return err;
	}
	err = check_limit(add, new);
	/* A single one makes its own room, or changes nothing. */
	if (!err && new > 1)
		err = ipcuckoo_entries_reserve(e, more);
	for (kind = 0; kind < IPCUCKOO_KINDS && !err; kind++)
		if (add->except & BIT(kind))
			err = ipcuckoo_entries_learn_exceptions(e, kind);
	return err;
}

static int add_entry(struct addition *add, u32 n, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value none = {}, *value = add->values ? &add->values[n] : &none;
	int err = ipcuckoo_entries_add_value(&add->set->entries, entry, value);

	if (!err)
		value->record = NULL;
	return err;
}

/* Delete what this batch has added, up to entry @end. */
static void undo_add(struct addition *add, u32 end)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;

	while (ipcuckoo_batch_next(add->batch, &at, &entry) && at.n < end) {
		if (!test_bit(at.n, add->absent))
			continue;
		ipcuckoo_set_check(add->set, &entry);
		ipcuckoo_entries_del(&add->set->entries, &entry);
	}
}

/* Room was made for all of it, so that a failure here takes both a search that
 * fails far below its usual load and no memory for another table; or, in a
 * filter, too many copies. What is deleted from a filter then are fingerprints
 * that were just added to it.
 */
static int apply_add(struct addition *add, struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_batch_cursor begin = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;
	int err;

	result->at = begin;
	while (ipcuckoo_batch_next(add->batch, &result->at, &entry)) {
		if (!test_bit(result->at.n, add->absent)) {
			result->unchanged++;
			continue;
		}
		ipcuckoo_set_check(add->set, &entry);
		err = add_entry(add, result->at.n, &entry);
		if (!err) {
			result->changed++;
			add->last = entry;
		} else if (err == -EEXIST) {
			/* Twice in this batch. */
			__clear_bit(result->at.n, add->absent);
			result->unchanged++;
		} else {
			undo_add(add, result->at.n);
			return err;
		}
	}
	return 0;
}

/* Tell of what was added. */
static void tell_added(struct ipcuckoo_set *set,
		       const struct ipcuckoo_batch *batch,
		       const unsigned long *added,
		       const struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_event_entries told;
	struct ipcuckoo_entry entry;

	ipcuckoo_event_entries_begin(&told, set, IPCUCKOO_EVENT_ENTRIES_ADDED,
				     result->changed);
	while (told.on && ipcuckoo_batch_next(batch, &at, &entry)) {
		if (!test_bit(at.n, added))
			continue;
		ipcuckoo_set_check(set, &entry);
		ipcuckoo_event_entries_put(&told, &entry);
	}
	ipcuckoo_event_entries_end(&told);
}

/* Of entries that are there, or came twice, keep what was said last. Nothing
 * can go wrong with it any more.
 */
static void apply_updates(struct addition *add)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_given given;
	struct ipcuckoo_entry entry;

	while (add->values && ipcuckoo_batch_next(add->batch, &at, &entry)) {
		if (test_bit(at.n, add->absent))
			continue;
		ipcuckoo_set_check(add->set, &entry);
		given = ipcuckoo_batch_given(add->batch, &at, add->set->timeout);
		ipcuckoo_entries_update(&add->set->entries, &entry,
					&add->values[at.n], &given);
	}
}

static void free_addition(struct addition *add)
{
	u32 n = total(add->batch);

	while (add->values && n--)
		ipcuckoo_record_put(add->values[n].record, add->set->entries.mem);
	kvfree(add->values);
	bitmap_free(add->absent);
}

/**
 * ipcuckoo_batch_add() - add entries to a set
 * @set:	set, locked
 * @batch:	entries
 * @exist:	entries that are there already are no error; what is kept for
 *		them becomes what the batch says
 * @result:	set
 *
 * Context: process context.
 * Return: 0, or an error as uapi/ipcuckoo.h has it; then nothing has changed.
 */
int ipcuckoo_batch_add(struct ipcuckoo_set *set,
		       const struct ipcuckoo_batch *batch, bool exist,
		       struct ipcuckoo_batch_result *result)
{
	struct addition add = {
		.set = set,
		.batch = batch,
		.exist = exist,
		.absent = bitmap_zalloc(total(batch), GFP_KERNEL),
	};
	bool values = ipcuckoo_entries_keeps(&set->entries) || batch->nomatches;
	int err = -ENOMEM;

	*result = (struct ipcuckoo_batch_result){ .at = IPCUCKOO_BATCH_BEGIN };
	if (values)
		add.values = kvcalloc(total(batch), sizeof(*add.values),
				      GFP_KERNEL_ACCOUNT);
	if (!add.absent || (values && !add.values)) {
		result->at.kind = IPCUCKOO_KINDS;
		goto out;
	}
	err = prepare_add(&add, &result->at);
	if (!err)
		err = apply_add(&add, result);
	if (!err) {
		tell_added(set, batch, add.absent, result);
		apply_updates(&add);
		ipcuckoo_set_evict(set, &set->entries, &add.last);
	}
out:
	free_addition(&add);
	return ipcuckoo_set_note(set, err);
}

static int check_del(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, bool exist,
		     struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_entry entry;
	int err;

	while (ipcuckoo_batch_next(batch, at, &entry)) {
		err = ipcuckoo_set_check(set, &entry);
		if (err)
			return err;
		if (!exist && !ipcuckoo_entries_has(&set->entries, &entry))
			return -ENOENT;
	}
	return 0;
}

/**
 * ipcuckoo_batch_del() - delete entries from a set
 * @set:	set, locked
 * @batch:	entries
 * @exist:	entries that are not there are no error
 * @result:	set
 *
 * Context: process context.
 * Return: 0, or an error as uapi/ipcuckoo.h has it; then nothing has changed.
 */
int ipcuckoo_batch_del(struct ipcuckoo_set *set,
		       const struct ipcuckoo_batch *batch, bool exist,
		       struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_event_entries told;
	struct ipcuckoo_entry entry;
	int err;

	*result = (struct ipcuckoo_batch_result){ .at = IPCUCKOO_BATCH_BEGIN };
	err = check_del(set, batch, exist, &result->at);
	if (err)
		return err;
	ipcuckoo_event_entries_begin(&told, set, IPCUCKOO_EVENT_ENTRIES_DELETED,
				     total(batch));
	while (ipcuckoo_batch_next(batch, &at, &entry)) {
		ipcuckoo_set_check(set, &entry);
		if (ipcuckoo_entries_del(&set->entries, &entry)) {
			result->unchanged++;
		} else {
			result->changed++;
			ipcuckoo_event_entries_put(&told, &entry);
		}
	}
	ipcuckoo_event_entries_end(&told);
	return 0;
}
