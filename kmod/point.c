// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Points, chains and taps
 *
 * A *point* is where attachments run together: a netfilter hook, a priority, and at
 * ingress the name of a device; or XDP at a device. A point has a chain, an array of its
 * attachments in order (hook.h). A chain is never changed: attaching and detaching replace
 * it. A point exists as long as something is attached to it. An attachment knows its points,
 * and a point its attachments, so a change costs what the points cost where it changes
 * something, however many others there are.
 *
 * A *tap* is a netfilter hook that the module has registered. A packet finds the chain
 * through a pointer in the tap, under rcu_read_lock(), which netfilter holds. A tap of XDP
 * is no netfilter hook: the BPF program at the device finds it by the device's index, and
 * the function that it calls takes rcu_read_lock(). A point has no tap if, at ingress and
 * XDP, no device has that name now, or if registering the hook failed. Then the state of
 * its attachments says so (refresh()). A failed registration is tried again when the chain
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
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "attach.h"
#include "conntrack.h"
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
 * struct ipcuckoo_point - where attachments run together
 * @node:	in ipcuckoo_attached.points, by @hook, @priority and @dev
 * @runs:	its attachments, in the order in which they run
 * @changing:	in ipcuckoo_attached.changing, while its chain is being replaced
 * @tap:	its tap, or NULL
 * @chain:	the chain that packets run; NULL until the first ipcuckoo_points_publish()
 * @next:	the chain that ipcuckoo_points_prepare() has made to replace @chain; NULL at
 *		other times, or if no attachment will run here
 * @hook:	which netfilter hook
 * @priority:	its priority
 * @dev:	at ingress and XDP, the name of the device, else ""
 * @err:	why registering the tap failed; 0 if there is a tap, or no device. Changed by
 *		set_error()
 */
