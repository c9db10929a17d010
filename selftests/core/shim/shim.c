// SPDX-License-Identifier: GPL-2.0
/* The functions that the shim's headers declare: memory, grace periods, random numbers. */
#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POISON_NEW	0xa5
#define POISON_FREE	0x6b

__thread unsigned int shim_atomic_depth;
__thread void (*shim_prefetched)(const void *at);

void shim_bug(const char *what, const char *file, int line)
{
	fflush(stdout);
	printf("Bail out! %s:%d: %s\n", file, line, what);
	fflush(stdout);
	abort();
}

#ifdef SHIM_STUTTER
__thread u32 shim_stutter_state = 2463534242;

/* Pause: mostly as long as it takes to get a cache line from another processor, sometimes much
 * longer.
 */
void shim_stutter_pause(u32 random)
{
	unsigned int i, n = random >> 24;

	if (!(random >> 12 & 0xff))
		n *= 64;
	for (i = 0; i < n; i++)
		cpu_relax();
}
#endif

/* Memory */

unsigned long shim_fail_at;
unsigned long shim_objects, shim_allocations;

static bool may_allocate(gfp_t gfp)
{
	if (gfp & GFP_KERNEL)
		might_sleep();
	__atomic_add_fetch(&shim_allocations, 1, __ATOMIC_RELAXED);
	if (shim_fail_at && !--shim_fail_at)
		return false;
	__atomic_add_fetch(&shim_objects, 1, __ATOMIC_RELAXED);
	return true;
}

static void *fill(void *p, size_t size, gfp_t gfp)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memset(p, gfp & __GFP_ZERO ? 0 : POISON_NEW, size);
}

void *kmalloc(size_t size, gfp_t gfp)
{
	return may_allocate(gfp) ? fill(malloc(size), size, gfp) : NULL;
}

void *kmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	SHIM_BUG_ON(size && n > SIZE_MAX / size);
	return kmalloc(n * size, gfp);
}

void *kmemdup(const void *from, size_t size, gfp_t gfp)
{
	void *p = kmalloc(size, gfp);

	return p ? memcpy(p, from, size) : NULL;
}

size_t kmalloc_size_roundup(size_t size)
{
	return size;
}

void kfree(const void *p)
{
	if (!p)
		return;
	__atomic_sub_fetch(&shim_objects, 1, __ATOMIC_RELAXED);
	memset((void *)p, POISON_FREE, malloc_usable_size((void *)p));
	free((void *)p);
}

void *__vmalloc(unsigned long size, gfp_t gfp)
{
	SHIM_BUG_ON(!IS_ALIGNED(size, PAGE_SIZE));
	return kmalloc(size, gfp);
}

void *vmalloc_huge(unsigned long size, gfp_t gfp)
{
	void *p;

	SHIM_BUG_ON(!IS_ALIGNED(size, PMD_SIZE));
	if (!may_allocate(gfp))
		return NULL;
	p = aligned_alloc(PMD_SIZE, size);
	if (p)
		madvise(p, size, MADV_HUGEPAGE);
	return fill(p, size, gfp);
}

/* Grace periods */

__thread struct shim_reader shim_reader;
unsigned long shim_grace_period = 1;
unsigned int shim_rcu_batch = 1;

static pthread_mutex_t readers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_reader *readers;

static pthread_mutex_t callbacks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcu_head *callbacks, **callbacks_end = &callbacks;
static unsigned int callbacks_count;

void shim_reader_register(void)
{
	pthread_mutex_lock(&readers_lock);
	shim_reader.registered = true;
	shim_reader.next = readers;
	readers = &shim_reader;
	pthread_mutex_unlock(&readers_lock);
}

/* A thread that has been a reader calls this before it ends. */
void shim_reader_unregister(void)
{
	struct shim_reader **p;

	SHIM_BUG_ON(shim_reader.depth);
	pthread_mutex_lock(&readers_lock);
	for (p = &readers; *p; p = &(*p)->next) {
		if (*p == &shim_reader) {
			*p = shim_reader.next;
			break;
		}
	}
	shim_reader.registered = false;
	pthread_mutex_unlock(&readers_lock);
}

/* Wait for readers that began before a grace period, but not for others. */
static void wait_for_readers(unsigned long grace_period)
{
	const struct shim_reader *r;
	unsigned long since;

	might_sleep();
	pthread_mutex_lock(&readers_lock);
	for (r = readers; r; r = r->next) {
		for (;;) {
			since = __atomic_load_n(&r->since, __ATOMIC_SEQ_CST);
			if (!since || since >= grace_period)
				break;
			sched_yield();
		}
	}
	pthread_mutex_unlock(&readers_lock);
}

static void run_callbacks(void)
{
	struct rcu_head *head, *next;

	pthread_mutex_lock(&callbacks_lock);
	head = callbacks;
	callbacks = NULL;
	callbacks_end = &callbacks;
	callbacks_count = 0;
	pthread_mutex_unlock(&callbacks_lock);

	for (; head; head = next) {
		next = head->next;
		wait_for_readers(head->grace_period);
		if (head->func)
			head->func(head);
		else
			kfree(head->ptr);
	}
}

static void enqueue(struct rcu_head *head)
{
	bool due;

	head->next = NULL;
	/* Orders stores that unpublished the object before the loads of later readers. */
	head->grace_period = __atomic_add_fetch(&shim_grace_period, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&callbacks_lock);
	*callbacks_end = head;
	callbacks_end = &head->next;
	due = ++callbacks_count >= shim_rcu_batch;
	pthread_mutex_unlock(&callbacks_lock);
	if (due && !shim_atomic_depth)
		run_callbacks();
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	enqueue(head);
}

void shim_kfree_rcu(struct rcu_head *head, void *ptr)
{
	head->func = NULL;
	head->ptr = ptr;
	enqueue(head);
}

static void run_work(struct rcu_head *rcu)
{
	struct rcu_work *rwork = container_of(rcu, struct rcu_work, rcu);

	rwork->work.func(&rwork->work);
}

void queue_rcu_work(struct workqueue_struct *wq, struct rcu_work *rwork)
{
	(void)wq;
	call_rcu(&rwork->rcu, run_work);
}

void rcu_barrier(void)
{
	run_callbacks();
}

/* Signals */

unsigned long shim_fatal_at, shim_fatal_looks;

bool shim_fatal_signal(void)
{
	shim_fatal_looks++;
	if (shim_fatal_at > 1)
		shim_fatal_at--;
	else if (shim_fatal_at)
		return true;
	return false;
}

/* The clock */

s64 shim_seconds = 1;

/* Random numbers: splitmix64, which accepts any seed. */

static u64 random_state;

void shim_random_seed(u64 seed)
{
	random_state = seed;
}

u64 get_random_u64(void)
{
	u64 x = random_state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

void get_random_bytes(void *buf, size_t len)
{
	u8 *p = buf;

	while (len--)
		*p++ = get_random_u64();
}
