/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets: the pair of them that an entry has, and all slots of a word at once.
 * For the exact table and for the filter alike.
 */
#ifndef _IPCUCKOO_BUCKET_H
#define _IPCUCKOO_BUCKET_H

#include <linux/types.h>

/* The other bucket of an entry in @bucket: h - bucket modulo @nbuckets, with h
 * from the 32 bits @hash of what the slot holds. An involution. As h is odd and
 * @nbuckets even, no bucket is its own alternate.
 */
static inline u32 ipcuckoo_bucket_alt(u32 bucket, u32 hash, u32 nbuckets)
{
	u32 h = ((u64)hash * nbuckets >> 32) | 1;

	return h - bucket + (h < bucket ? nbuckets : 0);
}

/* A word whose lanes of @bits bits are all 1; times a slot, all that slot. */
#define IPCUCKOO_LANES(bits)	(~0ULL / (~0ULL >> (64 - (bits))))

/* The top bit of every lane of @x that is 0. Exact for the lowest such lane,
 * and exact as a whole when compared with 0.
 */
static __always_inline u64 ipcuckoo_zero_lanes(u64 x, unsigned int bits)
{
	const u64 ones = IPCUCKOO_LANES(bits);

	return (x - ones) & ~x & ones << (bits - 1);
}

#endif /* _IPCUCKOO_BUCKET_H */
