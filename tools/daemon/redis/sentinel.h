/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks Redis Sentinel where the primary and its replicas are now. */
#ifndef IPCUCKOOD_SENTINEL_H
#define IPCUCKOOD_SENTINEL_H

#include "daemon/redis/conn.h"

/* Asks the addresses in config->sentinel. */
extern const struct conn_finder sentinel_finder;

#endif /* IPCUCKOOD_SENTINEL_H */
