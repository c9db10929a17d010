/* SPDX-License-Identifier: GPL-2.0-only */
/* Taps: what calls the chain of a point. point.c explains them. */
#ifndef _IPCUCKOO_TAP_H
#define _IPCUCKOO_TAP_H

#include <linux/list.h>
#include <linux/netfilter.h>
#include <linux/types.h>

#include "ipcuckoo.h"

struct ipcuckoo_chain;
struct ipcuckoo_net;
struct net_device;

/* The hooks at which attachments can run: those of netfilter, and what programs of XDP call. */
enum ipcuckoo_hook {
	IPCUCKOO_HOOK_IN4,
	IPCUCKOO_HOOK_IN6,
	IPCUCKOO_HOOK_OUT4,
	IPCUCKOO_HOOK_OUT6,
	IPCUCKOO_HOOK_INGRESS4,
	IPCUCKOO_HOOK_INGRESS6,
	IPCUCKOO_HOOK_XDP4,
	IPCUCKOO_HOOK_XDP6,
	IPCUCKOO_HOOKS
};

/**
 * struct ipcuckoo_tap - a netfilter hook that is registered, or a device at XDP
 * @chain:	the chain that packets run; if NULL, they are accepted
 * @ops:	what netfilter registered; of XDP only the device
 * @hook:	which netfilter hook
 * @list:	in ipcuckoo_attached.idle, while no point uses the tap
 * @node:	of XDP: in ipcuckoo_attached.xdp
 * @rcu:	to free it after a grace period
 */
struct ipcuckoo_tap {
	struct ipcuckoo_chain __rcu *chain;
	struct nf_hook_ops ops;
	enum ipcuckoo_hook hook;
	struct list_head list;
	struct hlist_node node;
	struct rcu_head rcu;
};

/**
 * struct ipcuckoo_hook_kind - which attachments run at a hook, and how it is registered
 * @place:	enum ipcuckoo_attach_place
 * @pf:		family of netfilter; unused for XDP, as are @hooknum and @fn
 * @hooknum:	hook of netfilter
 * @family:	enum ipcuckoo_family
 * @dirs:	enum ipcuckoo_direction
 * @fn:		what netfilter calls
 */
struct ipcuckoo_hook_kind {
	u8 place;
	u8 pf;
	u8 hooknum;
	u8 family;
	u8 dirs;
	nf_hookfn *fn;
};

extern const struct ipcuckoo_hook_kind ipcuckoo_hooks[IPCUCKOO_HOOKS];

static inline bool ipcuckoo_hook_on_device(enum ipcuckoo_hook hook)
{
	return ipcuckoo_hooks[hook].place != IPCUCKOO_PLACE_IP;
}

struct ipcuckoo_tap *ipcuckoo_tap_get(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
				      int priority, struct net_device *dev);
void ipcuckoo_tap_put(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap);
void ipcuckoo_tap_free_idle(struct ipcuckoo_net *pernet, const struct net_device *dev);
void ipcuckoo_tap_limit_idle(struct ipcuckoo_net *pernet);
void ipcuckoo_tap_exit_net(struct ipcuckoo_net *pernet);

#endif /* _IPCUCKOO_TAP_H */
