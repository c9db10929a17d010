// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the tables.
 *
 * kvmalloc() would round the size of a table up to a power of two (kmalloc) or to a
 * multiple of 2 MiB (huge vmalloc). A table of a million hosts needs about 2 MiB, so that
 * rounding could double it. Here the size of an area is rounded up to a power of two if it
 * is at most a page, and to whole pages if it is larger. It is rounded to huge pages, and
 * mapped with them, only if that wastes very little.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem.h"

struct workqueue_struct *ipcuckoo_free_wq;

/* Retiring memory does not count towards the limit, up to limit >> RETIRING_SHARE_SHIFT or
 * RETIRING_MIN, whichever is more. So a writer that deletes and adds entries at the limit
 * waits for a grace period once for so many bytes, not once for each entry.
 */
#define RETIRING_SHARE_SHIFT	4
#define RETIRING_MIN		SZ_1M

/* Huge mappings save TLB misses. Rounding for them may waste size >> HUGE_WASTE_SHIFT. */
#define HUGE_WASTE_SHIFT	6

/**
 * ipcuckoo_area_round() - round a size as ipcuckoo_area_alloc() does
 * @size:	bytes, not 0
 *
 * Return: the bytes that an area of @size takes. Rounding them again changes nothing.
 */
size_t ipcuckoo_area_round(size_t size)
{
	size_t huge;

	if (size <= PAGE_SIZE)
		return max_t(size_t, roundup_pow_of_two(size), 64);
	size = PAGE_ALIGN(size);
	huge = ALIGN(size, PMD_SIZE);
	if (size >= PMD_SIZE && huge - size <= size >> HUGE_WASTE_SHIFT)
		return huge;
	return size;
}

/* Allocate zeroed memory: with kmalloc() up to a page, in whole pages above. The caller
 * reports a failure, so the kernel logs none (__GFP_NOWARN). If memory is short, the
 * allocation fails instead of starting the OOM killer (__GFP_RETRY_MAYFAIL): no process must
 * be killed because a user mistyped a size. Return: NULL on failure.
 */
static void *allocate(size_t size)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN |
			  __GFP_RETRY_MAYFAIL;

	if (size <= PAGE_SIZE)
		return kmalloc(size, gfp);
	/* vmalloc() allocates page by page, and would exhaust all memory before it fails. */
	if ((long)(size >> PAGE_SHIFT) >= si_mem_available())
		return NULL;
	if (IS_ALIGNED(size, PMD_SIZE))
		return vmalloc_huge(size, gfp);
	return __vmalloc(size, gfp);
}

