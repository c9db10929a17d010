// SPDX-License-Identifier: GPL-2.0-only
/* When garbage collection (gc) of a set runs: see set_gc.h. */
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "event.h"
#include "gc.h"
#include "lock.h"
#include "net.h"
#include "rebuild.h"
#include "set_gc.h"

/* Minimum number of seconds between two passes of garbage collection (gc) over a set. */
#define GC_PERIOD	5

/* Maximum number of seconds that gc sleeps. Timers stop while the machine is suspended,
 * deadlines do not: with this bound gc is at most an hour late after a resume.
 */
#define GC_SLEEP_MAX	3600

static bool has_gc(const struct ipcuckoo_set *set)
{
	return set->entries.options & IPCUCKOO_O_TIMEOUT;
}

/**
 * ipcuckoo_set_gc_schedule() - queue gc for the nearest deadline
 * @set:	set
 *
 * Does nothing if it is queued for an earlier one, or nothing can expire.
 *
 * Context: the writer, a process or a packet.
 */
void ipcuckoo_set_gc_schedule(struct ipcuckoo_set *set)
{
	u32 at, now = ipcuckoo_now();

	lockdep_assert(ipcuckoo_entries_is_writer(&set->entries));
	if (!has_gc(set) || set->dead)
		return;
	at = ipcuckoo_gc_nearest(&set->entries);
	if (!at)
		return;
	at = clamp_t(u32, at, max(set->gc_last + GC_PERIOD, now), now + GC_SLEEP_MAX);
	if (set->gc_at && set->gc_at <= at)
		return;
	set->gc_at = at;
	mod_delayed_work(set->pernet->wq, &set->gc, HZ * (at - now));
}

static void gc_notify(void *event, const struct ipcuckoo_entry *entry)
{
	ipcuckoo_event_entries_put(event, entry);
}

/* Run one part of a gc pass, from position *pos, and notify listeners of the entries that it
 * removed. Return: true if there are more parts; *pos is where the next one begins.
 */
static bool gc_part(struct ipcuckoo_set *set, u64 *pos)
{
	struct ipcuckoo_event_entries event;
	bool more;

	ipcuckoo_event_entries_begin(&event, set, IPCUCKOO_EVENT_ENTRIES_EXPIRED,
				     DIV_ROUND_UP(IPCUCKOO_GC_SLOTS, IPCUCKOO_GC_REMOVAL));
	more = ipcuckoo_gc_part(&set->entries, pos, IPCUCKOO_GC_SLOTS,
				gc_notify, &event);
	ipcuckoo_event_entries_end(&event);
	return more;
}

static void gc_work(struct work_struct *work)
{
	struct ipcuckoo_set *set = container_of(to_delayed_work(work),
						struct ipcuckoo_set, gc);
	struct mem_cgroup *memcg = set_active_memcg(set->pernet->memcg);
	bool due = false, more = true;
	u64 pos = 0;

	while (more) {
		ipcuckoo_lock_contents_anyway(set);
		due |= ipcuckoo_expired(ipcuckoo_gc_nearest(&set->entries),
					ipcuckoo_now());
		more = !set->dead && gc_part(set, &pos);
		if (!more) {
			if (due)
				set->gc_last = ipcuckoo_now();
			set->gc_at = 0;
			ipcuckoo_set_gc_schedule(set);
		}
		ipcuckoo_rebuild_free_queue(&set->entries);
		ipcuckoo_unlock_contents(set);
		cond_resched();
	}
	set_active_memcg(memcg);
}

/**
 * ipcuckoo_set_gc_init() - initialise the work item of gc
 * @set:	set that is being made
 */
void ipcuckoo_set_gc_init(struct ipcuckoo_set *set)
{
	INIT_DELAYED_WORK(&set->gc, gc_work);
}

/**
 * ipcuckoo_set_gc() - remove all expired entries now
 * @set:	set, locked
 *
 * A fatal signal ends the pass early. Reads no table in which no entry can have expired.
 */
void ipcuckoo_set_gc(struct ipcuckoo_set *set)
{
	u64 pos = 0;

	if (!has_gc(set))
		return;
	while (!fatal_signal_pending(current) && gc_part(set, &pos))
		cond_resched();
}
