/* SPDX-License-Identifier: GPL-2.0-only */
/* The kind of source "crowdsec": the decisions of CrowdSec, from its Local API. */
#ifndef IPCUCKOOD_CROWDSEC_H
#define IPCUCKOOD_CROWDSEC_H

#include "daemon/set/source.h"

extern const struct source_kind crowdsec_kind;

#endif /* IPCUCKOOD_CROWDSEC_H */
