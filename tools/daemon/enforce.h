/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the contents of a source what decisions of CrowdSec say. */
#ifndef IPCUCKOOD_ENFORCE_H
#define IPCUCKOOD_ENFORCE_H

#include "daemon/decisions.h"
#include "daemon/source.h"

/* What the comments of entries are made from. */
enum comment_from { COMMENT_NONE, COMMENT_ORIGIN, COMMENT_SCENARIO };

/* Only what differs is changed, in one step. @now: all decisions. @touched: the entries that may
 * differ; NULL: all. Both are sorted. Return: 0, or -ENOMEM; then some changes may be missing.
 */
int enforce(struct source *source, const struct decisions *now, const struct labels *labels,
	    enum comment_from comment, const struct decisions *touched);

#endif /* IPCUCKOOD_ENFORCE_H */
