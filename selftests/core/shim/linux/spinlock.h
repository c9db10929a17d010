/* SPDX-License-Identifier: GPL-2.0 */
/* Locks that know their owner, for lockdep_assert_held(). */
#ifndef _SHIM_LINUX_SPINLOCK_H
#define _SHIM_LINUX_SPINLOCK_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <pthread.h>

/* How many locks the thread holds that forbid sleeping. The address of the variable also identifies
 * the thread as the owner of a lock.
 */
extern __thread unsigned int shim_atomic_depth;

typedef struct {
	pthread_mutex_t mutex;
	const void *owner;
} spinlock_t;

struct lock_class_key {
	char unused;
};

#define lockdep_set_class(lock, key)	((void)(lock), (void)(key))
#define lockdep_is_held(lock)	(SHIM_LOAD((lock)->owner) == &shim_atomic_depth)
#define lockdep_assert_held(lock)	SHIM_BUG_ON(!lockdep_is_held(lock))

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->owner = NULL;
}

static inline void spin_lock_bh(spinlock_t *lock)
{
	SHIM_BUG_ON(lockdep_is_held(lock));
	pthread_mutex_lock(&lock->mutex);
	SHIM_STORE(lock->owner, &shim_atomic_depth);
	shim_atomic_depth++;
}

static inline void spin_unlock_bh(spinlock_t *lock)
{
	lockdep_assert_held(lock);
	shim_atomic_depth--;
	SHIM_STORE(lock->owner, NULL);
	pthread_mutex_unlock(&lock->mutex);
}

#endif /* _SHIM_LINUX_SPINLOCK_H */
