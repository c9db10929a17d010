// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/bitmap.h>
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

/* Find everything that could go wrong with an addition, and make room for it,
 * before anything is changed. Sets a bit in @absent for each entry to add.
 */
static int prepare_add(struct ipcuckoo_set *set,
		       const struct ipcuckoo_batch *batch, bool exist,
		       unsigned long *absent, struct ipcuckoo_batch_cursor *at)
{
	u32 more[IPCUCKOO_KINDS] = {}, new = 0, count, limit;
	struct ipcuckoo_entry entry;
	int err;

	while (ipcuckoo_batch_next(batch, at, &entry)) {
		err = ipcuckoo_set_check(set, &entry);
		if (err)
			return err;
		if (!ipcuckoo_entries_holds(&set->entries, &entry)) {
			__set_bit(at->n, absent);
			more[ipcuckoo_entry_kind(&entry)]++;
			new++;
		} else if (!exist) {
			return -EEXIST;
		}
	}
	count = ipcuckoo_set_count(set);
	limit = ipcuckoo_set_limit(set);
	if (limit && count + new > limit) {
		err = set->entries.shape.multi ? 0 :
		      count_distinct(set, batch, absent, &new);
		if (err)
			return err;
		if (count + new > limit)
			return -ENOSPC;
	}
	/* A single one makes its own room, or changes nothing. */
	return new > 1 ? ipcuckoo_entries_reserve(&set->entries, more) : 0;
}

/* Delete what this batch has added, up to entry @end. */
static void undo_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch,
		     const unsigned long *added, u32 end)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;

	while (ipcuckoo_batch_next(batch, &at, &entry) && at.n < end) {
		if (!test_bit(at.n, added))
			continue;
		ipcuckoo_set_check(set, &entry);
		ipcuckoo_entries_del(&set->entries, &entry);
	}
}

/* Room was made for all of it, so that a failure here takes both a search that
 * fails far below its usual load and no memory for another table; or, in a
 * filter, too many copies. What is deleted from a filter then are fingerprints
 * that were just added to it.
 */
static int apply_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, unsigned long *absent,
		     struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_batch_cursor begin = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry entry;
	int err;

	result->at = begin;
	while (ipcuckoo_batch_next(batch, &result->at, &entry)) {
		if (!test_bit(result->at.n, absent)) {
			result->unchanged++;
			continue;
		}
		ipcuckoo_set_check(set, &entry);
		err = ipcuckoo_entries_add(&set->entries, &entry);
		if (!err) {
			result->changed++;
		} else if (err == -EEXIST) {
			/* Twice in this batch. */
			__clear_bit(result->at.n, absent);
			result->unchanged++;
		} else {
			undo_add(set, batch, absent, result->at.n);
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

/**
 * ipcuckoo_batch_add() - add entries to a set
 * @set:	set, locked
 * @batch:	entries
 * @exist:	entries that are there already are no error
 * @result:	set
 *
 * Context: process context.
 * Return: 0, or an error as uapi/ipcuckoo.h has it; then nothing has changed.
 */
int ipcuckoo_batch_add(struct ipcuckoo_set *set,
		       const struct ipcuckoo_batch *batch, bool exist,
		       struct ipcuckoo_batch_result *result)
{
	unsigned long *absent = bitmap_zalloc(total(batch), GFP_KERNEL);
	int err;

	*result = (struct ipcuckoo_batch_result){ .at = IPCUCKOO_BATCH_BEGIN };
	if (!absent) {
		result->at.kind = IPCUCKOO_KINDS;
		return ipcuckoo_set_note(set, -ENOMEM);
	}
	err = prepare_add(set, batch, exist, absent, &result->at);
	if (!err)
		err = apply_add(set, batch, absent, result);
	if (!err)
		tell_added(set, batch, absent, result);
	bitmap_free(absent);
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
