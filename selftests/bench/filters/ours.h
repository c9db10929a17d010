/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that only the kernel's own filter has (ours_filter.c). */
#ifndef _OURS_H
#define _OURS_H

#include "filter.h"

u64 ours_filter_capacity(u64 slots, unsigned int f);
u64 ours_filter_slots(const struct filter *filter);
u64 ours_filter_moved(const struct filter *filter);

#endif /* _OURS_H */
