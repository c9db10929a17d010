/* SPDX-License-Identifier: GPL-2.0-only */
/* Batches: the packed entries of a request, added or deleted as a whole. */
#ifndef _IPCUCKOO_BATCH_H
#define _IPCUCKOO_BATCH_H

#include "set.h"

/**
 * struct ipcuckoo_batch - packed entries
 * @data:	for each kind, as uapi/ipcuckoo.h describes them
 * @count:	for each kind, entries
 */
struct ipcuckoo_batch {
	const u8 *data[IPCUCKOO_KINDS];
	u32 count[IPCUCKOO_KINDS];
};

/**
 * struct ipcuckoo_batch_result - what became of a batch
 * @changed:	entries added or deleted
 * @unchanged:	entries that were there, or not there, already
 * @kind:	on error: the kind of the entry at fault, or IPCUCKOO_KINDS if
 *		it is no entry's
 * @index:	on error: its index among those of its kind
 */
struct ipcuckoo_batch_result {
	u32 changed;
	u32 unchanged;
	enum ipcuckoo_kind kind;
	u32 index;
};

/* The entries of a batch one after the other. @n counts them all; @kind and
 * @i can be those of a struct ipcuckoo_batch_result, so that a loop left early
 * says where.
 */
#define ipcuckoo_batch_for_each(batch, n, kind, i)			\
	for ((n) = 0, (kind) = 0; (kind) < IPCUCKOO_KINDS; (kind)++)	\
		for ((i) = 0; (i) < (batch)->count[kind]; (i)++, (n)++)

struct ipcuckoo_entry ipcuckoo_batch_entry(const struct ipcuckoo_batch *batch,
					   enum ipcuckoo_kind kind, u32 i);
int ipcuckoo_batch_add(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, bool exist,
		     struct ipcuckoo_batch_result *result);
int ipcuckoo_batch_del(struct ipcuckoo_set *set,
		     const struct ipcuckoo_batch *batch, bool exist,
		     struct ipcuckoo_batch_result *result);

#endif /* _IPCUCKOO_BATCH_H */
