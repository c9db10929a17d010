// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Points, chains and taps
 *
 * A *point* is where attachments run together: a netfilter hook, a priority, and at
 * ingress the name of a device; or XDP at a device. A point has a chain, an array of its
 * attachments in order (hook.h). A chain is never changed: attaching and detaching replace
 * it. A point exists as long as something is attached to it.
 *
 * A *tap* is a netfilter hook that the module has registered. A packet finds the chain
 * through a pointer in the tap, under rcu_read_lock(), which netfilter holds. A tap of XDP
 * is no netfilter hook: the BPF program at the device finds it by the device's index, and
 * the function that it calls takes rcu_read_lock(). A point has no tap if, at ingress and
 * XDP, no device has that name now, or if registering the hook failed. Then the state of
 * its attachments says so (refresh()). A failed registration is tried again at some later
 * changes, and by retry() after a delay that grows.
 *
 * When the last attachment of a point is detached, its tap stays registered but idle: its
 * chain is NULL, and each packet pays one test for it. The reason is that unregistering
 * any hook makes netfilter drop all packets of the namespace that wait in an NFQUEUE
 * (nf_queue_nf_hook_drop()), even those that an IPS is about to accept. The next point
 * with the same hook, priority and device takes the idle tap. Idle taps are unregistered
 * when
 *
 *   - there are more than IDLE_MAX of them (users choose the priorities, so there could
 *     be any number),
 *   - their device is unregistered, which must not outlive the device,
 *   - the namespace ends, or the module is unloaded.
 *
 * So in a namespace where nothing was ever attached no hook is registered, and its
 * packets pay nothing for the module.
 *
 * ipcuckoo_net.mutex protects all of this. A tap at ingress is registered under RTNL too,
 * so that its device cannot be unregistering at that moment. As long as the tap exists,
 * so does the device: for each device that is unregistered, the kernel calls
 * ipcuckoo_points_follow() under RTNL, which unregisters the tap. RTNL is taken before
 * the mutex.
 */
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "attach.h"
#include "event.h"
#include "hook.h"
#include "net.h"
#include "point.h"
#include "set.h"
#include "tap.h"

/* Delay, in jiffies, before retry() tries again to register hooks. */
#define RETRY_MIN	HZ
#define RETRY_MAX	(64 * HZ)

/**
 * struct point - where attachments run together
 * @tap:	its tap, or NULL
 * @chain:	the chain that packets run; NULL until the first ipcuckoo_points_publish()
 * @next:	the chain that ipcuckoo_points_prepare() has made to replace @chain; NULL at
 *		other times, or if no attachment will run here
 * @hook:	which netfilter hook
 * @priority:	its priority
 * @dev:	at ingress and XDP, the name of the device, else ""
 * @err:	why registering the tap failed; 0 if there is a tap, or no device
 * @list:	in ipcuckoo_attached.points
 */
struct point {
	struct ipcuckoo_tap *tap;
	struct ipcuckoo_chain *chain;
	struct ipcuckoo_chain *next;
	enum ipcuckoo_hook hook;
	int priority;
	char dev[IFNAMSIZ];
	int err;
	struct list_head list;
};

static bool is_registered(const struct net_device *dev)
{
	/* If this races with unregistering the device, a device event follows and corrects
	 * the result. reg_state is a bit-field in some kernels: no READ_ONCE().
	 */
	return data_race(dev->reg_state) == NETREG_REGISTERED;
}

/**
 * ipcuckoo_point_device() - find a device by name
 * @net:	namespace
 * @name:	its name, or an alternative name
 * @going:	a device that is being unregistered, which is not to be found; or NULL
 *
 * Kernels before 6.6 that lack a later fix still find a device by its alternative names
 * while it is being unregistered, or after it moved to another namespace. So this
 * function checks for both.
 *
 * Context: under RTNL or rcu_read_lock().
 * Return: the device or NULL.
 */
