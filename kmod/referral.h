/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Referrals: how rules of iptables find the set that they name. The module xt_ipcuckoo (xt/) is
 * their only user.
 */
#ifndef _IPCUCKOO_REFERRAL_H
#define _IPCUCKOO_REFERRAL_H

#include <linux/atomic.h>
#include <linux/types.h>

struct ipcuckoo_net;
struct ipcuckoo_set;

/**
 * struct ipcuckoo_referral - what all rules share that refer to one name of a set
 * @set:	the set that has the name. Packets read it under rcu_read_lock(). NULL after the
 *		namespace's data has ended; otherwise it changes under ipcuckoo_net.mutex
 * @pernet:	the namespace, or NULL after its data has ended; under a spinlock of referral.c
 * @rules:	how many rules refer to the name
 *
 * Not charged to the account of the namespace, which ends before the last rule may be released.
 */
struct ipcuckoo_referral {
	struct ipcuckoo_set __rcu *set;
	struct ipcuckoo_net *pernet;
	atomic_t rules;
};

struct ipcuckoo_referral *ipcuckoo_referral_get(struct ipcuckoo_net *pernet, const char *name,
						u8 family, bool approximate);
void ipcuckoo_referral_put(struct ipcuckoo_referral *referral);

void ipcuckoo_referral_exchange(struct ipcuckoo_set *a, struct ipcuckoo_set *b);
void ipcuckoo_referral_publish(struct ipcuckoo_set *set);
void ipcuckoo_referral_exit_net(struct ipcuckoo_net *pernet);

#endif /* _IPCUCKOO_REFERRAL_H */
