/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets: named contents of one network namespace, with a type and a family.
 *
 * Locks, in the order they are taken:
 *
 *   ipcuckoo_net.names		sets that come, go and change their names, and
 *				their procfs files; never held while anyone waits
 *				for user space (procfs.c)
 *   ipcuckoo_entries.mutex	the contents of one set, then of a shadow of it,
 *				or under names of another set; may be held for
 *				seconds
 *   ipcuckoo_net.mutex		the tree of sets, shadows, attachments; never
 *				held for long, so no mutex of contents is taken
 *				under it
 *   ipcuckoo_attached.lock	the list of attachments against device events,
 *				which come under RTNL
 *   ipcuckoo_guard.lock	while entries move; also readers' last resort
 *
 * Requests wait for the first two only until a fatal signal comes, and before they
 * have changed anything.
 *
 * All but the last are taken in process context only. A name changes under the
 * first three, and may be read under any of them. Whoever holds none of them,
 * packets above all, reads it with ipcuckoo_set_name().
 */
#ifndef _IPCUCKOO_SET_H
#define _IPCUCKOO_SET_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/rbtree.h>
#include <linux/seqlock.h>
#include <linux/workqueue.h>

#include "entries.h"
#include "ipcuckoo.h"

struct ipcuckoo_net;

/* Why additions failed: what uapi/ipcuckoo.h has an attribute for. */
enum ipcuckoo_failure {
	IPCUCKOO_FAILURE_FULL,		/* ENOSPC */
	IPCUCKOO_FAILURE_COPIES,	/* EMLINK */
	IPCUCKOO_FAILURE_QUOTA,		/* EDQUOT */
	IPCUCKOO_FAILURE_MEMORY,	/* ENOMEM */
	IPCUCKOO_FAILURE_EXIST,		/* EEXIST */
	IPCUCKOO_FAILURES
};

/**
 * struct ipcuckoo_notes - what ipset's sets have, and ours remember
 * @hashsize:	size of a hash table
 * @initval:	seed of a hash
 * @bucketsize:	entries in a bucket
 *
 * Nothing here depends on it. Whoever made a set with these words finds them
 * when the set is listed.
 */
struct ipcuckoo_notes {
	u32 hashsize;
	u32 initval;
	u8 bucketsize;
};

/**
 * struct ipcuckoo_mask - the bits of addresses that a set goes by
 * @bits:	ones, where a bit counts; IPv4 in the low half
 * @len:	as many leading ones, if it was given so; else 0
 * @present:	there is a mask at all
 */
struct ipcuckoo_mask {
	struct ipcuckoo_key bits;
	u8 len;
	bool present;
};

/**
 * struct ipcuckoo_set - a set
 * @entries:	its contents; entries.mutex also protects @dead, @swaps, @gc_at,
 *		@gc_last, and changes of @maxelem
 * @name:	its name, with zeros behind it
 * @name_seq:	for who reads @name and holds no lock
 * @type:	enum ipcuckoo_type
 * @family:	enum ipcuckoo_family
 * @pernet:	its namespace
 * @maxelem:	entries it may hold; 0: no limit
 * @forceadd:	what is added when it is full takes the place of another entry
 * @timeout:	of entries that are given none, in seconds; 0: they stay
 * @gc:		garbage collection: removes expired entries
 * @gc_at:	the second since boot for which @gc is queued; 0: it is not queued
 * @gc_last:	the second since boot in which @gc last finished a pass
 * @notes:	never changed
 * @mask:	never changed
 * @swaps:	moves when it and another set take each other's place
 * @dead:	it was destroyed; whoever still holds it must not change it
 * @attachments: how many there are; under ipcuckoo_net.mutex
 * @failed:	requests to add that failed, by reason; those to its shadows too,
 *		which have another lock
 * @node:	in the tree of sets, by name; under ipcuckoo_net.mutex
 * @ref:	held by the tree, by attachments, shadows and dumps
 * @rcu:	to free it
 */