struct net_device *ipcuckoo_point_device(struct net *net, const char *name,
					 const struct net_device *going)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, name);
	if (dev && (dev == going || !net_eq(dev_net(dev), net) || !is_registered(dev)))
		dev = NULL;
	rcu_read_unlock();
	return dev;
}

/* Points */

/* Give a point a tap, so that packets run its chain. Does nothing at ingress if there is
 * no device, or only @going, which is being unregistered (or NULL).
 *
 * Context: under RTNL if the point is at ingress.
 * Return: 0 or an error, which point->err has too.
 */
static int connect_point(struct ipcuckoo_net *pernet, struct point *point,
			 const struct net_device *going)
{
	struct net_device *dev = NULL;
	struct ipcuckoo_tap *tap;

	point->err = 0;
	if (ipcuckoo_hook_on_device(point->hook)) {
		ASSERT_RTNL();
		dev = ipcuckoo_point_device(pernet->net, point->dev, going);
		if (!dev)
			return 0;
	}
	tap = ipcuckoo_tap_get(pernet, point->hook, point->priority, dev);
	if (IS_ERR(tap)) {
		point->err = PTR_ERR(tap);
		return point->err;
	}
	rcu_assign_pointer(tap->chain, point->chain);
	point->tap = tap;
	return 0;
}

/* Make the tap of a point idle. Packets may still run the chain for one grace period. */
static void disconnect_point(struct ipcuckoo_net *pernet, struct point *point)
{
	if (!point->tap)
		return;
	ipcuckoo_tap_put(pernet, point->tap);
	point->tap = NULL;
}

static bool is_xdp(const struct point *point)
{
	return ipcuckoo_hooks[point->hook].place == IPCUCKOO_PLACE_XDP;
}

static bool runs_at(const struct ipcuckoo_attachment *at, enum ipcuckoo_hook hook)
{
	return !at->detaching && at->rule.place == ipcuckoo_hooks[hook].place &&
	       at->set->family & ipcuckoo_hooks[hook].family &&
	       at->rule.dir & ipcuckoo_hooks[hook].dirs;
}

static bool runs_in(const struct ipcuckoo_attachment *at, const struct point *point)
{
	return runs_at(at, point->hook) && at->rule.priority == point->priority &&
	       (!ipcuckoo_hook_on_device(point->hook) || !strcmp(at->rule.dev, point->dev));
}

static int create_point(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
			const struct ipcuckoo_attachment *at)
{
	struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list)
		if (point->hook == hook && runs_in(at, point))
			return 0;
	point = kzalloc(sizeof(*point), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!point)
		return -ENOMEM;
	point->hook = hook;
	point->priority = at->rule.priority;
	if (ipcuckoo_hook_on_device(hook))
		strscpy(point->dev, at->rule.dev, sizeof(point->dev));
	list_add_tail(&point->list, &pernet->attached.points);
	return 0;
}

/* Create the points that the attachments in the list need and that do not exist. */
static int create_points(struct ipcuckoo_net *pernet)
{
	const struct ipcuckoo_attachment *at;
	int hook, err;

	list_for_each_entry(at, &pernet->attached.list, list) {
		for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
			err = runs_at(at, hook) ? create_point(pernet, hook, at) : 0;
			if (err)
				return err;
		}
	}
	return 0;
}

static void free_point(struct ipcuckoo_net *pernet, struct point *point)
{
	disconnect_point(pernet, point);
	list_del(&point->list);
	kfree(point);
}

/* Chains */

/* What netfilter does with a packet that matches. */
static u32 verdict_of(const struct ipcuckoo_rule *rule)
{
	switch (rule->verdict) {
	case IPCUCKOO_VERDICT_DROP:
		return NF_DROP;
	case IPCUCKOO_VERDICT_ACCEPT:
		return NF_ACCEPT;
	default:
		return IPCUCKOO_NO_VERDICT;
	}
}

