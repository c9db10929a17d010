/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets do with sets: the match "set" and the target "SET" of iptables. */
#ifndef _IPCUCKOO_IPSET_PACKET_H
#define _IPCUCKOO_IPSET_PACKET_H

#include "ipset.h"

int ipcuckoo_ipset_packet(struct ip_set *set, const struct sk_buff *skb,
			  const struct xt_action_param *par, enum ipset_adt adt,
			  struct ip_set_adt_opt *opt);

#endif /* _IPCUCKOO_IPSET_PACKET_H */
