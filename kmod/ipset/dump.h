/* SPDX-License-Identifier: GPL-2.0-only */
/* Dumps of sets: ipset list and ipset save. */
#ifndef _IPCUCKOO_IPSET_DUMP_H
#define _IPCUCKOO_IPSET_DUMP_H

#include "ipset.h"

int ipcuckoo_ipset_head(struct ip_set *set, struct sk_buff *skb);
void ipcuckoo_ipset_hold(struct ip_set *set, struct netlink_callback *cb, bool start);
int ipcuckoo_ipset_list(const struct ip_set *set, struct sk_buff *skb,
			struct netlink_callback *cb);

#endif /* _IPCUCKOO_IPSET_DUMP_H */