static struct ipcuckoo_link make_link(struct ipcuckoo_attachment *at)
{
	const struct ipcuckoo_rule *rule = &at->rule;
	bool special = at->set->mask.present || ipcuckoo_set_has_records(at->set) ||
		       rule->verdict == IPCUCKOO_VERDICT_PREFETCH;

	return (struct ipcuckoo_link){
		.at = at,
		.set = at->set,
		.verdict = verdict_of(rule),
		.dir = special ? rule->dir << IPCUCKOO_SPECIAL_SHIFT : rule->dir,
		.acts = rule->log.to || rule->verdict == IPCUCKOO_VERDICT_MARK,
	};
}

/* Make the chain of a point from the list of attachments; NULL if none runs there. */
static struct ipcuckoo_chain *make_chain(struct ipcuckoo_net *pernet,
					 const struct point *point)
{
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_chain *chain;
	struct ipcuckoo_link *link;
	size_t count = 0;

	list_for_each_entry(at, &pernet->attached.list, list)
		count += runs_in(at, point);
	if (!count)
		return NULL;
	chain = kzalloc(struct_size(chain, link, count + 1),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chain)
		return ERR_PTR(-ENOMEM);
	link = chain->link;
	list_for_each_entry(at, &pernet->attached.list, list)
		if (runs_in(at, point))
			*link++ = make_link(at);
	return chain;
}

static int make_chains(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_chain *chain;
	struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list) {
		chain = make_chain(pernet, point);
		if (IS_ERR(chain))
			return PTR_ERR(chain);
		point->next = chain;
	}
	return 0;
}

/* Changes */

/* Does an attachment that is just being attached, and so has no number yet, run at this point? */
static bool has_new(const struct ipcuckoo_net *pernet, const struct point *point)
{
	const struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.list, list)
		if (!at->id && runs_in(at, point))
			return true;
	return false;
}

/* Give taps to the points that have none, before the chains are published. The chain of a
 * new point is still NULL, so packets pass its tap.
 *
 * Points at ingress need RTNL; without it they are left to retry(). A failure counts only
 * for a new point and for points of new attachments: the others had no tap before either,
 * and are left to retry() too.
 */
static int connect_points(struct ipcuckoo_net *pernet, bool rtnl)
{
	struct point *point;
	int err;

	list_for_each_entry(point, &pernet->attached.points, list) {
		if (!point->next || point->tap || (ipcuckoo_hook_on_device(point->hook) && !rtnl))
			continue;
		err = connect_point(pernet, point, NULL);
		if (err && (!point->chain || has_new(pernet, point)))
			return err;
	}
	return 0;
}

/* Free chains and points that were prepared and not published. */
static void drop_prepared(struct ipcuckoo_net *pernet)
{
	struct point *point, *next;

	list_for_each_entry_safe(point, next, &pernet->attached.points, list) {
		kfree(point->next);
		point->next = NULL;
		if (!point->chain)
			free_point(pernet, point);
	}
}

static void replace_chain(struct point *point)
{
	struct ipcuckoo_chain *old = point->chain;

	point->chain = point->next;
	point->next = NULL;
	if (point->tap)
		rcu_assign_pointer(point->tap->chain, point->chain);
	if (old)
		kfree_rcu(old, rcu);
}

/* Publish the new chains. Points that keep attachments come before points that lose all:
 * so an attachment that moves from one point to another runs at both for a moment, and
 * never at none.
 */
static void publish(struct ipcuckoo_net *pernet)
{
	struct point *point, *next;
	LIST_HEAD(leaving);

	list_for_each_entry_safe(point, next, &pernet->attached.points, list) {
		if (point->next)
			replace_chain(point);
		else
			list_move(&point->list, &leaving);
	}
	list_for_each_entry_safe(point, next, &leaving, list) {
		replace_chain(point);
		free_point(pernet, point);
	}
	pernet->attached.seq++;
}

/* States */

