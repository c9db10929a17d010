// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <asm/unaligned.h>

#include "batch.h"

/**
 * ipcuckoo_batch_entry() - unpack an entry
 * @batch:	packed entries
 * @kind:	which attribute
 * @i:		which entry of it
 */
struct ipcuckoo_entry ipcuckoo_batch_entry(const struct ipcuckoo_batch *batch,
					   enum ipcuckoo_kind kind, u32 i)
{
	static const u8 sizes[] = {
		[IPCUCKOO_HOSTS4] = IPCUCKOO_HOST4_SIZE,
		[IPCUCKOO_HOSTS6] = IPCUCKOO_HOST6_SIZE,
		[IPCUCKOO_NETS4] = IPCUCKOO_NET4_SIZE,
		[IPCUCKOO_NETS6] = IPCUCKOO_NET6_SIZE,
	};
	const u8 *data = batch->data[kind] + (size_t)i * sizes[kind];
	struct ipcuckoo_entry entry = {
		.v6 = kind == IPCUCKOO_HOSTS6 || kind == IPCUCKOO_NETS6,
	};

	if (entry.v6) {
		entry.addr.hi = get_unaligned_be64(data);
		entry.addr.lo = get_unaligned_be64(data + 8);
		entry.len = kind == IPCUCKOO_NETS6 ? data[16] : 128;
	} else {
		entry.addr.lo = get_unaligned_be32(data);
		entry.len = kind == IPCUCKOO_NETS4 ? data[4] : 32;
	}
	return entry;
}

static u32 batch_total(const struct ipcuckoo_batch *batch)
{
	u32 total = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += batch->count[kind];
	return total;
}

/* Entries that are not in the set, each counted once. Only asked for when the
 * batch could overflow the set, and then by adding them up in a shadow.
 */
static int count_distinct(struct ipcuckoo_set *set,
			  const struct ipcuckoo_batch *batch,
			  const unsigned long *absent, u32 *distinct)
{
	struct ipcuckoo_entries *shadow;
	struct ipcuckoo_entry entry;
	u32 n, kind, i;
	int err;

	shadow = kzalloc(sizeof(*shadow), GFP_KERNEL_ACCOUNT);
	if (!shadow)
		return -ENOMEM;
	err = ipcuckoo_entries_init(shadow, set->entries.mem, false);
	if (err)
		goto out;
	mutex_lock_nested(&shadow->mutex, SINGLE_DEPTH_NESTING);
	ipcuckoo_batch_for_each(batch, n, kind, i) {
		if (!test_bit(n, absent))
			continue;
		entry = ipcuckoo_batch_entry(batch, kind, i);
		ipcuckoo_set_check(set, &entry);
		err = ipcuckoo_entries_add(shadow, &entry);
		if (err && err != -EEXIST)
			goto out_unlock;
	}
	*distinct = ipcuckoo_entries_total(shadow);
	err = 0;
out_unlock:
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
		       unsigned long *absent,
		       struct ipcuckoo_batch_result *result)
{
	u32 more[IPCUCKOO_KINDS] = {}, n, new = 0, count;
	struct ipcuckoo_entry entry;
	int err;

	ipcuckoo_batch_for_each(batch, n, result->kind, result->index) {
		entry = ipcuckoo_batch_entry(batch, result->kind, result->index);
		err = ipcuckoo_set_check(set, &entry);
		if (err)
			return err;
		if (!ipcuckoo_entries_has(&set->entries, &entry)) {
			__set_bit(n, absent);
			more[ipcuckoo_entry_kind(&entry)]++;
			new++;
		} else if (!exist) {
			return -EEXIST;
		}
	}
	count = ipcuckoo_set_count(set);
	if (set->maxelem && count + new > set->maxelem) {
		err = count_distinct(set, batch, absent, &new);
		if (err)
			return err;
		if (count + new > set->maxelem)
			return -ENOSPC;
	}
	return ipcuckoo_entries_reserve(&set->entries, more);
}

/* Delete what this batch has added, up to entry @end. */
static void undo_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch,
		     const unsigned long *added, u32 end)
{
	struct ipcuckoo_entry entry;
	u32 n, kind, i;

	ipcuckoo_batch_for_each(batch, n, kind, i) {
		if (n == end)
			return;
		if (!test_bit(n, added))
			continue;
		entry = ipcuckoo_batch_entry(batch, kind, i);
		ipcuckoo_set_check(set, &entry);
		ipcuckoo_entries_del(&set->entries, &entry);
	}
}

/* Room was made for all of it, so that a failure here takes both a search that
 * fails far below its usual load and no memory for another table.
 */
static int apply_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, unsigned long *absent,
		     struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_entry entry;
	int err;
	u32 n;

	ipcuckoo_batch_for_each(batch, n, result->kind, result->index) {
		if (!test_bit(n, absent)) {
			result->unchanged++;
			continue;
		}
		entry = ipcuckoo_batch_entry(batch, result->kind, result->index);
		ipcuckoo_set_check(set, &entry);
		err = ipcuckoo_entries_add(&set->entries, &entry);
		if (!err) {
			result->changed++;
		} else if (err == -EEXIST) {
			/* Twice in this batch. */
			__clear_bit(n, absent);
			result->unchanged++;
		} else {
			undo_add(set, batch, absent, n);
			return err;
		}
	}
	return 0;
}

/**
 * ipcuckoo_batch_add() - add entries
 * @set:	set, locked
 * @batch:	entries
 * @exist:	entries that are there already are no error
 * @result:	zeroed; set
 *
 * Context: process context.
 * Return: 0, or an error as uapi/ipcuckoo.h has it; then nothing has changed.
 */
int ipcuckoo_batch_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, bool exist,
		     struct ipcuckoo_batch_result *result)
{
	unsigned long *absent = bitmap_zalloc(batch_total(batch), GFP_KERNEL);
	int err;

	result->kind = IPCUCKOO_KINDS;
	if (!absent)
		return -ENOMEM;
	err = prepare_add(set, batch, exist, absent, result);
	if (!err)
		err = apply_add(set, batch, absent, result);
	bitmap_free(absent);
	return err;
}

/**
 * ipcuckoo_batch_del() - delete entries
 * @set:	set, locked
 * @batch:	entries
 * @exist:	entries that are not there are no error
 * @result:	zeroed; set
 *
 * Context: process context.
 * Return: 0, or an error as uapi/ipcuckoo.h has it; then nothing has changed.
 */
int ipcuckoo_batch_del(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, bool exist,
		     struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_entry entry;
	int err;
	u32 n;

	ipcuckoo_batch_for_each(batch, n, result->kind, result->index) {
		entry = ipcuckoo_batch_entry(batch, result->kind, result->index);
		err = ipcuckoo_set_check(set, &entry);
		if (!err && !exist &&
		    !ipcuckoo_entries_has(&set->entries, &entry))
			err = -ENOENT;
		if (err)
			return err;
	}
	ipcuckoo_batch_for_each(batch, n, result->kind, result->index) {
		entry = ipcuckoo_batch_entry(batch, result->kind, result->index);
		ipcuckoo_set_check(set, &entry);
		if (ipcuckoo_entries_del(&set->entries, &entry))
			result->unchanged++;
		else
			result->changed++;
	}
	return 0;
}
