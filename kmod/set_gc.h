/* SPDX-License-Identifier: GPL-2.0-only */
/* When garbage collection of a set runs: in a work item, and at once if a set needs room. */
#ifndef _IPCUCKOO_SET_GC_H
#define _IPCUCKOO_SET_GC_H

#include "set.h"

void ipcuckoo_set_gc_init(struct ipcuckoo_set *set);
void ipcuckoo_set_gc_schedule(struct ipcuckoo_set *set);
void ipcuckoo_set_gc(struct ipcuckoo_set *set);

#endif /* _IPCUCKOO_SET_GC_H */
