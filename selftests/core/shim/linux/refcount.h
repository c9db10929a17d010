/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_REFCOUNT_H
#define _SHIM_LINUX_REFCOUNT_H

#include <linux/compiler.h>
#include <linux/types.h>

typedef struct {
	int refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	SHIM_STORE(r->refs, n);
}

static inline int refcount_read(const refcount_t *r)
{
	return SHIM_LOAD(r->refs);
}

static inline void refcount_inc(refcount_t *r)
{
	SHIM_BUG_ON(__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED) <= 0);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	int refs = __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL);

	SHIM_BUG_ON(refs < 0);
	return !refs;
}

#endif /* _SHIM_LINUX_REFCOUNT_H */
