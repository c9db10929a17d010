/* SPDX-License-Identifier: GPL-2.0-only */
/* What all sources of a set say together of some entries, or of all. */
#ifndef IPCUCKOOD_MERGED_H
#define IPCUCKOOD_MERGED_H

#include "daemon/set/contents.h"

struct source;
struct target;

/**
 * struct merged_value - what the sources say of an entry
 * @comment:	that of the first source that has one; it stays valid until the contents change
 * @expires:	when the last source drops the entry, in seconds since 1970; 0: never
 * @there:	a source has the entry, and it has not expired
 */
struct merged_value {
	const char *comment;
	uint32_t expires;
	bool there;
};

/**
 * struct merged - entries, and what the sources say of them
 * @entries:	the entries, sorted, none repeated
 * @value:	what is said of each, in the same order
 */
struct merged {
	struct packed entries;
	struct merged_value *value[ENTRY_KINDS];
};

/* A position among those entries that the sources have. Begins with zeros. */
struct merged_cursor {
	struct entry_ref at;
};

/* What an entry of a source means for the set: add expiry and comment that the source has for all. */
void merged_complete(const struct source *source, struct member *member);

/* Collect the entries of all sources that have not expired, without those that the guard keeps out. @plain: also those that have
 * neither expiry nor comment of their own. Return: 0 or -ENOMEM.
 */
int merged_collect(const struct target *target, bool plain, struct packed *entries);

/* Ask all sources about entries, in time linear in their number and in that of the sources' entries at
 * most. @entries: sorted, none repeated; empty afterwards. Return: 0 or -ENOMEM; @merged is to be freed
 * in both cases.
 */
int merged_read(const struct target *target, uint32_t now, struct packed *entries,
		struct merged *merged);

/* The next entry that the sources have, and no exception covers. Return: false at the end. */
bool merged_next(const struct target *target, const struct merged *merged,
		 struct merged_cursor *cursor, struct member *member);

void merged_free(struct merged *merged);

#endif /* IPCUCKOOD_MERGED_H */
