/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guard: the sequence number by which readers notice that an entry moved or was
 * deleted while they looked it up. table.c explains the protocol.
 */
#ifndef _IPCUCKOO_GUARD_H
#define _IPCUCKOO_GUARD_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct ipcuckoo_guard - what readers and the writer of some tables share
 * @seq:	moves between copying an entry and clearing its old place, and
 *		before every deletion; read by every look-up
 * @lock:	held while entries move or go, which moves @seq as well, so
 *		that it may share a cache line with it; taken by a reader as a
 *		last resort
 */
struct ipcuckoo_guard {
	u32 seq;
	spinlock_t lock;	/* see set.h */
};

static inline void ipcuckoo_guard_init(struct ipcuckoo_guard *guard)
{
	guard->seq = 0;
	spin_lock_init(&guard->lock);
}

/**
 * ipcuckoo_guard_bump() - tell readers to look again
 * @guard:	the guard
 *
 * What was stored before is visible to whoever sees what is stored after, and
 * the new sequence with it. The only place that moves the sequence.
 *
 * Context: the writer, holding @guard->lock.
 */
static inline void ipcuckoo_guard_bump(struct ipcuckoo_guard *guard)
{
	lockdep_assert_held(&guard->lock);
	smp_wmb();	/* LMM(bump:A), pairs with LMM(look-up:A) */
	ASSERT_EXCLUSIVE_WRITER(guard->seq);
	WRITE_ONCE(guard->seq, guard->seq + 1);
	smp_wmb();	/* LMM(bump:C), pairs with LMM(look-up:B, match:A) */
}

#endif /* _IPCUCKOO_GUARD_H */
