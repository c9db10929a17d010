/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

/* The C library's headers need the exported part of this header. */
#include_next <linux/types.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef unsigned int gfp_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	__s64 counter __attribute__((aligned(8)));
} atomic64_t;

/**
 * struct rcu_head - a callback that waits for the end of a grace period
 * @next:	next in the list of waiting callbacks
 * @grace_period: number of the grace period that it waits for
 * @func:	function to call, or NULL to free @ptr
 * @ptr:	memory to free
 */
struct rcu_head {
	struct rcu_head *next;
	unsigned long grace_period;
	void (*func)(struct rcu_head *head);
	void *ptr;
};

#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)

#if __SIZEOF_LONG__ == 8
#define BITS_PER_LONG	64
#else
#define BITS_PER_LONG	32
#endif

#define __rcu

#endif /* _SHIM_LINUX_TYPES_H */
