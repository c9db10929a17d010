/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <limits.h>

#include <linux/kernel.h>

/* The page size of most machines, so that sizes do not depend on the machine of the test. */
#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define PMD_SIZE	(2UL << 20)
#define PAGE_ALIGN(x)	ALIGN(x, PAGE_SIZE)

/* Allocations fail because of shim_fail_at, not because of the machine. */
static inline long si_mem_available(void)
{
	return LONG_MAX;
}

#endif /* _SHIM_LINUX_MM_H */
