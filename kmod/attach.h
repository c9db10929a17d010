/* SPDX-License-Identifier: GPL-2.0-only */
/* Attachments: where sets act on packets, and the netfilter hooks for it. */
#ifndef _IPCUCKOO_ATTACH_H
#define _IPCUCKOO_ATTACH_H

#include <linux/cache.h>
#include <linux/if.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>

struct ipcuckoo_mem;
struct ipcuckoo_net;
struct ipcuckoo_set;

/**
 * struct ipcuckoo_attached - the attachments of a network namespace
 * @list:	all, in the order they run; changed under ipcuckoo_net.mutex and
 *		@lock, read under either
 * @lock:	see set.h
 * @count:	how many
 * @seq:	moves when one comes or goes
 * @id:		the last id given
 * @points:	where they run (point.c)
 * @idle:	hooks that nothing runs at (point.c)
 * @idle_count:	how many
 * @on_devices:	hooks at the ingress of a device, idle or not
 * @retry:	tries to register hooks that could not be
 * @delay:	until the next time, in jiffies
 *
 * @points, @idle and the counts of hooks are under ipcuckoo_net.mutex.
 */
struct ipcuckoo_attached {
	struct list_head list;
	spinlock_t lock;	/* see set.h */
	u32 count;
	u32 seq;
	u32 id;
	struct list_head points;
	struct list_head idle;
	unsigned int idle_count;
	unsigned int on_devices;
	struct delayed_work retry;
	unsigned long delay;
};

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

/**
 * struct ipcuckoo_choice - which attachments are meant
 * @rule:	what they do; 0 and "" stand for any
 * @by_mark:	@rule.mark and @rule.mask count
 * @by_order:	@rule.order counts
 * @by_priority: @rule.priority counts
 */
struct ipcuckoo_choice {
	struct ipcuckoo_rule rule;
	bool by_mark;
	bool by_order;
	bool by_priority;
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
 * @leaving:	it is about to be detached
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
	bool leaving;
	u8 state;
	int err;
	struct list_head list;
	struct ipcuckoo_mem *mem;
	struct rcu_head rcu;
	struct ratelimit_state limit;
};

int ipcuckoo_attach(struct ipcuckoo_net *pernet, const char *name,
		    const struct ipcuckoo_rule *rule, bool replace, u32 *id);
int ipcuckoo_detach(struct ipcuckoo_net *pernet, u32 id, const char *name,
		    const struct ipcuckoo_choice *choice, u32 *count);
int ipcuckoo_attach_exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
			     struct ipcuckoo_set *b);
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at);

void ipcuckoo_attach_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_attach_init(void);
void ipcuckoo_attach_exit(void);

/* Beyond any priority that netfilter or nftables name. */
#define IPCUCKOO_PRIORITY_MAX	100000

extern int ipcuckoo_hook_priority;

#endif /* _IPCUCKOO_ATTACH_H */
