/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of sets: what requests may say about them, how messages carry them, and which
 * of them two sets must have in common. set.h has struct ipcuckoo_set_options.
 */
#ifndef _IPCUCKOO_OPTIONS_H
#define _IPCUCKOO_OPTIONS_H

#include <net/netlink.h>

#include "ipcuckoo.h"

struct ipcuckoo_set;
struct ipcuckoo_set_options;

/* The policies of the requests that have options of sets. */
extern const struct nla_policy ipcuckoo_options_set_new_policy[IPCUCKOO_A_MAX + 1];
extern const struct nla_policy ipcuckoo_options_shadow_new_policy[IPCUCKOO_A_MAX + 1];

struct nlattr *ipcuckoo_options_find(struct nlattr **attrs);
int ipcuckoo_options_parse(struct nlattr **attrs, struct netlink_ext_ack *extack,
			   struct ipcuckoo_set_options *options);
int ipcuckoo_options_fill(struct sk_buff *skb, const struct ipcuckoo_set *set);
bool ipcuckoo_options_same(const struct ipcuckoo_set_options *a,
			   const struct ipcuckoo_set_options *b, bool same_maxelem);

#endif /* _IPCUCKOO_OPTIONS_H */
