/* SPDX-License-Identifier: GPL-2.0-only */
/* An attachment lets a set act on packets, as its rule says, and counts matches. */
#ifndef _IPCUCKOO_ATTACHMENT_H
#define _IPCUCKOO_ATTACHMENT_H

#include <linux/cache.h>
#include <linux/if.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

#include "ipcuckoo.h"
#include "ports.h"

struct ipcuckoo_attachment;
struct ipcuckoo_mem;
struct ipcuckoo_point;
struct ipcuckoo_set;
struct net;
struct net_device;

/* Larger than any priority that netfilter or nftables has a name for. */
#define IPCUCKOO_PRIORITY_MAX	100000

/**
 * struct ipcuckoo_rule - what an attachment does
 * @place:	enum ipcuckoo_attach_place
 * @dir:	enum ipcuckoo_direction
 * @verdict:	enum ipcuckoo_verdict
 * @loopback:	also for packets of loopback devices
 * @approximate: the request accepts an approximate set; needed for drop and accept
 * @only_new:	only for packets that belong to no established connection
 * @protocol:	only for packets of this protocol to @ports; 0 for all packets
 * @mark:	for IPCUCKOO_VERDICT_MARK
 * @mask:	the bits of the packet's mark that are replaced
 * @order:	attachments run in ascending order
 * @priority:	priority of the netfilter hook
 * @dev:	only for packets of this device; "" for all
 * @log:	logging of samples: the logger (enum ipcuckoo_log; 0 for none), the group of
 *		nflog, the maximum rate per second (0: no limit), and N to log every N-th
 *		match
 * @ports:	with @protocol: destination ports, of which a packet must have one
 */
struct ipcuckoo_rule {
	u8 place;
	u8 dir;
	u8 verdict;
	bool loopback;
	bool approximate;
	bool only_new;
	u8 protocol;
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
	struct ipcuckoo_ports ports;
};

/* Packets and bytes that an attachment matched, on one CPU. */
struct ipcuckoo_counter {
	u64 packets;
	u64 bytes;
	struct u64_stats_sync syncp;
};

/* Number of points at which an attachment can run: for both directions of both families. */
#define IPCUCKOO_RUNS_MAX	4

/**
 * struct ipcuckoo_run - an attachment at one of its points
 * @at:		the attachment
 * @point:	the point (point.c)
 * @list:	in the point's list of attachments
 */
struct ipcuckoo_run {
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_point *point;
	struct list_head list;
};

/**
 * struct ipcuckoo_attachment - a set acting on packets
 * @ifindex:	index of rule.dev; 0 for any device, -1 if no device has that name now
 * @id:		its number; 0 until it is attached
 * @counter:	matches, per CPU
 * @rule:	which packets it acts on, and how
 * @set:	the set, with a reference; under ipcuckoo_net.mutex
 * @detaching:	it is being detached; under ipcuckoo_net.mutex
 * @state:	enum ipcuckoo_attachment_state, but for IPCUCKOO_STATE_NO_PROGRAM, which
 *		ipcuckoo_attachment_state() adds; under ipcuckoo_net.mutex
 * @program:	a program ran at its device when that was looked at last, to notify listeners of
 *		changes; under ipcuckoo_net.mutex
 * @err:	why a hook is missing, if @state is IPCUCKOO_STATE_NO_HOOK
 * @change:	in ipcuckoo_attached.changes, or empty; likewise
 * @runs:	number of its points; under ipcuckoo_net.mutex
 * @run:	its points; likewise
 * @list:	in ipcuckoo_attached.list
 * @mem:	the account to uncharge when it is freed
 * @rcu:	to free it after a grace period
 * @limit:	rate limit of logging. Logged packets write its lock, so it is not in the
 *		cache line that every packet reads
 */
struct ipcuckoo_attachment {
	int ifindex;
	u32 id;
	struct ipcuckoo_counter __percpu *counter;
	struct ipcuckoo_rule rule;

	struct ipcuckoo_set *set ____cacheline_aligned_in_smp;
	bool detaching;
	u8 state;
	bool program;
	int err;
	struct list_head change;
	unsigned int runs;
	struct ipcuckoo_run run[IPCUCKOO_RUNS_MAX];
	struct list_head list;
	struct ipcuckoo_mem *mem;
	struct rcu_head rcu;
	struct ratelimit_state limit;
};

/* Does a rule belong to one device, at its ingress or in XDP? */
static inline bool ipcuckoo_rule_on_device(const struct ipcuckoo_rule *rule)
{
	return rule->place != IPCUCKOO_PLACE_IP;
}

struct ipcuckoo_attachment *ipcuckoo_attachment_alloc(struct ipcuckoo_mem *mem);
void ipcuckoo_attachment_free(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem);
void ipcuckoo_attachment_retire(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem);
bool ipcuckoo_device_has_program(const struct net_device *dev);
bool ipcuckoo_attachment_has_program(const struct ipcuckoo_attachment *at, struct net *net);
u8 ipcuckoo_attachment_state(const struct ipcuckoo_attachment *at, struct net *net);
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at);

#endif /* _IPCUCKOO_ATTACHMENT_H */
