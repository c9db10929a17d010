/* SPDX-License-Identifier: GPL-2.0-only */
/* The beginning and the end of sets. */
#ifndef _IPCUCKOO_IPSET_CREATE_H
#define _IPCUCKOO_IPSET_CREATE_H

#include "ipset.h"

int ipcuckoo_ipset_create(struct net *net, struct ip_set *set, bool nets, struct nlattr *tb[],
			  const struct ip_set_type_variant *variant);
bool ipcuckoo_ipset_same(const struct ip_set *a, const struct ip_set *b);
void ipcuckoo_ipset_cancel(struct ip_set *set);
void ipcuckoo_ipset_destroy(struct ip_set *set);

#endif /* _IPCUCKOO_IPSET_CREATE_H */