/**
 * ipcuckoo_mem_init() - create the workqueue that frees retired memory
 *
 * Context: before the first account is opened.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_mem_init(void)
{
	/* WQ_MEM_RECLAIM: freeing must continue if there is no memory for a worker thread. */
	ipcuckoo_free_wq = alloc_workqueue("ipcuckoo_free",
					   WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return ipcuckoo_free_wq ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_mem_exit() - undo ipcuckoo_mem_init()
 *
 * Context: after the last account was closed.
 */
void ipcuckoo_mem_exit(void)
{
	destroy_workqueue(ipcuckoo_free_wq);
}

/**
 * ipcuckoo_mem_open() - initialise an account
 * @mem:	zeroed memory
 * @limit:	maximum number of bytes that can be charged; 0: no limit
 * @reap:	work function that frees retired records: ipcuckoo_record_reap()
 */
void ipcuckoo_mem_open(struct ipcuckoo_mem *mem, unsigned long limit, work_func_t reap)
{
	mem->limit = limit;
	spin_lock_init(&mem->lock);
	init_waitqueue_head(&mem->wait);
	INIT_RCU_WORK(&mem->reap, reap);
}

/* Is memory of this account still retiring, or its reaper queued or running? */
static bool is_retiring(struct ipcuckoo_mem *mem)
{
	bool busy;

	spin_lock_bh(&mem->lock);
	busy = mem->retiring || mem->reaping;
	spin_unlock_bh(&mem->lock);
	return busy;
}

/**
 * ipcuckoo_mem_close() - wait until all retiring memory was freed
 * @mem:	account; no code charges to it or retires memory of it any more
 *
 * When this returns, no code uses @mem any more, and the caller may free it: the code that
 * frees the last memory accesses @mem for the last time under mem->lock; is_retiring() takes
 * that lock too, so it finds nothing retiring only after that.
 *
 * Context: process context, may sleep.
 */
void ipcuckoo_mem_close(struct ipcuckoo_mem *mem)
{
	wait_event(mem->wait, !is_retiring(mem));
}

/* The part of the retiring memory that does not count towards the limit. */
static unsigned long not_counted(const struct ipcuckoo_mem *mem, unsigned long limit)
{
	return min_t(unsigned long, READ_ONCE(mem->retiring),
		     max_t(unsigned long, limit >> RETIRING_SHARE_SHIFT, RETIRING_MIN));
}

/* Charge @size bytes unless that exceeds the limit. Return: whether they are charged.
 *
 * Up to the limit, adding to mem->used is enough. Above it, the result depends on mem->used and
 * mem->retiring, and mem->lock is held while both are read. Without it, ipcuckoo_mem_release()
 * could come in between: the memory that it releases would count as used, but not as retiring,
 * and the charge could fail without need. For the same reason bytes are added only when it is
 * known that they fit: while bytes that do not fit are in mem->used, other charges would fail.
 *
 * ipcuckoo_mem_uncharge() does not take the lock. Memory that is uncharged, but not yet
 * released, is missing in mem->used and still counted in mem->retiring, so it is subtracted
 * twice here. A charge can therefore succeed, and leave mem->used above the limit, by the
 * maximum of not_counted() at most.
 */
static bool charge(struct ipcuckoo_mem *mem, size_t size)
{
	const unsigned long limit = READ_ONCE(mem->limit);
	long used = atomic_long_read(&mem->used);
	unsigned long more;
	bool fits;

	do {
		fits = !limit || used + size <= limit;
	} while (fits && !atomic_long_try_cmpxchg(&mem->used, &used, used + size));
	if (fits)
		return true;
	spin_lock_bh(&mem->lock);
	used = atomic_long_read(&mem->used);
	do {
		more = used + size;
		fits = more - min(more, not_counted(mem, limit)) <= limit;
	} while (fits && !atomic_long_try_cmpxchg(&mem->used, &used, more));
	spin_unlock_bh(&mem->lock);
	return fits;
}

/* Would @size bytes exceed the limit even after all retiring memory was freed? */
static bool hopeless(struct ipcuckoo_mem *mem, size_t size)
{
	unsigned long used;

	spin_lock_bh(&mem->lock);
	used = atomic_long_read(&mem->used);
	used += size - min(used, mem->retiring);
	spin_unlock_bh(&mem->lock);
	return used > READ_ONCE(mem->limit);
}

static bool charged_or_hopeless(struct ipcuckoo_mem *mem, size_t size, bool *charged)
{
	*charged = charge(mem, size);
	return *charged || hopeless(mem, size);
}

/* Wait until enough retiring memory was freed, and charge @size bytes. The wait takes one or
 * several grace periods, and the time that freeing takes. It cannot deadlock: the work items
 * that free memory need no lock that the caller can hold. Return: false if a fatal signal
 * ended the wait, or if all retiring memory would not be enough.
 */
static noinline bool charge_later(struct ipcuckoo_mem *mem, size_t size)
{
	bool charged = false;

	if (hopeless(mem, size))
		return false;
	wait_event_killable(mem->wait, charged_or_hopeless(mem, size, &charged));
	return charged;
}

/**
 * ipcuckoo_mem_charge_as() - charge memory to an account
 * @mem:	account
 * @size:	bytes, rounding included
 * @how:	what to do if that exceeds the limit
 *
 * Context: process context, may sleep; any but hard interrupts if @how is IPCUCKOO_CHARGE_TRY.
 * Return: false if the limit would be exceeded, or a fatal signal ended the wait; always
 * true if @how is IPCUCKOO_CHARGE_ANYWAY.
 */
bool ipcuckoo_mem_charge_as(struct ipcuckoo_mem *mem, size_t size,
			    enum ipcuckoo_charge how)
{
	if (charge(mem, size))
		return true;
	if (how == IPCUCKOO_CHARGE_TRY)
		return false;
	if (charge_later(mem, size))
		return true;
	if (how == IPCUCKOO_CHARGE_WAIT)
		return false;
	atomic_long_add(size, &mem->used);
	return true;
}

/**
 * ipcuckoo_mem_charge() - charge memory to an account, and wait if necessary
 * @mem:	account
 * @size:	bytes, rounding included
 *
 * Context: process context, may sleep.
 * Return: as ipcuckoo_mem_charge_as() with IPCUCKOO_CHARGE_WAIT.
 */
bool ipcuckoo_mem_charge(struct ipcuckoo_mem *mem, size_t size)
{
	return ipcuckoo_mem_charge_as(mem, size, IPCUCKOO_CHARGE_WAIT);
}

/**
 * ipcuckoo_mem_uncharge() - uncharge memory
 * @mem:	account
 * @size:	bytes, which have been freed
 *
 * Context: any but hard interrupts.
 */
void ipcuckoo_mem_uncharge(struct ipcuckoo_mem *mem, size_t size)
{
	atomic_long_sub(size, &mem->used);
}

/**
 * ipcuckoo_mem_retire() - count memory that will be freed after a grace period as retiring
 * @mem:	account
 * @size:	bytes, which stay charged until they are freed
 *
 * Context: any but hard interrupts.
 */
void ipcuckoo_mem_retire(struct ipcuckoo_mem *mem, size_t size)
{
	spin_lock_bh(&mem->lock);
	mem->retiring += size;
	spin_unlock_bh(&mem->lock);
}

/**
 * ipcuckoo_mem_release() - count retired memory, which was freed, as retiring no more
 * @mem:	account; may be closed and freed as soon as nothing retires in it any more
 * @size:	bytes that were passed to ipcuckoo_mem_retire(), freed and uncharged
 *
 * Context: any but hard interrupts.
 */
void ipcuckoo_mem_release(struct ipcuckoo_mem *mem, size_t size)
{
	spin_lock_bh(&mem->lock);
	mem->retiring -= size;
	wake_up_all(&mem->wait);
	spin_unlock_bh(&mem->lock);
}

/**
 * ipcuckoo_object_alloc() - allocate zeroed memory for a structure
 * @mem:	account to charge
 * @size:	bytes
 * @how:	what to do if that exceeds the limit
 *
 * Context: process context, may sleep.
 * Return: memory to be freed with ipcuckoo_object_free(), or ERR_PTR(-EDQUOT,
 * -EINTR or -ENOMEM).
 */
void *ipcuckoo_object_alloc(struct ipcuckoo_mem *mem, size_t size,
			    enum ipcuckoo_charge how)
{
	void *object;

	if (!ipcuckoo_mem_charge_as(mem, kmalloc_size_roundup(size), how))
		return ERR_PTR(ipcuckoo_mem_refusal());
	object = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (object)
		return object;
	ipcuckoo_mem_uncharge(mem, kmalloc_size_roundup(size));
	return ERR_PTR(-ENOMEM);
}

/**
 * ipcuckoo_object_free() - free and uncharge memory of ipcuckoo_object_alloc()
 * @object:	the structure
 * @mem:	the account to which it was charged
 * @size:	the size that was passed to ipcuckoo_object_alloc()
 */
void ipcuckoo_object_free(void *object, struct ipcuckoo_mem *mem, size_t size)
{
	kfree(object);
	ipcuckoo_mem_uncharge(mem, kmalloc_size_roundup(size));
}

/**
 * ipcuckoo_area_alloc() - allocate zeroed memory for an array
 * @area:	set on success
 * @mem:	account to charge
 * @size:	bytes
 * @how:	what to do if that exceeds the limit
 *
 * Context: process context, may sleep.
 * Return: 0, -EDQUOT if that would exceed the limit, -EINTR if a fatal signal ended the
 * wait, or -ENOMEM.
 */
int ipcuckoo_area_alloc(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem,
			size_t size, enum ipcuckoo_charge how)
{
	size = ipcuckoo_area_round(size);
	if (!ipcuckoo_mem_charge_as(mem, size, how))
		return ipcuckoo_mem_refusal();
	area->data = allocate(size);
	if (!area->data) {
		ipcuckoo_mem_uncharge(mem, size);
		return -ENOMEM;
	}
	area->size = size;
	return 0;
}

/**
 * ipcuckoo_area_free() - free and uncharge an area
 * @area:	area of ipcuckoo_area_alloc(), or a zeroed one
 * @mem:	the account to which it was charged
 *
 * Context: process context.
 */
void ipcuckoo_area_free(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem)
{
	kvfree(area->data);
	ipcuckoo_mem_uncharge(mem, area->size);
	area->data = NULL;
	area->size = 0;
}