static bool any_missing(const struct ipcuckoo_net *pernet)
{
	const struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list)
		if (point->err)
			return true;
	return false;
}

static int missing_hook(const struct ipcuckoo_net *pernet,
			const struct ipcuckoo_attachment *at)
{
	const struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list)
		if (point->err && runs_in(at, point))
			return point->err;
	return 0;
}

/* Store the state of an attachment. Return: whether it has changed. */
static bool update_state(const struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at,
			 bool missing)
{
	int err = missing ? missing_hook(pernet, at) : 0;
	u8 state = err ? IPCUCKOO_STATE_NO_HOOK :
		   READ_ONCE(at->ifindex) < 0 ? IPCUCKOO_STATE_NO_DEVICE :
						IPCUCKOO_STATE_ACTIVE;

	if (state == at->state && err == at->err)
		return false;
	at->state = state;
	at->err = err;
	return true;
}

/* Store the states of attachments that have no number yet: listeners will be notified of
 * them, with their states, by ipcuckoo_attach_announce().
 */
static void update_new(struct ipcuckoo_net *pernet)
{
	bool missing = any_missing(pernet);
	struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.list, list)
		if (!at->id)
			update_state(pernet, at, missing);
}

/* Store the state of each attachment, and notify listeners of each change of a state. Queue
 * retry() if any point lacks its hook.
 */
static void refresh(struct ipcuckoo_net *pernet)
{
	bool missing = any_missing(pernet);
	struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.list, list) {
		if (!update_state(pernet, at, missing))
			continue;
		/* This event has the whole state: follow_programs() need not send another one. */
		at->program = ipcuckoo_attachment_has_program(at, pernet->net);
		ipcuckoo_event_attachment(at, at->set->name, IPCUCKOO_EVENT_STATE_CHANGED);
	}
	if (missing)
		mod_delayed_work(pernet->wq, &pernet->attached.retry, pernet->attached.delay);
}

/* Store the states as refresh() does, and let retry() begin with the shortest delay again:
 * after a change of attachments or devices, registering a hook may succeed.
 */
static void refresh_soon(struct ipcuckoo_net *pernet)
{
	pernet->attached.delay = RETRY_MIN;
	refresh(pernet);
}

static void retry(struct work_struct *work)
{
	struct ipcuckoo_net *pernet = container_of(to_delayed_work(work),
						 struct ipcuckoo_net,
						 attached.retry);
	struct point *point;

	rtnl_lock();
	mutex_lock(&pernet->mutex);
	list_for_each_entry(point, &pernet->attached.points, list)
		if (!point->tap)
			connect_point(pernet, point, NULL);
	pernet->attached.delay = min_t(unsigned long, 2 * pernet->attached.delay, RETRY_MAX);
	refresh(pernet);
	mutex_unlock(&pernet->mutex);
	rtnl_unlock();
}

/**
 * ipcuckoo_points_init_net() - initialise the points of a new namespace
 * @pernet:	namespace
 */
void ipcuckoo_points_init_net(struct ipcuckoo_net *pernet)
{
	INIT_LIST_HEAD(&pernet->attached.points);
	INIT_LIST_HEAD(&pernet->attached.idle);
	INIT_DELAYED_WORK(&pernet->attached.retry, retry);
	pernet->attached.delay = RETRY_MIN;
}

/**
 * ipcuckoo_points_prepare() - make the points, chains and taps that the list needs
 * @pernet:	namespace, whose mutex is held
 * @rtnl:	RTNL is held, as it has to be if attachments at ingress were added
 *
 * Packets see no change before ipcuckoo_points_publish(), which the caller calls next if
 * this succeeds. If it fails, the caller takes back what it has changed in the list. In both
 * cases ipcuckoo_points_finish() comes last.
 *
 * Context: process context.
 * Return: 0, -ENOMEM, or an error of nf_register_net_hook(). Cannot fail if all attachments
 * are being detached, which needs no memory.
 */
