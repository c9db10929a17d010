// SPDX-License-Identifier: GPL-2.0-only
/* Shadows: see shadow.h. */
#include <linux/slab.h>

#include "net.h"
#include "shadow.h"

static void shadow_free(struct kref *ref)
{
	struct ipcuckoo_shadow *shadow = container_of(ref, struct ipcuckoo_shadow,
						      ref);

	ipcuckoo_entries_exit(&shadow->entries);
	ipcuckoo_set_put(shadow->set);
	kfree(shadow);
}

/**
 * ipcuckoo_shadow_put() - give a shadow back
 * @shadow:	shadow
 */
void ipcuckoo_shadow_put(struct ipcuckoo_shadow *shadow)
{
	kref_put(&shadow->ref, shadow_free);
}

/* Under the mutexes of the set and of the shadow. */
static int shadow_begin(struct ipcuckoo_shadow *shadow, bool append,
			const u32 capacity[IPCUCKOO_KINDS])
{
	struct ipcuckoo_entries *live = &shadow->set->entries;
	u32 more[IPCUCKOO_KINDS];
	int kind;

	shadow->generation = live->generation;
	shadow->swaps = shadow->set->swaps;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		u32 count = append ? ipcuckoo_entries_count(live, kind) : 0;

		more[kind] = min_t(u64, (u64)capacity[kind] + count, U32_MAX);
	}
	/* Only hints: tables grow if there is no room for so many now. */
	ipcuckoo_entries_reserve(&shadow->entries, more);
	return append ? ipcuckoo_entries_copy(&shadow->entries, live) : 0;
}

/**
 * ipcuckoo_shadow_create() - begin the next contents of a set
 * @inet:	namespace
 * @set:	set
 * @portid:	the socket it belongs to
 * @append:	begin with a copy of the set's contents
 * @capacity:	for each kind, entries to come; a hint
 * @id:		set to the shadow's id
 *
 * Context: process context; takes the namespace's mutex and the set's.
 * Return: 0, -ENOENT if the set was destroyed, -ENOMEM, -EDQUOT or -ENOSPC.
 */
int ipcuckoo_shadow_create(struct ipcuckoo_net *inet, struct ipcuckoo_set *set,
			   u32 portid, bool append,
			   const u32 capacity[IPCUCKOO_KINDS], u32 *id)
{
	struct ipcuckoo_shadow *shadow;
	int err;

	shadow = kzalloc(sizeof(*shadow), GFP_KERNEL_ACCOUNT);
	if (!shadow)
		return -ENOMEM;
	err = ipcuckoo_entries_init(&shadow->entries, &inet->mem, false);
	if (err) {
		kfree(shadow);
		return err;
	}
	shadow->entries.shape = set->entries.shape;
	shadow->entries.options = set->entries.options;
	kref_init(&shadow->ref);
	kref_get(&set->ref);
	shadow->set = set;
	shadow->portid = portid;
	err = ipcuckoo_set_lock(set);
	if (err)
		goto err_put;
	mutex_lock_nested(&shadow->entries.mutex, SINGLE_DEPTH_NESTING);
	err = shadow_begin(shadow, append, capacity);
	mutex_unlock(&shadow->entries.mutex);
	ipcuckoo_set_unlock(set);
	if (err)
		goto err_put;
	mutex_lock(&inet->mutex);
	shadow->id = *id = ++inet->shadow_id;
	list_add(&shadow->list, &inet->shadows);
	mutex_unlock(&inet->mutex);
	return 0;

err_put:
	ipcuckoo_shadow_put(shadow);
	return err;
}

/**
 * ipcuckoo_shadow_get() - find a socket's shadow, and hold it
 * @inet:	namespace
 * @portid:	the socket
 * @id:		the shadow's id
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a shadow to be given back with ipcuckoo_shadow_put(), or NULL.
 */
