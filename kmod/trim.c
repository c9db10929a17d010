// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trims sets after they have grown.
 *
 * A table to which single entries are added is doubled each time, so that few entries are copied
 * often. When the additions end, or have become rare, a work item of the namespace replaces
 * the table by the smallest that holds the entries. It holds the mutex of the contents for as long
 * as an addition that makes the table grow: a tenth of a second for a million entries. Packets do
 * not wait for it.
 *
 * Whoever unlocks a set whose tables have grown queues the work item (ipcuckoo_set_unlock()). It
 * queues itself again until no set is left whose tables are larger than necessary.
 */
#include <linux/sched/mm.h>

#include "lock.h"
#include "net.h"
#include "rebuild.h"
#include "set.h"
#include "trim.h"
#include "usage.h"

/* Additions are rare if fewer than one in 2^RARE entries has changed in IPCUCKOO_TRIM_PERIOD. A
 * trimmed table has room for one in a hundred.
 */
#define RARE	10

static bool is_growing(struct ipcuckoo_set *set)
{
	u64 changed = set->entries.generation - set->trim_seen;

	return changed > ipcuckoo_usage_total(&set->entries) >> RARE;
}

/* Trim a set, unless it is still growing. Unlocking it queues the work item again in that case. */
static void trim(struct ipcuckoo_set *set)
{
	struct ipcuckoo_entries *e = &set->entries;

	if (ipcuckoo_set_lock(set, IPCUCKOO_LAST))
		return;
	if (e->loose && !is_growing(set)) {
		/* If there is no memory for this, the tables stay as they are until they grow. */
		ipcuckoo_entries_trim(e);
		e->loose = false;
	}
	set->trim_seen = e->generation;
	ipcuckoo_set_unlock(set);
}

static void trim_work(struct work_struct *work)
{
	struct ipcuckoo_net *pernet = container_of(to_delayed_work(work),
						   struct ipcuckoo_net, trim);
	struct mem_cgroup *memcg = set_active_memcg(pernet->memcg);
	struct ipcuckoo_set *set, *next;

	for (set = ipcuckoo_set_next(pernet, ""); set; set = next) {
		trim(set);
		next = ipcuckoo_set_after(pernet, set);
		ipcuckoo_set_put(set);
		cond_resched();
	}
	set_active_memcg(memcg);
}

/**
 * ipcuckoo_trim_init_net() - initialise the work item of a namespace
 * @pernet:	namespace
 */
void ipcuckoo_trim_init_net(struct ipcuckoo_net *pernet)
{
	INIT_DELAYED_WORK(&pernet->trim, trim_work);
}

/**
 * ipcuckoo_trim_exit_net() - end the work item of a namespace
 * @pernet:	namespace; all its sets were destroyed, so nobody queues the work item again
 *
 * Context: process context; waits for the work item.
 */
void ipcuckoo_trim_exit_net(struct ipcuckoo_net *pernet)
{
	cancel_delayed_work_sync(&pernet->trim);
}
