/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that waits runs the callbacks that would wake it, and checks the condition again. */
#ifndef _SHIM_LINUX_WAIT_H
#define _SHIM_LINUX_WAIT_H

#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

typedef struct {
	unsigned int waits;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->waits = 0;
}

static inline void wake_up_all(wait_queue_head_t *wq)
{
	(void)wq;
}

#define wait_event(wq, condition) do {					\
	while (!(condition)) {						\
		(wq).waits++;						\
		rcu_barrier();						\
	}								\
} while (0)

#define wait_event_killable(wq, condition)				\
	({								\
		int wait_err = 0;					\
									\
		while (!(condition)) {					\
			if (fatal_signal_pending(current)) {		\
				wait_err = -512;			\
				break;					\
			}						\
			(wq).waits++;					\
			rcu_barrier();					\
		}							\
		wait_err;						\
	})

#endif /* _SHIM_LINUX_WAIT_H */
