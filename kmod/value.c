// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Values
 *
 * A record has what its set was made with and little more: after the header come
 * the hits and the skbinfo, as far as there are any.
 *
 * Readers find a record through a slot, under rcu_read_lock(), and count in it.
 * It is freed after a grace period, so that a packet may still be counted for
 * an entry that was just deleted. A shadow that begins with the contents of its
 * set shares their records: what is counted meanwhile is not lost when it is
 * swapped in.
 *
 * Freeing records
 * ---------------
 *
 * A record that no table has any more retires: it is put on a list of its
 * account, ipcuckoo_mem.retired. The list waits for one grace period as a whole
 * (ipcuckoo_record_reap()), while those that retire meanwhile are collected for
 * the next one. So a grace period serves any number of records, nobody waits for
 * it, and it takes no memory.
 *
 * Comments are for the writer alone; readers never look at them.
 */
#include <linux/err.h>
#include <linux/sched.h>
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
	return sizeof(struct ipcuckoo_record) + hits_size(options) + info_size(options);
}

/* What the allocator takes for a record without its comment, and for that. */
static size_t record_memory(u32 options)
{
	return kmalloc_size_roundup(record_size(options));
}

static size_t comment_memory(const char *comment)
{
	return comment ? kmalloc_size_roundup(strlen(comment) + 1) : 0;
}

/* What follows in a record must be aligned as it follows. */
static_assert(sizeof(struct ipcuckoo_record) % __alignof__(struct ipcuckoo_hits) == 0);
static_assert(sizeof(struct ipcuckoo_hits) % __alignof__(struct ipcuckoo_skbinfo) == 0);

/* Records freed between two looks at the scheduler. */
#define REAP_BATCH	4096

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

/**
 * ipcuckoo_record_comment() - the comment of an entry
 * @r:		its record, or NULL
 *
 * Context: the writer.
 * Return: NULL if there is none.
 */
const char *ipcuckoo_record_comment(struct ipcuckoo_record *r)
{
	return r ? r->comment : NULL;
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
	return r ? record_memory(r->options) + comment_memory(r->comment) : 0;
}

/* A counter that is not given is left alone: a packet may be counting in it. */
static void set_hits(struct ipcuckoo_hits *hits, const struct ipcuckoo_entry_attrs *attrs)
{
	if (attrs->packets != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->packets, attrs->packets);
	if (attrs->bytes != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->bytes, attrs->bytes);
}

/* A record with a copy of the comment, if there is to be one. */
static struct ipcuckoo_record *alloc_record(u32 options, const char *comment, u32 len)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	struct ipcuckoo_record *r = kzalloc(record_size(options), gfp);

	if (!r || !len)
		return r;
	r->comment = kmemdup_nul(comment, len, gfp);
	if (r->comment)
		return r;
	kfree(r);
	return NULL;
}

static int make_record(struct ipcuckoo_record **made, u32 options,
		       const struct ipcuckoo_entry_attrs *attrs,
		       struct ipcuckoo_mem *mem)
{
	u32 len = options & IPCUCKOO_O_COMMENT ? attrs->comment_len : 0;
	size_t size = record_memory(options);
	struct ipcuckoo_record *r;

	if (len)
		size += kmalloc_size_roundup(len + 1);
	if (!ipcuckoo_mem_charge(mem, size))
		return ipcuckoo_mem_refusal();
	r = alloc_record(options, attrs->comment, len);
	if (!r) {
		ipcuckoo_mem_uncharge(mem, size);
		return -ENOMEM;
	}
	refcount_set(&r->ref, 1);
	r->options = options;
	if (options & IPCUCKOO_O_COUNTERS)
		set_hits(ipcuckoo_record_hits(r), attrs);
	if (options & IPCUCKOO_O_SKBINFO)
		*ipcuckoo_record_info(r) = attrs->info;
	*made = r;
	return 0;
}

/**
 * ipcuckoo_value_make() - make what is kept for a new entry
 * @value:	set; a record in it belongs to the caller
 * @options:	of the set
 * @attrs:	what the request says
 * @mem:	account to charge
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOMEM, -EDQUOT or -EINTR.
 */
