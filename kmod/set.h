/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets. A set belongs to one network namespace; it has a name, a type, a family, and
 * contents (struct ipcuckoo_entries).
 *
 * Locks, in the order in which they are taken. "0.1 s a million": about that, for each million
 * entries of the set. "A limit" is that of lock.h: a quarter of a second.
 *
 *   protects			held at most			who waits
 *
 *   cb_lock of generic netlink, which holds it for reading while it calls a request
 *
 *   the list of families	a limit for the requests	who registers a family; then every
 *				before it in its sendmsg(),	request on the machine
 *				two for its own waits, and its
 *				work: 0.1 s a million, 10 us a
 *				change of a commit
 *
 *   the mutex of ip_set (ipset/ipset.h), one for all namespaces
 *
 *   sets of ip_set		a limit; a flush and the first	requests of ipset, in any namespace;
 *				part of a list: until one	a work item of ours (ipset/names.c)
 *				writer of that set is done
 *
 *   ipcuckoo_net.names, after ipcuckoo_net.names_turn
 *
 *   serialises commits, which	a limit, RTNL, and the work	requests, for a limit; work items
 *   create, destroy and rename	of the commit. No holder waits
 *   sets, and adding and	for a process that may be
 *   removing their procfs files	waiting for user space (procfs.c)
 *
 *   ipcuckoo_entries.mutex, after ipcuckoo_set.turn or ipcuckoo_shadow.turn
 *
 *   the contents of one set.	0.1 s a million, and the grace	requests, for a limit; commits, for
 *   The holder may then take	period after which retired	one in all; files and dumps, until
 *   the mutex of a shadow of	memory is free (mem.c)		a fatal signal; work items. None of
 *   that set; a commit holds					another namespace
 *   those of several sets
 *
 *   RTNL, while something is attached at ingress (point.c)
 *
 *   devices			as ipcuckoo_net.mutex		the machine; our requests, until a
 *								fatal signal
 *
 *   ipcuckoo_net.mutex
 *
 *   the tree of sets, the	a microsecond; a commit: one	all of the namespace, and device
 *   shadows, the attachments.	for each change, the chains of	events of it, which come under RTNL,
 *   No entries.mutex is taken	the attachments, and an		if something is attached there
 *   under it			expedited grace period
 *
 *   ipcuckoo_attached.lock
 *
 *   the list of attachments	1,024 attachments		device events, which come under RTNL
 *
 *   ipcuckoo_entries.packets
 *
 *   who is the writer of a set	one change of a packet; 16 of	packets that change the set, and
 *   of ip_set, a packet or the	them, or copying 64 slots, by	who locks its contents
 *   holder of entries.mutex	a work item
 *
 *   ipcuckoo_guard.lock
 *
 *   held while entries move	one path of moves		a reader whose look-up was disturbed
 *								too often
 *
 * What belongs to all namespaces is held for a few instructions only: the spinlocks of referral.c
 * and ipset/names.c. Work items of a namespace run in a workqueue of its own, but for those that
 * free memory (mem.c), which wait for nothing. At the end of a namespace the kernel waits for the
 * holders of these locks, and until the memory of its sets is free.
 *
 * All but the last two locks are taken in process context only. A set's name changes under names,
 * entries.mutex and ipcuckoo_net.mutex, and may be read under any one of them. Code that holds none
 * of them, such as the packet path, reads the name with ipcuckoo_set_name().
 */
#ifndef _IPCUCKOO_SET_H
#define _IPCUCKOO_SET_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/rbtree.h>
#include <linux/semaphore.h>
#include <linux/seqlock.h>
#include <linux/stddef.h>
#include <linux/workqueue.h>

#include "entries.h"
#include "ipcuckoo.h"
#include "lookup.h"

struct ipcuckoo_net;
struct ipcuckoo_referral;

/* By whom a set can be claimed, those first who stand back for the others (lock.h). */
enum ipcuckoo_claim {
	IPCUCKOO_CLAIM_REQUEST,
	IPCUCKOO_CLAIM_COMMIT,
	IPCUCKOO_CLAIMS
};

/* Why additions failed. uapi/ipcuckoo.h has an attribute for each reason. */
enum ipcuckoo_failure {
	IPCUCKOO_FAILURE_FULL,		/* ENOSPC */
	IPCUCKOO_FAILURE_COPIES,	/* EMLINK */
	IPCUCKOO_FAILURE_QUOTA,		/* EDQUOT */
	IPCUCKOO_FAILURE_MEMORY,	/* ENOMEM */
	IPCUCKOO_FAILURE_EXIST,		/* EEXIST */
	IPCUCKOO_FAILURE_PENDING,	/* ENOBUFS, of packets' changes to sets of ip_set */
	IPCUCKOO_FAILURES
};

/**
 * struct ipcuckoo_mask - which bits of an address a set looks at
 * @bits:	the mask; for IPv4 in the low half
 * @present:	the set has a mask
 */
