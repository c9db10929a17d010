/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of entries: the one way by which netlink, procfs and shadows add
 * entries to the contents of a set and delete them.
 *
 * An addition has the same steps wherever it comes from: check the entry, look
 * whether it is there already, respect the limit, make the value to keep for it,
 * add or update it, evict others with forceadd, count what failed. What is there
 * already gets the value of the request, as if it had been deleted and added
 * again: an exception that is added as an ordinary entry becomes one.
 *
 * ipcuckoo_change_add() and ipcuckoo_change_del() change the live contents by a
 * whole batch or not at all, and notify listeners. For that each step is done
 * for all entries before the next step begins. ipcuckoo_change_add_one() and
 * ipcuckoo_change_del_one() change contents that no packet sees yet, a shadow or
 * what ipcuckoo_change_scratch_create() makes, by one entry.
 */
#ifndef _IPCUCKOO_CHANGE_H
#define _IPCUCKOO_CHANGE_H

#include "batch.h"
#include "set.h"

/**
 * struct ipcuckoo_change_result - what became of a batch
 * @changed:	entries added or deleted
 * @unchanged:	entries that were there, or not there, already
 * @at:		on error: the entry at fault, or the end of the batch if the error
 *		is not about one entry
 */
struct ipcuckoo_change_result {
	u32 changed;
	u32 unchanged;
	struct ipcuckoo_batch_cursor at;
};

int ipcuckoo_change_add(struct ipcuckoo_set *set,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result);
int ipcuckoo_change_del(struct ipcuckoo_set *set,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result);

int ipcuckoo_change_add_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry,
			    const struct ipcuckoo_entry_attrs *attrs);
int ipcuckoo_change_del_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry);

struct ipcuckoo_entries *ipcuckoo_change_scratch_create(const struct ipcuckoo_set *set);
void ipcuckoo_change_scratch_destroy(struct ipcuckoo_entries *e);

#endif /* _IPCUCKOO_CHANGE_H */