struct ipcuckoo_point {
	struct rb_node node;
	struct list_head runs;
	struct list_head changing;
	struct ipcuckoo_tap *tap;
	struct ipcuckoo_chain *chain;
	struct ipcuckoo_chain *next;
	enum ipcuckoo_hook hook;
	int priority;
	char dev[IFNAMSIZ];
	int err;
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

/* The first point, or the one that follows another, in no order that matters. NULL at the end. */
static struct ipcuckoo_point *next_point(const struct ipcuckoo_net *pernet,
					 const struct ipcuckoo_point *point)
{
	return rb_entry_safe(point ? rb_next(&point->node) :
				     rb_first(&pernet->attached.points),
			     struct ipcuckoo_point, node);
}

static void set_error(struct ipcuckoo_net *pernet, struct ipcuckoo_point *point, int err)
{
	pernet->attached.refused += !!err - !!point->err;
	pernet->attached.news |= err != point->err;
	point->err = err;
}

/* Give a point a tap, so that packets run its chain. Does nothing at ingress if there is
 * no device, or only @going, which is being unregistered (or NULL).
 *
 * Context: under RTNL if the point is at ingress.
 * Return: 0 or an error, which point->err has too.
 */
static int connect_point(struct ipcuckoo_net *pernet, struct ipcuckoo_point *point,
			 const struct net_device *going)
{
	struct net_device *dev = NULL;
	struct ipcuckoo_tap *tap;

	set_error(pernet, point, 0);
	if (ipcuckoo_hook_on_device(point->hook)) {
		ASSERT_RTNL();
		dev = ipcuckoo_point_device(pernet->net, point->dev, going);
		if (!dev)
			return 0;
	}
	tap = ipcuckoo_tap_get(pernet, point->hook, point->priority, dev);
	if (IS_ERR(tap)) {
		set_error(pernet, point, PTR_ERR(tap));
		return point->err;
	}
	rcu_assign_pointer(tap->chain, point->chain);
	point->tap = tap;
	return 0;
}

/* Make the tap of a point idle. Packets may still run the chain for one grace period. */
static void disconnect_point(struct ipcuckoo_net *pernet, struct ipcuckoo_point *point)
{
	if (!point->tap)
		return;
	ipcuckoo_tap_put(pernet, point->tap);
	point->tap = NULL;
}

static bool is_xdp(const struct ipcuckoo_point *point)
{
	return ipcuckoo_hooks[point->hook].place == IPCUCKOO_PLACE_XDP;
}

static bool runs_at(const struct ipcuckoo_attachment *at, enum ipcuckoo_hook hook)
{
	return at->rule.place == ipcuckoo_hooks[hook].place &&
	       at->set->family & ipcuckoo_hooks[hook].family &&
	       at->rule.dir & ipcuckoo_hooks[hook].dirs;
}

/* Compare a point with the one at which an attachment runs for @hook. */
static int compare(enum ipcuckoo_hook hook, const struct ipcuckoo_rule *rule,
		   const struct ipcuckoo_point *point)
{
	if (hook != point->hook)
		return hook < point->hook ? -1 : 1;
	if (rule->priority != point->priority)
		return rule->priority < point->priority ? -1 : 1;
	return ipcuckoo_hook_on_device(hook) ? strcmp(rule->dev, point->dev) : 0;
}

/* Find the point at which an attachment runs for @hook, or create it. Return: NULL without memory.
 */
static struct ipcuckoo_point *get_point(struct ipcuckoo_net *pernet, enum ipcuckoo_hook hook,
					const struct ipcuckoo_rule *rule)
{
	struct rb_node **link = &pernet->attached.points.rb_node, *parent = NULL;
	struct ipcuckoo_point *point;
	int order;

	while (*link) {
		parent = *link;
		point = rb_entry(parent, struct ipcuckoo_point, node);
		order = compare(hook, rule, point);
		if (!order)
			return point;
		link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	point = kzalloc(sizeof(*point), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!point)
		return NULL;
	INIT_LIST_HEAD(&point->runs);
	INIT_LIST_HEAD(&point->changing);
	point->hook = hook;
	point->priority = rule->priority;
	if (ipcuckoo_hook_on_device(hook))
		strscpy(point->dev, rule->dev, sizeof(point->dev));
	rb_link_node(&point->node, parent, link);
	rb_insert_color(&point->node, &pernet->attached.points);
	return point;
}

static void free_point(struct ipcuckoo_net *pernet, struct ipcuckoo_point *point)
{
	disconnect_point(pernet, point);
	set_error(pernet, point, 0);
	rb_erase(&point->node, &pernet->attached.points);
	list_del(&point->changing);
	kfree(point);
}

/* Add an attachment to its point for @hook, behind those of the same or a lower order, as in the
 * list of all attachments.
 */
static int join(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at,
		enum ipcuckoo_hook hook)
{
	struct ipcuckoo_point *point = get_point(pernet, hook, &at->rule);
	struct ipcuckoo_run *new = &at->run[at->runs], *run;

	if (!point)
		return -ENOMEM;
	list_for_each_entry_reverse(run, &point->runs, list)
		if (run->at->rule.order <= at->rule.order)
			break;
	list_add(&new->list, &run->list);
	new->at = at;
	new->point = point;
	at->runs++;
	return 0;
}

/* Add an attachment to all its points, unless it is there. */
static int join_points(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	int hook, err = 0;

	if (at->runs)
		return 0;
	for (hook = 0; hook < IPCUCKOO_HOOKS && !err; hook++)
		if (runs_at(at, hook))
			err = join(pernet, at, hook);
	return err;
}

/**
 * ipcuckoo_points_leave() - remove an attachment from its points
 * @at:		attachment, which no chain has any more, or none had yet; the namespace's mutex is
 *		held
 *
 * Does nothing if it is at no point.
 */
void ipcuckoo_points_leave(struct ipcuckoo_attachment *at)
{
	while (at->runs)
		list_del(&at->run[--at->runs].list);
}

/* Collect the points whose chains have to be replaced: those of attachments that come, go, or have
 * another set now. Return: 0 or -ENOMEM.
 */
static int collect_points(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_attached *attached = &pernet->attached;
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_point *point;
	unsigned int i;
	int err;

	list_for_each_entry(at, &attached->changes, change) {
		err = join_points(pernet, at);
		for (i = 0; i < at->runs; i++) {
			point = at->run[i].point;
			if (list_empty(&point->changing))
				list_add_tail(&point->changing, &attached->changing);
		}
		if (err)
			return err;
	}
	return 0;
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
	int shift = 0;

	if (at->set->mask.present || ipcuckoo_set_has_records(at->set) ||
	    rule->verdict == IPCUCKOO_VERDICT_PREFETCH)
		shift = IPCUCKOO_SPECIAL_SHIFT;
	else if (rule->only_new || rule->protocol)
		shift = IPCUCKOO_LIMITED_SHIFT;
	return (struct ipcuckoo_link){
		.at = at,
		.set = at->set,
		.verdict = verdict_of(rule),
		.dir = rule->dir << shift,
		.acts = rule->log.to || rule->verdict == IPCUCKOO_VERDICT_MARK,
	};
}

/* Make the chain of a point; NULL if no attachment will run there. */
static struct ipcuckoo_chain *make_chain(const struct ipcuckoo_point *point)
{
	struct ipcuckoo_chain *chain;
	struct ipcuckoo_link *link;
	struct ipcuckoo_run *run;
	size_t count = 0;

	list_for_each_entry(run, &point->runs, list)
		count += !run->at->detaching;
	if (!count)
		return NULL;
	chain = kzalloc(struct_size(chain, link, count + 1),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chain)
		return ERR_PTR(-ENOMEM);
	link = chain->link;
	list_for_each_entry(run, &point->runs, list)
		if (!run->at->detaching)
			*link++ = make_link(run->at);
	return chain;
}

static int make_chains(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_chain *chain;
	struct ipcuckoo_point *point;

	list_for_each_entry(point, &pernet->attached.changing, changing) {
		chain = make_chain(point);
		if (IS_ERR(chain))
			return PTR_ERR(chain);
		point->next = chain;
	}
	return 0;
}

/* Changes */

/* Does an attachment that is just being attached, and so has no number yet, run at this point? */
static bool has_new(const struct ipcuckoo_point *point)
{
	const struct ipcuckoo_run *run;

	list_for_each_entry(run, &point->runs, list)
		if (!run->at->id)
			return true;
	return false;
}

/* Switch connection tracking on, if attachments that come need it. */
static int begin_conntrack(struct ipcuckoo_net *pernet)
{
	const struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.changes, change)
		if (at->rule.only_new && !at->detaching)
			return ipcuckoo_conntrack_begin(pernet);
	return 0;
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
	struct ipcuckoo_point *point;
	int err;

	list_for_each_entry(point, &pernet->attached.changing, changing) {
		if (!point->next || point->tap || (ipcuckoo_hook_on_device(point->hook) && !rtnl))
			continue;
		err = connect_point(pernet, point, NULL);
		if (err && (!point->chain || has_new(point)))
			return err;
	}
	return 0;
}

/* Free chains and points that were prepared and not published. */
static void drop_prepared(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_point *point, *next;

	list_for_each_entry_safe(point, next, &pernet->attached.changing, changing) {
		kfree(point->next);
		point->next = NULL;
		list_del_init(&point->changing);
		if (!point->chain)
			free_point(pernet, point);
	}
}

static void replace_chain(struct ipcuckoo_point *point)
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
	struct ipcuckoo_point *point, *next;
	struct ipcuckoo_attachment *at;

