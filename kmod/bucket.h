/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets: the other bucket of an entry, and comparing all slots of a word at once. For
 * the exact table and the filter.
 */
#ifndef _IPCUCKOO_BUCKET_H
#define _IPCUCKOO_BUCKET_H

#include <linux/types.h>

/* The other bucket of an entry in @bucket: h - bucket modulo @nbuckets, where h is made
 * from @hash, a hash of what the slot holds. The function is an involution. As h is odd
 * and @nbuckets is even, no bucket is its own alternate.
 */
static inline u32 ipcuckoo_bucket_alt(u32 bucket, u32 hash, u32 nbuckets)
{
	u32 h = ((u64)hash * nbuckets >> 32) | 1;

	return h - bucket + (h < bucket ? nbuckets : 0);
}

/* A word whose lanes of @bits bits are all 1. Multiplied by a slot, all lanes are that slot. The
 * first lane is the lowest; bits above the last whole lane are 0.
 */
#define IPCUCKOO_LANES(bits)	((~0ULL >> 64 % (bits)) / (~0ULL >> (64 - (bits))))

/* Find lanes of @x that are 0: sets the top bit of each such lane. May also set the top bit
 * of lanes above the lowest one that is 0. So the lowest bit set is exact, and so is a
 * comparison of the result with 0. Bits of @x above the last whole lane do not matter.
 */
static __always_inline u64 ipcuckoo_zero_lanes(u64 x, unsigned int bits)
{
	const u64 ones = IPCUCKOO_LANES(bits);

	return (x - ones) & ~x & ones << (bits - 1);
}

#endif /* _IPCUCKOO_BUCKET_H */
