/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_BITOPS_H
#define _SHIM_LINUX_BITOPS_H

#include <linux/types.h>

#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))

static inline unsigned long __fls(unsigned long x)
{
	return 8 * sizeof(x) - 1 - __builtin_clzl(x);
}

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned long __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u32 rol32(u32 x, unsigned int n)
{
	return x << n | x >> (32 - n);
}

#endif /* _SHIM_LINUX_BITOPS_H */