	list_for_each_entry_safe(point, next, &pernet->attached.changing, changing) {
		if (!point->next)
			continue;
		replace_chain(point);
		list_del_init(&point->changing);
	}
	list_for_each_entry(at, &pernet->attached.changes, change)
		if (at->detaching)
			ipcuckoo_points_leave(at);
	list_for_each_entry_safe(point, next, &pernet->attached.changing, changing) {
		replace_chain(point);
		free_point(pernet, point);
	}
	pernet->attached.seq++;
}

/* States */

/* Why a hook of an attachment is not registered; 0 if all are that have a device. */
static int refusal_of(const struct ipcuckoo_attachment *at)
{
	unsigned int i;

	for (i = 0; i < at->runs; i++)
		if (at->run[i].point->err)
			return at->run[i].point->err;
	return 0;
}

/* Store the state of an attachment. Return: whether it has changed. */
static bool update_state(const struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	int err = pernet->attached.refused ? refusal_of(at) : 0;
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
	struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.changes, change)
		if (!at->id)
			update_state(pernet, at);
}

/* Store the state of each attachment, and notify listeners of each change of a state. Queue
 * retry() if any point lacks its hook.
 */
static void refresh(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_attachment *at;

	pernet->attached.news = false;
	list_for_each_entry(at, &pernet->attached.list, list) {
		if (!update_state(pernet, at))
			continue;
		/* This event has the whole state: follow_programs() need not send another one. */
		at->program = ipcuckoo_attachment_has_program(at, pernet->net);
		ipcuckoo_event_attachment(at, at->set->name, IPCUCKOO_EVENT_STATE_CHANGED);
	}
	if (pernet->attached.refused)
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
	struct mem_cgroup *memcg = set_active_memcg(pernet->memcg);
	struct ipcuckoo_point *point;

	rtnl_lock();
	mutex_lock(&pernet->mutex);
	for (point = next_point(pernet, NULL); point; point = next_point(pernet, point))
		if (!point->tap)
			connect_point(pernet, point, NULL);
	pernet->attached.delay = min_t(unsigned long, 2 * pernet->attached.delay, RETRY_MAX);
	refresh(pernet);
	mutex_unlock(&pernet->mutex);
	rtnl_unlock();
	set_active_memcg(memcg);
}

