/* SPDX-License-Identifier: GPL-2.0-only */
/* Batches: the packed entries of a request, and their extensions. */
#ifndef _IPCUCKOO_BATCH_H
#define _IPCUCKOO_BATCH_H

#include "set.h"
#include "wire.h"

/**
 * struct ipcuckoo_batch - packed entries
 * @data:	for each kind, packed entries as uapi/ipcuckoo.h describes them
 * @count:	for each kind, the number of entries
 * @ext:	for each extension, its packed values for all entries of the batch, in order;
 *		or NULL
 */
struct ipcuckoo_batch {
	const u8 *data[IPCUCKOO_KINDS];
	u32 count[IPCUCKOO_KINDS];
	const u8 *ext[IPCUCKOO_WIRE_EXTS];
};

/**
 * struct ipcuckoo_batch_cursor - position in a batch
 * @kind:	kind of the current entry; IPCUCKOO_KINDS at the end
 * @index:	index of the entry among those of its kind
 * @n:		index of the entry in the batch
 * @comment:	its comment, if the batch has comments
 */
struct ipcuckoo_batch_cursor {
	enum ipcuckoo_kind kind;
	u32 index;
	u32 n;
	const char *comment;
};

/* Before the first entry. */
#define IPCUCKOO_BATCH_BEGIN	{ .index = U32_MAX, .n = U32_MAX }

bool ipcuckoo_batch_next(const struct ipcuckoo_batch *batch,
			 struct ipcuckoo_batch_cursor *at,
			 struct ipcuckoo_entry *entry);
struct ipcuckoo_entry_attrs
ipcuckoo_batch_attrs(const struct ipcuckoo_batch *batch,
		     const struct ipcuckoo_batch_cursor *at, u32 timeout);
u32 ipcuckoo_batch_total(const struct ipcuckoo_batch *batch);
void ipcuckoo_batch_single(struct ipcuckoo_batch *batch, u8 data[IPCUCKOO_NET6_SIZE],
			   const struct ipcuckoo_entry *entry);

#endif /* _IPCUCKOO_BATCH_H */
