/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaching and detaching sets. */
#ifndef _IPCUCKOO_ATTACH_H
#define _IPCUCKOO_ATTACH_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "attachment.h"

struct ipcuckoo_net;
struct ipcuckoo_set;

/* The number of lists of XDP's taps for each family. A namespace can have attachments to four times
 * as many devices, whose indexes mostly follow each other.
 */
#define IPCUCKOO_XDP_LISTS	256

/**
 * struct ipcuckoo_xdp_taps - the taps of XDP of a network namespace
 * @list:	one array of lists for IPv4, one for IPv6. The index of a tap's device says in which
 *		list the tap is: a frame looks for the tap of its device there
 */
struct ipcuckoo_xdp_taps {
	struct hlist_head list[2][IPCUCKOO_XDP_LISTS];
};

/**
 * struct ipcuckoo_attached - the attachments of a network namespace
 * @list:	all, in the order they run; changed under ipcuckoo_net.mutex and
 *		@lock, read under either
 * @lock:	see set.h
 * @count:	length of @list
 * @seq:	incremented when @list or a name in it changes: for dumps
 * @id:		the id of the newest attachment
 * @points:	tree of points: where attachments run (point.c)
 * @changes:	attachments whose chains are not up to date: they are new, being detached, or have
 *		another set
 * @changing:	the points of @changes, while their chains are being replaced
 * @refused:	number of points whose hook could not be registered
 * @news:	the error of such a hook has changed, so the states of attachments are to be stored
 * @idle:	taps that no point uses (point.c)
 * @idle_count:	length of @idle
 * @on_devices:	number of taps of devices, idle ones included
 * @xdp:	the taps of XDP; NULL before there is one. Frames read it under rcu_read_lock()
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
	struct rb_root points;
	struct list_head changes;
	struct list_head changing;
	unsigned int refused;
	bool news;
	struct list_head idle;
	unsigned int idle_count;
	unsigned int on_devices;
	struct ipcuckoo_xdp_taps __rcu *xdp;
	struct delayed_work retry;
	unsigned long delay;
};

/* The list that has the taps of a device, if there are any, for IPv4 or IPv6. */
static inline struct hlist_head *ipcuckoo_xdp_list(struct ipcuckoo_xdp_taps *taps,
						   unsigned int ifindex, bool v6)
{
	return &taps->list[v6][ifindex % IPCUCKOO_XDP_LISTS];
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
