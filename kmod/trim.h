/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives back the memory that sets do not need after they have grown: see trim.c. */
#ifndef _IPCUCKOO_TRIM_H
#define _IPCUCKOO_TRIM_H

#include <linux/jiffies.h>

struct ipcuckoo_net;

/* How long the work item waits before it looks, first or again, whether additions have ended. */
#define IPCUCKOO_TRIM_PERIOD	(2 * HZ)

void ipcuckoo_trim_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_trim_exit_net(struct ipcuckoo_net *pernet);

#endif /* _IPCUCKOO_TRIM_H */
