// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Values
 *
 * A record has what its set was made with and no more: after the header come
 * the hits, the skbinfo and a pointer to the comment, as far as there are any.
 *
 * Readers find a record through a slot, under rcu_read_lock(), and count in it.
 * It is freed after a grace period, so that a packet may still be counted for
 * an entry that was just deleted. A shadow that begins with the contents of its
 * set shares their records: what is counted meanwhile is not lost when it is
 * swapped in.
 *
 * Comments are for the writer alone; readers never look at them.
 */
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "value.h"

static size_t hits_size(u32 options)
{
	return options & IPCUCKOO_O_COUNTERS ? sizeof(struct ipcuckoo_hits) : 0;
}

static size_t info_size(u32 options)
{
	return options & IPCUCKOO_O_SKBINFO ? sizeof(struct ipcuckoo_skbinfo) : 0;
}

static size_t record_size(u32 options)
{
	return sizeof(struct ipcuckoo_record) + hits_size(options) + info_size(options) +
	       (options & IPCUCKOO_O_COMMENT ? sizeof(char *) : 0);
}

/* What follows in a record must be aligned as it follows. */
static_assert(sizeof(struct ipcuckoo_record) % __alignof__(struct ipcuckoo_hits) == 0);
static_assert(sizeof(struct ipcuckoo_skbinfo) % sizeof(char *) == 0);

/**
 * ipcuckoo_record_hits() - the counters of an entry
 * @r:		its record, or NULL
 *
 * Context: any.
 * Return: NULL if there are none.
 */
struct ipcuckoo_hits *ipcuckoo_record_hits(struct ipcuckoo_record *r)
{
	return r && r->options & IPCUCKOO_O_COUNTERS ? (void *)(r + 1) : NULL;
}

/**
 * ipcuckoo_record_info() - the skbinfo of an entry
 * @r:		its record, or NULL
 *
 * Context: any.
 * Return: NULL if there is none.
 */
struct ipcuckoo_skbinfo *ipcuckoo_record_info(struct ipcuckoo_record *r)
{
	return r && r->options & IPCUCKOO_O_SKBINFO ?
	       (void *)(r + 1) + hits_size(r->options) : NULL;
}

static char **comment_of(struct ipcuckoo_record *r)
{
	return r && r->options & IPCUCKOO_O_COMMENT ?
	       (void *)(r + 1) + hits_size(r->options) + info_size(r->options) : NULL;
}

/**
 * ipcuckoo_record_comment() - the comment of an entry
 * @r:		its record, or NULL
 *
 * Context: the writer.
 * Return: NULL if there is none.
 */
const char *ipcuckoo_record_comment(struct ipcuckoo_record *r)
{
	char **comment = comment_of(r);

	return comment ? *comment : NULL;
}

/**
 * ipcuckoo_record_memory() - what a record takes
 * @r:		record, or NULL
 *
 * Context: the writer.
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_record_memory(const struct ipcuckoo_record *r)
{
	const char *comment = ipcuckoo_record_comment((struct ipcuckoo_record *)r);

	return (r ? kmalloc_size_roundup(record_size(r->options)) : 0) +
	       (comment ? kmalloc_size_roundup(strlen(comment) + 1) : 0);
}

/* A counter that is not given is left alone: a packet may be counting in it. */
static void set_hits(struct ipcuckoo_hits *hits, const struct ipcuckoo_given *given)
{
	if (given->packets != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->packets, given->packets);
	if (given->bytes != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->bytes, given->bytes);
}

static int make_record(struct ipcuckoo_record **made, u32 options,
		       const struct ipcuckoo_given *given,
		       struct ipcuckoo_mem *mem)
{
	struct ipcuckoo_record *r;
	size_t size;

