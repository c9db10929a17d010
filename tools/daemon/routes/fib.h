/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The routes of a routing table that a source follows, by their destinations. A destination may
 * have several routes, which differ in metric or TOS for instance.
 */
#ifndef IPCUCKOOD_FIB_H
#define IPCUCKOOD_FIB_H

#include "daemon/set/contents.h"

enum {
	/* It was withdrawn, and its destination stays for a while. @priority is the second at which
	 * that ends, and @id is 0.
	 */
	FIB_HELD	= 1 << 0,
	/* The set shall not have its destination. */
	FIB_REFUSED	= 1 << 1,
	/* It refers to a nexthop object. */
	FIB_NEXTHOP	= 1 << 2,
};

/**
 * struct fib_route - a route
 * @id:		tells routes of the same destination apart: a hash of what they have
 * @priority:	its metric
 * @kind:	kind of @entry
 * @entry:	its destination, as an entry of a set
 * @tos:	its TOS
 * @flags:	FIB_*
 */
struct fib_route {
	uint64_t id;
	uint32_t priority;
	uint8_t kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	uint8_t tos;
	uint8_t flags;
};

/**
 * struct fib - routes. Zeros are none
 * @slots:	hash table; the routes of a destination follow each other
 * @room:	number of slots
 * @used:	number of routes
 * @held, @refused, @nexthops: how many of them have this flag
 * @lengths:	how many of them have a prefix of this length: of IPv4, of IPv6
 */
struct fib {
	struct fib_route *slots;
	size_t room;
	size_t used;
	size_t held;
	size_t refused;
	size_t nexthops;
	uint32_t lengths[2][129];
};

/* Add a route, if it is not there. Return: 0 or -ENOMEM. */
int fib_add(struct fib *fib, const struct fib_route *route);
/* Return: whether the route was there. */
bool fib_del(struct fib *fib, const struct fib_route *route);

/* The next route of a destination; *@at is 0 at first. Return: NULL if there are no more. */
const struct fib_route *fib_find(const struct fib *fib, enum entry_kind kind, const uint8_t *entry,
				 size_t *at);
/* Whether the set shall have an entry: a route, even a held one, has it as its destination, or with
 * @covering a prefix that it is in.
 */
bool fib_wants(const struct fib *fib, enum entry_kind kind, const uint8_t *entry, bool covering);
/* The second until which an entry is held, 0 if it is not. */
uint32_t fib_held_until(const struct fib *fib, enum entry_kind kind, const uint8_t *entry,
			bool covering);

/* The next route, in no particular order; *@at is 0 at first. After fib_del() of the route that was
 * returned last, *@at has to be decremented: another one may have moved there.
 */
const struct fib_route *fib_next(const struct fib *fib, size_t *at);
void fib_free(struct fib *fib);

#endif /* IPCUCKOOD_FIB_H */
