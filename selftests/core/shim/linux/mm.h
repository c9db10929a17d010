/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <limits.h>

#include <linux/kernel.h>

/* Those of most machines, the test's own or not: sizes must not depend on it. */
#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define PMD_SIZE	(2UL << 20)
#define PAGE_ALIGN(x)	ALIGN(x, PAGE_SIZE)

/* Failures come from shim_fail_at, not from the machine. */
static inline long si_mem_available(void)
{
	return LONG_MAX;
}

#endif /* _SHIM_LINUX_MM_H */
