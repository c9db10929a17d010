/* SPDX-License-Identifier: GPL-2.0 */
/* A fatal signal arrives when a test says so. */
#ifndef _SHIM_LINUX_SCHED_SIGNAL_H
#define _SHIM_LINUX_SCHED_SIGNAL_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Which check for a signal finds one: 1 is the next one; 0: none does. Later checks find the
 * signal, too, until the test sets this again.
 */
extern unsigned long shim_fatal_at;

/* Number of checks for a signal so far */
extern unsigned long shim_fatal_looks;

bool shim_fatal_signal(void);

#define fatal_signal_pending(task)	shim_fatal_signal()

#endif /* _SHIM_LINUX_SCHED_SIGNAL_H */
