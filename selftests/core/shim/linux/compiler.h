/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses to shared memory, and barriers.
 *
 * Without a sanitizer the accesses are volatile and the barriers are fences,
 * as in the kernel. The thread sanitizer knows neither: for it, accesses are
 * relaxed atomics, which are no data races, and the fences (which it cannot
 * model) order the compiler only. It is run on x86, whose processors keep
 * loads in order, and stores too. What it then finds is an access that is not
 * marked and that no acquire, release, lock or grace period orders.
 */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include <linux/types.h>

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define noinline	__attribute__((__noinline__))
#define __aligned(x)	__attribute__((__aligned__(x)))
#define barrier()	__asm__ __volatile__("" : : : "memory")

/* The compiler knows nothing about the value of a variable from here on. */
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "+r" (var))

#ifndef static_assert
#define static_assert(cond, ...)	_Static_assert(cond, #cond)
#endif

/* End the program: the code under test broke a rule of the kernel. */
void shim_bug(const char *what, const char *file, int line)
	__attribute__((noreturn));

#define SHIM_BUG_ON(cond) do {					\
	if (unlikely(cond))					\
		shim_bug(#cond, __FILE__, __LINE__);		\
} while (0)
#define WARN_ON_ONCE(cond)	({ SHIM_BUG_ON(cond); false; })

/*
 * With SHIM_STUTTER, a thread pauses before one in that many accesses and barriers, as it
 * would when it is interrupted or has to wait for a cache line. This widens windows that are
 * otherwise a few cycles long; it makes nothing possible that was not possible before.
 */
#ifdef SHIM_STUTTER
extern __thread u32 shim_stutter_state;
void shim_stutter_pause(u32 random);

static inline void shim_stutter(void)
{
	u32 x = shim_stutter_state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	shim_stutter_state = x;
	if (unlikely(!(x & (SHIM_STUTTER - 1))))
		shim_stutter_pause(x);
}
#else
static inline void shim_stutter(void)
{
}
#endif

#ifdef __SANITIZE_THREAD__
#define SHIM_LOAD(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define SHIM_STORE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define SHIM_FENCE(order)	barrier()
#else
#define SHIM_LOAD(x)		(*(const volatile __typeof__(x) *)&(x))
#define SHIM_STORE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define SHIM_FENCE(order)	__atomic_thread_fence(order)
#endif

#define READ_ONCE(x)		({ shim_stutter(); SHIM_LOAD(x); })
#define WRITE_ONCE(x, v)	({ shim_stutter(); SHIM_STORE(x, v); })

#define smp_rmb()	({ SHIM_FENCE(__ATOMIC_ACQUIRE); shim_stutter(); })
#define smp_wmb()	({ SHIM_FENCE(__ATOMIC_RELEASE); shim_stutter(); })

#define smp_load_acquire(p)					\
	({ shim_stutter(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define smp_store_release(p, v)					\
	({ shim_stutter(); __atomic_store_n(p, v, __ATOMIC_RELEASE); })

/* The thread sanitizer does not treat marked stores of two threads as a race. lockdep_assert_held()
 * checks that there is only one writer.
 */
#define ASSERT_EXCLUSIVE_WRITER(x)	((void)sizeof(x))
#define data_race(x)	(x)

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	barrier();
#endif
}

#endif /* _SHIM_LINUX_COMPILER_H */
