/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feeds: files that have one address, prefix or range a line.
 */
#ifndef IPCUCKOO_TOOL_FEED_H
#define IPCUCKOO_TOOL_FEED_H

#include "lib/packed.h"

/* A prefix or range becomes at most that many hosts, unless asked for more. */
#define FEED_EXPAND_LIMIT	65536ull
/* With --expand; 1 GiB of IPv4 hosts, more than any set is given. */
#define FEED_EXPAND_MOST	(1ull << 28)

/**
 * struct feed_fault - a line that could not be used
 * @file:	as named by the caller
 * @line:	its number, 0 when the file itself is at fault
 * @text:	the entry, fit to be shown
 * @why:	what is wrong with it
 */
struct feed_fault {
	const char *file;
	unsigned long line;
	char text[64];
	char why[ADDRESS_WHY_SIZE];
};

/**
 * struct feed - what files said, and how to read them
 * @entries:	result, unsorted
 * @lines:	lines read
 * @skipped:	lines left out because they were at fault
 * @masked:	prefixes whose host bits were cleared
 * @family:	IPCUCKOO_FAMILY_* of the set
 * @hosts_only:	the set holds hosts: expand prefixes and ranges
 * @expand_limit: to at most so many
 * @has_expand:	--expand is an option here
 * @skip_invalid: leave out lines at fault and go on
 * @report:	told about each line left out; may be NULL
 */
struct feed {
	struct packed entries;
	unsigned long lines;
	unsigned long skipped;
	unsigned long masked;
	uint8_t family;
	bool hosts_only;
	uint64_t expand_limit;
	bool has_expand;
	bool skip_invalid;
	void (*report)(const struct feed *feed, const struct feed_fault *fault);
};

int feed_add(struct feed *feed, const char *text, size_t len,
	     char why[ADDRESS_WHY_SIZE]);
int feed_read(struct feed *feed, const char *path, struct feed_fault *fault);
void feed_free(struct feed *feed);

#endif /* IPCUCKOO_TOOL_LIST_H */
