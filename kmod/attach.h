/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaching and detaching sets. */
#ifndef _IPCUCKOO_ATTACH_H
#define _IPCUCKOO_ATTACH_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "attachment.h"

struct ipcuckoo_net;
struct ipcuckoo_set;

/* The number of lists of XDP's taps. Few machines attach sets to more devices in XDP. */
#define IPCUCKOO_XDP_LISTS	8

/**
 * struct ipcuckoo_attached - the attachments of a network namespace
 * @list:	all, in the order they run; changed under ipcuckoo_net.mutex and
 *		@lock, read under either
 * @lock:	see set.h
 * @count:	length of @list
 * @seq:	incremented when @list or a name in it changes: for dumps
 * @id:		the id of the newest attachment
 * @points:	where attachments run (point.c)
 * @idle:	taps that no point uses (point.c)
 * @idle_count:	length of @idle
 * @on_devices:	number of taps of devices, idle ones included
 * @xdp:	for IPv4 and IPv6: the taps of XDP, in lists by the index of their device. Packets
 *		read them under rcu_read_lock()
 * @retry:	work item that tries again to register hooks
 * @delay:	jiffies until @retry runs again
 *
 * All fields change under ipcuckoo_net.mutex; @list also under @lock.
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
	struct hlist_head xdp[2][IPCUCKOO_XDP_LISTS];
	struct delayed_work retry;
	unsigned long delay;
};

/* The list that has the XDP tap of a device, if there is one, for IPv4 or IPv6. */
static inline struct hlist_head *ipcuckoo_xdp_taps(struct ipcuckoo_attached *attached,
						   unsigned int ifindex, bool v6)
{
	return &attached->xdp[v6][ifindex % IPCUCKOO_XDP_LISTS];
}

/**
 * struct ipcuckoo_attach_selector - which attachments to detach
 * @rule:	those with the same rule; a field that is 0 or "" matches any value
 * @by_mark:	compare @rule.mark and @rule.mask
 * @by_order:	compare @rule.order
 * @by_priority: compare @rule.priority
 */
struct ipcuckoo_attach_selector {
	struct ipcuckoo_rule rule;
	bool by_mark;
	bool by_order;
	bool by_priority;
};

int ipcuckoo_attach(struct ipcuckoo_net *pernet, const char *name,
		    const struct ipcuckoo_rule *rule, bool replace, u32 *id);
int ipcuckoo_detach(struct ipcuckoo_net *pernet, u32 id, const char *name,
		    const struct ipcuckoo_attach_selector *selector, u32 *count);

/* For commits: see commit.c. */
struct ipcuckoo_attachment *ipcuckoo_attach_prepare(struct ipcuckoo_net *pernet,
						    const struct ipcuckoo_rule *rule);
void ipcuckoo_attach_discard(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at);
int ipcuckoo_attach_add(struct ipcuckoo_net *pernet, const char *name,
			struct ipcuckoo_attachment *at);
void ipcuckoo_attach_remove(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at);
void ipcuckoo_attach_announce(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at,
			      const char *name);
void ipcuckoo_attach_exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
			      struct ipcuckoo_set *b);

void ipcuckoo_attach_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_attach_init(void);
void ipcuckoo_attach_exit(void);

#endif /* _IPCUCKOO_ATTACH_H */
