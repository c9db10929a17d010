/* SPDX-License-Identifier: GPL-2.0-only */
/* Attachments: where sets act on packets, and the netfilter hooks for it. */
#ifndef _IPCUCKOO_ATTACH_H
#define _IPCUCKOO_ATTACH_H

#include <linux/if.h>
#include <linux/netfilter.h>
#include <linux/types.h>

struct ipcuckoo_chain;
struct ipcuckoo_net;
struct ipcuckoo_set;

/* The hooks: two families, two places. */
enum ipcuckoo_hook {
	IPCUCKOO_HOOK_IN4,
	IPCUCKOO_HOOK_IN6,
	IPCUCKOO_HOOK_OUT4,
	IPCUCKOO_HOOK_OUT6,
	IPCUCKOO_HOOKS
};

/**
 * struct ipcuckoo_attached - the attachments of a network namespace
 * @list:	all, in the order they run; changed under ipcuckoo_net.mutex and
 *		@lock, read under either
 * @lock:	see set.h
 * @count:	how many
 * @seq:	moves when one comes or goes
 * @id:		the last id given
 * @chain:	what each hook runs; NULL if it is not registered
 * @ops:	the hooks
 */
struct ipcuckoo_attached {
	struct list_head list;
	spinlock_t lock;	/* see set.h */
	u32 count;
	u32 seq;
	u32 id;
	struct ipcuckoo_chain __rcu *chain[IPCUCKOO_HOOKS];
	struct nf_hook_ops ops[IPCUCKOO_HOOKS];
};

/**
 * struct ipcuckoo_rule - what an attachment does
 * @dir:	enum ipcuckoo_direction
 * @verdict:	enum ipcuckoo_verdict
 * @loopback:	also for packets of loopback devices
 * @approximate: the set may be approximate; needed for drop and accept
 * @mark:	for IPCUCKOO_VERDICT_MARK
 * @mask:	bits of the mark to replace
 * @order:	its place among the attachments
 * @dev:	only for packets of this device; "" for all
 */
struct ipcuckoo_rule {
	u8 dir;
	u8 verdict;
	bool loopback;
	bool approximate;
	u32 mark;
	u32 mask;
	s32 order;
	char dev[IFNAMSIZ];
};

/* Packets and bytes that matched an attachment, on one CPU. */
struct ipcuckoo_counter {
	u64 packets;
	u64 bytes;
};

/**
 * struct ipcuckoo_attachment - a set acting on packets
 * @set:	the set, held; under ipcuckoo_net.mutex
 * @rule:	what it does
 * @ifindex:	of the device: 0 for any, -1 if there is none of that name now
 * @counter:	per CPU
 * @id:		its number
 * @leaving:	it is about to be detached
 * @list:	in ipcuckoo_attached.list
 * @rcu:	to free it
 */
struct ipcuckoo_attachment {
	struct ipcuckoo_set *set;
	struct ipcuckoo_rule rule;
	int ifindex;
	struct ipcuckoo_counter __percpu *counter;
	u32 id;
	bool leaving;
	struct list_head list;
	struct rcu_head rcu;
};

int ipcuckoo_attach(struct ipcuckoo_net *inet, const char *name,
		    const struct ipcuckoo_rule *rule, u32 *id);
int ipcuckoo_detach(struct ipcuckoo_net *inet, u32 id, const char *name,
		    const struct ipcuckoo_rule *rule, u32 *count);
int ipcuckoo_attach_exchange(struct ipcuckoo_net *inet, struct ipcuckoo_set *a,
			     struct ipcuckoo_set *b);
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at);

void ipcuckoo_attach_init_net(struct ipcuckoo_net *inet);
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *inet);
int ipcuckoo_attach_init(void);
void ipcuckoo_attach_exit(void);

extern int ipcuckoo_hook_priority;

#endif /* _IPCUCKOO_ATTACH_H */