	r = kzalloc(record_size(options), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!r)
		return -ENOMEM;
	refcount_set(&r->ref, 1);
	r->options = options;
	if (given->comment_len && options & IPCUCKOO_O_COMMENT) {
		*comment_of(r) = kmemdup_nul(given->comment, given->comment_len,
					     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!*comment_of(r)) {
			kfree(r);
			return -ENOMEM;
		}
	}
	size = ipcuckoo_record_memory(r);
	if (!ipcuckoo_mem_charge(mem, size)) {
		kfree(ipcuckoo_record_comment(r));
		kfree(r);
		return -EDQUOT;
	}
	if (options & IPCUCKOO_O_COUNTERS)
		set_hits(ipcuckoo_record_hits(r), given);
	if (options & IPCUCKOO_O_SKBINFO)
		*ipcuckoo_record_info(r) = given->info;
	*made = r;
	return 0;
}

/**
 * ipcuckoo_value_make() - make what is kept for a new entry
 * @value:	set; a record in it belongs to the caller
 * @options:	of the set
 * @given:	what the request says
 * @mem:	account to charge
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOMEM or -EDQUOT.
 */
int ipcuckoo_value_make(struct ipcuckoo_value *value, u32 options,
			const struct ipcuckoo_given *given,
			struct ipcuckoo_mem *mem)
{
	*value = (struct ipcuckoo_value){
		.expires = ipcuckoo_deadline(given->timeout),
		.nomatch = given->nomatch,
	};
	return options & IPCUCKOO_RECORDED ?
	       make_record(&value->record, options & IPCUCKOO_RECORDED, given, mem) : 0;
}

/**
 * ipcuckoo_value_update() - an entry that is there is added once more
 * @value:	what is kept for it; changed to what shall be from now on
 * @fresh:	what was made for it; what is left of it is to be given back
 * @given:	what the request says
 * @live:	packets may be using @value
 *
 * As with ipset: deadline, skbinfo and comment are what is said now, each
 * counter goes on unless it is said, too. A record that is live stays where it is, so
 * that no packet is counted in vain. One that a set and a shadow share belongs
 * to neither, and is replaced: the set's stays as it is until the shadow is
 * swapped in, and a shadow's as it was when it was made. So of a shared record
 * nothing but the hits ever changes, and each of the two writers may look at
 * the rest without the other's mutex.
 *
 * Context: the writer.
 */
void ipcuckoo_value_update(struct ipcuckoo_value *value,
			   struct ipcuckoo_value *fresh,
			   const struct ipcuckoo_given *given, bool live)
{
	struct ipcuckoo_hits *old = ipcuckoo_record_hits(value->record);
	struct ipcuckoo_hits *new = ipcuckoo_record_hits(fresh->record);
	struct ipcuckoo_skbinfo *info = ipcuckoo_record_info(value->record);

	value->expires = fresh->expires;
	value->nomatch = fresh->nomatch;
	if (!value->record)
		return;
	if (!live || refcount_read(&value->record->ref) > 1) {
		if (old) {
			atomic64_set(&new->packets, atomic64_read(&old->packets));
			atomic64_set(&new->bytes, atomic64_read(&old->bytes));
			set_hits(new, given);
		}
		swap(value->record, fresh->record);
		return;
	}
	if (old)
		set_hits(old, given);
	if (info) {
		WRITE_ONCE(info->mark, given->info.mark);
		info->prio = given->info.prio;
		info->queue = given->info.queue;
	}
	if (comment_of(value->record))
		swap(*comment_of(value->record), *comment_of(fresh->record));
}

/**
 * ipcuckoo_record_get() - one more table has a record
 * @r:		record, or NULL
 */
void ipcuckoo_record_get(struct ipcuckoo_record *r)
{
	if (r)
		refcount_inc(&r->ref);
}

/**
 * ipcuckoo_record_put() - a table has a record no longer
 * @r:		record, or NULL
 * @mem:	the account it was charged to
 *
 * Context: process context, may sleep.
 */
void ipcuckoo_record_put(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	if (!r || !refcount_dec_and_test(&r->ref))
		return;
	ipcuckoo_mem_uncharge(mem, ipcuckoo_record_memory(r));
	kfree(ipcuckoo_record_comment(r));
	kvfree_rcu_mightsleep(r);
}
