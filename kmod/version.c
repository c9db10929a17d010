// SPDX-License-Identifier: GPL-2.0-only
/*
 * Versions: see version.h.
 *
 * A version that was replaced is freed after a grace period, with those tables that no
 * later version shares. A work item does that, because freeing millions of records takes
 * seconds: no request should wait for it, and no mutex should be held. Their memory stays
 * charged until then (mem.h).
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "version.h"

/**
 * ipcuckoo_version_create() - allocate a version
 * @mem:	account to charge
 * @v:		version to copy; NULL for an empty one
 * @how:	what to do if that exceeds the limit
 *
 * Context: process context, may sleep.
 * Return: a version for ipcuckoo_version_publish(), or ERR_PTR(-EDQUOT, -EINTR or -ENOMEM).
 */
struct ipcuckoo_version *ipcuckoo_version_create(struct ipcuckoo_mem *mem,
						 const struct ipcuckoo_version *v,
						 enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *new = ipcuckoo_object_alloc(mem, sizeof(*new), how);

	if (IS_ERR(new))
		return new;
	if (v)
		*new = *v;
	new->mem = mem;
	new->free_parts = 0;
	return new;
}

/**
 * ipcuckoo_version_memory() - how much memory does a version take?
 * @v:		version
 * @parts:	IPCUCKOO_PART_*: the parts to count
 *
 * Return: bytes, without records.
 */
size_t ipcuckoo_version_memory(const struct ipcuckoo_version *v, u8 parts)
{
	size_t size = kmalloc_size_roundup(sizeof(*v));
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (parts & IPCUCKOO_PART_TABLE(i))
			size += ipcuckoo_table_memory(v->table[i]);
	for (i = 0; i < 2; i++)
		if (parts & IPCUCKOO_PART_HINT(i))
			size += ipcuckoo_hint_memory(v->hint[i]);
	if (parts & IPCUCKOO_PART_FILTER)
		size += ipcuckoo_filter_memory(v->filter);
	return size;
}

/* Free a version that has no readers, and its free_parts. This drops no references to
 * records: version_work() has dropped those of its tables; or the tables that replaced its
 * tables have taken them over.
 */
static void version_free(struct ipcuckoo_version *v)
{
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->free_parts & IPCUCKOO_PART_TABLE(i))
			ipcuckoo_table_destroy(v->table[i]);
	for (i = 0; i < 2; i++)
		if (v->free_parts & IPCUCKOO_PART_HINT(i))
			ipcuckoo_hint_destroy(v->hint[i]);
	if (v->free_parts & IPCUCKOO_PART_FILTER)
		ipcuckoo_filter_destroy(v->filter);
	ipcuckoo_object_free(v, v->mem, sizeof(*v));
}

/* Free a version, after a grace period. If all its parts are freed, first drop the references
 * of its tables to records. A set and its shadow may share records, so another version may
 * drop the last reference to a record at the same time; therefore ipcuckoo_record_put() lets
 * each record wait for another grace period.
 */
static void version_work(struct work_struct *work)
{
	struct ipcuckoo_version *v = container_of(to_rcu_work(work),
						  struct ipcuckoo_version, work);
	struct ipcuckoo_mem *mem = v->mem;
	size_t retiring = v->retiring;
	int i;

	for (i = 0; v->free_parts == IPCUCKOO_PART_ALL && i < IPCUCKOO_KINDS; i++)
		if (v->table[i])
			ipcuckoo_table_put_records(v->table[i]);
	version_free(v);
	ipcuckoo_mem_release(mem, retiring);
}

static bool has_records(const struct ipcuckoo_version *v)
{
	int i;

	for (i = 0; i < IPCUCKOO_KINDS; i++)
		if (v->table[i] && v->table[i]->exts & IPCUCKOO_EXT_RECORDS)
			return true;
	return false;
}

/**
 * ipcuckoo_version_retire() - free a version after a grace period
 * @v:		version, which no new reader can find
 * @free_parts:	IPCUCKOO_PART_*: parts that no later version shares, to be freed too
 * @records:	bytes of the records of its entries. With IPCUCKOO_PART_ALL the references
 *		to them are dropped. May include records that are shared with a shadow
 * @live:	there may be readers; if not, no grace period is needed
 *
 * Context: process context.
 */
void ipcuckoo_version_retire(struct ipcuckoo_version *v, u8 free_parts, size_t records,
			     bool live)
{
	v->free_parts = free_parts;
	if (!live && (free_parts != IPCUCKOO_PART_ALL || !has_records(v))) {
		version_free(v);
		return;
	}
	v->retiring = ipcuckoo_version_memory(v, free_parts) +
		      (free_parts == IPCUCKOO_PART_ALL ? records : 0);
	ipcuckoo_mem_retire(v->mem, v->retiring);
	INIT_RCU_WORK(&v->work, version_work);
	queue_rcu_work(ipcuckoo_free_wq, &v->work);
}

