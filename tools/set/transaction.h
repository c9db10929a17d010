/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of several sets, all or none. The changes are collected first. Then their
 * total effect is computed, and one request makes it.
 */
#ifndef IPCUCKOO_TOOL_TRANSACTION_H
#define IPCUCKOO_TOOL_TRANSACTION_H

#include "cli/tool.h"
#include "lib/extended.h"
#include "nl/attachment.h"

struct change;

enum plan {
	PLAN_NOTHING,
	PLAN_MESSAGE,		/* the only task: one message that adds, or one that deletes */
	PLAN_FLUSH,		/* the commit flushes the set */
	PLAN_SHADOW,		/* the commit replaces the contents by a shadow */
};

/**
 * struct work - a set that a transaction works on
 * @set:	the set as it is in the kernel, or as it will be created; @set.name is the
 *		name that it has before the transaction, or is created with
 * @has_maxelem: create gave a maxelem
 * @created:	the transaction creates the set
 * @destroyed:	the transaction destroys the set
 * @flushed:	the transaction deletes the previous entries of the set
 * @extensions:	extensions that are sent with entries: enum ipcuckoo_option, NL_NOMATCH
 * @changes:	changes of entries, in the order of the lines
 * @count:	number of @changes
 * @room:	number of @changes that memory is allocated for
 * @plan:	how the changes are applied
 * @add:	entries that will be in the set, and are not in it now
 * @del:	entries that are in the set now, and will not be
 * @fates:	for the guard: what becomes of the entries that change: they will match, be exceptions,
 *		or not be in the set
 * @exceptions:	some of @add, @del or of the entries to send are exceptions
 * @updates:	some of the entries to send are in the set already; they are sent again,
 *		for new extensions
 * @plain:	the entries to send, if @extensions is 0
 * @extended:	the entries to send with their extensions, if @extensions is not 0
 * @shadow:	number of the shadow, or 0
 * @attempts:	number of shadows that others have made stale
 */
struct work {
	struct nl_set set;
	bool has_maxelem;
	bool created;
	bool destroyed;
	bool flushed;
	uint32_t extensions;
	struct change *changes;
	size_t count;
	size_t room;
	enum plan plan;
	struct packed add;
	struct packed del;
	struct {
		struct packed in;
		struct packed holes;
		struct packed out;
	} fates;
	bool exceptions;
	bool updates;
	struct packed plain;
	struct extended extended;
	uint32_t shadow;
	unsigned int attempts;
};

/**
 * struct step - a line that changes names, or attaches a set
 * @kind:	CREATE: @work gets the name @to; RENAME: @from becomes @to; SWAP: @from
 *		and @to are swapped; DESTROY: @from is destroyed; ATTACH: the set is
 *		attached
 * @work:	the set; SWAP: the set that is called @from
 * @other:	SWAP: the set that is called @to
 * @line:	the run with the options and the number of the line, for messages
 * @from:	the old name
 * @to:		the new name
 * @attachment:	ATTACH: how the set is attached
 * @no_program:	ATTACH: its program at XDP could not be attached
 */
struct step {
	enum step_kind {
		STEP_CREATE,
		STEP_RENAME,
		STEP_SWAP,
		STEP_DESTROY,
		STEP_ATTACH,
	} kind;
	struct work *work;
	struct work *other;
	struct tool line;
	char from[IPCUCKOO_NAME_SIZE];
	char to[IPCUCKOO_NAME_SIZE];
	struct nl_attachment attachment;
	bool no_program;
};

/**
 * struct transaction - changes that are applied all or not at all
 * @tool:	the run
 * @works:	the sets, in no particular order
 * @count:	number of sets
 * @steps:	the steps, in the order of the lines
 * @step_count:	number of @steps
 */
struct transaction {
	struct tool *tool;
	struct work **works;
	size_t count;
	struct step *steps;
	size_t step_count;
};

/* The end of the steps; NULL if there are none, as C does not allow to add a number to NULL. */
static inline struct step *steps_end(const struct transaction *t)
{
	return t->steps ? t->steps + t->step_count : NULL;
}

/* Collect changes. transaction_work() returns NULL without memory, the functions that
 * return int 0 or -ENOMEM.
 */
struct work *transaction_work(struct transaction *t, const struct nl_set *set);
/* The name that a set has in a line of the input */
const char *transaction_name(const struct transaction *t, const struct work *work,
			     unsigned long line);
int transaction_step(struct transaction *t, const struct step *step);
int work_change(struct work *work, const struct packed *entries, bool add,
		bool exist, unsigned long line, const struct entry_value *value);
void work_flush(struct work *work);

/* Plan the changes, and check those of entries (plan.c). Changes nothing. */
int transaction_plan(struct transaction *t);
/* Apply the plan; or, if @check, only ask the kernel whether that is possible. Both
 * return STATUS_OK, or another status after a message.
 */
int transaction_apply(struct transaction *t, bool check);

void transaction_free(struct transaction *t);

#endif /* IPCUCKOO_TOOL_TRANSACTION_H */
