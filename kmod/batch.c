// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/sched.h>

#include "batch.h"

/* Entries between two calls of cond_resched(). */
#define RESCHED_BATCH	4096

/**
 * ipcuckoo_batch_next() - the next entry of a batch
 * @batch:	batch
 * @at:		position of the previous entry, or IPCUCKOO_BATCH_BEGIN; advanced
 * @entry:	set to the entry as the request has it, unchecked
 *
 * Context: process context; may reschedule.
 * Return: false at the end.
 */
bool ipcuckoo_batch_next(const struct ipcuckoo_batch *batch,
			 struct ipcuckoo_batch_cursor *at,
			 struct ipcuckoo_entry *entry)
{
	at->index++;
	at->n++;
	if (batch->ext[IPCUCKOO_WIRE_COMMENT])
		at->comment = at->n ? at->comment + strlen(at->comment) + 1 :
				      (const char *)batch->ext[IPCUCKOO_WIRE_COMMENT];
	while (at->kind < IPCUCKOO_KINDS && at->index >= batch->count[at->kind]) {
		at->kind++;
		at->index = 0;
	}
	if (at->kind >= IPCUCKOO_KINDS)
		return false;
	if (!(at->n % RESCHED_BATCH))
		cond_resched();
	*entry = ipcuckoo_wire_get_entry(batch->data[at->kind] + (size_t)at->index *
					 ipcuckoo_wire_entry_size[at->kind], at->kind);
	return true;
}

/**
 * ipcuckoo_batch_attrs() - the attributes of an entry of a batch
 * @batch:	batch
 * @at:		position of the entry
 * @timeout:	its timeout if the batch has none
 */
struct ipcuckoo_entry_attrs
ipcuckoo_batch_attrs(const struct ipcuckoo_batch *batch,
		     const struct ipcuckoo_batch_cursor *at, u32 timeout)
{
	struct ipcuckoo_entry_attrs attrs = ipcuckoo_entry_attrs_default(timeout);
	const u8 *data;
	int ext;

	for (ext = 0; ext < IPCUCKOO_WIRE_EXTS; ext++) {
		data = batch->ext[ext];
		if (!data)
			continue;
		if (ext == IPCUCKOO_WIRE_COMMENT)
			data = (const u8 *)at->comment;
		else
			data += (size_t)at->n * ipcuckoo_wire_exts[ext].size;
		ipcuckoo_wire_get_ext(data, ext, &attrs);
	}
	return attrs;
}

/**
 * ipcuckoo_batch_total() - the number of entries in a batch
 * @batch:	batch
 */
u32 ipcuckoo_batch_total(const struct ipcuckoo_batch *batch)
{
	u32 total = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += batch->count[kind];
	return total;
}

/**
 * ipcuckoo_batch_single() - make a batch of one entry
 * @batch:	filled in, without extensions
 * @data:	memory for the packed entry; must stay valid as long as @batch is used
 * @entry:	the entry, with a valid length
 */
void ipcuckoo_batch_single(struct ipcuckoo_batch *batch, u8 data[IPCUCKOO_NET6_SIZE],
			   const struct ipcuckoo_entry *entry)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);

	ipcuckoo_wire_put_entry(data, entry, kind);
	*batch = (struct ipcuckoo_batch){};
	batch->data[kind] = data;
	batch->count[kind] = 1;
}
