// SPDX-License-Identifier: GPL-2.0-only
/* Batches: see batch.h. */
#include <linux/sched.h>

#include "batch.h"
#include "compat.h"
#include "netlink.h"

/* Entries between two looks at the scheduler. */
#define RESCHED_BATCH	4096

static struct ipcuckoo_entry unpack(const struct ipcuckoo_batch *batch,
				    const struct ipcuckoo_batch_cursor *at)
{
	const u8 *data = batch->data[at->kind] +
			 (size_t)at->index * ipcuckoo_nl_entry_size[at->kind];
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

/**
 * ipcuckoo_batch_total() - how many entries are in a batch?
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
 * @batch:	set; says nothing of the entry but that it is there
 * @data:	filled; memory for the packed entry, as long as the batch is used
 * @entry:	the entry, of a valid length
 */
void ipcuckoo_batch_single(struct ipcuckoo_batch *batch, u8 data[IPCUCKOO_NET6_SIZE],
			   const struct ipcuckoo_entry *entry)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);

	ipcuckoo_nl_pack_entry(data, entry, kind);
	*batch = (struct ipcuckoo_batch){};
	batch->data[kind] = data;
	batch->count[kind] = 1;
}