struct ipcuckoo_shadow *ipcuckoo_shadow_get(struct ipcuckoo_net *inet,
					    u32 portid, u32 id)
{
	struct ipcuckoo_shadow *shadow, *found = NULL;

	mutex_lock(&inet->mutex);
	list_for_each_entry(shadow, &inet->shadows, list) {
		if (shadow->id == id && shadow->portid == portid) {
			kref_get(&shadow->ref);
			found = shadow;
			break;
		}
	}
	mutex_unlock(&inet->mutex);
	return found;
}

/**
 * ipcuckoo_shadow_remove() - let nobody find a shadow any more
 * @inet:	namespace
 * @shadow:	shadow, which the caller holds
 *
 * Context: process context; takes the namespace's mutex.
 */
void ipcuckoo_shadow_remove(struct ipcuckoo_net *inet,
			    struct ipcuckoo_shadow *shadow)
{
	bool listed;

	mutex_lock(&inet->mutex);
	listed = !list_empty(&shadow->list);
	list_del_init(&shadow->list);
	mutex_unlock(&inet->mutex);
	if (listed)
		ipcuckoo_shadow_put(shadow);
}

/* Remove the shadows of one socket, or all. */
static void remove_some(struct ipcuckoo_net *inet, bool all, u32 portid)
{
	struct ipcuckoo_shadow *shadow, *next;
	LIST_HEAD(gone);

	mutex_lock(&inet->mutex);
	list_for_each_entry_safe(shadow, next, &inet->shadows, list)
		if (all || shadow->portid == portid)
			list_move(&shadow->list, &gone);
	mutex_unlock(&inet->mutex);
	list_for_each_entry_safe(shadow, next, &gone, list) {
		list_del_init(&shadow->list);
		ipcuckoo_shadow_put(shadow);
	}
}

/**
 * ipcuckoo_shadow_release() - a socket was closed: its shadows go with it
 * @inet:	namespace
 * @portid:	the socket
 */
void ipcuckoo_shadow_release(struct ipcuckoo_net *inet, u32 portid)
{
	/* What this socket has was listed while it was sending. */
	if (!list_empty_careful(&inet->shadows))
		remove_some(inet, false, portid);
}

/**
 * ipcuckoo_shadow_exit_net() - remove all shadows
 * @inet:	namespace
 */
void ipcuckoo_shadow_exit_net(struct ipcuckoo_net *inet)
{
	remove_some(inet, true, 0);
}

/* Of an entry that is there already what was said last is kept. */
static int add_one(struct ipcuckoo_shadow *shadow, struct ipcuckoo_entry *entry,
		   const struct ipcuckoo_given *given)
{
	struct ipcuckoo_entries *e = &shadow->entries;
	struct ipcuckoo_value value;
	int err, late;

	err = ipcuckoo_set_check(shadow->set, entry);
	if (err)
		return err;
	if (ipcuckoo_set_full(shadow->set, e) && !ipcuckoo_entries_holds(e, entry))
		return -ENOSPC;
	err = ipcuckoo_value_make(&value, e->options, given, e->mem);
	if (err)
		return err;
	err = ipcuckoo_entries_add_value(e, entry, &value);
	if (err == -EEXIST && (ipcuckoo_entries_keeps(e) || given->nomatch)) {
		late = ipcuckoo_entries_update(e, entry, &value, given);
		err = late ?: err;
	}
	if (err)
		ipcuckoo_record_put(value.record, e->mem);
	else
		ipcuckoo_set_evict(shadow->set, e, entry);
	return err;
}

/**
 * ipcuckoo_shadow_add() - add entries to a shadow
 * @shadow:	shadow
 * @batch:	entries
 * @result:	set
 *
 * Context: process context; takes the shadow's mutex.
 * Return: 0, -ESTALE if the shadow is spent, or an error as uapi/ipcuckoo.h has
 * it; then the entries before the one at fault have been added.
 */
