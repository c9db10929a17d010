/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: allocation by the page, accounting, limits.
 *
 * Memory that readers may still use is freed after a grace period. It stays charged until
 * it is freed; meanwhile it is "retiring". The code that retires memory calls
 * ipcuckoo_mem_retire() first, and ipcuckoo_mem_release() after the memory was freed and
 * uncharged. So an allocation that exceeds the limit can find out whether it would succeed
 * after a wait.
 */
#ifndef _IPCUCKOO_MEM_H
#define _IPCUCKOO_MEM_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct ipcuckoo_record;

/**
 * struct ipcuckoo_mem - an account to which allocations are charged
 * @used:	bytes charged now
 * @limit:	maximum of @used; 0: no limit
 * @lock:	protects the fields below; an innermost lock, taken in softirq too
 * @retiring:	the part of @used that will be freed after a grace period
 * @wait:	woken when retiring memory was freed
 * @retired:	retired records that wait for the next grace period; see value.c
 * @leaving:	retired records whose grace period has begun
 * @reaping:	@reap is queued or running
 * @reap:	work item that frees @leaving
 *
 * There is one in each network namespace.
 */
struct ipcuckoo_mem {
	atomic_long_t used;
	unsigned long limit;
	spinlock_t lock;	/* see above */
	unsigned long retiring;
	wait_queue_head_t wait;
	struct ipcuckoo_record *retired;
	struct ipcuckoo_record *leaving;
	bool reaping;
	struct rcu_work reap;
};

/**
 * enum ipcuckoo_charge - what to do if an allocation would exceed the limit
 * @IPCUCKOO_CHARGE_TRY: fail. For optional work, such as shrinking a table
 * @IPCUCKOO_CHARGE_WAIT: wait until retiring memory was freed, if that will be enough;
 *		fail otherwise
 * @IPCUCKOO_CHARGE_ANYWAY: as IPCUCKOO_CHARGE_WAIT, but exceed the limit instead of
 *		failing. For small allocations that are needed to free much more
 */
enum ipcuckoo_charge {
	IPCUCKOO_CHARGE_TRY,
	IPCUCKOO_CHARGE_WAIT,
	IPCUCKOO_CHARGE_ANYWAY,
};

/**
 * struct ipcuckoo_area - one allocation
 * @data:	zeroed memory, or NULL
 * @size:	bytes allocated, rounding included
 */
struct ipcuckoo_area {
	void *data;
	size_t size;
};

/* Frees retired memory. Its work items take no lock but ipcuckoo_mem.lock. */
extern struct workqueue_struct *ipcuckoo_free_wq;

int ipcuckoo_mem_init(void);
void ipcuckoo_mem_exit(void);
void ipcuckoo_mem_open(struct ipcuckoo_mem *mem, unsigned long limit, work_func_t reap);
void ipcuckoo_mem_close(struct ipcuckoo_mem *mem);

bool ipcuckoo_mem_charge(struct ipcuckoo_mem *mem, size_t size);
bool ipcuckoo_mem_charge_as(struct ipcuckoo_mem *mem, size_t size,
			    enum ipcuckoo_charge how);
void ipcuckoo_mem_uncharge(struct ipcuckoo_mem *mem, size_t size);
void ipcuckoo_mem_retire(struct ipcuckoo_mem *mem, size_t size);
void ipcuckoo_mem_release(struct ipcuckoo_mem *mem, size_t size);

void *ipcuckoo_object_alloc(struct ipcuckoo_mem *mem, size_t size,
			    enum ipcuckoo_charge how);
void ipcuckoo_object_free(void *object, struct ipcuckoo_mem *mem, size_t size);
int ipcuckoo_area_alloc(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem,
			size_t size, enum ipcuckoo_charge how);
void ipcuckoo_area_free(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem);
size_t ipcuckoo_area_round(size_t size);

/* The error to return after ipcuckoo_mem_charge() returned false. */
static inline int ipcuckoo_mem_refusal(void)
{
	return fatal_signal_pending(current) ? -EINTR : -EDQUOT;
}

#endif /* _IPCUCKOO_MEM_H */
