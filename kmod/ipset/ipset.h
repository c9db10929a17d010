/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of the kernel's ip_set: the types hash:ip and hash:net, in our tables.
 *
 * The module ipcuckoo_ipset registers these types with the core of ip_set, in the place of the
 * kernel's own modules ip_set_hash_ip and ip_set_hash_net. What ipset, iptables and others do with
 * sets goes through the core, which calls the functions of a type:
 *
 *   create		user space, under the mutex of ip_set: create.c
 *   uadt		user space adds, deletes or tests; under the same mutex: request.c
 *   kadt		a packet tests, adds or deletes; in softirq: packet.c
 *   head, list, uref	a dump; process context: dump.c
 *   flush		user space, under the mutex: request.c
 *   cancel_gc, destroy	the end of a set: create.c. destroy must not sleep
 *
 * Each set has a struct ipcuckoo_set, whose contents processes change under its mutex, as those of
 * all other sets. Packets cannot take a mutex. They change the contents under the spinlock
 * ipcuckoo_entries.packets, while no process has the mutex. What they cannot add or delete at once,
 * because a process has it, or because a table has no room, is kept in a small table of pending
 * changes, where other packets look first, until a work item applies it (pending.h, apply.c). The
 * struct ipcuckoo_set is in the tree of names of the module ipcuckoo, too, so that the tool
 * ipcuckoo finds it (names.h).
 *
 * Locks, in the order in which they are taken: the mutex of ip_set; ipset_net.lock of names.c;
 * ipcuckoo_entries.mutex and those that set.h lists under it. ipcuckoo_net.names is not taken under
 * the mutex of ip_set.
 *
 * The mutex of ip_set is one for all namespaces. So a request that adds or deletes waits under it
 * for a limited time only (request.c), and destroying a set does not wait at all. A flush, and the
 * first part of a list, wait until a writer of that one set is done.
 */
#ifndef _IPCUCKOO_IPSET_H
#define _IPCUCKOO_IPSET_H

#include <linux/netfilter/ipset/ip_set.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "../set.h"
#include "pending.h"

/**
 * struct ipcuckoo_ipset - what ip_set.data points to
 * @set:	the contents
 * @ref:	references: of ip_set, and of the list of sets
 * @gone:	the contents are being freed, or were: the set was destroyed, or its namespace has
 *		ended
 * @owner:	the set of ip_set; NULL once that is being destroyed. See struct ipset_net
 * @nets:	the type is hash:net
 * @v6:		the family is inet6
 * @records:	entries have counters, comments or skbinfo
 * @pending:	changes by packets
 * @apply:	work item that applies @pending
 * @hashsize:	as given, rounded up to a power of two as ip_set does. We use it for nothing else
 *		than to show it, like the next two
 * @initval:	as given, or a random number
 * @bucketsize:	as given
 * @node:	in the list of all sets of the namespace
 * @free:	work item that frees the contents
 */
struct ipcuckoo_ipset {
	struct ipcuckoo_set *set;
	const struct ip_set *owner;
	refcount_t ref;
	bool gone;
	bool nets;
	bool v6;
	bool records;
	struct ipcuckoo_pending pending;

	struct work_struct apply;
	u32 hashsize;
	u32 initval;
	u8 bucketsize;
	struct list_head node;
	struct work_struct free;
};

/* What a struct ipcuckoo_ipset takes: it is charged to the account of the namespace. */
static inline size_t ipcuckoo_ipset_size(void)
{
	return kmalloc_size_roundup(sizeof(struct ipcuckoo_ipset));
}

static inline void ipcuckoo_ipset_put(struct ipcuckoo_ipset *s)
{
	if (refcount_dec_and_test(&s->ref))
		kfree(s);
}

/* The length of the prefix of a host. */
static inline u8 ipcuckoo_ipset_host_len(const struct ipcuckoo_ipset *s)
{
	return s->v6 ? 128 : 32;
}

/* The number of elements that the set may have. In ip_set, 0 means none, and not "no limit". */
static inline u32 ipcuckoo_ipset_maxelem(const struct ipcuckoo_ipset *s)
{
	return READ_ONCE(s->set->maxelem);
}

/* Make an entry the prefix of its address that has the length @len. */
static inline void ipcuckoo_ipset_cut(struct ipcuckoo_entry *entry, u8 len)
{
	const struct ipcuckoo_key mask = ipcuckoo_prefix_mask(len, entry->v6);

	entry->len = len;
	entry->addr.hi &= mask.hi;
	entry->addr.lo &= mask.lo;
}

/* Set the bits of an address to zero that the set does not look at. */
static inline void ipcuckoo_ipset_mask(const struct ipcuckoo_ipset *s, struct ipcuckoo_key *addr)
{
	if (s->set->mask.present)
		*addr = ipcuckoo_mask_key(&s->set->mask, addr);
}

static inline bool ipcuckoo_ipset_is_zero(const struct ipcuckoo_key *key)
{
	return !(key->hi | key->lo);
}

#endif /* _IPCUCKOO_IPSET_H */
