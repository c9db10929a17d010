/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: allocated by the page, accounted, limited.
 *
 * What readers may still use is freed after a grace period. It stays charged
 * until it is freed; in between it is "retiring". Whoever retires memory says so
 * with ipcuckoo_mem_retire(), and after it was freed and uncharged with
 * ipcuckoo_mem_release(), so that others can tell whether waiting will give them
 * what the limit refuses now.
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
 * struct ipcuckoo_mem - an account that allocations are charged to
 * @used:	bytes charged now
 * @limit:	bytes that may be charged; 0: no limit
 * @lock:	protects what follows; taken in softirq too, innermost
 * @retiring:	bytes of @used that will be freed without anybody's doing
 * @wait:	woken when some of @retiring were freed
 * @retired:	records that nobody finds any more, whose grace period has not
 *		begun; see value.c
 * @leaving:	records whose grace period is under way
 * @reaping:	@reap is queued or runs
 * @reap:	frees @leaving
 *
 * One per network namespace.
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
 * enum ipcuckoo_charge - what to do when the limit refuses memory
 * @IPCUCKOO_CHARGE_TRY: fail. For work that can be left undone, such as shrinking
 *		a table
 * @IPCUCKOO_CHARGE_WAIT: wait for memory that retires, if it will be enough; fail
 *		otherwise
 * @IPCUCKOO_CHARGE_ANYWAY: wait likewise, then exceed the limit. For the few bytes
 *		that it takes to free many
 */
enum ipcuckoo_charge {
	IPCUCKOO_CHARGE_TRY,
	IPCUCKOO_CHARGE_WAIT,
	IPCUCKOO_CHARGE_ANYWAY,
};

/**
 * struct ipcuckoo_area - one allocation
 * @data:	zeroed memory, or NULL
 * @size:	bytes that it really takes, rounding included
 */
struct ipcuckoo_area {
	void *data;
	size_t size;
};

/* Frees what has retired. Its work takes no lock but that of an account. */
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

/* Why ipcuckoo_mem_charge() returned false. */
static inline int ipcuckoo_mem_refusal(void)
{
	return fatal_signal_pending(current) ? -EINTR : -EDQUOT;
}

#endif /* _IPCUCKOO_MEM_H */
