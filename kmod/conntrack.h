/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection tracking, for attachments that act on new connections only. */
#ifndef _IPCUCKOO_CONNTRACK_H
#define _IPCUCKOO_CONNTRACK_H

#include <linux/skbuff.h>
#include <net/netfilter/nf_conntrack.h>

struct ipcuckoo_net;

int ipcuckoo_conntrack_check(void);
int ipcuckoo_conntrack_begin(struct ipcuckoo_net *pernet);
void ipcuckoo_conntrack_end(struct ipcuckoo_net *pernet);

/* Does a packet belong to no established connection, and is it related to none? Yes also for a
 * packet that is not tracked.
 */
static inline bool ipcuckoo_conntrack_is_new(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;

	return !nf_ct_get(skb, &info) || info == IP_CT_NEW;
#else
	return true;
#endif
}

#endif /* _IPCUCKOO_CONNTRACK_H */
