/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_HASH_H
#define _SHIM_LINUX_HASH_H

#include <linux/types.h>

/* 2^32 and 2^64, each multiplied by 0.618... (the golden ratio), and made odd. */
#define GOLDEN_RATIO_32	0x61C88647U
#define GOLDEN_RATIO_64	0x61C8864680B583EBULL

static inline u32 hash_32(u32 val, unsigned int bits)
{
	return val * GOLDEN_RATIO_32 >> (32 - bits);
}

/* As on 32-bit machines: two short multiplications. */
static inline u32 hash_64(u64 val, unsigned int bits)
{
#if BITS_PER_LONG == 64
	return val * GOLDEN_RATIO_64 >> (64 - bits);
#else
	return hash_32((u32)val ^ (u32)(val >> 32) * GOLDEN_RATIO_32, bits);
#endif
}

#endif /* _SHIM_LINUX_HASH_H */
