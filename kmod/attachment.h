/* SPDX-License-Identifier: GPL-2.0-only */
/* Attachments: each lets a set act on packets, as its rule says, and counts matches. */
#ifndef _IPCUCKOO_ATTACHMENT_H
#define _IPCUCKOO_ATTACHMENT_H

#include <linux/cache.h>
#include <linux/if.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

struct ipcuckoo_mem;
struct ipcuckoo_set;

/* Beyond any priority that netfilter or nftables name. */
#define IPCUCKOO_PRIORITY_MAX	100000

/**
 * struct ipcuckoo_rule - what an attachment does
 * @place:	enum ipcuckoo_attach_place
 * @dir:	enum ipcuckoo_direction
 * @verdict:	enum ipcuckoo_verdict
 * @loopback:	also for packets of loopback devices
 * @approximate: the set may be approximate; needed for drop and accept
 * @mark:	for IPCUCKOO_VERDICT_MARK
 * @mask:	bits of the mark to replace
 * @order:	its place among the attachments
 * @priority:	of the netfilter hook
 * @dev:	only for packets of this device; "" for all
 * @log:	samples of what matches: where to, the group of nflog, how many a
 *		second at most (0: any number), and which: every N-th
 */
struct ipcuckoo_rule {
	u8 place;
	u8 dir;
	u8 verdict;
	bool loopback;
	bool approximate;
	u32 mark;
	u32 mask;
	s32 order;
	s32 priority;
	char dev[IFNAMSIZ];
	struct {
		u8 to;
		u16 group;
		u32 rate;
		u32 every;
	} log;
};

/* Packets and bytes that matched an attachment, on one CPU. */
struct ipcuckoo_counter {
	u64 packets;
	u64 bytes;
	struct u64_stats_sync syncp;
};

/**
 * struct ipcuckoo_attachment - a set acting on packets
 * @ifindex:	of the device: 0 for any, -1 if there is none of that name now
 * @id:		its number
 * @counter:	per CPU
 * @rule:	what it does
 * @set:	the set, held; under ipcuckoo_net.mutex
 * @detaching:	it is about to be detached
 * @state:	enum ipcuckoo_attachment_state; under ipcuckoo_net.mutex
 * @err:	why a hook is missing, if @state is IPCUCKOO_STATE_NO_HOOK
 * @list:	in ipcuckoo_attached.list
 * @mem:	the account it was charged to, for freeing it
 * @rcu:	to free it
 * @limit:	of what is logged; has a lock, which packets write that are logged,
 *		hence apart from what every packet reads
 */
struct ipcuckoo_attachment {
	int ifindex;
	u32 id;
	struct ipcuckoo_counter __percpu *counter;
	struct ipcuckoo_rule rule;

	struct ipcuckoo_set *set ____cacheline_aligned_in_smp;
	bool detaching;
	u8 state;
	int err;
	struct list_head list;
	struct ipcuckoo_mem *mem;
	struct rcu_head rcu;
	struct ratelimit_state limit;
};

struct ipcuckoo_attachment *ipcuckoo_attachment_alloc(struct ipcuckoo_mem *mem);
void ipcuckoo_attachment_free(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem);
void ipcuckoo_attachment_retire(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem);
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at);

#endif /* _IPCUCKOO_ATTACHMENT_H */
