/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the contents of a source what decisions of CrowdSec say. */
#ifndef IPCUCKOOD_ENFORCE_H
#define IPCUCKOOD_ENFORCE_H

#include "daemon/crowdsec/decisions.h"
#include "daemon/set/source.h"

/* What the comments of entries are made from. */
enum comment_from { COMMENT_NONE, COMMENT_ORIGIN, COMMENT_SCENARIO };

/**
 * struct enforcement - what the contents shall be
 * @now:	all decisions, sorted
 * @labels:	where they are from
 * @comment:	what comments are made from
 * @spread:	the decisions may end so many seconds earlier than they say: the answer told how long
 *		they still last, and took so long to arrive. An entry that ends in this time stays as
 *		it is
 */
struct enforcement {
	const struct decisions *now;
	const struct labels *labels;
	enum comment_from comment;
	uint32_t spread;
};

/* Only what differs is changed, in one step. @touched: the entries that may differ, sorted; NULL:
 * all. Return: 0, or -ENOMEM; then some changes may be missing.
 */
int enforce(struct source *source, const struct enforcement *what, const struct decisions *touched);

#endif /* IPCUCKOOD_ENFORCE_H */
