/* SPDX-License-Identifier: GPL-2.0-only */
/* Prefetching what a look-up will read: see prefetch.c. */
#ifndef _IPCUCKOO_PREFETCH_H
#define _IPCUCKOO_PREFETCH_H

#include "contents.h"

void ipcuckoo_prefetch4(const struct ipcuckoo_entries *e, u32 addr);
void ipcuckoo_prefetch6(const struct ipcuckoo_entries *e, const struct ipcuckoo_key *addr);

#endif /* _IPCUCKOO_PREFETCH_H */
