/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read-copy-update for a few threads. The first rcu_read_lock() of a thread registers it. A reader
 * stores the number of the grace period in which it began, and 0 at its end. A grace period ends
 * when all readers that began before it have ended (shim.c).
 *
 * Callbacks run in the thread that calls call_rcu(), once @shim_rcu_batch of them wait. By default
 * that is 1, so they run immediately, which the kernel may do, too: this finds writers that use
 * memory after they have freed it.
 */
#ifndef _SHIM_LINUX_RCUPDATE_H
#define _SHIM_LINUX_RCUPDATE_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/sched.h>

/**
 * struct shim_reader - a thread that reads
 * @since:	the grace period in which it began to read, or 0
 * @depth:	nesting depth of rcu_read_lock()
 * @registered:	it is in the list
 * @next:	next in the list
 */
struct shim_reader {
	unsigned long since;
	unsigned int depth;
	bool registered;
	struct shim_reader *next;
};

extern __thread struct shim_reader shim_reader;
extern unsigned long shim_grace_period;
extern unsigned int shim_rcu_batch;

void shim_reader_register(void);
void shim_reader_unregister(void);
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));
void shim_kfree_rcu(struct rcu_head *head, void *ptr);
void rcu_barrier(void);

static inline void rcu_read_lock(void)
{
	if (shim_reader.depth++)
		return;
	if (!shim_reader.registered)
		shim_reader_register();
	shim_atomic_depth++;
		/* Must be ordered before the loads of the reader. An exchange, because the thread
		 * sanitizer does not support fences.
		 */
	__atomic_exchange_n(&shim_reader.since,
			    __atomic_load_n(&shim_grace_period, __ATOMIC_RELAXED),
			    __ATOMIC_SEQ_CST);
}

static inline void rcu_read_unlock(void)
{
	SHIM_BUG_ON(!shim_reader.depth);
	if (--shim_reader.depth)
		return;
	shim_atomic_depth--;
	__atomic_store_n(&shim_reader.since, 0, __ATOMIC_RELEASE);
}

#define rcu_dereference(p)					\
	({ SHIM_BUG_ON(!shim_reader.depth); shim_stutter(); SHIM_CONSUME(p); })
#define rcu_dereference_raw(p)	({ shim_stutter(); SHIM_CONSUME(p); })
#define rcu_dereference_protected(p, cond)			\
	({ SHIM_BUG_ON(!(cond)); (p); })
#define rcu_access_pointer(p)		SHIM_LOAD(p)
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define RCU_INIT_POINTER(p, v)		SHIM_STORE(p, v)

/* The order of a pointer and what it points to follows from the address dependency. The thread
 * sanitizer does not know that.
 */
#ifdef __SANITIZE_THREAD__
#define SHIM_CONSUME(p)		__atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#else
#define SHIM_CONSUME(p)		SHIM_LOAD(p)
#endif

#define kfree_rcu(p, member)	shim_kfree_rcu(&(p)->member, p)

#endif /* _SHIM_LINUX_RCUPDATE_H */
