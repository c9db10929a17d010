/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a set: structures shared by version.c (replaces tables), usage.c
 * (counts), rebuild.c (makes new tables and hints), entries.c (adds and deletes entries),
 * gc.c (removes expired entries) and lookup.c (answers packets).
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
 * struct ipcuckoo_version - all that one look-up reads, behind one pointer
 * @table:	a table for each kind; may be NULL if there are no such entries
 * @hint:	a hint for each family; NULL if there was never a prefix
 * @filter:	for approximate contents, instead of tables and hints; NULL until it is
 *		allocated
 * @lpm:	tables have deadlines or exceptions: an address matches if the longest entry
 *		that covers it and has not expired is no exception. Otherwise it matches if
 *		any entry covers it
 * @free_parts:	IPCUCKOO_PART_*: tables, hints and filter that no later version shares, to be
 *		freed with this version. Readers do not use this and the following fields
 * @mem:	account to which all of it is charged
 * @retiring:	bytes that will be freed with it
 * @work:	work item that frees it
 *
 * To replace one table, a new version is published, which shares the other tables with
 * the old one. A table that was replaced is never changed again. Shared tables are still
 * changed, under the same sequence number.
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
 * struct ipcuckoo_lens - how many entries have each prefix length
 * @count:	number of entries; read by readers too
 * @longest:	the longest length of an entry, 0 if there is none; likewise
 */
struct ipcuckoo_lens {
	u32 count[129];
	u8 longest;
};

/**
 * struct ipcuckoo_entries - the contents of a set
 * @guard:	sequence number and lock of all tables, hints and filters
 * @version:	the current version; NULL only after ipcuckoo_entries_replace() took it
 * @mutex:	serialises writers, and protects the fields below but @retries and @fallbacks. In a
 *		set of ip_set, packets are writers too: see @packets
 * @packets:	a packet that adds an entry to a set of ip_set, or deletes one, is the writer while
 *		it holds this lock, provided that @locked is false; a spinlock of softirqs
 * @locked:	packets must not change the contents, because a process holds @mutex. False while
 *		it holds @mutex and copies a table beside them (rebuild.c). Changed under @packets
 * @mem:	account to charge
 * @queue:	memory for searches for a free slot, until the writer is done; or NULL
 * @live:	there may be readers; false for shadows and scratch contents
 * @loose:	a table has grown beyond what its entries need
 * @gc_pending:	a bit for each kind of which garbage collection has removed entries: the
 *		next change may have to shrink its table and to clean its hint
 * @options:	extensions of entries, enum ipcuckoo_option. Set before the first use
 * @records:	bytes of all records
 * @expired:	number of expired entries that were removed so far
 * @lens:	for sets of ip_set (ipset/ipset.h), which have one family: how many entries have
 *		each prefix length; else NULL. Set before the first use
 * @shape:	shape of the filter of approximate contents; shape.bits is 0 for exact
 *		contents. Set before the first use
 * @layout:	incremented when a version is published: positions are invalid then
 * @generation:	incremented with every change, except for removing expired entries; where it
 *		begins, see first_generation() in set.c
 * @by_packets:	how many of these changes packets have made (ipset/apply.c)
 * @growths:	number of tables that were replaced by one of another size
 * @rekeys:	number of tables that were replaced by one of the same size with another key,
 *		after an insertion failed at a low load factor
 * @displaced:	number of entries moved in tables that were replaced
 * @fallbacks:	number of look-ups that took the lock, under guard.lock
 * @retries:	number of look-ups repeated because of a writer; not in the cache line that
 *		every look-up reads
 */
struct ipcuckoo_entries {
	struct ipcuckoo_guard guard;
	struct ipcuckoo_version __rcu *version;

	struct mutex mutex ____cacheline_aligned_in_smp;
	spinlock_t packets;	/* see above, and set.h */
	bool locked;
	struct ipcuckoo_mem *mem;
	struct ipcuckoo_search_node *queue;
	bool live;
	bool loose;
	u8 gc_pending;
	u32 options;
	size_t records;
	u64 expired;
	struct ipcuckoo_lens *lens;
	struct ipcuckoo_filter_shape shape;
	u32 layout;
	u64 generation;
	u64 by_packets;
	u32 growths;
	u32 rekeys;
	u64 displaced;
	u64 fallbacks;
	atomic64_t retries;
};

/* Are the contents a filter? Then some non-members match, and entries cannot be listed. */
static inline bool
ipcuckoo_entries_approximate(const struct ipcuckoo_entries *e)
{
	return e->shape.bits;
}

/* Is the caller the writer, a process or a packet? For lockdep. */
#define ipcuckoo_entries_is_writer(e)	\
	(lockdep_is_held(&(e)->mutex) || lockdep_is_held(&(e)->packets))

#endif /* _IPCUCKOO_CONTENTS_H */
