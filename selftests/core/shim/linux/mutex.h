/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MUTEX_H
#define _SHIM_LINUX_MUTEX_H

#include <linux/sched.h>
#include <linux/spinlock.h>

struct mutex {
	pthread_mutex_t mutex;
	const void *owner;
};

static inline void mutex_init(struct mutex *m)
{
	pthread_mutex_init(&m->mutex, NULL);
	m->owner = NULL;
}

static inline void mutex_destroy(struct mutex *m)
{
	SHIM_BUG_ON(SHIM_LOAD(m->owner));
	pthread_mutex_destroy(&m->mutex);
}

static inline void mutex_lock(struct mutex *m)
{
	might_sleep();
	pthread_mutex_lock(&m->mutex);
	SHIM_STORE(m->owner, &shim_atomic_depth);
}

static inline void mutex_unlock(struct mutex *m)
{
	lockdep_assert_held(m);
	SHIM_STORE(m->owner, NULL);
	pthread_mutex_unlock(&m->mutex);
}

#endif /* _SHIM_LINUX_MUTEX_H */