struct ipcuckoo_mask {
	struct ipcuckoo_key bits;
	bool present;
};

/**
 * struct ipcuckoo_set - a set
 * @turn:	comes before @entries.mutex (lock.h)
 * @claim:	until when the set is claimed (lock.h), in jiffies; 0: it is not
 * @entries:	its contents; entries.mutex also protects @dead, @hidden, @taken,
 *		@swaps, @gc_at, @gc_last, @trim_seen, and changes of @maxelem
 * @name:	its name, padded with zeros
 * @name_seq:	for readers of @name that hold no lock: ipcuckoo_set_name()
 * @options:	the fields from @type to @description, as a struct ipcuckoo_set_options. Only
 *		@maxelem ever changes. options.c has a table of those that messages carry
 * @type:	enum ipcuckoo_type
 * @family:	enum ipcuckoo_family
 * @forceadd:	an entry added to a full set evicts another entry
 * @netmask:	leading bits that count, if the request had NETMASK
 * @bitmask:	bits that count, as in the request, if it had BITMASK
 * @maxelem:	entries it may hold; 0: no limit
 * @timeout:	default timeout of entries in seconds; 0: they do not expire
 * @exts:	extensions of its entries, enum ipcuckoo_option: those of @entries
 * @shape:	the shape of its filter: that of @entries
 * @mask:	which bits of addresses it looks at; for hash:ip only
 * @description: text for people; NULL if there is none
 * @id:		by which BPF programs find it (ids.h), or 0: in a set of ip_set, or before it is
 *		created and after it was destroyed. Changed under ipcuckoo_net.names; and under all
 *		the mutexes that protect the name, except at these two moments
 * @pernet:	its namespace
 * @gc:		work item of garbage collection, which removes expired entries
 * @gc_at:	the second since boot for which @gc is queued; 0: it is not queued
 * @gc_last:	the second since boot in which @gc last finished a pass
 * @trim_seen:	the generation of the contents when trim.c last looked at it
 * @swaps:	how often the set was swapped with another one
 * @ipset:	of a set of ip_set: its struct ipcuckoo_ipset (ipset/ipset.h); else NULL. ip_set
 *		gives the set its name, and destroys it. The set takes IPv4-mapped addresses for
 *		IPv6 ones. It is in the tree, except while another set there has its name
 * @hidden:	for @ipset: listeners do not know of the set, and get no events about it
 * @taken:	for @ipset: the set is not shown, because a set that is none of ip_set has its name
 * @settle:	for @ipset: bring what packets have added and deleted into the contents, which
 *		are locked
 * @dead:	the set was destroyed; code that still has a reference must not change it
 * @attachments: number of attachments; changed under ipcuckoo_net.mutex
 * @rules:	number of rules of iptables that refer to the set; likewise
 * @referral:	by which these rules find the set (referral.h), or NULL if there are none; likewise
 * @failed:	failed requests to add entries, by reason. Atomic, because additions to
 *		shadows of the set count here too, under another mutex
 * @node:	in ipcuckoo_net.sets, by name; under ipcuckoo_net.mutex
 * @ref:	references: of the tree, of attachments, shadows, dumps, open procfs
 *		files and running requests
 * @rcu:	to free the set after a grace period
 */
struct ipcuckoo_set {
	struct ipcuckoo_entries entries;
	struct semaphore turn;
	unsigned long claim[IPCUCKOO_CLAIMS];
	char name[IPCUCKOO_NAME_SIZE];
	seqcount_t name_seq;

	struct_group_tagged(ipcuckoo_set_options, options, /* those of a request */
		u8 type;
		u8 family;
		bool forceadd;
		u8 netmask;
		u8 bitmask[IPCUCKOO_HOST6_SIZE];
		u32 maxelem;
		u32 timeout;
		u32 exts;
		struct ipcuckoo_filter_shape shape;
		struct ipcuckoo_mask mask;
		const char *description;
	);
	u32 id;
	struct ipcuckoo_net *pernet;
	struct delayed_work gc;
	u32 gc_at;
	u32 gc_last;
	u64 trim_seen;
	u32 swaps;
	void *ipset;
	void (*settle)(void *ipset);
	bool hidden;
	bool taken;
	bool dead;
	unsigned int attachments;
	unsigned int rules;
	struct ipcuckoo_referral *referral;
	atomic64_t failed[IPCUCKOO_FAILURES];
	struct rb_node node;
	struct kref ref;
	struct rcu_head rcu;
};

int ipcuckoo_set_init(void);
void ipcuckoo_set_exit(void);

void ipcuckoo_set_name(const struct ipcuckoo_set *set, char name[IPCUCKOO_NAME_SIZE]);

struct ipcuckoo_set *ipcuckoo_set_alloc(struct ipcuckoo_net *pernet, const char *name,
					const struct ipcuckoo_set_options *options);
void ipcuckoo_set_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set);
int ipcuckoo_set_reserve_filter(struct ipcuckoo_set *set);
void ipcuckoo_set_erase(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set);
struct ipcuckoo_set *ipcuckoo_set_find(struct ipcuckoo_net *pernet,
				       const char *name);
