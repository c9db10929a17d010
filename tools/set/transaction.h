/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of several sets that happen all or not at all. They are gathered
 * first, and what they come to is found out and prepared; only then is anything
 * changed that others see.
 */
#ifndef IPCUCKOO_TOOL_TRANSACTION_H
#define IPCUCKOO_TOOL_TRANSACTION_H

#include "cli/tool.h"
#include "lib/valued.h"
#include "nl/attachment.h"

struct change;

enum plan {
	PLAN_NOTHING,
	PLAN_MESSAGES,		/* what differs goes into a message or two */
	PLAN_SHADOW,		/* all there will be goes into a shadow */
};

/**
 * struct work - a set that a transaction works on
 * @set:	as the kernel has it, or as it will be made
 * @has_maxelem: with a limit of its own
 * @at:		its name in the kernel until names are changed
 * @fresh:	it is made here
 * @gone:	it is destroyed here
 * @flushed:	what it had before does not count
 * @told:	what is said of what is kept for entries that are added: enum
 *		ipcuckoo_option, NL_NOMATCH
 * @changes:	of entries, in the order they came
 * @count:	how many
 * @room:	for how many there is memory
 * @plan:	how they are made
 * @add:	what they come to: entries that will be there and are not
 * @del:	entries that will not be there and are
 * @updates:	some are added once more that are there
 * @say:	these and @add, to be sent, if @told is nothing
 * @valued:	likewise, if it is something
 * @shadow:	its number, once it is filled
 * @done:	entries have been added
 * @final:	what it had before is gone
 */
struct work {
	struct nl_set set;
	bool has_maxelem;
	char at[IPCUCKOO_NAME_SIZE];
	bool fresh;
	bool gone;
	bool flushed;
	uint32_t told;
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

/* A change of names: @work becomes @to (create, rename), takes the place of
 * what is called @to (swap; that is @other), or is called @from no more (destroy). Or what goes
 * by names: the set called @from is attached (@attachment; @exist: it may be so
 * already; @id is what it is called then).
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
 * struct transaction - changes that belong together
 * @tool:	the run
 * @works:	the sets, in no order that matters
 * @count:	how many
 * @namings:	changes of names, in the order they came
 * @naming_count: how many
 */
struct transaction {
	struct tool *tool;
	struct work **works;
	size_t count;
	struct naming *namings;
	size_t naming_count;
};

/* Gather. All but the first return 0 or -ENOMEM. */
struct work *transaction_work(struct transaction *t, const struct nl_set *set);
int transaction_name(struct transaction *t, const struct naming *naming);
int work_change(struct work *work, const struct packed *entries, bool add,
		bool exist, unsigned long line, const struct entry_value *value);
void work_flush(struct work *work);

/* Find out what it comes to, and whether that can be (plan.c). Changes nothing. */
int transaction_check(struct transaction *t);
/* Do it. Both return STATUS_OK, or another after a message. */
int transaction_apply(struct transaction *t);

void transaction_free(struct transaction *t);

#endif /* IPCUCKOO_TOOL_TRANSACTION_H */