int ipcuckoo_points_prepare(struct ipcuckoo_net *pernet, bool rtnl)
{
	int err;

	lockdep_assert_held(&pernet->mutex);
	err = create_points(pernet);
	if (!err)
		err = make_chains(pernet);
	return err ?: connect_points(pernet, rtnl);
}

/**
 * ipcuckoo_points_publish() - let packets run the chains that were prepared
 * @pernet:	namespace, whose mutex has been held since ipcuckoo_points_prepare()
 *
 * At each hook a packet sees the attachments as they were, or as they are now. The new ones
 * have their states after this.
 */
void ipcuckoo_points_publish(struct ipcuckoo_net *pernet)
{
	publish(pernet);
	update_new(pernet);
}

/**
 * ipcuckoo_points_finish() - end what ipcuckoo_points_prepare() has begun
 * @pernet:	namespace, whose mutex has been held since ipcuckoo_points_prepare()
 *
 * If ipcuckoo_points_prepare() failed, this frees what it has made. Whether it failed or not,
 * it may have registered hooks that were missing: this updates the states of attachments, and
 * notifies listeners of states that change. Before the caller calls this, the list of
 * attachments, their sets and the names of these must have their final values, and listeners
 * must have been notified of them.
 */
void ipcuckoo_points_finish(struct ipcuckoo_net *pernet)
{
	drop_prepared(pernet);
	refresh_soon(pernet);
	ipcuckoo_tap_limit_idle(pernet);
}

/**
 * ipcuckoo_points_exit_net() - remove all points and taps of a namespace that ends
 * @pernet:	namespace, whose mutex is held
 */
void ipcuckoo_points_exit_net(struct ipcuckoo_net *pernet)
{
	lockdep_assert_held(&pernet->mutex);
	publish(pernet);
	ipcuckoo_tap_free_idle(pernet, NULL);
}

/* Unregister all taps at a device that is being unregistered. */
static void disconnect_device(struct ipcuckoo_net *pernet, const struct net_device *going)
{
	struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list)
		if (point->tap && point->tap->ops.dev == going)
			disconnect_point(pernet, point);
	ipcuckoo_tap_free_idle(pernet, going);
}

/* Make the taps idle that are at a device which has another name now. This comes before any point
 * gets a tap, so that another point can take them.
 */
static void disconnect_others(struct ipcuckoo_net *pernet, const struct net_device *going)
{
	struct point *point;

	list_for_each_entry(point, &pernet->attached.points, list)
		if (point->tap && ipcuckoo_hook_on_device(point->hook) &&
		    point->tap->ops.dev != ipcuckoo_point_device(pernet->net, point->dev, going))
			disconnect_point(pernet, point);
}

/**
 * ipcuckoo_points_follow() - update the points at ingress after a device has changed
 * @pernet:	namespace, whose mutex is held
 * @going:	the device, if it is being unregistered; NULL if it was registered or renamed
 *
 * Unregisters the taps at @going. Gives each point the tap of the device that has its name
 * now, or none. Stores the states, and queues retry() if a hook could not be registered.
 *
 * Context: under RTNL.
 */
void ipcuckoo_points_follow(struct ipcuckoo_net *pernet, const struct net_device *going)
{
	struct point *point;

	lockdep_assert_held(&pernet->mutex);
	ASSERT_RTNL();
	if (going)
		disconnect_device(pernet, going);
	disconnect_others(pernet, going);
	list_for_each_entry(point, &pernet->attached.points, list) {
		if (!ipcuckoo_hook_on_device(point->hook))
			continue;
		point->err = 0;
		if (!point->tap && connect_point(pernet, point, going))
			net_warn_ratelimited("ipcuckoo: the hook at the %s of %s cannot be registered, and attachments there see no packets until it can: error %d\n",
					     is_xdp(point) ? "XDP" : "ingress", point->dev,
					     point->err);
	}
	refresh_soon(pernet);
}
