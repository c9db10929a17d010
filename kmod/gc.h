/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Garbage collection (gc): removes entries that have expired, or to make room for others.
 * For the writer.
 */
#ifndef _IPCUCKOO_GC_H
#define _IPCUCKOO_GC_H

#include "entries.h"

/* The number of slots in one part of a gc pass. gc takes the mutex for one part at a time:
 * for reading so many slots, or removing a few entries. So a writer waits for gc 50
 * microseconds at most, as selftests/bench/core/collect.c measures.
 */
#define IPCUCKOO_GC_SLOTS	512

/* Removing an entry counts as reading so many slots. */
#define IPCUCKOO_GC_REMOVAL	128

/* Called for each entry that garbage collection has removed. */
typedef void (*ipcuckoo_gc_fn)(void *data, const struct ipcuckoo_entry *entry);

bool ipcuckoo_gc_part(struct ipcuckoo_entries *e, u64 *pos, u32 slots,
		      ipcuckoo_gc_fn removed, void *data);

bool ipcuckoo_gc_evict(struct ipcuckoo_entries *e,
		       const struct ipcuckoo_entry *keep,
		       struct ipcuckoo_entry *evicted);
u32 ipcuckoo_gc_nearest(struct ipcuckoo_entries *e);

#endif /* _IPCUCKOO_GC_H */
