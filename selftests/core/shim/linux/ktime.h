/* SPDX-License-Identifier: GPL-2.0 */
/* The clock stands still until a test moves it. */
#ifndef _SHIM_LINUX_KTIME_H
#define _SHIM_LINUX_KTIME_H

#include <linux/compiler.h>
#include <linux/types.h>

extern s64 shim_seconds;

static inline s64 ktime_get_boottime_seconds(void)
{
	return SHIM_LOAD(shim_seconds);
}

#endif /* _SHIM_LINUX_KTIME_H */
