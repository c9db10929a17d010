/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about entries of sets, with and without what is kept for them.
 */
#ifndef IPCUCKOO_TOOL_NL_ENTRY_H
#define IPCUCKOO_TOOL_NL_ENTRY_H

#include "lib/valued.h"
#include "nl/netlink.h"

/**
 * struct nl_change - what a change did
 * @entries:	in the set afterwards (commit only)
 * @changed:	entries added or deleted, attachments removed
 * @unchanged:	entries that were there already, or were not there
 */
struct nl_change {
	uint32_t entries;
	uint32_t changed;
	uint32_t unchanged;
};

/**
 * struct nl_test - what a set says of an entry
 * @found:	it matches
 * @nomatch:	it does not, for an exception
 * @prefix_len:	then: the length of what it matches, or of that
 * @copies:	in approximate sets: how often it may be there
 */
struct nl_test {
	bool found;
	bool nomatch;
	uint8_t prefix_len;
	uint32_t copies;
};

/* Position in entries that take several messages; starts out zero. */
struct nl_cursor {
	size_t at[ENTRY_KINDS];
};

int nl_entries(struct nl *nl, const char *set, struct packed *entries);

/* The same with what is kept for them; sorted. */
int nl_valued_entries(struct nl *nl, const char *set, struct valued *entries);

/*
 * Add entries with what is to be kept for each of them: to a set, or, if @set is
 * NULL, to a shadow. One message takes those from @*from on that fit into it, and
 * moves it. @options says what of the values is sent: enum ipcuckoo_option, and
 * NL_NOMATCH. Return: 1 if more is left.
 */
#define NL_NOMATCH	(1u << 31)
struct nl_valued {
	const struct valued *entries;
	uint32_t options;
	size_t from;
};
int nl_valued_add(struct nl *nl, const char *set, uint32_t shadow,
		  struct nl_valued *valued, uint32_t flags, struct nl_change *change);
/* Whether they go into one message. */
bool nl_valued_fits(const struct valued *entries);

/* Whether the entries go into one message, which is applied whole or not. */
bool nl_fits(const struct packed *entries);
int nl_entry_add(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
int nl_entry_del(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
/* Asks about the first entry of @entry. */
int nl_entry_test(struct nl *nl, const char *set, const struct packed *entry,
		  struct nl_test *test);

#endif /* IPCUCKOO_TOOL_NL_ENTRY_H */
