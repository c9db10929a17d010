/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of several sets, all or none. The changes are collected first. Then their
 * total effect is computed and prepared. Only after that, anything changes that others
 * can see.
 */
#ifndef IPCUCKOO_TOOL_TRANSACTION_H
#define IPCUCKOO_TOOL_TRANSACTION_H

#include "cli/tool.h"
#include "lib/valued.h"
#include "nl/attachment.h"

struct change;

enum plan {
	PLAN_NOTHING,
	PLAN_MESSAGES,		/* one message that adds, one that deletes */
	PLAN_SHADOW,		/* a shadow with the new contents is committed */
};

/**
 * struct work - a set that a transaction works on
 * @set:	the set as it is in the kernel, or as it will be created
 * @has_maxelem: create gave a maxelem
 * @at:		name of the set in the kernel until names are changed
 * @fresh:	the transaction creates the set
 * @gone:	the transaction destroys the set
 * @flushed:	the transaction deletes the previous entries of the set
 * @extensions:	extensions that are sent with entries: enum ipcuckoo_option, NL_NOMATCH
 * @changes:	changes of entries, in the order of the lines
 * @count:	number of @changes
 * @room:	number of @changes that memory is allocated for
 * @plan:	how the changes are applied
 * @add:	entries that will be in the set, and are not in it now
 * @del:	entries that are in the set now, and will not be
 * @updates:	entries that are in the set are added again, for new extensions
 * @say:	if @extensions is 0: @add and the entries that are added again
 * @valued:	if @extensions is not 0: the same with extensions
 * @shadow:	number of the shadow, or 0
 * @done:	entries have been added
 * @final:	the set has been changed and cannot be restored
 */
struct work {
	struct nl_set set;
	bool has_maxelem;
	char at[IPCUCKOO_NAME_SIZE];
	bool fresh;
	bool gone;
	bool flushed;
	uint32_t extensions;
	struct change *changes;
	size_t count;
	size_t room;
	enum plan plan;
	struct packed add;
	struct packed del;
	bool updates;
	struct packed say;
	struct valued valued;
	uint32_t shadow;
	bool done;
	bool final;
};

/**
 * struct naming - a change of names, or an attachment, which goes by name
 * @kind:	CREATE: @work gets the name @to; RENAME: @from becomes @to; SWAP: @from
 *		and @to are swapped; DESTROY: @from is destroyed; ATTACH: the set is
 *		attached
 * @work:	the set; SWAP: the set that is called @from
 * @other:	SWAP: the set that is called @to
 * @line:	number of the line
 * @from:	the old name
 * @to:		the new name
 * @attachment:	ATTACH: how the set is attached
 * @exist:	ATTACH: -exist: it is no error if the set is attached already
 * @id:		ATTACH: number of the attachment, once it is made
 */
struct naming {
	enum naming_kind {
		NAMING_CREATE,
		NAMING_RENAME,
		NAMING_SWAP,
		NAMING_DESTROY,
		NAMING_ATTACH,
	} kind;
	struct work *work;
	struct work *other;
	unsigned long line;
	char from[IPCUCKOO_NAME_SIZE];
	char to[IPCUCKOO_NAME_SIZE];
	struct nl_attachment attachment;
	bool exist;
	uint32_t id;
};

/**
 * struct transaction - changes that are applied all or not at all
 * @tool:	the run
 * @works:	the sets, in no particular order
 * @count:	number of sets
 * @namings:	changes of names, in the order of the lines
 * @naming_count: number of @namings
 */
struct transaction {
	struct tool *tool;
	struct work **works;
	size_t count;
	struct naming *namings;
	size_t naming_count;
};

/* Collect changes. transaction_work() returns NULL without memory, the functions that
 * return int 0 or -ENOMEM.
 */
struct work *transaction_work(struct transaction *t, const struct nl_set *set);
int transaction_name(struct transaction *t, const struct naming *naming);
int work_change(struct work *work, const struct packed *entries, bool add,
		bool exist, unsigned long line, const struct entry_value *value);
void work_flush(struct work *work);

/* Plan the changes, and check that they are possible (plan.c). Changes nothing. */
int transaction_check(struct transaction *t);
/* Apply the plan. Both return STATUS_OK, or another status after a message. */
int transaction_apply(struct transaction *t);

void transaction_free(struct transaction *t);

#endif /* IPCUCKOO_TOOL_TRANSACTION_H */
