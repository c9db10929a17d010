/* SPDX-License-Identifier: GPL-2.0-only */
/* What packets run: chains of attachments, and the functions that run them. */
#ifndef _IPCUCKOO_HOOK_H
#define _IPCUCKOO_HOOK_H

#include <linux/netfilter.h>
#include <linux/types.h>

struct ipcuckoo_attachment;
struct ipcuckoo_set;
struct xdp_buff;

/* The verdict of a link after which the packet continues with the next one. No verdict of netfilter
 * or of XDP has this value.
 */
#define IPCUCKOO_NO_VERDICT	U32_MAX

/**
 * struct ipcuckoo_link - an attachment in a chain
 * @at:		the attachment
 * @set:	its set. Packets use this, not @at->set: so replacing the chain changes
 *		the sets of all its attachments in one step
 * @verdict:	what netfilter does with packets that match: NF_DROP, NF_ACCEPT or
 *		IPCUCKOO_NO_VERDICT
 * @dir:	enum ipcuckoo_direction; shifted by IPCUCKOO_SPECIAL_SHIFT if the set has a mask,
 *		its entries have records, or the verdict is prefetch, and otherwise by
 *		IPCUCKOO_LIMITED_SHIFT if the rule is for new connections or some ports only.
 *		So a packet makes one test for all of these, and only such links need more
 * @acts:	packets that match are logged or marked
 */
struct ipcuckoo_link {
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_set *set;
	u32 verdict;
	u8 dir;
	bool acts;
};

#define IPCUCKOO_SPECIAL_SHIFT	2
#define IPCUCKOO_LIMITED_SHIFT	4

/**
 * struct ipcuckoo_chain - the attachments that packets run at a hook
 * @rcu:	to free it after a grace period
 * @link:	the attachments, in the order in which they run. Of the last element @at is NULL
 */
struct ipcuckoo_chain {
	struct rcu_head rcu;
	struct ipcuckoo_link link[];
};

/* For nf_hook_ops. @priv points to the pointer to the chain, which is NULL if the hook has
 * no chain.
 */
nf_hookfn ipcuckoo_hook4;
nf_hookfn ipcuckoo_hook6;
nf_hookfn ipcuckoo_hook_out4;
nf_hookfn ipcuckoo_hook_out6;
nf_hookfn ipcuckoo_hook_ingress4;
nf_hookfn ipcuckoo_hook_ingress6;

u32 ipcuckoo_hook_xdp(const struct xdp_buff *xdp);

#endif /* _IPCUCKOO_HOOK_H */
