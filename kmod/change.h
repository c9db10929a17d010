/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of entries: netlink, procfs and shadows all add and delete entries with these
 * functions.
 *
 * An addition has the same steps for all callers: check the entry; see whether it exists;
 * check the limit; allocate the value to be stored for it; add or update it; with
 * forceadd, evict other entries; count a failure. An entry that exists gets the value of
 * the request, as if it had been deleted and added again. For example, adding an exception
 * without the flag nomatch makes it an ordinary entry.
 *
 * ipcuckoo_change_add() and ipcuckoo_change_del() change the contents that packets see,
 * by a whole batch or not at all, and notify listeners. To that end they do each step for
 * all entries of the batch before the next step. ipcuckoo_change_add_live() and
 * ipcuckoo_change_del_live() do the same with one entry. ipcuckoo_change_add_one() and
 * ipcuckoo_change_del_one() change contents that no packet sees yet by one entry: a
 * shadow, or contents of ipcuckoo_change_scratch_create().
 *
 * ipcuckoo_change_add_in_place() and ipcuckoo_change_del_in_place() are for packets: they do not
 * sleep, and change nothing if that would take memory for a table, or if somebody listens.
 */
#ifndef _IPCUCKOO_CHANGE_H
#define _IPCUCKOO_CHANGE_H

#include "batch.h"
#include "set.h"

/**
 * struct ipcuckoo_change_result - the result of adding or deleting a batch
 * @changed:	number of entries that were added or deleted
 * @unchanged:	number of entries that existed before an addition, or did not exist
 *		before a deletion
 * @at:		on error: the entry at fault; @at.kind is IPCUCKOO_KINDS if the error is
 *		not about one entry
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

int ipcuckoo_change_add_live(struct ipcuckoo_set *set, struct ipcuckoo_entry *entry,
			     const struct ipcuckoo_entry_attrs *attrs, bool exist);
int ipcuckoo_change_del_live(struct ipcuckoo_set *set, struct ipcuckoo_entry *entry);
int ipcuckoo_change_add_in_place(struct ipcuckoo_set *set, const struct ipcuckoo_entry *entry,
				 const struct ipcuckoo_entry_attrs *attrs, bool exist,
				 bool comment);
int ipcuckoo_change_del_in_place(struct ipcuckoo_set *set, const struct ipcuckoo_entry *entry);
int ipcuckoo_change_failed(struct ipcuckoo_set *set, int err);

int ipcuckoo_change_add_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry,
			    const struct ipcuckoo_entry_attrs *attrs);
int ipcuckoo_change_del_one(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			    struct ipcuckoo_entry *entry);

struct ipcuckoo_entries *ipcuckoo_change_scratch_create(const struct ipcuckoo_set *set);
void ipcuckoo_change_scratch_destroy(struct ipcuckoo_entries *e);

#endif /* _IPCUCKOO_CHANGE_H */