struct ipcuckoo_set {
	struct ipcuckoo_entries entries;
	char name[IPCUCKOO_NAME_SIZE];
	seqcount_t name_seq;
	u8 type;
	u8 family;
	struct ipcuckoo_net *pernet;
	u32 maxelem;
	bool forceadd;
	u32 timeout;
	struct delayed_work gc;
	u32 gc_at;
	u32 gc_last;
	struct ipcuckoo_notes notes;
	struct ipcuckoo_mask mask;
	u32 swaps;
	bool dead;
	unsigned int attachments;
	atomic64_t failed[IPCUCKOO_FAILURES];
	struct rb_node node;
	struct kref ref;
	struct rcu_head rcu;
};

/**
 * struct ipcuckoo_set_options - what a set is made with
 * @type:	enum ipcuckoo_type
 * @family:	enum ipcuckoo_family
 * @maxelem:	entries it may hold; 0: no limit
 * @has_maxelem: that was asked for
 * @forceadd:	what is added when it is full takes the place of another entry
 * @exts:	for each entry: enum ipcuckoo_option
 * @timeout:	of entries that are given none, in seconds; 0: they stay
 * @shape:	what its filter is like; bits are 0 for an exact type
 * @notes:	to be remembered
 * @mask:	what of addresses counts, for hash:ip
 */
struct ipcuckoo_set_options {
	u8 type;
	u8 family;
	u32 maxelem;
	bool has_maxelem;
	bool forceadd;
	u32 exts;
	u32 timeout;
	struct ipcuckoo_filter_shape shape;
	struct ipcuckoo_notes notes;
	struct ipcuckoo_mask mask;
};

int ipcuckoo_set_init(void);
void ipcuckoo_set_exit(void);
void ipcuckoo_set_name(const struct ipcuckoo_set *set, char name[IPCUCKOO_NAME_SIZE]);

struct ipcuckoo_set *ipcuckoo_set_alloc(struct ipcuckoo_net *pernet, const char *name,
					const struct ipcuckoo_set_options *options);
void ipcuckoo_set_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set);
struct ipcuckoo_set *ipcuckoo_set_find(struct ipcuckoo_net *pernet,
				       const char *name);
struct ipcuckoo_set *ipcuckoo_set_get(struct ipcuckoo_net *pernet,
				      const char *name);
struct ipcuckoo_set *ipcuckoo_set_next(struct ipcuckoo_net *pernet,
				       const char *name);
struct ipcuckoo_set *ipcuckoo_set_after(struct ipcuckoo_net *pernet,
					const struct ipcuckoo_set *set);
void ipcuckoo_set_put(struct ipcuckoo_set *set);

int ipcuckoo_set_lock(struct ipcuckoo_set *set);
void ipcuckoo_set_unlock(struct ipcuckoo_set *set);

int ipcuckoo_set_normalize(const struct ipcuckoo_set *set,
			   struct ipcuckoo_entry *entry);
bool ipcuckoo_set_deletes(const struct ipcuckoo_set *set);
int ipcuckoo_set_flush(struct ipcuckoo_set *set);
void ipcuckoo_set_replace(struct ipcuckoo_set *set, struct ipcuckoo_entries *shadow);
u32 ipcuckoo_set_limit(const struct ipcuckoo_set *set);
int ipcuckoo_set_change(struct ipcuckoo_set *set, u32 maxelem);
void ipcuckoo_set_gc(struct ipcuckoo_set *set);
size_t ipcuckoo_set_memory(struct ipcuckoo_set *set);
bool ipcuckoo_set_match4(struct ipcuckoo_set *set, u32 addr);
bool ipcuckoo_set_match6(struct ipcuckoo_set *set,
			 const struct ipcuckoo_key *addr);
bool ipcuckoo_set_hit(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
		      bool v6, unsigned int bytes, u64 *mark);

/* Does a set keep what each packet that matches has to do with? */
static inline bool ipcuckoo_set_has_records(const struct ipcuckoo_set *set)
{
	return set->entries.options & IPCUCKOO_RECORD_OPTIONS;
}

/* What of an address a set with a mask goes by. Whoever looks an address up
 * masks it first; sets without a mask are spared the question (attach.c).
 */
static inline struct ipcuckoo_key
ipcuckoo_mask_key(const struct ipcuckoo_mask *mask, const struct ipcuckoo_key *addr)
{
	return (struct ipcuckoo_key){
		.hi = addr->hi & mask->bits.hi,
		.lo = addr->lo & mask->bits.lo,
	};
}

#endif /* _IPCUCKOO_SET_H */
