/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans a transaction (plan.c), so that transaction.c can apply it. */
#ifndef IPCUCKOO_TOOL_PLAN_H
#define IPCUCKOO_TOOL_PLAN_H

#include "set/transaction.h"

/**
 * struct change - a line that adds or deletes an entry
 * @kind:	kind of the entry
 * @add:	the entry is added; otherwise deleted
 * @exist:	-exist: no error if an entry to add exists, or one to delete does not
 * @entry:	the entry, packed
 * @line:	number of the line
 * @value:	extensions of the entry
 */
struct change {
	uint8_t kind;
	bool add;
	bool exist;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	unsigned long line;
	struct entry_value value;
};

void forget_plan(struct work *work);

#endif /* IPCUCKOO_TOOL_PLAN_H */
