/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the destinations of routes mean for a set: which ones it may have, which entries they stand
 * for, and how these differ from what it has.
 */
#ifndef IPCUCKOOD_DESTINATION_H
#define IPCUCKOOD_DESTINATION_H

#include "daemon/routes/fib.h"
#include "daemon/set/source.h"

/* If more entries change at once, the whole set is replaced, in one step. */
#define CHANGES_MOST	1024

/* Several routes may have one entry: no more routes are kept than so many times the entries that
 * are allowed, and ROUTES_MORE.
 */
#define ROUTES_FOLD	4
#define ROUTES_MORE	65536

/**
 * struct destination_rules - which destinations the set may have
 * @hosts_only:	it is a set of hosts: a prefix stands for its hosts
 * @min_length, @min_length6: the shortest prefixes, IPv4 and IPv6
 * @max_entries: maximum number of entries
 */
struct destination_rules {
	bool hosts_only;
	uint64_t min_length;
	uint64_t min_length6;
	uint64_t max_entries;
};

/**
 * struct changes - changes of single entries
 * @count:	their number, which may be more than CHANGES_MOST
 * @at:		the changes, if they are not more
 */
struct changes {
	size_t count;
	struct source_change at[CHANGES_MOST];
};

bool destination_is_too_short(const struct destination_rules *rules, enum entry_kind kind,
			      const uint8_t *entry);
/* Whether the set may not have it: it is too short, or has too many hosts for a set of hosts. */
bool destination_is_refused(const struct destination_rules *rules, enum entry_kind kind,
			    const uint8_t *entry);

/* All entries that routes stand for, sorted. Return: 0, -EFBIG if they are more than max_entries,
 * or -ENOMEM.
 */
int destination_collect(const struct destination_rules *rules, const struct fib *fib,
			struct packed *want);
/* How the entries @want, sorted, differ from the contents of a source. */
void destination_compare(const struct packed *want, const struct contents *have,
			 struct changes *changes);
/* The same for the entries that only some destinations stand for. Return: 0, -EFBIG if they are too
 * many to look at each of them, or -ENOMEM.
 */
int destination_compare_some(const struct destination_rules *rules, const struct packed *some,
			     const struct fib *fib, const struct contents *have,
			     struct changes *changes);

#endif /* IPCUCKOOD_DESTINATION_H */
