/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Garbage collection: entries that are removed though nobody asks for it, because they
 * have expired, or to make room for others. For the writer.
 */
#ifndef _IPCUCKOO_GC_H
#define _IPCUCKOO_GC_H

#include "entries.h"

/* Expired entries do not match. Garbage collection removes them a part at a time: it
 * holds the lock for as long as it takes to look at so many slots, or to remove a few
 * entries, so that a writer waits 50 microseconds at most. selftests/bench/core/collect.c
 * measures this.
 */
#define IPCUCKOO_GC_SLOTS	512

/* Removing an entry counts as looking at so many slots. */
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
