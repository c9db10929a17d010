/* SPDX-License-Identifier: GPL-2.0-only */
/* Attachments: where sets act on packets, and the netfilter hooks for it. */
#ifndef _IPCUCKOO_ATTACH_H
#define _IPCUCKOO_ATTACH_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "attachment.h"

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
 * struct ipcuckoo_attach_selector - which attachments are meant
 * @rule:	what they do; 0 and "" stand for any
 * @by_mark:	@rule.mark and @rule.mask count
 * @by_order:	@rule.order counts
 * @by_priority: @rule.priority counts
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
int ipcuckoo_attach_exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
			     struct ipcuckoo_set *b);

void ipcuckoo_attach_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_attach_init(void);
void ipcuckoo_attach_exit(void);

#endif /* _IPCUCKOO_ATTACH_H */
