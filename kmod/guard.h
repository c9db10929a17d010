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
 * struct ipcuckoo_guard - shared by the readers and the writer of a set's tables
 * @seq:	the sequence number: bumped between copying an entry and clearing its old
 *		slot, and before every deletion; read by every look-up
 * @lock:	held while entries are moved or deleted. A reader takes it if writers have
 *		disturbed its look-up too often. It shares a cache line with @seq: holders
 *		of the lock write to that line anyway
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
 * ipcuckoo_guard_bump() - increment the sequence number, so that readers look up again
 * @guard:	the guard
 *
 * Stores before the bump become visible before the new number does, and stores after the bump
 * become visible after it. So a reader that has seen a store made after the bump finds the
 * number changed, and looks up again; a reader that starts with the new number sees all stores
 * made before the bump. No other function changes the number.
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
