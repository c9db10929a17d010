/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a set, as the files that work on them share them: version.c
 * (replaces the tables), usage.c (counts), rebuild.c (makes tables and hints anew),
 * entries.c (adds and deletes), gc.c (removes what has expired) and lookup.c
 * (answers packets).
 */
#ifndef _IPCUCKOO_CONTENTS_H
#define _IPCUCKOO_CONTENTS_H

#include <linux/atomic.h>
#include <linux/mutex.h>

#include "entry.h"
#include "filter.h"
#include "hint.h"
#include "table.h"

/**
 * struct ipcuckoo_version - all that one look-up uses, behind one pointer
 * @table:	one a kind, NULL while there are no such entries
 * @hint:	one a family; NULL as long as there was no prefix
 * @filter:	in place of all these, where contents are approximate; NULL
 *		while they are empty
 * @lpm:	some entries have timeouts, or are exceptions: an address matches if the
 *		longest entry that covers it and has not expired is no exception.
 *		Otherwise it matches if any entry covers it
 * @free_parts:	what no later version has: a bit for each of @table, then @hint,
 *		then @filter. Readers never look at this and what follows
 * @mem:	account of it all
 * @retiring:	bytes that will be freed with it
 * @work:	frees it
 *
 * Growth replaces one table and carries the others over to a new version.
 * The tables of an old version that were replaced are never changed again;
 * those carried over are, under the same sequence.
 */
struct ipcuckoo_version {
	struct ipcuckoo_table *table[IPCUCKOO_KINDS];
	struct ipcuckoo_hint *hint[2];
	struct ipcuckoo_filter *filter;
	bool lpm;
	u8 free_parts;
	struct ipcuckoo_mem *mem;
	size_t retiring;
	struct rcu_work work;
};

/**
 * struct ipcuckoo_entries - the contents of a set
 * @guard:	sequence and lock shared by all tables and hints
 * @version:	the current version, never NULL
 * @mutex:	serialises writers
 * @mem:	account for the memory
 * @queue:	memory for searches, while one is at work
 * @live:	there may be readers; false for a shadow
 * @gc_pending:	a bit for each kind of which garbage collection has removed entries: the
 *		next change may have to shrink its table and to clean its hint
 * @options:	what is kept for entries, enum ipcuckoo_option. Set before the
 *		first use
 * @records:	bytes that records take
 * @expired:	entries that ended and were removed
 * @shape:	what the filter is like that approximate contents are in; its
 *		bits are 0 for exact contents. Set before the first use
 * @layout:	moves when a table is replaced
 * @generation:	moves with every change but the removal of what has ended
 * @growths:	tables made anew in another size
 * @rekeys:	tables made anew with another key, after an early failure
 * @displaced:	entries moved in tables that are gone
 * @fallbacks:	look-ups that took the lock, under guard.lock
 * @retries:	look-ups that began anew because of a writer; away from what
 *		every look-up reads
 */
struct ipcuckoo_entries {
	struct ipcuckoo_guard guard;
	struct ipcuckoo_version __rcu *version;

	struct mutex mutex ____cacheline_aligned_in_smp;
	struct ipcuckoo_mem *mem;
	struct ipcuckoo_search_node *queue;
	bool live;
	u8 gc_pending;
	u32 options;
	size_t records;
	u64 expired;
	struct ipcuckoo_filter_shape shape;
	u32 layout;
	u64 generation;
	u32 growths;
	u32 rekeys;
	u64 displaced;
	u64 fallbacks;
	atomic64_t retries;
};

/* Do non-members match now and then, and can entries not be listed? */
static inline bool
ipcuckoo_entries_approximate(const struct ipcuckoo_entries *e)
{
	return e->shape.bits;
}

#endif /* _IPCUCKOO_CONTENTS_H */
