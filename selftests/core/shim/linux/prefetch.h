/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PREFETCH_H
#define _SHIM_LINUX_PREFETCH_H

/* A test that sets this gets the addresses. */
extern __thread void (*shim_prefetched)(const void *at);

static inline void prefetch(const void *at)
{
#ifdef SHIM_PREFETCHED
	if (shim_prefetched)
		shim_prefetched(at);
#endif
	__builtin_prefetch(at);
}

#endif /* _SHIM_LINUX_PREFETCH_H */