/**
 * ipcuckoo_version_publish() - replace the current version, and retire it
 * @e:		contents
 * @v:		the new version
 * @free_parts:	IPCUCKOO_PART_*: parts of the old version that @v does not share; they are
 *		freed with it. IPCUCKOO_PART_ALL also drops the references of its tables
 *		to records; with other parts, the tables of @v take these over
 *
 * Context: the writer.
 */
void ipcuckoo_version_publish(struct ipcuckoo_entries *e, struct ipcuckoo_version *v,
			      u8 free_parts)
{
	struct ipcuckoo_version *old = ipcuckoo_version_current(e);
	size_t records = e->records;

	if (free_parts == IPCUCKOO_PART_ALL)
		e->records = 0;
	rcu_assign_pointer(e->version, v);
	e->layout++;
	ipcuckoo_version_retire(old, free_parts, records, e->live);
}

/* Do look-ups in a version need a longest-prefix match? They do if one of its tables can
 * have exceptions or entries that have expired.
 */
static bool needs_lpm(const struct ipcuckoo_version *v)
{
	u8 exts = 0;
	int kind;

	for (kind = 0; kind < IPCUCKOO_KINDS; kind++)
		exts |= v->table[kind] ? v->table[kind]->exts : 0;
	return exts & (IPCUCKOO_EXT_EXPIRES | IPCUCKOO_EXT_NOMATCH);
}

/**
 * ipcuckoo_version_publish_table() - publish a version that has another table of one kind
 * @e:		contents
 * @kind:	kind
 * @v:		a copy of the current version, as ipcuckoo_version_create() makes it
 * @t:		new table, or NULL
 *
 * Context: the writer.
 */
void ipcuckoo_version_publish_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				    struct ipcuckoo_version *v, struct ipcuckoo_table *t)
{
	const struct ipcuckoo_table *old = v->table[kind];

	v->table[kind] = t;
	v->lpm = needs_lpm(v);
	if (old)
		e->displaced += old->displaced;
	ipcuckoo_version_publish(e, v, old ? IPCUCKOO_PART_TABLE(kind) : 0);
}

/**
 * ipcuckoo_version_replace_table() - replace the table of one kind, in a new version
 * @e:		contents
 * @kind:	kind
 * @t:		new table, or NULL
 * @how:	what to do if that exceeds the limit
 *
 * Context: the writer; may sleep.
 * Return: 0, -EDQUOT, -EINTR or -ENOMEM; then nothing has changed.
 */
int ipcuckoo_version_replace_table(struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
				   struct ipcuckoo_table *t, enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v;

	v = ipcuckoo_version_create(e->mem, ipcuckoo_version_current(e), how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	ipcuckoo_version_publish_table(e, kind, v, t);
	return 0;
}

/**
 * ipcuckoo_version_replace_hint() - replace the hint of one family, in a new version
 * @e:		contents
 * @v6:		the hint for IPv6
 * @h:		new hint, or NULL
 * @how:	what to do if that exceeds the limit
 *
 * Context: the writer; may sleep.
 * Return: 0, -EDQUOT, -EINTR or -ENOMEM; then nothing has changed.
 */
int ipcuckoo_version_replace_hint(struct ipcuckoo_entries *e, bool v6,
				  struct ipcuckoo_hint *h, enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	struct ipcuckoo_hint *old = v->hint[v6];

	v = ipcuckoo_version_create(e->mem, v, how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->hint[v6] = h;
	ipcuckoo_version_publish(e, v, old ? IPCUCKOO_PART_HINT(v6) : 0);
	return 0;
}

/**
 * ipcuckoo_version_replace_filter() - replace the filter, in a new version
 * @e:		contents
 * @f:		new filter, or NULL
 * @how:	what to do if that exceeds the limit
 *
 * Context: the writer; may sleep.
 * Return: 0, -EDQUOT, -EINTR or -ENOMEM; then nothing has changed.
 */
int ipcuckoo_version_replace_filter(struct ipcuckoo_entries *e, struct ipcuckoo_filter *f,
				    enum ipcuckoo_charge how)
{
	struct ipcuckoo_version *v = ipcuckoo_version_current(e);
	struct ipcuckoo_filter *old = v->filter;

	v = ipcuckoo_version_create(e->mem, v, how);
	if (IS_ERR(v))
		return PTR_ERR(v);
	v->filter = f;
	if (old)
		e->displaced += old->displaced;
	ipcuckoo_version_publish(e, v, old ? IPCUCKOO_PART_FILTER : 0);
	return 0;
}
