/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes of any number of entries, all or none: in one message if the entries fit into
 * it, else with a shadow of the set.
 */
#ifndef IPCUCKOO_TOOL_BULK_H
#define IPCUCKOO_TOOL_BULK_H

#include "cli/tool.h"
#include "lib/feed.h"
#include "nl/attachment.h"
#include "nl/entry.h"

/**
 * struct bulk - a change of many entries
 * @tool:	the run
 * @set:	the set to change
 * @kind:	for bulk_guard(): what it is
 * @entries:	the entries, sorted; without repeated ones, unless the set is multi
 * @value:	add: the extensions of each entry; NULL if it has none
 * @extensions:	add: which extensions are sent: enum ipcuckoo_option, NL_NOMATCH
 * @extended:	add: working memory, the entries with their extensions
 * @approximate: the set is approximate
 * @append:	load: add to the entries of the set instead of replacing them
 * @override:	load: commit even if other processes have changed the set
 * @where:	for bulk_guard(): see struct guard_set, of which @data is the bulk
 * @progress:	load: called with the number of entries done, and of all; may be NULL
 * @progress_data: argument for @progress
 * @change:	the result
 * @restarts:	how often the change started again because others changed the set
 */
struct bulk {
	struct tool *tool;
	const char *set;
	const struct nl_set *kind;
	const struct packed *entries;
	const struct entry_value *value;
	uint32_t extensions;
	struct extended extended;
	bool approximate;
	bool append;
	bool override;
	void (*where)(struct tool *tool, const void *data, enum entry_kind kind,
		      const uint8_t *entry, char *text, size_t size);
	void (*progress)(void *data, size_t done, size_t all);
	void *progress_data;
	struct nl_change change;
	unsigned int restarts;
};

enum bulk_kind { BULK_ADD, BULK_DEL, BULK_LOAD };

/* All return STATUS_OK, or the exit status after a message. */
/* Refuse a change that the guard does not allow: to be called before the change. @attach: an
 * attachment of the set that is made together with the change; or NULL.
 */
int bulk_guard(const struct bulk *bulk, enum bulk_kind kind, const struct nl_attachment *attach);
int bulk_add(struct bulk *bulk);
int bulk_del(struct bulk *bulk);
int bulk_load(struct bulk *bulk);

/* Print the result of a change as JSON. @done: the key for change->changed ("added") */
void bulk_print_json(const char *set, const char *done, const struct nl_change *change);

/*
 * Read addresses, prefixes and ranges from the command line, and sort them. @expand:
 * whether --expand was given; NULL if the command does not have this option.
 */
int bulk_read(struct tool *tool, const struct nl_set *set, char **word,
	      int count, const bool *expand, struct packed *entries);

/* Make entries as the set stores them: sorted, and without repeated ones unless it is multi. */
void bulk_sort(const struct nl_set *set, struct packed *entries);

/* Read one address, prefix or range, perhaps with host names. Return: 0, -EINVAL or
 * -ENOMEM.
 */
int bulk_read_entry(const struct tool *tool, struct feed *feed, const char *word,
		    char why[ADDRESS_WHY_SIZE]);
/* Print why bulk_read_entry() failed. Return: STATUS_SYNTAX. */
int bulk_fail_entry(const struct tool *tool, const struct nl_set *set,
		    const char *word, const char *why);

/* Maximum number of hosts that a prefix or range is expanded to in a set of hosts. It
 * keeps a typing error from using all memory.
 */
uint64_t bulk_expand_limit(const struct nl_set *set, bool expand);

#endif /* IPCUCKOO_TOOL_BULK_H */