struct ipcuckoo_set *ipcuckoo_set_get(struct ipcuckoo_net *pernet,
				      const char *name);
struct ipcuckoo_set *ipcuckoo_set_next(struct ipcuckoo_net *pernet,
				       const char *name);
struct ipcuckoo_set *ipcuckoo_set_after(struct ipcuckoo_net *pernet,
					const struct ipcuckoo_set *set);
void ipcuckoo_set_put(struct ipcuckoo_set *set);

int ipcuckoo_set_lock(struct ipcuckoo_set *set, unsigned long until);
struct ipcuckoo_set *ipcuckoo_set_get_locked(struct ipcuckoo_net *pernet, const char *name,
					     unsigned long until);
struct ipcuckoo_set *ipcuckoo_set_next_locked(struct ipcuckoo_net *pernet, const char *name,
					      unsigned long until);
void ipcuckoo_set_unlock(struct ipcuckoo_set *set);

int ipcuckoo_set_normalize(const struct ipcuckoo_set *set,
			   struct ipcuckoo_entry *entry);
int ipcuckoo_set_normalize_new(const struct ipcuckoo_set *set, struct ipcuckoo_entry *entry);
bool ipcuckoo_set_deletes(const struct ipcuckoo_set *set);
int ipcuckoo_set_flush(struct ipcuckoo_set *set);
void ipcuckoo_set_replace(struct ipcuckoo_set *set, struct ipcuckoo_entries *scratch);
u32 ipcuckoo_set_limit(const struct ipcuckoo_set *set);
bool ipcuckoo_set_closed(const struct ipcuckoo_set *set);
int ipcuckoo_set_change(struct ipcuckoo_set *set, u32 maxelem);
size_t ipcuckoo_set_memory(struct ipcuckoo_set *set);
bool ipcuckoo_set_hit(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
		      bool v6, unsigned int bytes, u64 *mark);

/* Does an IPv4 address (host byte order) match a set? As for ipcuckoo_entries_match4(). */
static __always_inline bool ipcuckoo_set_match4(struct ipcuckoo_set *set, u32 addr)
{
	return ipcuckoo_entries_match4(&set->entries, addr);
}

/* Is this an IPv4-mapped IPv6 address, and the set's family any? Then IPv4 entries can match it. */
static inline bool ipcuckoo_set_mapped(const struct ipcuckoo_set *set,
				       const struct ipcuckoo_key *addr, bool v6)
{
	return v6 && ipcuckoo_key_mapped(addr) && set->family == IPCUCKOO_FAMILY_ANY;
}

/* Does an IPv6 address match a set? As for ipcuckoo_entries_match6(). */
static __always_inline bool ipcuckoo_set_match6(struct ipcuckoo_set *set,
						const struct ipcuckoo_key *addr)
{
	if (unlikely(ipcuckoo_set_mapped(set, addr, true)))
		return ipcuckoo_entries_match_mapped(&set->entries, addr);
	return ipcuckoo_entries_match6(&set->entries, addr);
}

/* Does an address match a set? BPF programs and rules of iptables look addresses up in sets of the
 * other family, too; attachments do not. A filter does not know families: it would take some
 * addresses of the other one for members.
 */
static inline bool ipcuckoo_set_match(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
				      bool v6)
{
	if (!(set->family & (v6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET)))
		return false;
	return v6 ? ipcuckoo_set_match6(set, addr) : ipcuckoo_set_match4(set, addr->lo);
}

/* Do the entries of a set have records? Then each packet that matches looks its entry up. */
static inline bool ipcuckoo_set_has_records(const struct ipcuckoo_set *set)
{
	return set->entries.options & IPCUCKOO_RECORD_OPTIONS;
}

/* May a set be destroyed? Return: 0, -EBUSY if it is attached, or -EUSERS if rules of iptables
 * refer to it. The answer lasts as long as the caller holds ipcuckoo_net.mutex.
 */
static inline int ipcuckoo_set_unused(const struct ipcuckoo_set *set)
{
	return READ_ONCE(set->attachments) ? -EBUSY : READ_ONCE(set->referral) ? -EUSERS : 0;
}

/* Is this the set of a shadow made with CREATE, which a commit has yet to name? The caller has
 * locked it.
 */
static inline bool ipcuckoo_set_is_new(const struct ipcuckoo_set *set)
{
	/* Commits of other sets move this one's node in the tree, but never make it empty. */
	return data_race(RB_EMPTY_NODE(&set->node)) && !set->dead && !set->ipset;
}

/* Called after a set was locked, and is not dead. */
static inline void ipcuckoo_set_settle(struct ipcuckoo_set *set)
{
	if (set->settle)
		set->settle(set->ipset);
}

/* Mask an address. Callers mask an address before they look it up in a set that has a
 * mask. Chains mark such sets, so that the packet path need not test the others for a
 * mask (struct ipcuckoo_link).
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
