/* SPDX-License-Identifier: GPL-2.0-only */
/* Batches: the packed entries of a request, and what comes with each. */
#ifndef _IPCUCKOO_BATCH_H
#define _IPCUCKOO_BATCH_H

#include "set.h"
#include "wire.h"

/**
 * struct ipcuckoo_batch - packed entries
 * @data:	for each kind, as uapi/ipcuckoo.h describes them
 * @count:	for each kind, entries
 * @ext:	for each extension, that of all entries in their order, likewise
 *		packed; or NULL
 */
struct ipcuckoo_batch {
	const u8 *data[IPCUCKOO_KINDS];
	u32 count[IPCUCKOO_KINDS];
	const u8 *ext[IPCUCKOO_WIRE_EXTS];
};

/**
 * struct ipcuckoo_batch_cursor - an entry of a batch
 * @kind:	which attribute; IPCUCKOO_KINDS at the end
 * @index:	which entry of it
 * @n:		which entry of all
 * @comment:	its comment, if there are comments
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
