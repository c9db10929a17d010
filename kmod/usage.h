/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics of contents: numbers of entries, slots, displacements; memory. */
#ifndef _IPCUCKOO_USAGE_H
#define _IPCUCKOO_USAGE_H

#include "contents.h"

u32 ipcuckoo_usage_count(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
u32 ipcuckoo_usage_total(struct ipcuckoo_entries *e);
u32 ipcuckoo_usage_live_of(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind);
u32 ipcuckoo_usage_live(struct ipcuckoo_entries *e);
u64 ipcuckoo_usage_slots(struct ipcuckoo_entries *e);
u64 ipcuckoo_usage_displaced(struct ipcuckoo_entries *e);
u64 ipcuckoo_usage_fallbacks(struct ipcuckoo_entries *e);
size_t ipcuckoo_usage_memory(struct ipcuckoo_entries *e);

bool ipcuckoo_usage_crowded(struct ipcuckoo_entries *e, u32 limit, s32 more);
void ipcuckoo_usage_count_len(struct ipcuckoo_entries *e, u8 len, s64 change);
void ipcuckoo_usage_clear_lens(struct ipcuckoo_entries *e);
void ipcuckoo_usage_add_lens(struct ipcuckoo_entries *e, const struct ipcuckoo_version *v,
			     struct ipcuckoo_lens *old);
void ipcuckoo_usage_drop_lens(struct ipcuckoo_entries *e, const struct ipcuckoo_lens *old);
u32 ipcuckoo_usage_with_len(const struct ipcuckoo_entries *e, u8 len);
u8 ipcuckoo_usage_longest(const struct ipcuckoo_entries *e);

#endif /* _IPCUCKOO_USAGE_H */
