/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * "[copy NAME]": a source that has what another set in the kernel has, which somebody else keeps, such
 * as fail2ban. So its entries can be aggregated, and be without exceptions, with those of other sources.
 */
#ifndef IPCUCKOOD_COPY_H
#define IPCUCKOOD_COPY_H

#include "daemon/set/source.h"

extern const struct source_kind copy_kind;

/* The name of the set that a source copies; NULL if it is of another kind. */
const char *copy_set_of(const struct source *source);

#endif /* IPCUCKOOD_COPY_H */
