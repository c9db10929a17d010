/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of the internet entries cover, so that an error of whoever makes a list does not block
 * all of it.
 *
 * What counts are addresses that hosts of the internet have: of IPv4 all but private, special and
 * multicast ones; of IPv6 those of 2000::/3, in networks of 48 bits, since one host may have more
 * addresses than all of IPv4; and what NAT64 has behind 64:ff9b::/96. Addresses that several entries cover count once.
 */
#ifndef IPCUCKOO_TOOL_EXPOSURE_H
#define IPCUCKOO_TOOL_EXPOSURE_H

#include "lib/packed.h"

/* Without being told, one change may add as much as one prefix of this length covers: a 256th of
 * IPv4. A /16 of IPv6 is about the same share of what the registries have given out.
 */
#define EXPOSURE_LENGTH4	8
#define EXPOSURE_LENGTH6	16

/* Where the numbers of both families are, and their limits. */
enum { EXPOSURE_V4, EXPOSURE_V6, EXPOSURE_FAMILIES };

/**
 * struct exposure - how much entries cover, in addresses of IPv4 and /48s of IPv6
 * @size:	for each family
 */
struct exposure {
	uint64_t size[EXPOSURE_FAMILIES];
};

/* What one change may add */
extern const struct exposure exposure_most;

/* As much as a prefix of each of these lengths covers */
struct exposure exposure_of_lengths(unsigned int length4, unsigned int length6);

/* Sorted entries, none repeated */
struct exposure exposure_measure(const struct packed *entries);
/* The same or more, of any entries, which takes no longer than to look at the prefixes: what
 * several of them cover counts several times, and what no host has counts, too.
 */
struct exposure exposure_bound(const struct packed *entries);

extern const char *const exposure_units[EXPOSURE_FAMILIES];

/* The family of which there is more; -1: none */
int exposure_exceeds(const struct exposure *size, const struct exposure *most);
/* Take @size off @left. Return: false, and nothing is taken off, if that is more. */
bool exposure_take(struct exposure *left, const struct exposure *size);

/**
 * struct exposure_excess - too much in one change
 * @family:	EXPOSURE_V4 or EXPOSURE_V6
 * @size:	how much more would be covered
 * @most:	how much more may be
 * @widest:	the widest of the new entries
 */
struct exposure_excess {
	int family;
	uint64_t size;
	uint64_t most;
	struct entry_ref widest;
};

/*
 * Whether @entries cover more than @most that @old do not. Both are sorted, none repeated; @old is
 * NULL if there are none. If all of the entries are few enough, that takes no longer than to look
 * at the prefixes. Return: 1, 0 or -ENOMEM.
 */
int exposure_check(const struct packed *entries, const struct packed *old,
		   const struct exposure *most, struct exposure_excess *excess);

#define EXPOSURE_TEXT_SIZE	160

/* "would drop 67108864 more addresses of IPv4, most of them by 4.0.0.0/6, ...": an excess, behind
 * the name of what does so.
 */
const char *exposure_text(const struct packed *entries, const struct exposure_excess *excess,
			  char text[EXPOSURE_TEXT_SIZE]);

#endif /* IPCUCKOO_TOOL_EXPOSURE_H */
