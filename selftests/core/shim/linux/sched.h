/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_SCHED_H
#define _SHIM_LINUX_SCHED_H

#include <linux/compiler.h>
#include <linux/spinlock.h>

/* A bug under a spinlock, and in a read-side section. */
static inline void might_sleep(void)
{
	SHIM_BUG_ON(shim_atomic_depth);
}

static inline void cond_resched(void)
{
	might_sleep();
}

#endif /* _SHIM_LINUX_SCHED_H */
