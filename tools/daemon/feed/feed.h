/* SPDX-License-Identifier: GPL-2.0-only */
/* A source that is fetched from time to time: "[feed NAME]". */
#ifndef IPCUCKOOD_FEED_H
#define IPCUCKOOD_FEED_H

#include "daemon/set/source.h"

extern const struct source_kind feed_kind;

#endif /* IPCUCKOOD_FEED_H */
