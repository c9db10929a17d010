// SPDX-License-Identifier: GPL-2.0-only
/* Statistics of contents: see usage.h. */
#include "usage.h"
#include "version.h"

/**
 * ipcuckoo_usage_count() - number of entries of a kind, including expired ones
 * @e:		contents
 * @kind:	kind
 *
 * Context: the writer.
 */
u32 ipcuckoo_usage_count(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	const struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];

	return t ? t->count : 0;
}

/**
 * ipcuckoo_usage_live_of() - number of entries of a kind that have not expired
 * @e:		contents
 * @kind:	kind
 *
 * Context: the writer; may reschedule.
 */
u32 ipcuckoo_usage_live_of(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind)
{
	struct ipcuckoo_table *t = ipcuckoo_version_current(e)->table[kind];

	return t ? t->count - ipcuckoo_table_expired(t) : 0;
}

/**
 * ipcuckoo_usage_live() - number of entries that have not expired
 * @e:		contents
 *
 * This is the number that users see, and that limits are compared with.
 *
 * Context: the writer; may reschedule.
 */
u32 ipcuckoo_usage_live(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = ipcuckoo_version_current(e)->filter;
	u32 total = f ? f->count : 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += ipcuckoo_usage_live_of(e, kind);
	return total;
}

/**
 * ipcuckoo_usage_total() - number of entries, including expired ones
 * @e:		contents
 *
 * Context: the writer.
 */
u32 ipcuckoo_usage_total(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_filter *f = ipcuckoo_version_current(e)->filter;
	u32 total = f ? f->count : 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		total += ipcuckoo_usage_count(e, kind);
	return total;
}

/**
 * ipcuckoo_usage_slots() - number of slots
 * @e:		contents
 *
 * Context: the writer.
 * Return: slots of all tables; or of the filter, even before it is allocated.
 */
u64 ipcuckoo_usage_slots(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	u64 slots = 0;
	int i;

	if (ipcuckoo_entries_approximate(e))
		return (u64)ipcuckoo_filter_buckets(&e->shape) * IPCUCKOO_SLOTS;
	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			slots += ipcuckoo_table_slots(v->table[i]);
	return slots;
}

/**
 * ipcuckoo_usage_displaced() - number of displacements so far
 * @e:		contents
 *
 * Context: the writer.
 */
u64 ipcuckoo_usage_displaced(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	u64 displaced = e->displaced;
	int i;

	if (v->filter)
		displaced += v->filter->displaced;
	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			displaced += v->table[i]->displaced;
	return displaced;
}

/**
 * ipcuckoo_usage_fallbacks() - number of look-ups that took the lock so far
 * @e:		contents
 */
u64 ipcuckoo_usage_fallbacks(struct ipcuckoo_entries *e)
{
	u64 fallbacks;

	spin_lock_bh(&e->guard.lock);
	fallbacks = e->fallbacks;
	spin_unlock_bh(&e->guard.lock);
	return fallbacks;
}

/**
 * ipcuckoo_usage_memory() - how much memory do the entries take?
 * @e:		contents
 *
 * Context: the writer.
 * Return: bytes, rounding included, without *@e itself.
 */
size_t ipcuckoo_usage_memory(struct ipcuckoo_entries *e)
{
	return ipcuckoo_version_memory(ipcuckoo_version_current(e), IPCUCKOO_PART_ALL) + e->records;
}
