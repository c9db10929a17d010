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

/**
 * ipcuckoo_usage_crowded() - is there no room for one more entry?
 * @e:		exact contents
 * @limit:	number of entries that they may hold; 0: no limit
 * @more:	number of entries that are about to be added
 *
 * For packets, which cannot wait for the writer: the numbers may change meanwhile.
 *
 * Context: any, under rcu_read_lock().
 * Return: false also if entries may have expired, of which only the writer knows how many they are.
 */
bool ipcuckoo_usage_crowded(struct ipcuckoo_entries *e, u32 limit, s32 more)
{
	const struct ipcuckoo_version *v = rcu_dereference(e->version);
	s64 total = more;
	int kind;

	if (!limit)
		return false;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		if (!v->table[kind])
			continue;
		/* The writer may be changing the deadline, and below the number of entries. */
		if (data_race(ipcuckoo_table_due(v->table[kind])))
			return false;
		/* see above */
		total += data_race(v->table[kind]->count);
	}
	return total >= limit;
}

/**
 * ipcuckoo_usage_count_len() - count entries that were added or removed
 * @e:		contents
 * @len:	length of their prefixes
 * @change:	how many were added; negative if they were removed
 *
 * Context: the writer.
 */
void ipcuckoo_usage_count_len(struct ipcuckoo_entries *e, u8 len, s64 change)
{
	struct ipcuckoo_lens *lens = e->lens;
	u8 longest;

	if (!lens)
		return;
	WRITE_ONCE(lens->count[len], lens->count[len] + change);
	longest = max(lens->longest, len);
	while (longest && !lens->count[longest])
		longest--;
	if (longest != lens->longest)
		WRITE_ONCE(lens->longest, longest);
}

/**
 * ipcuckoo_usage_clear_lens() - count none, because all entries were removed
 * @e:		contents
 *
 * Context: the writer.
 */
void ipcuckoo_usage_clear_lens(struct ipcuckoo_entries *e)
{
	int len;

	if (!e->lens)
		return;
	for (len = 0; len < ARRAY_SIZE(e->lens->count); len++)
		WRITE_ONCE(e->lens->count[len], 0);
	WRITE_ONCE(e->lens->longest, 0);
}

/**
 * ipcuckoo_usage_add_lens() - count the prefix lengths of contents that will replace others
 * @e:		contents
 * @v:		their next version
 * @old:	set to the numbers before, to be given to ipcuckoo_usage_drop_lens() afterwards
 *
 * Meanwhile the lengths of both count. So readers never take a length for missing that the
 * contents have.
 *
 * Context: the writer; takes time in proportion to the number of entries.
 */
void ipcuckoo_usage_add_lens(struct ipcuckoo_entries *e, const struct ipcuckoo_version *v,
			     struct ipcuckoo_lens *old)
{
	struct ipcuckoo_key key;
	int kind;
	u64 at;

	if (!e->lens)
		return;
	*old = *e->lens;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		for (at = 0; v->table[kind] && ipcuckoo_table_next(v->table[kind], &at, &key);)
			ipcuckoo_usage_count_len(e, ipcuckoo_entry_decode(kind, &key).len, 1);
}

/**
 * ipcuckoo_usage_drop_lens() - count the prefix lengths of replaced contents no more
 * @e:		contents
 * @old:	from ipcuckoo_usage_add_lens()
 *
 * Context: the writer.
 */
void ipcuckoo_usage_drop_lens(struct ipcuckoo_entries *e, const struct ipcuckoo_lens *old)
{
	int len;

	for (len = 0; e->lens && len < ARRAY_SIZE(old->count); len++)
		if (old->count[len])
			ipcuckoo_usage_count_len(e, len, -(s64)old->count[len]);
}

/**
 * ipcuckoo_usage_with_len() - how many entries have a prefix of this length?
 * @e:		contents
 * @len:	length
 *
 * Context: any.
 * Return: their number, 0 for contents without lens. Entries that have expired count until they are
 * removed.
 */
u32 ipcuckoo_usage_with_len(const struct ipcuckoo_entries *e, u8 len)
{
	return e->lens ? READ_ONCE(e->lens->count[len]) : 0;
}

/**
 * ipcuckoo_usage_longest() - the longest prefix length of an entry
 * @e:		contents with lens
 *
 * Context: any.
 * Return: 0 if there is no entry. Entries that have expired count until they are removed.
 */
u8 ipcuckoo_usage_longest(const struct ipcuckoo_entries *e)
{
	return e->lens ? READ_ONCE(e->lens->longest) : 0;
}
