/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a set: hosts and prefixes of both families.
 *
 * For readers (any context but hard interrupts, under rcu_read_lock()): the functions of
 * lookup.h.
 * For the writer (process context, holding ipcuckoo_entries.mutex): the functions below. Those with
 * "in_place" in their names do not sleep, so that packets can be the writer, too.
 */
#ifndef _IPCUCKOO_ENTRIES_H
#define _IPCUCKOO_ENTRIES_H

#include "contents.h"

int ipcuckoo_entries_init(struct ipcuckoo_entries *e, struct ipcuckoo_mem *mem,
			  bool live);
void ipcuckoo_entries_exit(struct ipcuckoo_entries *e);

int ipcuckoo_entries_add_value(struct ipcuckoo_entries *e,
			       const struct ipcuckoo_entry *entry,
			       struct ipcuckoo_value *value);
bool ipcuckoo_entries_has_exts(struct ipcuckoo_entries *e);
int ipcuckoo_entries_prepare_exceptions(struct ipcuckoo_entries *e,
					enum ipcuckoo_kind kind);
int ipcuckoo_entries_update(struct ipcuckoo_entries *e,
			    const struct ipcuckoo_entry *entry,
			    struct ipcuckoo_value *fresh,
			    const struct ipcuckoo_entry_attrs *attrs);
int ipcuckoo_entries_del(struct ipcuckoo_entries *e,
			 const struct ipcuckoo_entry *entry);
int ipcuckoo_entries_remove(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			    bool gc);
int ipcuckoo_entries_find_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
				   u32 now);
int ipcuckoo_entries_add_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
				  const struct ipcuckoo_value *value);
void ipcuckoo_entries_revive_in_place(struct ipcuckoo_entries *e,
				      const struct ipcuckoo_entry *entry,
				      const struct ipcuckoo_value *value, u32 now);
int ipcuckoo_entries_update_in_place(struct ipcuckoo_entries *e,
				     const struct ipcuckoo_entry *entry, u32 expires,
				     const struct ipcuckoo_entry_attrs *attrs, bool comment,
				     u32 now);
int ipcuckoo_entries_del_in_place(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry);
void ipcuckoo_entries_tidy(struct ipcuckoo_entries *e, u32 limit);
void ipcuckoo_entries_expect(struct ipcuckoo_entries *e, const struct ipcuckoo_entry *entry,
			     u32 more, u32 limit);
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

/* A position in contents: the kind, in the bits from this one up, and the slot in its table. */
#define IPCUCKOO_POS_KIND_SHIFT	60

bool ipcuckoo_entries_next_value(struct ipcuckoo_entries *e, u64 *pos,
				 struct ipcuckoo_entry *entry,
				 struct ipcuckoo_value *value);

int ipcuckoo_entries_reserve(struct ipcuckoo_entries *e,
			     const u32 more[IPCUCKOO_KINDS]);
int ipcuckoo_entries_copy(struct ipcuckoo_entries *to,
			  struct ipcuckoo_entries *from);
int ipcuckoo_entries_trim(struct ipcuckoo_entries *e);
void ipcuckoo_entries_clear(struct ipcuckoo_entries *e, struct ipcuckoo_version *v);
int ipcuckoo_entries_flush(struct ipcuckoo_entries *e);
void ipcuckoo_entries_replace(struct ipcuckoo_entries *e,
			      struct ipcuckoo_entries *from);
void ipcuckoo_entries_replace_all(struct ipcuckoo_entries *e, struct ipcuckoo_version *v);

/* Add an entry without extensions. */
static inline int ipcuckoo_entries_add(struct ipcuckoo_entries *e,
				       const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value none = {};

	return ipcuckoo_entries_add_value(e, entry, &none);
}

/* Is an entry there already, so that adding it adds nothing? Never in a filter with multi. */
static inline bool ipcuckoo_entries_holds(struct ipcuckoo_entries *e,
					  const struct ipcuckoo_entry *entry)
{
	return !e->shape.multi && ipcuckoo_entries_has(e, entry);
}

#endif /* _IPCUCKOO_ENTRIES_H */
