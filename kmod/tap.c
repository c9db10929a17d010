// SPDX-License-Identifier: GPL-2.0-only
/* Taps: see point.c. */
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "attach.h"
#include "hook.h"
#include "net.h"
#include "tap.h"

/* Maximum number of idle taps in a namespace. Each costs every packet that passes its
 * hook a function call.
 */
#define IDLE_MAX	64

const struct ipcuckoo_hook_kind ipcuckoo_hooks[IPCUCKOO_HOOKS] = {
	[IPCUCKOO_HOOK_IN4] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV4, NF_INET_PRE_ROUTING,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_BOTH, ipcuckoo_hook4,
	},
	[IPCUCKOO_HOOK_IN6] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV6, NF_INET_PRE_ROUTING,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_BOTH, ipcuckoo_hook6,
	},
	[IPCUCKOO_HOOK_OUT4] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV4, NF_INET_LOCAL_OUT,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_DST, ipcuckoo_hook_out4,
	},
	[IPCUCKOO_HOOK_OUT6] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV6, NF_INET_LOCAL_OUT,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_DST, ipcuckoo_hook_out6,
	},
	[IPCUCKOO_HOOK_INGRESS4] = {
		IPCUCKOO_PLACE_INGRESS, NFPROTO_NETDEV, NF_NETDEV_INGRESS,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_BOTH, ipcuckoo_hook_ingress4,
	},
	[IPCUCKOO_HOOK_INGRESS6] = {
		IPCUCKOO_PLACE_INGRESS, NFPROTO_NETDEV, NF_NETDEV_INGRESS,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_BOTH, ipcuckoo_hook_ingress6,
	},
	[IPCUCKOO_HOOK_XDP4] = {
		.place = IPCUCKOO_PLACE_XDP, .family = IPCUCKOO_FAMILY_INET,
		.dirs = IPCUCKOO_DIR_BOTH,
	},
	[IPCUCKOO_HOOK_XDP6] = {
		.place = IPCUCKOO_PLACE_XDP, .family = IPCUCKOO_FAMILY_INET6,
		.dirs = IPCUCKOO_DIR_BOTH,
	},
};

static bool is_xdp(const struct ipcuckoo_tap *tap)
{
	return ipcuckoo_hooks[tap->hook].place == IPCUCKOO_PLACE_XDP;
}

/* Let programs find a tap by its device. */
static int register_xdp(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	struct ipcuckoo_xdp_taps *taps = rcu_dereference_protected(pernet->attached.xdp,
								   lockdep_is_held(&pernet->mutex));

	if (!taps) {
		taps = kzalloc(sizeof(*taps), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!taps)
			return -ENOMEM;
		rcu_assign_pointer(pernet->attached.xdp, taps);
	}
	hlist_add_head_rcu(&tap->node,
			   ipcuckoo_xdp_list(taps, tap->ops.dev->ifindex,
					     ipcuckoo_hooks[tap->hook].family ==
					     IPCUCKOO_FAMILY_INET6));
	return 0;
}

static int register_tap(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	return is_xdp(tap) ? register_xdp(pernet, tap) :
			     nf_register_net_hook(pernet->net, &tap->ops);
}

static void unregister_tap(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	if (is_xdp(tap))
		hlist_del_rcu(&tap->node);
	else
		nf_unregister_net_hook(pernet->net, &tap->ops);
}

static struct ipcuckoo_tap *create_tap(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
				       int priority, struct net_device *dev)
{
	struct ipcuckoo_tap *tap = kzalloc(sizeof(*tap), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	int err;

	if (!tap)
		return ERR_PTR(-ENOMEM);
	tap->hook = hook;
	tap->ops.hook = ipcuckoo_hooks[hook].fn;
	tap->ops.priv = &tap->chain;
	tap->ops.pf = ipcuckoo_hooks[hook].pf;
	tap->ops.hooknum = ipcuckoo_hooks[hook].hooknum;
	tap->ops.priority = priority;
	tap->ops.dev = dev;
	err = register_tap(pernet, tap);
	if (err) {
		kfree(tap);
		return ERR_PTR(err);
	}
	WRITE_ONCE(pernet->attached.on_devices, pernet->attached.on_devices + !!dev);
	return tap;
}

/* Unregister and free a tap. Packets may still read tap->chain for one grace period, which begins
 * when netfilter, or the list of XDP's taps, has forgotten the tap.
 */
static void free_tap(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	unregister_tap(pernet, tap);
	WRITE_ONCE(pernet->attached.on_devices,
		   pernet->attached.on_devices - !!tap->ops.dev);
	kfree_rcu(tap, rcu);
}

static void free_idle(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	list_del(&tap->list);
	pernet->attached.idle_count--;
	free_tap(pernet, tap);
}

static struct ipcuckoo_tap *take_idle(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
				      int priority, const struct net_device *dev)
{
	struct ipcuckoo_tap *tap;

	list_for_each_entry(tap, &pernet->attached.idle, list) {
		if (tap->hook != hook || tap->ops.dev != dev ||
		    tap->ops.priority != priority)
			continue;
		list_del(&tap->list);
		pernet->attached.idle_count--;
		return tap;
	}
	return NULL;
}

/**
 * ipcuckoo_tap_get() - get a tap, an idle one if there is one
 * @pernet:	namespace, whose mutex is held
 * @hook:	its hook
 * @priority:	its priority
 * @dev:	its device, under RTNL; NULL if the hook is not on a device
 *
 * Return: a tap that has no chain; or ERR_PTR(-ENOMEM), or an error of nf_register_net_hook().
 */
struct ipcuckoo_tap *ipcuckoo_tap_get(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
				      int priority, struct net_device *dev)
{
	return take_idle(pernet, hook, priority, dev) ?: create_tap(pernet, hook, priority, dev);
}

/**
 * ipcuckoo_tap_put() - make a tap idle
 * @pernet:	namespace, whose mutex is held
 * @tap:	tap. Packets may still run its chain for one grace period
 */
void ipcuckoo_tap_put(struct ipcuckoo_net *pernet, struct ipcuckoo_tap *tap)
{
	RCU_INIT_POINTER(tap->chain, NULL);
	list_add(&tap->list, &pernet->attached.idle);
	pernet->attached.idle_count++;
}

/**
 * ipcuckoo_tap_free_idle() - unregister idle taps
 * @pernet:	namespace, whose mutex is held
 * @dev:	those of this device only, under RTNL; NULL for all
 */
void ipcuckoo_tap_free_idle(struct ipcuckoo_net *pernet, const struct net_device *dev)
{
	struct ipcuckoo_tap *tap, *next;

	list_for_each_entry_safe(tap, next, &pernet->attached.idle, list)
		if (!dev || tap->ops.dev == dev)
			free_idle(pernet, tap);
}

/**
 * ipcuckoo_tap_limit_idle() - unregister the idle taps if there are too many
 * @pernet:	namespace, whose mutex is held
 */
void ipcuckoo_tap_limit_idle(struct ipcuckoo_net *pernet)
{
	if (pernet->attached.idle_count > IDLE_MAX)
		ipcuckoo_tap_free_idle(pernet, NULL);
}

/**
 * ipcuckoo_tap_exit_net() - free the lists of XDP taps of a namespace that ends
 * @pernet:	namespace; no frame reads the lists, as its taps were unregistered a
 *		grace period ago
 */
void ipcuckoo_tap_exit_net(struct ipcuckoo_net *pernet)
{
	kfree(rcu_dereference_protected(pernet->attached.xdp, true));
}
