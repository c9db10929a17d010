// SPDX-License-Identifier: GPL-2.0-only
/* Garbage collection: see gc.h. */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/random.h>

#include "gc.h"
#include "rebuild.h"
#include "usage.h"
#include "version.h"

/**
 * ipcuckoo_gc_nearest() - when can the next entry expire?
 * @e:		contents
 *
 * Context: the writer.
 * Return: a second since boot before which no entry expires; 0 if no entry expires.
 */
u32 ipcuckoo_gc_nearest(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	u32 nearest = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		if (v->table[kind])
			nearest = min_not_zero(nearest, v->table[kind]->nearest);
	return nearest;
}

/* Free all tables and hints at once if garbage collection has left no entry. */
static void free_if_empty(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_version *v;

	if (ipcuckoo_usage_total(e) || ipcuckoo_usage_slots(e) <= IPCUCKOO_SHRINK_SLOTS)
		return;
	v = ipcuckoo_version_create(e->mem, NULL, IPCUCKOO_CHARGE_TRY);
	if (!IS_ERR(v))
		ipcuckoo_entries_replace_all(e, v);
}

/**
 * ipcuckoo_gc_part() - remove expired entries from a part of the tables
 * @e:		contents
 * @pos:	position to continue at, which is advanced; 0 begins a pass
 * @slots:	maximum number of slots to read
 * @removed:	called for each entry after it was removed; may be NULL
 * @data:	passed to @removed
 *
 * Skips tables in which no entry can have expired. Between two parts, a displacement may
 * move an expired entry to a slot that this pass has read already. The entry does not match
 * any more, and gc_nearest includes its deadline, so another pass removes it.
 * The generation does not change, because shadows and dumps leave out expired entries
 * anyway. If few entries are left in a table, the next change of the set shrinks it: gc
 * does not, because writers would wait while it fills a new table. If no entries are left
 * in any table, gc frees the tables at once.
 *
 * Context: the writer; may sleep.
 * Return: true if there are more slots to read, false at the end of the pass.
 */
bool ipcuckoo_gc_part(struct ipcuckoo_entries *e, u64 *pos, u32 slots,
		      ipcuckoo_gc_fn removed, void *data)
{
	u64 kind = *pos >> IPCUCKOO_POS_KIND_SHIFT;
	u64 at = *pos & (BIT_ULL(IPCUCKOO_POS_KIND_SHIFT) - 1), end;
	struct ipcuckoo_entry entry;
	struct ipcuckoo_table *t;
	struct ipcuckoo_key key;

	for (; kind < IPCUCKOO_KINDS; kind++, at = 0) {
		t = ipcuckoo_version_current(e)->table[kind];
		if (!t || !(t->exts & IPCUCKOO_EXT_EXPIRES) || (!at && !ipcuckoo_table_due(t)))
			continue;
		end = ipcuckoo_table_slots(t);
		if (!at)
			t->gc_nearest = 0;
		while (at < end && slots) {
			u64 stop = min(end, at + slots);

			slots -= stop - at;
			if (!ipcuckoo_table_next_expired(t, &at, stop, &key))
				continue;
			slots += stop - at;
			slots -= min_t(u32, slots, IPCUCKOO_GC_REMOVAL);
			entry = ipcuckoo_entry_decode(kind, &key);
			ipcuckoo_entries_remove(e, &entry, true);
			e->expired++;
			if (removed)
				removed(data, &entry);
		}
		if (at < end) {
			*pos = kind << IPCUCKOO_POS_KIND_SHIFT | at;
			return true;
		}
		t->nearest = t->gc_nearest;
	}
	free_if_empty(e);
	return false;
}

static bool same_entry(const struct ipcuckoo_entry *a, const struct ipcuckoo_entry *b)
{
	return a->v6 == b->v6 && a->len == b->len && a->addr.hi == b->addr.hi &&
	       a->addr.lo == b->addr.lo;
}

/* The position of a random slot of all tables. */
static u64 random_position(struct ipcuckoo_entries *e)
{
	const struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	u64 at = (ipcuckoo_usage_slots(e) * (u32)get_random_u64()) >> 32;
	u64 kind, slots;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		slots = v->table[kind] ? ipcuckoo_table_slots(v->table[kind]) : 0;
		if (at < slots)
			return kind << IPCUCKOO_POS_KIND_SHIFT | at;
		at -= slots;
	}
	return 0;
}

/**
 * ipcuckoo_gc_evict() - remove an entry that has not expired, near a random slot
 * @e:		exact contents
 * @keep:	entry that must not be removed
 * @evicted:	set to the entry that was removed
 *
 * Context: the writer; may sleep.
 * Return: false if there is no such entry other than @keep.
 */
bool ipcuckoo_gc_evict(struct ipcuckoo_entries *e,
		       const struct ipcuckoo_entry *keep,
		       struct ipcuckoo_entry *evicted)
{
	u64 pos = random_position(e);
	u32 now = ipcuckoo_now();
	struct ipcuckoo_value value;
	int ends = 0;

	lockdep_assert_held(&e->mutex);
	while (ends < 2) {
		if (!ipcuckoo_entries_next_value(e, &pos, evicted, &value)) {
			ends++;
			pos = 0;
			continue;
		}
		if (same_entry(evicted, keep) || ipcuckoo_expired(value.expires, now))
			continue;
		ipcuckoo_entries_remove(e, evicted, false);
		e->generation++;
		return true;
	}
	return false;
}
