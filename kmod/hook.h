/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets run: chains of attachments, and the functions that run them. */
#ifndef _IPCUCKOO_HOOK_H
#define _IPCUCKOO_HOOK_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct ipcuckoo_attachment;
struct ipcuckoo_set;

/**
 * struct ipcuckoo_link - an attachment in a chain
 * @at:		the attachment
 * @set:	the set it looks in: packets go by this, not by @at->set, so that
 *		all attachments change their sets in one step, with the chain
 * @dir:	its direction, or, if the set has a mask, that shifted by
 *		IPCUCKOO_MASKED_SHIFT: sets without are not asked for one
 */
struct ipcuckoo_link {
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_set *set;
	u8 dir;
};

#define IPCUCKOO_MASKED_SHIFT	2

/**
 * struct ipcuckoo_chain - what a hook runs
 * @rcu:	to free it
 * @count:	attachments
 * @link:	in order
 */
struct ipcuckoo_chain {
	struct rcu_head rcu;
	unsigned int count;
	struct ipcuckoo_link link[];
};

/* For nf_hook_ops: @priv is where the pointer to the chain is, NULL for none. */
nf_hookfn ipcuckoo_hook4;
nf_hookfn ipcuckoo_hook6;
nf_hookfn ipcuckoo_hook_out4;
nf_hookfn ipcuckoo_hook_out6;
nf_hookfn ipcuckoo_hook_ingress4;
nf_hookfn ipcuckoo_hook_ingress6;

#endif /* _IPCUCKOO_HOOK_H */
