/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-ups: for packets, in any context but hard interrupts, under rcu_read_lock(). */
#ifndef _IPCUCKOO_LOOKUP_H
#define _IPCUCKOO_LOOKUP_H

#include <linux/percpu.h>

#include "contents.h"

/**
 * enum ipcuckoo_decision - what an entry that covers an address decides
 * @IPCUCKOO_UNDECIDED: there is none
 * @IPCUCKOO_MATCH:	the address matches
 * @IPCUCKOO_EXCEPTION: it does not match, because the entry is an exception
 */
enum ipcuckoo_decision {
	IPCUCKOO_UNDECIDED,
	IPCUCKOO_MATCH,
	IPCUCKOO_EXCEPTION,
};

/* lookup.c explains this threshold and the counter that is compared with it. */
#define IPCUCKOO_HITS_MANY	4

DECLARE_PER_CPU(int, ipcuckoo_recent_hits);

bool ipcuckoo_entries_match4(struct ipcuckoo_entries *e, u32 addr);
bool ipcuckoo_entries_match6(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr);
bool ipcuckoo_entries_match_mapped(struct ipcuckoo_entries *e,
				   const struct ipcuckoo_key *addr);
enum ipcuckoo_decision
ipcuckoo_entries_decide(struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr, bool v6,
			bool mapped, struct ipcuckoo_record **record);
bool ipcuckoo_entries_fetch_from(const struct ipcuckoo_version *v,
				 const struct ipcuckoo_entry *entry, u32 now,
				 struct ipcuckoo_value *value);
bool ipcuckoo_entries_expires(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			      u32 now, u32 expires);
bool ipcuckoo_entries_fetch(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *value);

/* Have most recent look-ups on this CPU matched, of those of IPv6 hosts, and those in sets with
 * records? Then what a match reads is prefetched: see lookup.c.
 */
static inline bool ipcuckoo_lookups_match(void)
{
	return this_cpu_read(ipcuckoo_recent_hits) >= IPCUCKOO_HITS_MANY;
}

#endif /* _IPCUCKOO_LOOKUP_H */
