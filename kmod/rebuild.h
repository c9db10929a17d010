/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces tables and hints that are too small, too large or stale. For the writer. */
#ifndef _IPCUCKOO_REBUILD_H
#define _IPCUCKOO_REBUILD_H

#include "contents.h"

/* Entries copied between two calls of cond_resched(). */
#define IPCUCKOO_COPY_BATCH	4096

/* Tables of up to this many slots do not shrink. */
#define IPCUCKOO_SHRINK_SLOTS	4096

int ipcuckoo_rebuild_alloc_queue(struct ipcuckoo_entries *e);
void ipcuckoo_rebuild_free_queue(struct ipcuckoo_entries *e);
int ipcuckoo_rebuild_grow(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
			  const struct ipcuckoo_key *key, const struct ipcuckoo_value *value);
int ipcuckoo_rebuild_with_exceptions(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
void ipcuckoo_rebuild_maybe_shrink(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				   u32 more);
bool ipcuckoo_rebuild_is_due(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
int ipcuckoo_rebuild_reserve(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more);
bool ipcuckoo_rebuild_is_full(const struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
			      u32 more);
void ipcuckoo_rebuild_expect(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind, u32 more,
			     u32 limit);
int ipcuckoo_rebuild_trim(struct ipcuckoo_entries *e);

int ipcuckoo_rebuild_prepare_hint(struct ipcuckoo_entries *e, bool v6, u32 more);
void ipcuckoo_rebuild_mark(struct ipcuckoo_hint *h, const struct ipcuckoo_entry *entry);
void ipcuckoo_rebuild_unmark(struct ipcuckoo_hint *h, const struct ipcuckoo_table *t,
			     const struct ipcuckoo_entry *entry, bool gc);

#endif /* _IPCUCKOO_REBUILD_H */
