// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel module's own tables, compiled from the unmodified files of kmod/.
 *
 * filter_table is one exact table of 32-bit keys (kmod/table.c), which refuses entries
 * that it has no place for. filter_entries is the contents of a set of hosts
 * (kmod/entries.c, kmod/lookup.c), which grows.
 *
 * The shim performs some checks that a production kernel does not, so times of
 * insertions say less about the kernel than those of look-ups.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <stdlib.h>

#include "entries.h"
#include "lookup.h"
#include "plain.h"
#include "usage.h"
#include "filter.h"

struct ours_table {
	struct filter filter;
	struct ipcuckoo_mem mem;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_table *table;
	struct ipcuckoo_search_node *queue;
};

static struct ipcuckoo_key key32(u32 key)
{
	return (struct ipcuckoo_key){ .lo = key };
}

static struct filter *table_create(const struct filter_params *params)
{
	struct ours_table *ours = filter_alloc(sizeof(*ours));

	shim_random_seed(params->seed);
	ipcuckoo_guard_init(&ours->guard);
	ours->queue = ipcuckoo_search_alloc(GFP_KERNEL);
	ours->table = plain_table_create(&ours->mem,
		ipcuckoo_table_buckets(params->n, IPCUCKOO_KEY32, 0), false);
	if (!ours->queue || IS_ERR(ours->table))
		abort();
	return &ours->filter;
}

static void table_destroy(struct filter *filter)
{
	struct ours_table *ours = (struct ours_table *)filter;

	ipcuckoo_table_destroy(ours->table);
	ipcuckoo_search_free(ours->queue);
	free(ours);
}

static int table_add(struct filter *filter, u32 key)
{
	struct ours_table *ours = (struct ours_table *)filter;
	struct ipcuckoo_key k = key32(key);
	int err = plain_table_insert(ours->table, &ours->guard, &k,
					ours->queue);

	filter->count = ours->table->count;
	return err;
}

static int table_del(struct filter *filter, u32 key)
{
	struct ours_table *ours = (struct ours_table *)filter;
	struct ipcuckoo_key k = key32(key);
	int err = ipcuckoo_table_delete(ours->table, &ours->guard, &k);

	filter->count = ours->table->count;
	return err;
}

static bool table_test(const struct filter *filter, u32 key)
{
	const struct ours_table *ours = (const struct ours_table *)filter;

	return ipcuckoo_table_probe32(ours->table, key);
}

static u64 table_bits(const struct filter *filter)
{
	const struct ours_table *ours = (const struct ours_table *)filter;

	return (u64)ipcuckoo_table_memory(ours->table) * 8;
}

static double no_fpp(const struct filter *filter)
{
	(void)filter;
	return 0;
}

const struct filter_ops filter_table = {
	.name = "ours, table",
	.source = "kmod/table.c",
	.exact = true,
	.create = table_create,
	.destroy = table_destroy,
	.add = table_add,
	.del = table_del,
	.test = table_test,
	.bits = table_bits,
	.fpp = no_fpp,
};

struct ours_entries {
	struct ipcuckoo_entries entries;
	struct filter filter;
	struct ipcuckoo_mem mem;
};

static struct ours_entries *entries_of(const struct filter *filter)
{
	return container_of(filter, struct ours_entries, filter);
}

static struct filter *entries_create(const struct filter_params *params)
{
	struct ours_entries *ours;

	ours = aligned_alloc(64, ALIGN(sizeof(*ours), 64));
	if (!ours)
		abort();
	*ours = (struct ours_entries){};
	shim_random_seed(params->seed);
	ipcuckoo_mem_open(&ours->mem, 0, ipcuckoo_record_reap);
	if (ipcuckoo_entries_init(&ours->entries, &ours->mem, true))
		abort();
	return &ours->filter;
}

static void entries_destroy(struct filter *filter)
{
	struct ours_entries *ours = entries_of(filter);

	ipcuckoo_entries_exit(&ours->entries);
	rcu_barrier();
	free(ours);
}

static struct ipcuckoo_entry host4(u32 key)
{
	return (struct ipcuckoo_entry){ key32(key), 32, false };
}

static int entries_add(struct filter *filter, u32 key)
{
	struct ours_entries *ours = entries_of(filter);
	struct ipcuckoo_entry entry = host4(key);
	int err;

	mutex_lock(&ours->entries.mutex);
	err = ipcuckoo_entries_add(&ours->entries, &entry);
	filter->count += !err;
	mutex_unlock(&ours->entries.mutex);
	return err;
}

static int entries_del(struct filter *filter, u32 key)
{
	struct ours_entries *ours = entries_of(filter);
	struct ipcuckoo_entry entry = host4(key);
	int err;

	mutex_lock(&ours->entries.mutex);
	err = ipcuckoo_entries_del(&ours->entries, &entry);
	filter->count -= !err;
	mutex_unlock(&ours->entries.mutex);
	return err;
}

static bool entries_test(const struct filter *filter, u32 key)
{
	struct ours_entries *ours = entries_of(filter);
	bool found;

	rcu_read_lock();
	found = ipcuckoo_entries_match4(&ours->entries, key);
	rcu_read_unlock();
	return found;
}

static u64 entries_bits(const struct filter *filter)
{
	struct ours_entries *ours = entries_of(filter);
	u64 bits;

	mutex_lock(&ours->entries.mutex);
	bits = (u64)ipcuckoo_usage_memory(&ours->entries) * 8;
	mutex_unlock(&ours->entries.mutex);
	return bits;
}

const struct filter_ops filter_entries = {
	.name = "ours, set",
	.source = "kmod/entries.c",
	.exact = true,
	.create = entries_create,
	.destroy = entries_destroy,
	.add = entries_add,
	.del = entries_del,
	.test = entries_test,
	.bits = entries_bits,
	.fpp = no_fpp,
};
