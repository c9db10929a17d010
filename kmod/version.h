/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Versions: readers find everything that a look-up needs through one pointer, to a
 * version. The writer never changes the pointers in a version; it publishes a new version
 * instead.
 */
#ifndef _IPCUCKOO_VERSION_H
#define _IPCUCKOO_VERSION_H

#include "contents.h"

/* The parts of a version, as bits. */
#define IPCUCKOO_PART_TABLE(kind)	BIT(kind)
#define IPCUCKOO_PART_HINT(v6)		BIT(IPCUCKOO_KINDS + (v6))
#define IPCUCKOO_PART_FILTER		BIT(IPCUCKOO_KINDS + 2)
#define IPCUCKOO_PART_ALL		(BIT(IPCUCKOO_KINDS + 3) - 1)

struct ipcuckoo_version *ipcuckoo_version_create(struct ipcuckoo_mem *mem,
						 const struct ipcuckoo_version *v,
						 enum ipcuckoo_charge how);
size_t ipcuckoo_version_memory(const struct ipcuckoo_version *v, u8 parts);
void ipcuckoo_version_retire(struct ipcuckoo_version *v, u8 free_parts, size_t records,
			     bool live);
void ipcuckoo_version_publish(struct ipcuckoo_entries *e, struct ipcuckoo_version *v,
			      u8 free_parts);
void ipcuckoo_version_publish_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				    struct ipcuckoo_version *v, struct ipcuckoo_table *t);
int ipcuckoo_version_replace_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				   struct ipcuckoo_table *t, enum ipcuckoo_charge how);
int ipcuckoo_version_replace_hint(struct ipcuckoo_entries *e, bool v6,
				  struct ipcuckoo_hint *h, enum ipcuckoo_charge how);
int ipcuckoo_version_replace_filter(struct ipcuckoo_entries *e, struct ipcuckoo_filter *f,
				    enum ipcuckoo_charge how);

/* For the writer. */
static inline struct ipcuckoo_version *
ipcuckoo_version_current(const struct ipcuckoo_entries *e)
{
	return rcu_dereference_protected(e->version, ipcuckoo_entries_is_writer(e));
}

#endif /* _IPCUCKOO_VERSION_H */
