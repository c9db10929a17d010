/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <limits.h>

#include <linux/kernel.h>

/* The page size of most machines, unless the Makefile says otherwise, so that sizes do not depend on
 * the machine of the test. A page has room for PAGE_SIZE / 8 pointers to pages.
 */
#ifndef PAGE_SHIFT
#define PAGE_SHIFT	12
#endif
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define PMD_SIZE	(PAGE_SIZE << (PAGE_SHIFT - 3))
#define PAGE_ALIGN(x)	ALIGN(x, PAGE_SIZE)

/* Allocations fail because of shim_fail_at, not because of the machine. */
static inline long si_mem_available(void)
{
	return LONG_MAX;
}

#endif /* _SHIM_LINUX_MM_H */
