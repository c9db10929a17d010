/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about entries of sets, with and without extensions.
 */
#ifndef IPCUCKOO_TOOL_NL_ENTRY_H
#define IPCUCKOO_TOOL_NL_ENTRY_H

#include "lib/extended.h"
#include "nl/netlink.h"

/**
 * struct nl_change - the result of a change
 * @entries:	entries of the set after a commit; 0 for other requests
 * @changed:	number of entries added or deleted, or of attachments removed
 * @unchanged:	number of entries to add that existed, or to delete that did not
 */
struct nl_change {
	uint32_t entries;
	uint32_t changed;
	uint32_t unchanged;
};

/**
 * struct nl_test - the result of a test
 * @found:	the set contains the entry
 * @nomatch:	the set does not contain it because of an exception
 * @prefix_len:	length of the entry, or exception, that decided
 * @copies:	approximate sets: how often the entry may be stored
 * @has_value:	the extensions of the entry that decided have come: an old module does not send them
 * @value:	these, all but the comment
 * @comment:	the comment; "" for none
 */
struct nl_test {
	bool found;
	bool nomatch;
	uint8_t prefix_len;
	uint32_t copies;
	bool has_value;
	struct entry_value value;
	char comment[IPCUCKOO_COMMENT_MAX + 1];
};

/* How many entries of each kind have been sent, if they take several messages. Begins
 * with zeros.
 */
struct nl_cursor {
	size_t at[ENTRY_KINDS];
};

int nl_entries(struct nl *nl, const char *set, struct packed *entries);

/* Read the entries with their extensions, and sort them. */
int nl_extended_entries(struct nl *nl, const char *set, struct extended *entries);

/*
 * Add entries with their extensions to a set, or to a shadow if @set is NULL.
 * nl_extended_add() sends one message with as many entries as fit, beginning with number
 * @from, and advances @from and @sent, which counts the entries of each kind that were
 * sent. @options says which extensions are sent: enum ipcuckoo_option, and NL_NOMATCH for
 * exceptions. Return: 1 if entries are left, 0, or a negative errno.
 */
#define NL_NOMATCH	(1u << 31)
struct nl_extended {
	const struct extended *entries;
	uint32_t options;
	size_t from;
	struct nl_cursor sent;
};
int nl_extended_add(struct nl *nl, const char *set, uint32_t shadow,
		    struct nl_extended *extended, uint32_t flags, struct nl_change *change);
/* Whether the entries with their extensions fit into one message. */
bool nl_extended_fits(const struct extended *entries);

/* Whether the entries fit into one message. The kernel applies a message completely, or
 * not at all.
 */
bool nl_fits(const struct packed *entries);
int nl_entry_add(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
int nl_entry_del(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
/* @entry contains the entry to test. */
int nl_entry_test(struct nl *nl, const char *set, const struct packed *entry,
		  struct nl_test *test);

#endif /* IPCUCKOO_TOOL_NL_ENTRY_H */
