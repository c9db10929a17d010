/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_LOG2_H
#define _SHIM_LINUX_LOG2_H

#include <linux/types.h>

static inline int ilog2(u64 x)
{
	return 63 - __builtin_clzll(x);
}

static inline bool is_power_of_2(unsigned long x)
{
	return x && !(x & (x - 1));
}

static inline unsigned long roundup_pow_of_two(unsigned long x)
{
	return x < 2 ? 1 : 1UL << (ilog2(x - 1) + 1);
}

#endif /* _SHIM_LINUX_LOG2_H */
