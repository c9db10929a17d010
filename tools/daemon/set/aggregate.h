/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * "aggregate = 8/24 48/64" in [set]: a network is listed while so many of its hosts are. The networks
 * are a source of the set like any other, which has no section: "SET.networks". So the guard judges
 * them, "why" and "status" show them, and they are stored.
 *
 * A host counts once, however many sources have it, and as long as one of them has it; a network stays
 * until it has too few hosts left. What the guard keeps out of the set does not count. A network is not
 * listed if an exception has one of its addresses, or all.
 */
#ifndef IPCUCKOOD_AGGREGATE_H
#define IPCUCKOOD_AGGREGATE_H

#include "daemon/set/source.h"

/**
 * struct aggregate_rule - networks of which length are listed, and when
 * @hosts:	number of hosts that have to be listed
 * @length:	length of the prefix
 * @v6:		networks of IPv6; those of IPv4 have lengths to 31, those of IPv6 from 33 on
 * @excepted:	networks of this length that have addresses of exceptions, sorted
 */
struct aggregate_rule {
	unsigned int hosts;
	unsigned int length;
	bool v6;
	struct packed excepted;
};

extern const struct source_kind aggregate_kind;

/* Read the words of "aggregate" of a set whose exceptions are known. Return: what is wrong, and what to
 * write; NULL if nothing is. Allocated.
 */
char *aggregate_parse(struct target *target);
void aggregate_free(struct target *target);

/* Make the networks what the sources say after entries changed, sorted; networks that change are appended to
 * them, and sorted in. NULL: after any change.
 */
void aggregate_update(struct target *target, struct packed *touched);

#endif /* IPCUCKOOD_AGGREGATE_H */
