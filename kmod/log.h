/* SPDX-License-Identifier: GPL-2.0-only */
/* Logs samples of the packets that match an attachment, to the kernel log or to nflog. */
#ifndef _IPCUCKOO_LOG_H
#define _IPCUCKOO_LOG_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct ipcuckoo_attachment;
struct ipcuckoo_rule;
struct ipcuckoo_set;
struct sk_buff;

int ipcuckoo_log_get(const struct ipcuckoo_rule *rule);
void ipcuckoo_log_put(const struct ipcuckoo_rule *rule);
bool ipcuckoo_log_due(struct ipcuckoo_attachment *at, u64 packets);
void ipcuckoo_log(const struct ipcuckoo_attachment *at, const struct ipcuckoo_set *set,
		  const struct sk_buff *skb, const struct nf_hook_state *state);

#endif /* _IPCUCKOO_LOG_H */
