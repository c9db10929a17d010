/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of addresses and prefixes, and the reference for tests: is an address in a list? It uses
 * no hashes, tables or hints. It searches sorted ranges, and sometimes also reads the whole list
 * to check that the answer of the search is right.
 *
 * An address is a number: 32 bits for IPv4, 128 bits for IPv6.
 */
#ifndef _LISTS_H
#define _LISTS_H

#include <arpa/inet.h>
#include <ctype.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 addr_t;

struct range {
	addr_t first;
	addr_t last;
};

/**
 * struct list - the entries of one family
 * @entries:	in the order in which they were read
 * @count:	number of entries
 * @merged:	the entries sorted, and overlapping ones joined
 * @merged_count: number of ranges in @merged
 * @asked:	number of calls of list_has()
 */
struct list {
	struct range *entries;
	size_t count;
	struct range *merged;
	size_t merged_count;
	unsigned long asked;
};

/* One in LIST_CHECK answers is checked by reading the whole list. */
#define LIST_CHECK	64

static uint64_t rng_state[2];

static inline void rng_seed(uint64_t seed)
{
	rng_state[0] = seed * 0x9e3779b97f4a7c15 + 1;
	rng_state[1] = seed ^ 0xd1b54a32d192ed03;
}

/* xoroshiro128+ */
static inline uint64_t rng(void)
{
	uint64_t a = rng_state[0], b = rng_state[1], sum = a + b;

	b ^= a;
	rng_state[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	rng_state[1] = b << 37 | b >> 27;
	return sum;
}

static inline uint64_t rng_below(uint64_t n)
{
	return rng() % n;
}

static inline addr_t rng_addr(bool v6)
{
	return v6 ? (addr_t)rng() << 64 | rng() : rng() >> 32;
}

static inline unsigned int addr_bits(bool v6)
{
	return v6 ? 128 : 32;
}

static inline addr_t addr_max(bool v6)
{
	return v6 ? ~(addr_t)0 : UINT32_MAX;
}

static inline addr_t host_mask(bool v6, unsigned int len)
{
	unsigned int bits = addr_bits(v6) - len;

	return bits == 128 ? ~(addr_t)0 : ((addr_t)1 << bits) - 1;
}

static inline addr_t addr_load(const uint8_t *data, bool v6)
{
	addr_t addr = 0;
	int i;

	for (i = 0; i < (v6 ? 16 : 4); i++)
		addr = addr << 8 | data[i];
	return addr;
}

static inline void addr_store(uint8_t *data, addr_t addr, bool v6)
{
	int i;

	for (i = (v6 ? 16 : 4) - 1; i >= 0; i--, addr >>= 8)
		data[i] = (uint8_t)addr;
}

static inline const char *addr_text(addr_t addr, bool v6)
{
	static char text[4][INET6_ADDRSTRLEN];
	static int next;
	uint8_t data[16];

	next = (next + 1) % 4;
	addr_store(data, addr, v6);
	inet_ntop(v6 ? AF_INET6 : AF_INET, data, text[next], sizeof(text[0]));
	return text[next];
}

static inline bool addr_parse(const char *text, addr_t *addr, bool *v6)
{
	uint8_t data[16];

	*v6 = strchr(text, ':');
	if (inet_pton(*v6 ? AF_INET6 : AF_INET, text, data) != 1)
		return false;
	*addr = addr_load(data, *v6);
	return true;
}

static inline void list_add(struct list *list, addr_t first, addr_t last)
{
	if (!(list->count & (list->count - 1)))
		list->entries = realloc(list->entries,
					(list->count ? 2 * list->count : 1) *
					sizeof(*list->entries));
	if (!list->entries)
		err(2, "list");
	list->entries[list->count++] = (struct range){ first, last };
}

static int range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->last < y->last ? -1 : x->last > y->last;
}

/* Build @merged. Call it after the last list_add() and before the first list_has(). */
static inline void list_seal(struct list *list)
{
	struct range *r, *to;

	list->merged = malloc((list->count + 1) * sizeof(*list->merged));
	if (!list->merged)
		err(2, "list");
	if (list->count)
		memcpy(list->merged, list->entries,
		       list->count * sizeof(*list->merged));
	qsort(list->merged, list->count, sizeof(*list->merged), range_order);
	to = list->merged;
	for (r = list->merged; r < list->merged + list->count; r++) {
		if (to > list->merged && r->first <= to[-1].last) {
			if (r->last > to[-1].last)
				to[-1].last = r->last;
		} else {
			*to++ = *r;
		}
	}
	list->merged_count = to - list->merged;
}

static inline bool list_walk(const struct list *list, addr_t addr)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (addr >= list->entries[i].first &&
		    addr <= list->entries[i].last)
			return true;
	return false;
}

static inline bool list_has(struct list *list, addr_t addr)
{
	size_t low = 0, high = list->merged_count, middle;
	bool has;

	/* Find the first range that begins after the address. */
	while (low < high) {
		middle = (low + high) / 2;
		if (list->merged[middle].first <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	has = low && addr <= list->merged[low - 1].last;
	if (!(list->asked++ % LIST_CHECK) && has != list_walk(list, addr))
		errx(2, "the reference is wrong");
	return has;
}

/* Read a file: the first word of each line is an address or a prefix; "#" begins a comment.
 * list[0] gets the IPv4 entries, list[1] the IPv6 entries.
 */
static inline void list_read(struct list list[2], const char *path)
{
	char line[512], *word, *slash;
	FILE *file = fopen(path, "r");
	unsigned int len;
	addr_t addr, mask;
	bool v6;

	if (!file)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		word = line + strspn(line, " \t");
		word[strcspn(word, " \t\r\n,;#")] = '\0';
		if (!*word)
			continue;
		slash = strchr(word, '/');
		if (slash)
			*slash = '\0';
		if (!addr_parse(word, &addr, &v6))
			errx(2, "%s: %s", path, word);
		len = slash ? atoi(slash + 1) : (int)addr_bits(v6);
		mask = host_mask(v6, len);
		list_add(&list[v6], addr & ~mask, addr | mask);
	}
	fclose(file);
}

#endif /* _LISTS_H */
