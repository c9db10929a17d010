/* SPDX-License-Identifier: GPL-2.0 */
/* Random entries that are related to each other (equal, adjacent, nested), for tests that compare a
 * set with a reference.
 */
#ifndef _DRAW_H
#define _DRAW_H

#include "core.h"

enum { BASES_MAX = 64 };

/**
 * struct draw - parameters of random entries
 * @random:	random numbers
 * @weight:	how often each kind of entry is drawn
 * @bases:	addresses from which the others are derived; few of them give entries that share
 *		prefixes, and nested prefixes
 * @nbases:	number of @bases
 * @shortest:	minimum prefix length, except for one in a hundred prefixes
 * @longest:	maximum prefix length, except for one in a thousand prefixes; 0: that of the family
 * @only:	if it is not 0, the length of all prefixes of IPv4, and half that of IPv6, except for
 *		one in a hundred, which are so short that they cover words of the hint
 */
struct draw {
	struct random random;
	const u8 *weight;
	struct ipcuckoo_key bases[BASES_MAX];
	u32 nbases;
	u8 shortest;
	u8 longest;
	u8 only;
};

static inline void choose_bases(struct draw *d)
{
	u32 i;

	for (i = 0; i < d->nbases; i++)
		d->bases[i] = (struct ipcuckoo_key){
			random_u64(&d->random), random_u64(&d->random),
		};
	d->bases[0] = (struct ipcuckoo_key){ 0, 0 };
	d->bases[1] = (struct ipcuckoo_key){ U64_MAX, U64_MAX };
}

/* A base with a few bits changed, mostly near its end; sometimes unchanged, or with all zeros or
 * all ones at its end.
 */
static inline struct ipcuckoo_key draw_addr(struct draw *d, bool v6)
{
	struct ipcuckoo_key addr = d->bases[random_below(&d->random, d->nbases)];
	unsigned int bits = family_bits(v6), n, bit;

	for (n = random_below(&d->random, 5); n; n--) {
		bit = random_below(&d->random, bits);
		if (random_below(&d->random, 2))
			bit = random_below(&d->random, bit + 1);
		if (bit < 64)
			addr.lo ^= 1ULL << bit;
		else
			addr.hi ^= 1ULL << (bit - 64);
	}
	if (!v6)
		addr = key4(addr.lo);
	else if (!random_below(&d->random, 16))
		addr = (struct ipcuckoo_key){ .lo = 0xffffULL << 32 | (u32)addr.lo };
	if (!random_below(&d->random, 8))
		addr = cut(addr, v6, random_below(&d->random, bits + 1));
	return addr;
}

static inline u8 draw_len(struct draw *d, bool v6)
{
	u32 shortest = d->shortest, bits = family_bits(v6);
	bool odd = !random_below(&d->random, 100);

	if (d->only)
		return odd ? 4 + random_below(&d->random, 5) : (u32)d->only << v6;
	if (odd)
		shortest = 0;
	if (d->longest && random_below(&d->random, 1000))
		bits = d->longest + 1;
	return shortest + random_below(&d->random, bits - shortest);
}

static inline struct ipcuckoo_entry draw_entry(struct draw *d)
{
	const u8 *weight = d->weight;
	struct ipcuckoo_entry entry;
	u32 kind = 0, pick;

	pick = random_below(&d->random,
			    weight[0] + weight[1] + weight[2] + weight[3]);
	while (pick >= weight[kind])
		pick -= weight[kind++];
	entry.v6 = kind == IPCUCKOO_HOSTS6 || kind == IPCUCKOO_NETS6;
	entry.len = kind == IPCUCKOO_NETS4 || kind == IPCUCKOO_NETS6 ?
		    draw_len(d, entry.v6) : family_bits(entry.v6);
	entry.addr = cut(draw_addr(d, entry.v6), entry.v6, entry.len);
	return entry;
}

/* Add @step to an address; wraps around. */
static inline struct ipcuckoo_key neighbour(struct ipcuckoo_key addr, bool v6, int step)
{
	if (!v6)
		return key4((u32)addr.lo + step);
	addr.lo += step;
	if (step > 0 ? !addr.lo : !~addr.lo)
		addr.hi += step;
	return addr;
}

/* The first and the last address of an entry, and the addresses before and after it. */
static inline void edges(const struct ipcuckoo_entry *entry, struct ipcuckoo_key edge[4])
{
	struct ipcuckoo_key first = entry->addr, last, ones;

	ones = cut((struct ipcuckoo_key){ entry->v6 ? U64_MAX : 0,
					  entry->v6 ? U64_MAX : U32_MAX },
		   entry->v6, entry->len);
	last.hi = entry->v6 ? first.hi | ~ones.hi : 0;
	last.lo = entry->v6 ? first.lo | ~ones.lo : (u32)(first.lo | ~ones.lo);
	edge[0] = first;
	edge[1] = last;
	edge[2] = neighbour(first, entry->v6, -1);
	edge[3] = neighbour(last, entry->v6, 1);
}

#endif /* _DRAW_H */
