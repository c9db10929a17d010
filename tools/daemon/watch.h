/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares the sets in the kernel with what the sources say, whenever somebody changes a set. */
#ifndef IPCUCKOOD_WATCH_H
#define IPCUCKOOD_WATCH_H

#include "daemon/base/daemon.h"

/* Look now, and then at each change, until watch_stop(). */
void watch_start(struct daemon *daemon);
void watch_stop(void);

#endif /* IPCUCKOOD_WATCH_H */
