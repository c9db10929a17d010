/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of any number of entries that happen whole or not at all: in one
 * message if that is enough, else by way of a shadow of the set.
 */
#ifndef IPCUCKOO_TOOL_BULK_H
#define IPCUCKOO_TOOL_BULK_H

#include "cli/tool.h"
#include "lib/feed.h"
#include "nl/entry.h"

/**
 * struct bulk - a change
 * @tool:	the run
 * @set:	the set to change
 * @entries:	sorted; without repeats unless the set keeps them
 * @value:	add: what is kept for each of them; NULL where nothing is
 * @told:	add: what of it is told: enum ipcuckoo_option, NL_NOMATCH
 * @valued:	add: used while it runs
 * @approximate: the set is
 * @append:	load: keep what the set has
 * @override:	load: do not mind changes that others make meanwhile
 * @progress:	load: told how many entries of all are done; may be NULL
 * @progress_data: passed to it
 * @change:	the result
 * @restarts:	how often it began anew because others changed the set
 */
struct bulk {
	struct tool *tool;
	const char *set;
	const struct packed *entries;
	const struct entry_value *value;
	uint32_t told;
	struct valued valued;
	bool approximate;
	bool append;
	bool override;
	void (*progress)(void *data, size_t done, size_t all);
	void *progress_data;
	struct nl_change change;
	unsigned int restarts;
};

/* All return STATUS_OK, or the status to exit with after a message. */
int bulk_add(struct bulk *bulk);
int bulk_del(struct bulk *bulk);
int bulk_load(struct bulk *bulk);

/* What came of a change, as JSON. @done: what was done to those that changed */
void bulk_print_json(const char *set, const char *done, const struct nl_change *change);

/*
 * Read addresses, prefixes and ranges from the command line; sorts them.
 * @expand says whether --expand was given, NULL that it is no option.
 */
int bulk_read(struct tool *tool, const struct nl_set *set, char **word,
	      int count, const bool *expand, struct packed *entries);

/* One of them, perhaps with names of hosts. Return: 0, -EINVAL or -ENOMEM. */
int bulk_read_entry(const struct tool *tool, struct feed *feed, const char *word,
		    char why[ADDRESS_WHY_SIZE]);
/* Say what is wrong with it. */
int bulk_fail_entry(const struct tool *tool, const struct nl_set *set,
		    const char *word, const char *why);

/* How many hosts a prefix or range may stand for in a set of hosts: as many as are
 * allowed there, for a slip of the pen is not to take all memory.
 */
uint64_t bulk_expand_limit(const struct nl_set *set, bool expand);

#endif /* IPCUCKOO_TOOL_BULK_H */
