/* SPDX-License-Identifier: GPL-2.0-only */
/* Which lines of a file entries come from, to name the line of one that is refused. */
#ifndef IPCUCKOO_TOOL_ORIGIN_H
#define IPCUCKOO_TOOL_ORIGIN_H

#include "lib/packed.h"

/* Lines are known as far as this many runs go: 2 MB. */
#define ORIGIN_RUNS_MOST	65536

/**
 * struct origin_run - entries of one kind, each from the line behind that of the entry before it
 * @line:	line of the first one
 * @index:	its index in its array
 * @kind:	the array
 * @same:	all of them are from this line instead
 */
struct origin_run {
	unsigned long line;
	size_t index;
	enum entry_kind kind;
	bool same;
};

/**
 * struct origin - lines of entries, in the order in which they were added. Begins with zeros
 * @noted:	number of entries of each kind whose lines are known
 */
struct origin {
	size_t noted[ENTRY_KINDS];
	size_t count;
	struct origin_run runs[ORIGIN_RUNS_MOST];
};

/* Note where the entries come from that were added since the last call: from @line; or, if @before,
 * from the lines before it, one entry from each.
 */
void origin_note(struct origin *origin, const struct packed *entries, unsigned long line, bool before);

/* The line of an entry, of @entries as they were added; 0: unknown */
unsigned long origin_line(const struct origin *origin, const struct packed *entries,
			  enum entry_kind kind, const uint8_t *entry);

#endif /* IPCUCKOO_TOOL_ORIGIN_H */
