// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Values
 *
 * See value.h for what values and records are. A record takes memory only for the extensions
 * of its set: the counters, the skbinfo and the pointer to the comment, if the set has them, follow
 * struct ipcuckoo_record.
 *
 * Readers find a record through a slot, under rcu_read_lock(), and count packets in it.
 * The record is freed after a grace period, so a packet may be counted for an entry that
 * was just deleted. A shadow that starts with a copy of its set's entries shares their
 * records: so packets that are counted before the commit are not lost.
 *
 * Freeing records
 * ---------------
 *
 * When no table has a record any more, it retires: it is added to the list
 * ipcuckoo_mem.retired. The whole list waits for one grace period
 * (ipcuckoo_record_reap()); records that retire meanwhile are collected for the next one.
 * So one grace period serves any number of records, no caller waits for it, and it needs
 * no memory.
 *
 * Only the writer reads and writes comments.
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
	return sizeof(struct ipcuckoo_record) + hits_size(options) + info_size(options) +
	       (options & IPCUCKOO_O_COMMENT ? sizeof(char *) : 0);
}

/* Records with counters alone, which are the most frequent, and those with skbinfo alone. kmalloc()
 * would round their size up to a power of two.
 */
#define SMALL	(sizeof(struct ipcuckoo_record) + sizeof(struct ipcuckoo_hits))

static struct kmem_cache *small;

/* Bytes allocated for a record, rounding included, without its comment. */
static size_t record_memory(u32 options)
{
	return record_size(options) == SMALL ? SMALL : kmalloc_size_roundup(record_size(options));
}

static struct ipcuckoo_record *record_zalloc(u32 options, gfp_t gfp)
{
	return record_size(options) == SMALL ? kmem_cache_zalloc(small, gfp) :
					       kzalloc(record_size(options), gfp);
}

static void record_free(struct ipcuckoo_record *r, u32 options)
{
	if (record_size(options) == SMALL)
		kmem_cache_free(small, r);
	else
		kfree(r);
}

/* Bytes allocated for a comment, rounding included; 0 for NULL. */
static size_t comment_memory(const char *comment)
{
	return comment ? kmalloc_size_roundup(strlen(comment) + 1) : 0;
}

/* What follows is aligned, because there is no padding. */
static_assert(sizeof(struct ipcuckoo_record) % __alignof__(struct ipcuckoo_hits) == 0);
static_assert(sizeof(struct ipcuckoo_hits) % __alignof__(struct ipcuckoo_skbinfo) == 0);
static_assert(sizeof(struct ipcuckoo_skbinfo) % __alignof__(char *) == 0);

/* Records freed between two calls of cond_resched(). */
#define REAP_BATCH	4096

