/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-ups: for packets, in any context but hard interrupts, under rcu_read_lock(). */
#ifndef _IPCUCKOO_LOOKUP_H
#define _IPCUCKOO_LOOKUP_H

#include "contents.h"

bool ipcuckoo_entries_match4(struct ipcuckoo_entries *e, u32 addr);
bool ipcuckoo_entries_match6(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr);
bool ipcuckoo_entries_match_mapped(struct ipcuckoo_entries *e,
				   const struct ipcuckoo_key *addr);
bool ipcuckoo_entries_record(struct ipcuckoo_entries *e,
			     const struct ipcuckoo_key *addr, bool v6, bool mapped,
			     struct ipcuckoo_record **record);

#endif /* _IPCUCKOO_LOOKUP_H */
