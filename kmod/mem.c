// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the tables.
 *
 * kvmalloc() would round a table up to a power of two (kmalloc) or to a
 * multiple of 2 MiB (huge vmalloc). A table of a million hosts is worth 2 MiB,
 * so that rounding could double what an operator was promised. Here an area is
 * rounded to its slab size up to one page, to pages above, and is mapped with
 * huge pages only where that wastes next to nothing.
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

/* Memory that retires does not count towards the limit up to this share of it,
 * or up to this much. So whoever has to wait gets this much for it: to delete and
 * add entries at the limit takes one wait for so many bytes, not one an entry.
 */
#define RETIRING_SHARE_SHIFT	4
#define RETIRING_MIN		SZ_1M

/* Huge mappings save TLB misses; they may cost this share of an area. */
#define HUGE_WASTE_SHIFT	6

/**
 * ipcuckoo_area_round() - what an allocation will really take
 * @size:	bytes asked for, not 0
 *
 * Return: @size rounded as the allocator will round it; rounding that again
 * changes nothing.
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

/* A failure is reported to whoever asked, not to the log; and no process shall
 * be killed for the sake of a size that somebody mistyped.
 */
static void *allocate(size_t size)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN |
			  __GFP_RETRY_MAYFAIL;

	if (size <= PAGE_SIZE)
		return kmalloc(size, gfp);
	/* Page after page, vmalloc() would take what others need next. */
	if ((long)(size >> PAGE_SHIFT) >= si_mem_available())
		return NULL;
	if (IS_ALIGNED(size, PMD_SIZE))
		return vmalloc_huge(size, gfp);
	return __vmalloc(size, gfp);
}

/**
 * ipcuckoo_mem_init() - be able to free what retires
 *
 * Context: before the first account is opened.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_mem_init(void)
{
	/* Freeing must go on when there is no memory for another thread. */
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
 * ipcuckoo_mem_open() - begin an account
 * @mem:	zeroed memory
 * @limit:	bytes that may be charged; 0: no limit
 * @reap:	frees the records of the account: ipcuckoo_record_reap()
 */
void ipcuckoo_mem_open(struct ipcuckoo_mem *mem, unsigned long limit, work_func_t reap)
{
	mem->limit = limit;
	spin_lock_init(&mem->lock);
	init_waitqueue_head(&mem->wait);
	INIT_RCU_WORK(&mem->reap, reap);
}

static bool retires(struct ipcuckoo_mem *mem)
{
	bool busy;

	spin_lock_bh(&mem->lock);
	busy = mem->retiring || mem->reaping;
	spin_unlock_bh(&mem->lock);
	return busy;
}

/**
 * ipcuckoo_mem_close() - wait until all that retires was freed
 * @mem:	account; nobody charges or retires anything any more
 *
 * After this nobody uses @mem: what is freed last lets go of it under mem->lock,
 * and retires() has taken that lock since.
 *
 * Context: process context, may sleep.
 */
void ipcuckoo_mem_close(struct ipcuckoo_mem *mem)
{
	wait_event(mem->wait, !retires(mem));
}

/* What of the memory that retires does not count. */
static unsigned long not_counted(const struct ipcuckoo_mem *mem, unsigned long limit)
{
	return min_t(unsigned long, READ_ONCE(mem->retiring),
		     max_t(unsigned long, limit >> RETIRING_SHARE_SHIFT, RETIRING_MIN));
}

/* The lock keeps @used and @retiring together: a table that is freed between
 * reading one and the other would count in one of them.
 */
static bool charge(struct ipcuckoo_mem *mem, size_t size)
{
	unsigned long limit = READ_ONCE(mem->limit), used;
	bool fits;

	used = atomic_long_add_return(size, &mem->used);
	if (used <= limit || !limit)
		return true;
	spin_lock_bh(&mem->lock);
	used = atomic_long_read(&mem->used);
	fits = used - min(used, not_counted(mem, limit)) <= limit;
	if (!fits)
		atomic_long_sub(size, &mem->used);
	spin_unlock_bh(&mem->lock);
	return fits;
}

/* Not even all that retires would be enough. */
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

/* A grace period or a few, and the time that it takes to free so much. What
 * frees it needs no lock that the caller may hold.
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
 * ipcuckoo_mem_charge_as() - put memory on an account
 * @mem:	account
 * @size:	bytes, rounding included
 * @how:	what to do past the limit
 *
 * Context: process context, may sleep unless @how is IPCUCKOO_CHARGE_TRY.
 * Return: false past the account's limit, or if a fatal signal came while it
 * waited.
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
 * ipcuckoo_mem_charge() - put memory that is needed on an account
 * @mem:	account
 * @size:	bytes, rounding included
 *
 * Context: process context, may sleep.
 * Return: as ipcuckoo_mem_charge_as() for IPCUCKOO_CHARGE_WAIT.
 */
bool ipcuckoo_mem_charge(struct ipcuckoo_mem *mem, size_t size)
{
	return ipcuckoo_mem_charge_as(mem, size, IPCUCKOO_CHARGE_WAIT);
}

/**
 * ipcuckoo_mem_uncharge() - take memory off its account
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
 * ipcuckoo_mem_retire() - memory will be freed once readers have left
 * @mem:	account
 * @size:	bytes, which stay charged until then
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
 * ipcuckoo_mem_release() - memory that retired was freed
 * @mem:	account; the caller must not touch it after this
 * @size:	bytes that ipcuckoo_mem_retire() was told of; they have been
 *		uncharged
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
 * @how:	what to do past the limit
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
 * ipcuckoo_object_free() - free what ipcuckoo_object_alloc() gave
 * @object:	the structure
 * @mem:	the account it was charged to
 * @size:	bytes that were asked for
 */
void ipcuckoo_object_free(void *object, struct ipcuckoo_mem *mem, size_t size)
{
	kfree(object);
	ipcuckoo_mem_uncharge(mem, kmalloc_size_roundup(size));
}

/**
 * ipcuckoo_area_alloc() - allocate zeroed memory
 * @area:	set on success
 * @mem:	account to charge
 * @size:	bytes
 * @how:	what to do past the limit
 *
 * Context: process context, may sleep.
 * Return: 0, -EDQUOT past the account's limit, -EINTR if a fatal signal came
 * while it waited, or -ENOMEM.
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
 * ipcuckoo_area_free() - free what ipcuckoo_area_alloc() gave
 * @area:	an area, or a zeroed one
 * @mem:	the account it was charged to
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
