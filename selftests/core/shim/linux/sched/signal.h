/* SPDX-License-Identifier: GPL-2.0 */
/* A fatal signal comes when a test says so. */
#ifndef _SHIM_LINUX_SCHED_SIGNAL_H
#define _SHIM_LINUX_SCHED_SIGNAL_H

#include <linux/compiler.h>
#include <linux/types.h>

/* The look for a signal that finds one, counted from the next one as 1; 0: none
 * does. Once there, a signal stays until the test sets this again.
 */
extern unsigned long shim_fatal_at;

/* Looks for a signal so far. */
extern unsigned long shim_fatal_looks;

bool shim_fatal_signal(void);

#define fatal_signal_pending(task)	shim_fatal_signal()

#endif /* _SHIM_LINUX_SCHED_SIGNAL_H */
