// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's own cuckoo filter, that of sets of the type filter:ip, compiled from
 * the unmodified kmod/filter.c.
 *
 * The other bucket of fingerprint f in bucket i is h(f) - i modulo the number of buckets;
 * in the published filter (cuckoo.c) it is i xor h(f). Both functions are their own
 * inverses; this one is so for any even number of buckets, so that memory follows the
 * capacity. It searches for the shortest chain of moves before it moves anything, so a
 * refusal costs no eviction and loses nothing. It has its own hash, ipcuckoo_hash128() of a
 * mapped address.
 *
 * It is "multi" here: like the published one, it stores elements that match already, and
 * can delete.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <stdlib.h>

#include "cuckoo.h"
#include "entries.h"
#include "lookup.h"
#include "usage.h"	/* has the kernel's filter.h */
#include "ours.h"

struct ours_filter {
	struct filter filter;
	struct ipcuckoo_mem mem;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_filter *kernel;
	struct ipcuckoo_search_node *queue;
};

static struct ipcuckoo_filter *kernel_of(const struct filter *filter)
{
	return ((const struct ours_filter *)filter)->kernel;
}

static struct ipcuckoo_filter_shape shape(u64 n, unsigned int f)
{
	return (struct ipcuckoo_filter_shape){
		.capacity = n, .bits = f, .multi = true,
	};
}

static struct filter *create(const struct filter_params *params, unsigned int f)
{
	struct ours_filter *ours = filter_alloc(sizeof(*ours));
	struct ipcuckoo_filter_shape own = shape(params->n, f);

	shim_random_seed(params->seed);
	ipcuckoo_guard_init(&ours->guard);
	ours->queue = ipcuckoo_search_alloc(GFP_KERNEL);
	ours->kernel = ipcuckoo_filter_create(&ours->mem, &own);
	if (!ours->queue || IS_ERR(ours->kernel))
		abort();
	if (params->overfill)
		ours->kernel->shape.capacity = U32_MAX;
	return &ours->filter;
}

static struct filter *create8(const struct filter_params *params)
{
	return create(params, 8);
}

static struct filter *create16(const struct filter_params *params)
{
	return create(params, 16);
}

static struct filter *create32(const struct filter_params *params)
{
	return create(params, 32);
}

static void destroy(struct filter *filter)
{
	struct ours_filter *ours = (struct ours_filter *)filter;

	ipcuckoo_filter_destroy(ours->kernel);
	ipcuckoo_search_free(ours->queue);
	free(ours);
}

static int add(struct filter *filter, u32 key)
{
	struct ours_filter *ours = (struct ours_filter *)filter;
	struct ipcuckoo_key addr = ipcuckoo_filter_key4(key);
	int err = ipcuckoo_filter_insert(ours->kernel, &ours->guard, &addr,
					 ours->queue);

	filter->count = ours->kernel->count;
	/* Only the kernel distinguishes a lack of slots because of copies. */
	return err == -EMLINK ? -ENOSPC : err;
}

static int del(struct filter *filter, u32 key)
{
	struct ours_filter *ours = (struct ours_filter *)filter;
	struct ipcuckoo_key addr = ipcuckoo_filter_key4(key);
	int err = ipcuckoo_filter_delete(ours->kernel, &ours->guard, &addr);

	filter->count = ours->kernel->count;
	return err;
}

static bool test(const struct filter *filter, u32 key)
{
	struct ipcuckoo_key addr = ipcuckoo_filter_key4(key);

	return ipcuckoo_filter_probe(kernel_of(filter), &addr);
}

static u64 bits(const struct filter *filter)
{
	return (u64)ipcuckoo_filter_memory(kernel_of(filter)) * 8;
}

static double fpp(const struct filter *filter)
{
	const struct ipcuckoo_filter *kernel = kernel_of(filter);

	return cuckoo_rate(filter->count, kernel->nbuckets, kernel->shape.bits);
}

/**
 * ours_filter_capacity() - the maximum capacity with a given number of slots
 * @slots:	number of slots
 * @f:		bits of a fingerprint
 *
 * Return: a number of entries. A filter created for as many has @slots slots, if these
 * fill pages.
 */
u64 ours_filter_capacity(u64 slots, unsigned int f)
{
	struct ipcuckoo_filter_shape own = shape(slots, f);

	while ((u64)ipcuckoo_filter_buckets(&own) * IPCUCKOO_SLOTS > slots)
		own.capacity--;
	return own.capacity;
}

u64 ours_filter_slots(const struct filter *filter)
{
	return (u64)kernel_of(filter)->nbuckets * IPCUCKOO_SLOTS;
}

/* How many fingerprints were moved so far: corresponds to the evictions of others. */
u64 ours_filter_moved(const struct filter *filter)
{
	return kernel_of(filter)->displaced;
}

#define OURS_FILTER(width) {						\
	.name = "ours, filter " #width,					\
	.source = "kmod/filter.c",					\
	.multi = true,							\
	.create = create##width,					\
	.destroy = destroy,						\
	.add = add,							\
	.del = del,							\
	.test = test,							\
	.bits = bits,							\
	.fpp = fpp,							\
}

const struct filter_ops filter_ours[] = {
	OURS_FILTER(8),
	OURS_FILTER(16),
	OURS_FILTER(32),
};