int ipcuckoo_value_make(struct ipcuckoo_value *value, u32 options,
			const struct ipcuckoo_entry_attrs *attrs,
			struct ipcuckoo_mem *mem)
{
	*value = (struct ipcuckoo_value){
		.expires = ipcuckoo_deadline(attrs->timeout),
		.nomatch = attrs->nomatch,
	};
	return options & IPCUCKOO_RECORD_OPTIONS ?
	       make_record(&value->record, options & IPCUCKOO_RECORD_OPTIONS, attrs, mem) : 0;
}

/**
 * ipcuckoo_value_update() - an entry that is there is added once more
 * @value:	what is kept for it; changed to what shall be from now on
 * @fresh:	what was made for it; what is left of it is to be given back
 * @attrs:	what the request says
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
			   const struct ipcuckoo_entry_attrs *attrs, bool live)
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
			set_hits(new, attrs);
		}
		swap(value->record, fresh->record);
		return;
	}
	if (old)
		set_hits(old, attrs);
	if (info) {
		WRITE_ONCE(info->mark, attrs->info.mark);
		info->prio = attrs->info.prio;
		info->queue = attrs->info.queue;
	}
	swap(value->record->comment, fresh->record->comment);
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

/* Nobody finds a record any more. Its comment nobody else has looked at. */
static void retire(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	size_t comment = comment_memory(r->comment);
	bool begin;

	kfree(r->comment);
	ipcuckoo_mem_uncharge(mem, comment);
	spin_lock_bh(&mem->lock);
	r->next = mem->retired;
	mem->retired = r;
	mem->retiring += record_memory(r->options);
	begin = !mem->reaping;
	if (begin) {
		mem->reaping = true;
		swap(mem->leaving, mem->retired);
	}
	spin_unlock_bh(&mem->lock);
	if (begin)
		queue_rcu_work(ipcuckoo_free_wq, &mem->reap);
}

/**
 * ipcuckoo_record_put() - a table has a record no longer
 * @r:		record, or NULL
 * @mem:	the account it was charged to
 *
 * Context: process context; takes the account's lock.
 */
void ipcuckoo_record_put(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	if (r && refcount_dec_and_test(&r->ref))
		retire(r, mem);
}

/* A part of a list, and what it took. */
static struct ipcuckoo_record *free_some(struct ipcuckoo_record *r, size_t *size)
{
	struct ipcuckoo_record *next;
	unsigned int n;

	*size = 0;
	for (n = 0; r && n < REAP_BATCH; n++, r = next) {
		next = r->next;
		*size += record_memory(r->options);
		kfree(r);
	}
	return r;
}

/**
 * ipcuckoo_record_reap() - free records whose grace period is over
 * @work:	the account's
 *
 * While mem->reaping is set nobody else queues the work or touches mem->leaving.
 * What is moved there is so before the work is queued, and so before the grace
 * period begins that it waits for. The account may end as soon as nothing retires
 * and mem->reaping is cleared, so that both are done last, under its lock.
 *
 * Context: the account's work.
 */
void ipcuckoo_record_reap(struct work_struct *work)
{
	struct ipcuckoo_mem *mem = container_of(to_rcu_work(work), struct ipcuckoo_mem,
						reap);
	struct ipcuckoo_record *r = mem->leaving;
	size_t size = 0;

	do {
		r = free_some(r, &size);
		ipcuckoo_mem_uncharge(mem, size);
		if (r)
			ipcuckoo_mem_release(mem, size);
		cond_resched();
	} while (r);

	spin_lock_bh(&mem->lock);
	mem->leaving = mem->retired;
	mem->retired = NULL;
	mem->reaping = mem->leaving;
	mem->retiring -= size;
	wake_up_all(&mem->wait);
	r = mem->leaving;
	spin_unlock_bh(&mem->lock);
	if (r)
		queue_rcu_work(ipcuckoo_free_wq, &mem->reap);
}
