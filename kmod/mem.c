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
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem.h"

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

static bool charge(struct ipcuckoo_mem *mem, size_t size)
{
	unsigned long limit = READ_ONCE(mem->limit);

	if (atomic_long_add_return(size, &mem->used) <= limit || !limit)
		return true;
	atomic_long_sub(size, &mem->used);
	return false;
}

/**
 * ipcuckoo_mem_charge() - put memory on an account
 * @mem:	account
 * @size:	bytes, rounding included
 *
 * Tables that were replaced count until their last reader has left. Before
 * the limit refuses anything these are waited for.
 *
 * Context: process context, may sleep.
 * Return: false past the account's limit.
 */
bool ipcuckoo_mem_charge(struct ipcuckoo_mem *mem, size_t size)
{
	if (charge(mem, size))
		return true;
	rcu_barrier();
	return charge(mem, size);
}

/**
 * ipcuckoo_mem_uncharge() - take memory off its account
 * @mem:	account
 * @size:	bytes
 */
void ipcuckoo_mem_uncharge(struct ipcuckoo_mem *mem, size_t size)
{
	atomic_long_sub(size, &mem->used);
}

/**
 * ipcuckoo_area_alloc() - allocate zeroed memory
 * @area:	set on success
 * @mem:	account to charge
 * @size:	bytes
 *
 * Context: process context, may sleep.
 * Return: 0, -EDQUOT past the account's limit, or -ENOMEM.
 */
int ipcuckoo_area_alloc(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem,
			size_t size)
{
	size = ipcuckoo_area_round(size);
	if (!ipcuckoo_mem_charge(mem, size))
		return -EDQUOT;
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
 * Context: process context or softirq (an RCU callback).
 */
void ipcuckoo_area_free(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem)
{
	kvfree(area->data);
	ipcuckoo_mem_uncharge(mem, area->size);
	area->data = NULL;
	area->size = 0;
}