/**
 * ipcuckoo_points_init_net() - initialise the points of a new namespace
 * @pernet:	namespace
 */
void ipcuckoo_points_init_net(struct ipcuckoo_net *pernet)
{
	pernet->attached.points = RB_ROOT;
	INIT_LIST_HEAD(&pernet->attached.changes);
	INIT_LIST_HEAD(&pernet->attached.changing);
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
 * Return: 0, -ENOMEM, an error of nf_register_net_hook() or of ipcuckoo_conntrack_begin(). Cannot
 * fail if all attachments are being detached, which needs no memory.
 */
int ipcuckoo_points_prepare(struct ipcuckoo_net *pernet, bool rtnl)
{
	int err;

	lockdep_assert_held(&pernet->mutex);
	err = collect_points(pernet);
	if (!err)
		err = make_chains(pernet);
	if (!err)
		err = connect_points(pernet, rtnl);
	/* This comes last, since it is not undone. */
	return err ?: begin_conntrack(pernet);
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
	struct ipcuckoo_attachment *at, *next;

	drop_prepared(pernet);
	list_for_each_entry_safe(at, next, &pernet->attached.changes, change)
		list_del_init(&at->change);
	if (pernet->attached.news || pernet->attached.refused)
		refresh_soon(pernet);
	ipcuckoo_tap_limit_idle(pernet);
}

/**
 * ipcuckoo_points_exit_net() - remove all points and taps of a namespace that ends
 * @pernet:	namespace, whose mutex is held
 */
void ipcuckoo_points_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_point *point;

	lockdep_assert_held(&pernet->mutex);
	list_for_each_entry(at, &pernet->attached.list, list)
		ipcuckoo_points_leave(at);
	while ((point = next_point(pernet, NULL))) {
		replace_chain(point);
		free_point(pernet, point);
	}
	ipcuckoo_tap_free_idle(pernet, NULL);
}

/* Unregister all taps at a device that is being unregistered. */
static void disconnect_device(struct ipcuckoo_net *pernet, const struct net_device *going)
{
	struct ipcuckoo_point *point;

	for (point = next_point(pernet, NULL); point; point = next_point(pernet, point))
		if (point->tap && point->tap->ops.dev == going)
			disconnect_point(pernet, point);
	ipcuckoo_tap_free_idle(pernet, going);
}

/* Make the taps idle that are at a device which has another name now. This comes before any point
 * gets a tap, so that another point can take them.
 */
static void disconnect_others(struct ipcuckoo_net *pernet, const struct net_device *going)
{
	struct ipcuckoo_point *point;

	for (point = next_point(pernet, NULL); point; point = next_point(pernet, point))
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
	struct ipcuckoo_point *point;

	lockdep_assert_held(&pernet->mutex);
	ASSERT_RTNL();
	if (going)
		disconnect_device(pernet, going);
	disconnect_others(pernet, going);
	for (point = next_point(pernet, NULL); point; point = next_point(pernet, point)) {
		if (!ipcuckoo_hook_on_device(point->hook))
			continue;
		set_error(pernet, point, 0);
		if (!point->tap && connect_point(pernet, point, going))
			net_warn_ratelimited("ipcuckoo: the hook at the %s of %s cannot be registered, and attachments there see no packets until it can: error %d\n",
					     is_xdp(point) ? "XDP" : "ingress", point->dev,
					     point->err);
	}
	refresh_soon(pernet);
}