int ipcuckoo_shadow_add(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch,
			struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_given given;
	struct ipcuckoo_entry entry;
	int err = 0;

	*result = (struct ipcuckoo_batch_result){ .at = IPCUCKOO_BATCH_BEGIN };
	mutex_lock(&shadow->entries.mutex);
	if (shadow->spent) {
		result->at.kind = IPCUCKOO_KINDS;
		err = -ESTALE;
		goto out;
	}
	while (ipcuckoo_batch_next(batch, &result->at, &entry)) {
		given = ipcuckoo_batch_given(batch, &result->at, shadow->set->timeout);
		err = add_one(shadow, &entry, &given);
		if (err && err != -EEXIST)
			goto out;
		if (err)
			result->unchanged++;
		else
			result->changed++;
	}
	err = 0;
out:
	shadow->changed += result->changed;
	shadow->unchanged += result->unchanged;
	mutex_unlock(&shadow->entries.mutex);
	return ipcuckoo_set_note(shadow->set, err);
}

static int del_one(struct ipcuckoo_shadow *shadow, struct ipcuckoo_entry *entry)
{
	int err = ipcuckoo_set_check(shadow->set, entry);

	return err ?: ipcuckoo_entries_del(&shadow->entries, entry);
}

/**
 * ipcuckoo_shadow_del() - delete entries from a shadow
 * @shadow:	shadow
 * @batch:	entries
 * @exist:	entries that are not there are no error
 * @result:	set
 *
 * Context: process context; takes the shadow's mutex.
 * Return: 0, -ESTALE if the shadow is spent, or an error as uapi/ipcuckoo.h has
 * it; then the entries before the one at fault have been deleted.
 */
int ipcuckoo_shadow_del(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_batch_result *result)
{
	struct ipcuckoo_entry entry;
	int err = 0;

	*result = (struct ipcuckoo_batch_result){ .at = IPCUCKOO_BATCH_BEGIN };
	mutex_lock(&shadow->entries.mutex);
	if (shadow->spent) {
		result->at.kind = IPCUCKOO_KINDS;
		err = -ESTALE;
	}
	while (!err && ipcuckoo_batch_next(batch, &result->at, &entry)) {
		err = del_one(shadow, &entry);
		if (!err) {
			result->changed++;
		} else if (err == -ENOENT && exist) {
			result->unchanged++;
			err = 0;
		}
	}
	mutex_unlock(&shadow->entries.mutex);
	return err;
}

/* The limit may have been lowered since the entries were added. */
static bool over_limit(struct ipcuckoo_shadow *shadow)
{
	u32 limit = ipcuckoo_set_limit(shadow->set);

	return limit && ipcuckoo_entries_total(&shadow->entries) > limit;
}

/**
 * ipcuckoo_shadow_commit() - swap a shadow in
 * @shadow:	shadow; on success it is spent
 * @override:	even if the set has changed since the shadow was made
 * @entries:	set to the number of entries in the set after it
 *
 * Context: process context; takes the mutexes of the set and of the shadow.
 * Return: 0, -ENOENT if the set was destroyed, -ESTALE if it has changed or the
 * shadow is spent, -ENOSPC if the set's limit is lower now; then nothing has
 * changed. A set that was swapped goes by another name than whoever made the
 * shadow meant: -ESTALE, @override or not.
 */
int ipcuckoo_shadow_commit(struct ipcuckoo_shadow *shadow, bool override,
			   u32 *entries)
{
	struct ipcuckoo_set *set = shadow->set;
	int err;

	err = ipcuckoo_set_lock(set);
	if (err)
		return err;
	mutex_lock_nested(&shadow->entries.mutex, SINGLE_DEPTH_NESTING);
	if (shadow->spent || shadow->swaps != set->swaps ||
	    (!override && shadow->generation != set->entries.generation)) {
		err = -ESTALE;
	} else if (over_limit(shadow)) {
		err = -ENOSPC;
	} else {
		/* If there is no memory to save memory with, it can wait. */
		ipcuckoo_entries_fit(&shadow->entries);
		ipcuckoo_set_replace(set, &shadow->entries);
		*entries = ipcuckoo_set_count(set);
		shadow->spent = true;
	}
	mutex_unlock(&shadow->entries.mutex);
	ipcuckoo_set_unlock(set);
	return err;
}
