// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hash table with open addressing and linear probing, as in contents.c. The hash is that of the
 * destination only, so all routes of a destination are found on the way to the first free slot.
 */
#include <stdlib.h>

#include "daemon/routes/fib.h"

#define SLOTS_LEAST	64

/* A slot without a route has this kind. */
#define FREE		ENTRY_KINDS

static size_t home(const struct fib *fib, enum entry_kind kind, const uint8_t *entry)
{
	return (unsigned __int128)entry_hash(kind, entry) * fib->room >> 64;
}

static size_t behind(const struct fib *fib, size_t at)
{
	return at + 1 == fib->room ? 0 : at + 1;
}

/* The slot of a route, or else the free slot that it would get. The table has a free slot. */
static size_t find_slot(const struct fib *fib, const struct fib_route *route)
{
	size_t at = home(fib, route->kind, route->entry);
	const struct fib_route *slot;

	for (;; at = behind(fib, at)) {
		slot = &fib->slots[at];
		if (slot->kind == FREE)
			return at;
		if (slot->kind == route->kind && slot->id == route->id &&
		    !((slot->flags ^ route->flags) & FIB_HELD) &&
		    !memcmp(slot->entry, route->entry, entry_size[route->kind]))
			return at;
	}
}

static unsigned int prefix_len(enum entry_kind kind, const uint8_t *entry)
{
	return is_net(kind) ? entry[entry_size[kind] - 1] : 8u * entry_size[kind];
}

/* Count a route that is added, or with @step -1 deleted. */
static void count(struct fib *fib, const struct fib_route *route, int step)
{
	fib->used += step;
	if (route->flags & FIB_HELD)
		fib->held += step;
	if (route->flags & FIB_REFUSED)
		fib->refused += step;
	if (route->flags & FIB_NEXTHOP)
		fib->nexthops += step;
	fib->lengths[is_v6(route->kind)][prefix_len(route->kind, route->entry)] += step;
}

static int grow(struct fib *fib)
{
	size_t room = fib->room ? fib->room * 3 / 2 : SLOTS_LEAST, i;
	struct fib grown = { .room = room };

	if (fib->room && fib->used < fib->room / 4 * 3)
		return 0;
	grown.slots = malloc(room * sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (i = 0; i < room; i++)
		grown.slots[i].kind = FREE;
	for (i = 0; i < fib->room; i++)
		if (fib->slots[i].kind != FREE)
			grown.slots[find_slot(&grown, &fib->slots[i])] = fib->slots[i];
	free(fib->slots);
	fib->slots = grown.slots;
	fib->room = room;
	return 0;
}

int fib_add(struct fib *fib, const struct fib_route *route)
{
	size_t at;

	if (grow(fib))
		return -ENOMEM;
	at = find_slot(fib, route);
	if (fib->slots[at].kind != FREE)
		return 0;
	fib->slots[at] = *route;
	count(fib, route, 1);
	return 0;
}

bool fib_del(struct fib *fib, const struct fib_route *route)
{
	size_t hole, at, want, room = fib->room;

	if (!room)
		return false;
	hole = find_slot(fib, route);
	at = hole;
	if (fib->slots[hole].kind == FREE)
		return false;
	count(fib, &fib->slots[hole], -1);
	/* Routes behind it, up to a free slot, which a search from their home would no longer find,
	 * move back.
	 */
	for (;;) {
		at = behind(fib, at);
		if (fib->slots[at].kind == FREE)
			break;
		want = home(fib, fib->slots[at].kind, fib->slots[at].entry);
		/* Is the hole on the way from its home to where it is? */
		if ((at + room - want) % room < (at + room - hole) % room)
			continue;
		fib->slots[hole] = fib->slots[at];
		hole = at;
	}
	fib->slots[hole].kind = FREE;
	return true;
}

const struct fib_route *fib_find(const struct fib *fib, enum entry_kind kind, const uint8_t *entry,
				 size_t *at)
{
	const struct fib_route *slot;
	size_t first, i;

	if (!fib->room)
		return NULL;
	/* *@at counts from the home, so that 0 is the beginning for any destination. */
	first = home(fib, kind, entry);
	for (i = *at; i < fib->room; i++) {
		slot = &fib->slots[(first + i) % fib->room];
		if (slot->kind == FREE)
			return NULL;
		if (slot->kind == kind && !memcmp(slot->entry, entry, entry_size[kind])) {
			*at = i + 1;
			return slot;
		}
	}
	return NULL;
}

/* Call @test with the routes of an entry, and if @covering with those of the prefixes that it is
 * in. Return: what @test returned if that is not 0.
 */
static uint32_t search(const struct fib *fib, enum entry_kind kind, const uint8_t *entry,
		       bool covering, uint32_t (*test)(const struct fib_route *route))
{
	enum entry_kind net = is_v6(kind) ? ENTRY_NET6 : ENTRY_NET4;
	unsigned int len = prefix_len(kind, entry), size = entry_size[net] - 1;
	uint8_t prefix[IPCUCKOO_NET6_SIZE];
	const struct fib_route *route;
	uint32_t result = 0;
	size_t at = 0;

	while (!result && (route = fib_find(fib, kind, entry, &at)))
		result = test(route);
	memcpy(prefix, entry, size);
	while (covering && !result && len) {
		len--;
		prefix[len / 8] &= ~(0x80 >> len % 8);
		if (!fib->lengths[is_v6(kind)][len])
			continue;
		prefix[size] = len;
		at = 0;
		while (!result && (route = fib_find(fib, net, prefix, &at)))
			result = test(route);
	}
	return result;
}

static uint32_t is_wanted(const struct fib_route *route)
{
	return !(route->flags & FIB_REFUSED);
}

static uint32_t held_until(const struct fib_route *route)
{
	return route->flags & FIB_HELD ? route->priority : 0;
}

bool fib_wants(const struct fib *fib, enum entry_kind kind, const uint8_t *entry, bool covering)
{
	return search(fib, kind, entry, covering, is_wanted);
}

uint32_t fib_held_until(const struct fib *fib, enum entry_kind kind, const uint8_t *entry,
			bool covering)
{
	return search(fib, kind, entry, covering, held_until);
}

const struct fib_route *fib_next(const struct fib *fib, size_t *at)
{
	while (*at < fib->room)
		if (fib->slots[(*at)++].kind != FREE)
			return &fib->slots[*at - 1];
	return NULL;
}

void fib_free(struct fib *fib)
{
	free(fib->slots);
	memset(fib, 0, sizeof(*fib));
}
