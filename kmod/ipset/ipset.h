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
 * Each set has a struct ipcuckoo_set, which is in no tree and has no hooks, and whose contents are
 * written under its mutex, as those of all other sets. Packets cannot take a mutex. What they add
 * and delete is kept in a small table of pending changes, where other packets look first, until a
 * work item applies it (pending.h, apply.c).
 *
 * Locks, in the order in which they are taken: the mutex of ip_set; ipcuckoo_entries.mutex; then
 * those that set.h lists under it; ipcuckoo_pending.lock before ipcuckoo_guard.lock.
 */
#ifndef _IPCUCKOO_IPSET_H
#define _IPCUCKOO_IPSET_H

#include <linux/netfilter/ipset/ip_set.h>

#include "../set.h"
#include "pending.h"

/**
 * struct ipcuckoo_ipset - what ip_set.data points to
 * @set:	the contents
 * @gone:	the contents are being freed, or were: the set was destroyed, or its namespace has
 *		ended
 * @owner:	the set of ip_set; NULL once that is being destroyed. Under the mutex of ip_set
 * @nets:	the type is hash:net
 * @v6:		the family is inet6
 * @records:	entries have counters, comments or skbinfo
 * @closed:	no elements can be added, as maxelem is 0
 * @pending:	changes by packets
 * @apply:	work item that applies @pending
 * @hashsize:	as given, rounded up to a power of two as ip_set does. We use it for nothing else
 *		than to show it, like the next two
 * @initval:	as given, or a random number
 * @bucketsize:	as given
 * @node:	in the list of all sets of the namespace
 * @free:	work item that frees the set
 */
struct ipcuckoo_ipset {
	struct ipcuckoo_set *set;
	const struct ip_set *owner;
	bool gone;
	bool nets;
	bool v6;
	bool records;
	bool closed;
	struct ipcuckoo_pending pending;

	struct work_struct apply;
	u32 hashsize;
	u32 initval;
	u8 bucketsize;
	struct list_head node;
	struct work_struct free;
};

/* The length of the prefix of a host. */
static inline u8 ipcuckoo_ipset_host_len(const struct ipcuckoo_ipset *s)
{
	return s->v6 ? 128 : 32;
}

static inline struct ipcuckoo_key ipcuckoo_ipset_key6(const struct in6_addr *addr)
{
	return (struct ipcuckoo_key){
		.hi = (u64)ntohl(addr->s6_addr32[0]) << 32 | ntohl(addr->s6_addr32[1]),
		.lo = (u64)ntohl(addr->s6_addr32[2]) << 32 | ntohl(addr->s6_addr32[3]),
	};
}

static inline struct in6_addr ipcuckoo_ipset_in6(const struct ipcuckoo_key *key)
{
	return (struct in6_addr){
		.s6_addr32 = {
			htonl(key->hi >> 32), htonl(key->hi),
			htonl(key->lo >> 32), htonl(key->lo),
		},
	};
}

/* Make an entry the prefix of its address that has the length @len. */
static inline void ipcuckoo_ipset_cut(struct ipcuckoo_entry *entry, u8 len)
{
	unsigned int zero = (entry->v6 ? 128 : 32) - len;

	entry->len = len;
	if (zero >= 64) {
		entry->addr.lo = 0;
		entry->addr.hi &= zero == 128 ? 0 : ~0ULL << (zero - 64);
	} else {
		entry->addr.lo &= ~0ULL << zero;
	}
}

static inline bool ipcuckoo_ipset_is_zero(const struct ipcuckoo_key *key)
{
	return !(key->hi | key->lo);
}

#endif /* _IPCUCKOO_IPSET_H */
