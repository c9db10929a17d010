/* SPDX-License-Identifier: GPL-2.0-only */
/* A list that a fleet shares in Redis: "[redis NAME]". */
#ifndef IPCUCKOOD_REDIS_H
#define IPCUCKOOD_REDIS_H

#include "daemon/set/source.h"

extern const struct source_kind redis_kind;

#endif /* IPCUCKOOD_REDIS_H */
