/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a set: hosts and prefixes of both families.
 *
 * Safe for readers (any context but hard interrupts, under rcu_read_lock()):
 * ipcuckoo_entries_match*(), which are in lookup.c.
 * For the writer (process context, holding ipcuckoo_entries.mutex): the rest.
 */
#ifndef _IPCUCKOO_ENTRIES_H
#define _IPCUCKOO_ENTRIES_H

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
 * @gone:	what no later version has: a bit for each of @table, then @hint,
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
	u8 gone;
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

int ipcuckoo_entries_init(struct ipcuckoo_entries *e, struct ipcuckoo_mem *mem,
			  bool live);
void ipcuckoo_entries_exit(struct ipcuckoo_entries *e);

bool ipcuckoo_entries_match4(struct ipcuckoo_entries *e, u32 addr);
bool ipcuckoo_entries_match6(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr);
bool ipcuckoo_entries_match_mapped(struct ipcuckoo_entries *e,
				   const struct ipcuckoo_key *addr);
bool ipcuckoo_entries_record(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, bool v6, bool mapped,
			     struct ipcuckoo_record **record);

int ipcuckoo_entries_add_value(struct ipcuckoo_entries *e,
			       const struct ipcuckoo_entry *entry,
			       struct ipcuckoo_value *value);
bool ipcuckoo_entries_keeps(struct ipcuckoo_entries *e);
int ipcuckoo_entries_learn_exceptions(struct ipcuckoo_entries *e,
				      enum ipcuckoo_kind kind);
int ipcuckoo_entries_update(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *fresh,
			    const struct ipcuckoo_given *given);
int ipcuckoo_entries_del(struct ipcuckoo_entries *e,
			 const struct ipcuckoo_entry *entry);
bool ipcuckoo_entries_has(struct ipcuckoo_entries *e,
			  const struct ipcuckoo_entry *entry);
bool ipcuckoo_entries_get(struct ipcuckoo_entries *e,
			  const struct ipcuckoo_entry *entry,
			  struct ipcuckoo_value *value);

/* No prefix has that length. */
#define IPCUCKOO_LEN_NONE	0xff

bool ipcuckoo_entries_find(struct ipcuckoo_entries *e,
			   const struct ipcuckoo_entry *entry, u8 *len);
unsigned int ipcuckoo_entries_copies(struct ipcuckoo_entries *e,
				     const struct ipcuckoo_entry *entry);
bool ipcuckoo_entries_next_value(struct ipcuckoo_entries *e, u64 *pos,
				 struct ipcuckoo_entry *entry,
				 struct ipcuckoo_value *value);

/* Expired entries do not match. Garbage collection removes them a part at a time: it
 * holds the lock for as long as it takes to look at so many slots, or to remove a few
 * entries, so that a writer waits 50 microseconds at most. selftests/bench/core/gc.c
 * measures this.
 */
#define IPCUCKOO_GC_SLOTS	512

/* Removing an entry counts as looking at so many slots. */
#define IPCUCKOO_GC_REMOVAL	128

/* Called for each entry that garbage collection has removed. */
typedef void (*ipcuckoo_gc_fn)(void *data, const struct ipcuckoo_entry *entry);

bool ipcuckoo_entries_gc(struct ipcuckoo_entries *e, u64 *pos, u32 slots,
			 ipcuckoo_gc_fn removed, void *data);

bool ipcuckoo_entries_evict(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *keep,
			    struct ipcuckoo_entry *gone);

int ipcuckoo_entries_reserve(struct ipcuckoo_entries *e,
			     const u32 more[IPCUCKOO_KINDS]);
int ipcuckoo_entries_copy(struct ipcuckoo_entries *to,
			  struct ipcuckoo_entries *from);
int ipcuckoo_entries_trim(struct ipcuckoo_entries *e);
int ipcuckoo_entries_flush(struct ipcuckoo_entries *e);
void ipcuckoo_entries_replace(struct ipcuckoo_entries *e,
			      struct ipcuckoo_entries *shadow);
void ipcuckoo_entries_free_queue(struct ipcuckoo_entries *e);

u32 ipcuckoo_entries_count(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
u32 ipcuckoo_entries_total(struct ipcuckoo_entries *e);
u32 ipcuckoo_entries_live(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
u32 ipcuckoo_entries_live_total(struct ipcuckoo_entries *e);
u32 ipcuckoo_entries_nearest(struct ipcuckoo_entries *e);
u64 ipcuckoo_entries_slots(struct ipcuckoo_entries *e);
u64 ipcuckoo_entries_displaced(struct ipcuckoo_entries *e);
u64 ipcuckoo_entries_fallbacks(struct ipcuckoo_entries *e);
size_t ipcuckoo_entries_memory(struct ipcuckoo_entries *e);

/* Add an entry for which nothing else is kept. */
static inline int ipcuckoo_entries_add(struct ipcuckoo_entries *e,
				       const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value none = {};

	return ipcuckoo_entries_add_value(e, entry, &none);
}

static inline bool ipcuckoo_entries_next(struct ipcuckoo_entries *e, u64 *pos,
					 struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value value;

	return ipcuckoo_entries_next_value(e, pos, entry, &value);
}

/* Would adding an entry change nothing? */
static inline bool ipcuckoo_entries_holds(struct ipcuckoo_entries *e,
					  const struct ipcuckoo_entry *entry)
{
	return !e->shape.multi && ipcuckoo_entries_has(e, entry);
}

/* Do strangers match now and then, and can entries not be listed? */
static inline bool
ipcuckoo_entries_approximate(const struct ipcuckoo_entries *e)
{
	return e->shape.bits;
}

#endif /* _IPCUCKOO_ENTRIES_H */
