/* SPDX-License-Identifier: GPL-2.0-only */
/* The blackhole routes of a routing table: "[routes NAME]". */
#ifndef IPCUCKOOD_ROUTES_H
#define IPCUCKOOD_ROUTES_H

#include "daemon/set/source.h"

extern const struct source_kind routes_kind;

#endif /* IPCUCKOOD_ROUTES_H */