/* Where a record has the pointer to its comment; NULL if the set has no comments. */
static char **comment_of(struct ipcuckoo_record *r)
{
	if (!(ipcuckoo_record_options(r) & IPCUCKOO_O_COMMENT))
		return NULL;
	return (void *)r->data + hits_size(r->options) + info_size(r->options);
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
 * ipcuckoo_record_memory() - how much memory does a record take?
 * @r:		record, or NULL
 *
 * Context: the writer.
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_record_memory(struct ipcuckoo_record *r)
{
	return r ? record_memory(r->options) + comment_memory(ipcuckoo_record_comment(r)) : 0;
}

/* Set the counters that the request sets. Do not write the others: a packet may be
 * counting in them.
 */
static void set_hits(struct ipcuckoo_hits *hits, const struct ipcuckoo_entry_attrs *attrs)
{
	if (attrs->packets != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->packets, attrs->packets);
	if (attrs->bytes != IPCUCKOO_COUNTER_KEEP)
		atomic64_set(&hits->bytes, attrs->bytes);
}

/* Set the counters and the skbinfo of a record that packets may be using. */
static void set_record(struct ipcuckoo_record *r, const struct ipcuckoo_entry_attrs *attrs)
{
	struct ipcuckoo_skbinfo *info = ipcuckoo_record_info(r, r->options);
	struct ipcuckoo_hits *hits = ipcuckoo_record_hits(r, r->options);

	if (hits)
		set_hits(hits, attrs);
	if (!info)
		return;
	WRITE_ONCE(info->mark, attrs->info.mark);
	WRITE_ONCE(info->prio, attrs->info.prio);
	WRITE_ONCE(info->queue, attrs->info.queue);
}

/* Allocate a record, with a copy of the comment if @len is not 0. */
static struct ipcuckoo_record *alloc_record(u32 options, const char *comment, u32 len, gfp_t gfp)
{
	struct ipcuckoo_record *r = record_zalloc(options, gfp);
	char *copy;

	if (!r)
		return NULL;
	refcount_set(&r->ref, 1);
	r->options = options;
	if (!len)
		return r;
	copy = kmemdup_nul(comment, len, gfp);
	if (!copy) {
		record_free(r, options);
		return NULL;
	}
	*comment_of(r) = copy;
	return r;
}

static int charge_record(struct ipcuckoo_mem *mem, size_t size, gfp_t gfp)
{
	if (gfpflags_allow_blocking(gfp))
		return ipcuckoo_mem_charge(mem, size) ? 0 : ipcuckoo_mem_refusal();
	return ipcuckoo_mem_charge_as(mem, size, IPCUCKOO_CHARGE_TRY) ? 0 : -EDQUOT;
}

static int make_record(struct ipcuckoo_record **made, u32 options,
		       const struct ipcuckoo_entry_attrs *attrs,
		       struct ipcuckoo_mem *mem, gfp_t gfp)
{
	u32 len = options & IPCUCKOO_O_COMMENT ? attrs->comment_len : 0;
	size_t size = record_memory(options);
	struct ipcuckoo_record *r;
	int err;

	if (len)
		size += kmalloc_size_roundup(len + 1);
	err = charge_record(mem, size, gfp);
	if (err)
		return err;
	r = alloc_record(options, attrs->comment, len, gfp);
	if (!r) {
		ipcuckoo_mem_uncharge(mem, size);
		return -ENOMEM;
	}
	set_record(r, attrs);
	*made = r;
	return 0;
}

/**
 * ipcuckoo_value_make() - make the value of a new entry
 * @value:	filled in; the caller owns the record in it
 * @options:	options of the set
 * @attrs:	attributes of the entry in the request
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
	       make_record(&value->record, options & IPCUCKOO_RECORD_OPTIONS, attrs, mem,
			   GFP_KERNEL_ACCOUNT | __GFP_NOWARN) : 0;
}

/**
 * ipcuckoo_record_make_atomic() - make the record of a new entry, for a packet
 * @record:	set to it; NULL if the set has no records
 * @options:	options of the set
 * @attrs:	attributes of the entry
 * @mem:	account to charge
 *
 * Context: any but hard interrupts.
 * Return: 0, -ENOMEM or -EDQUOT.
 */
int ipcuckoo_record_make_atomic(struct ipcuckoo_record **record, u32 options,
				const struct ipcuckoo_entry_attrs *attrs,
				struct ipcuckoo_mem *mem)
{
	*record = NULL;
	if (!(options & IPCUCKOO_RECORD_OPTIONS))
		return 0;
	return make_record(record, options & IPCUCKOO_RECORD_OPTIONS, attrs, mem,
			   GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
}

/**
 * ipcuckoo_value_update() - update the value of an entry that is added again
 * @value:	its value, which is replaced
 * @fresh:	value made from the request; the caller must put its record afterwards
 * @attrs:	attributes of the entry in the request
 * @live:	packets may be using @value
 *
 * As in ipset, the request replaces deadline, skbinfo and comment; a counter continues
 * unless the request sets it.
 *
 * If packets may be using the record (@live) and no other table has it, it is changed in
 * place, so that all packets count in the same one. Otherwise the entry gets the record of
 * @fresh, with the counters of the old one. So a record that a set shares with its shadow is
 * never changed, except for the counters of the packets. An update of one of the two does not
 * show in the other, and each writer can read the record without the other's mutex.
 *
 * Context: the writer.
 */
void ipcuckoo_value_update(struct ipcuckoo_value *value,
			   struct ipcuckoo_value *fresh,
			   const struct ipcuckoo_entry_attrs *attrs, bool live)
{
	u32 options = ipcuckoo_record_options(value->record);
	struct ipcuckoo_hits *old = ipcuckoo_record_hits(value->record, options);
	struct ipcuckoo_hits *new = ipcuckoo_record_hits(fresh->record, options);

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
	set_record(value->record, attrs);
	if (options & IPCUCKOO_O_COMMENT)
		swap(*comment_of(value->record), *comment_of(fresh->record));
}

/* Readers never access the comment, so it is freed at once. */
static void free_comment(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	char **comment = comment_of(r);

	if (!comment || !*comment)
		return;
	ipcuckoo_mem_uncharge(mem, comment_memory(*comment));
	kfree(*comment);
	*comment = NULL;
}

/**
 * ipcuckoo_value_refresh() - update the value of an entry that a packet adds again
 * @value:	its value
 * @expires:	its new deadline
 * @attrs:	its other attributes; no comment, and no exception
 * @comment:	keep the comment
 * @mem:	the account to which its record is charged
 *
 * Context: the writer, a process or a packet.
 * Return: false if another table has the record, too, so that it must not be changed.
 */
bool ipcuckoo_value_refresh(struct ipcuckoo_value *value, u32 expires,
			    const struct ipcuckoo_entry_attrs *attrs, bool comment,
			    struct ipcuckoo_mem *mem)
{
	struct ipcuckoo_record *r = value->record;

	if (r && refcount_read(&r->ref) > 1)
		return false;
	value->expires = expires;
	value->nomatch = false;
	if (!r)
		return true;
	set_record(r, attrs);
	if (!comment)
		free_comment(r, mem);
	return true;
}

/**
 * ipcuckoo_record_get() - take a reference to a record, for another table
 * @r:		record, or NULL
 */
void ipcuckoo_record_get(struct ipcuckoo_record *r)
{
	if (r)
		refcount_inc(&r->ref);
}

/* The link of a retired record has the options of that record in its lowest bits, which are 0 in a
 * pointer to a record.
 */
#define LINK_SHIFT	1
#define LINK_MASK	7UL

static_assert(IPCUCKOO_RECORD_OPTIONS >> LINK_SHIFT == LINK_MASK);
static_assert(__alignof__(struct ipcuckoo_record) > LINK_MASK);

/* Retire a record that is in no table any more. */
static void retire(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	u32 options = r->options;
	bool begin;

	free_comment(r, mem);
	spin_lock_bh(&mem->lock);
	r->next = (unsigned long)mem->retired | options >> LINK_SHIFT;
	mem->retired = r;
	mem->retiring += record_memory(options);
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
 * ipcuckoo_record_put() - drop a table's reference to a record
 * @r:		record, or NULL
 * @mem:	the account to which it was charged
 *
 * Context: any but hard interrupts; takes the account's lock.
 */
void ipcuckoo_record_put(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem)
{
	if (r && refcount_dec_and_test(&r->ref))
		retire(r, mem);
}

/* Free up to REAP_BATCH records of a list; set @size to their bytes. Return: the rest. */
static struct ipcuckoo_record *free_some(struct ipcuckoo_record *r, size_t *size)
{
	struct ipcuckoo_record *next;
	unsigned int n;
	u32 options;

	*size = 0;
	for (n = 0; r && n < REAP_BATCH; n++, r = next) {
		next = (struct ipcuckoo_record *)(r->next & ~LINK_MASK);
		options = (r->next & LINK_MASK) << LINK_SHIFT;
		*size += record_memory(options);
		record_free(r, options);
	}
	return r;
}

/**
 * ipcuckoo_record_reap() - free records whose grace period has ended
 * @work:	ipcuckoo_mem.reap.work
 *
 * While mem->reaping is set, no other code queues the work or accesses mem->leaving.
 * Records are moved to mem->leaving before the work is queued, so before its grace period
 * begins. ipcuckoo_mem_close() returns as soon as nothing retires and mem->reaping is
 * clear. So this function changes both last, under mem->lock.
 *
 * Context: work item.
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

/**
 * ipcuckoo_value_init() - prepare for making records
 *
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_value_init(void)
{
	small = kmem_cache_create(KBUILD_MODNAME "_record", SMALL, 0, SLAB_ACCOUNT, NULL);
	return small ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_value_exit() - undo ipcuckoo_value_init()
 *
 * Context: when the module is unloaded, and all records are free.
 */
void ipcuckoo_value_exit(void)
{
	kmem_cache_destroy(small);
}
