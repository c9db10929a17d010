/* SPDX-License-Identifier: GPL-2.0-only */
/* The set of ipset that bare.c looks up in, and change.c changes. */
#ifndef _IPCUCKOO_LAB_IPSET_H
#define _IPCUCKOO_LAB_IPSET_H

#include <linux/netfilter/ipset/ip_set.h>

#include "lab.h"

/* The set, and a packet whose addresses are looked up */
extern ip_set_id_t lab_ipset_index;
extern struct sk_buff *lab_ipset_skb;

int lab_ipset_begin(const struct lab_run *run);
u32 lab_ipset_chunk(const struct lab_run *run);
void lab_ipset_end(void);

#endif /* _IPCUCKOO_LAB_IPSET_H */
