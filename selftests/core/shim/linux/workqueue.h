/* SPDX-License-Identifier: GPL-2.0 */
/* Work that waits for a grace period is done by the thread that ends the grace period. */
#ifndef _SHIM_LINUX_WORKQUEUE_H
#define _SHIM_LINUX_WORKQUEUE_H

#include <linux/rcupdate.h>

struct workqueue_struct;

struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
};

struct rcu_work {
	struct work_struct work;
	struct rcu_head rcu;
};

#define WQ_UNBOUND		1
#define WQ_MEM_RECLAIM		2

#define alloc_workqueue(name, flags, max)	((struct workqueue_struct *)(name))
#define destroy_workqueue(wq)			((void)(wq))

#define to_rcu_work(w)		container_of(w, struct rcu_work, work)
#define INIT_RCU_WORK(rwork, f)	((void)((rwork)->work.func = (f)))

void queue_rcu_work(struct workqueue_struct *wq, struct rcu_work *rwork);

#endif /* _SHIM_LINUX_WORKQUEUE_H */
