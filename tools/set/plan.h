/* SPDX-License-Identifier: GPL-2.0-only */
/* What the lines of a transaction come to (plan.c), for transaction.c to do. */
#ifndef IPCUCKOO_TOOL_PLAN_H
#define IPCUCKOO_TOOL_PLAN_H

#include "set/transaction.h"

/* How often a set may be changed by others meanwhile. */
#define ATTEMPTS	5

/**
 * struct change - a line that adds or deletes an entry
 * @kind:	of the entry
 * @add:	it is added; else deleted
 * @exist:	it may be there already, or gone already
 * @entry:	its packed form
 * @line:	the line's number
 * @value:	what is kept for the entry
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

/* Where a set is kept that is not made yet, or destroyed already. */
void hidden_name(const struct transaction *t, const struct work *work,
		 char name[IPCUCKOO_NAME_SIZE]);
/* What a name that a line has stands for before names are changed. Attachments
 * follow a set that is renamed, and stay where two are swapped.
 */
void first_name(const struct transaction *t, const struct naming *naming,
		char name[IPCUCKOO_NAME_SIZE]);

#endif /* IPCUCKOO_TOOL_PLAN_H */
