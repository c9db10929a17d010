/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for entries without extensions that only tests and benchmarks need. */
#ifndef _PLAIN_H
#define _PLAIN_H

#include "entries.h"
#include "table.h"

static inline struct ipcuckoo_table *
plain_table_create(struct ipcuckoo_mem *mem, u32 nbuckets, bool keyed)
{
	return ipcuckoo_table_create_exts(mem, nbuckets,
					  keyed ? IPCUCKOO_KEY128 : IPCUCKOO_KEY32, 0, IPCUCKOO_CHARGE_WAIT);
}

static inline int plain_table_insert(struct ipcuckoo_table *t,
				     struct ipcuckoo_guard *guard,
				     const struct ipcuckoo_key *key,
				     struct ipcuckoo_search_node *queue)
{
	const struct ipcuckoo_value none = {};

	return ipcuckoo_table_insert_value(t, guard, key, &none, queue);
}

static inline bool plain_entries_next(struct ipcuckoo_entries *e, u64 *pos,
				      struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value value;

	return ipcuckoo_entries_next_value(e, pos, entry, &value);
}

#endif /* _PLAIN_H */
