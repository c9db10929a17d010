// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Attachments
 *
 * An attachment lets a set act on packets, at one of three places:
 *
 *  - IP: at PRE_ROUTING, which all incoming packets pass, and at LOCAL_OUT, which all
 *    packets that the machine sends pass. By default at a priority before
 *    defragmentation, so that fragments from blocked addresses never fill its queues;
 *  - ingress: at the ingress hook of one device, before the IP stack;
 *  - XDP: in a BPF program at one device, before the kernel makes an skb of a frame. User space
 *    attaches the program.
 *
 * point.c makes the chains of attachments. tap.c registers the netfilter hook that runs a chain, or
 * lets the BPF program at a device find it.
 *
 * Each attachment has a reference to the module, so that the module cannot be unloaded
 * while a firewall relies on it.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>

#include "attach.h"
#include "compat.h"
#include "conntrack.h"
#include "event.h"
#include "load.h"
#include "log.h"
#include "net.h"
#include "point.h"
#include "set.h"

/* The ifindex of an attachment to a device that does not exist now. */
#define IFINDEX_NONE	(-1)

/* Free an attachment that is in no chain any more, and drop its references. */
static void release(struct ipcuckoo_attachment *at)
{
	struct ipcuckoo_mem *mem = &at->set->pernet->mem;

	WRITE_ONCE(at->set->attachments, at->set->attachments - 1);
	ipcuckoo_set_put(at->set);
	ipcuckoo_log_put(&at->rule);
	ipcuckoo_attachment_retire(at, mem);
	module_put(THIS_MODULE);
}

/* Look up the device of an attachment by its name. @going is a device that is being
 * unregistered and must not be found, or NULL. The caller holds ipcuckoo_attached.lock, so
 * that of two concurrent look-ups the later one stores its result last. Return: true if the
 * device has changed.
 */
static bool resolve(struct net *net, struct ipcuckoo_attachment *at,
		    const struct net_device *going)
{
	const struct net_device *dev;
	int ifindex;

	if (!*at->rule.dev)
		return false;
	rcu_read_lock();
	dev = ipcuckoo_point_device(net, at->rule.dev, going);
	ifindex = dev ? dev->ifindex : IFINDEX_NONE;
	rcu_read_unlock();
	if (ifindex == at->ifindex)
		return false;
	WRITE_ONCE(at->ifindex, ifindex);
	return true;
}

static bool same_rule(const struct ipcuckoo_rule *a,
		      const struct ipcuckoo_rule *b)
{
	return a->place == b->place && a->dir == b->dir &&
	       a->verdict == b->verdict && a->mark == b->mark &&
	       a->mask == b->mask && a->loopback == b->loopback &&
	       a->priority == b->priority && !strcmp(a->dev, b->dev) &&
	       a->only_new == b->only_new && a->protocol == b->protocol &&
	       ipcuckoo_ports_same(&a->ports, &b->ports);
}

static bool same_log(const struct ipcuckoo_rule *a, const struct ipcuckoo_rule *b)
{
	return a->log.to == b->log.to && a->log.group == b->log.group &&
	       a->log.rate == b->log.rate && a->log.every == b->log.every;
}

static bool prefetches(const struct ipcuckoo_attachment *at)
{
	return at->rule.verdict == IPCUCKOO_VERDICT_PREFETCH;
}

/* Does attaching @b with the flag REPLACE replace @a? Yes if both look up the same addresses of
 * the same packets in the same set, or if both prefetch for such look-ups.
 */
static bool same_object(const struct ipcuckoo_attachment *a,
			const struct ipcuckoo_attachment *b)
{
	return a->set == b->set && a->rule.place == b->rule.place &&
	       a->rule.dir == b->rule.dir && prefetches(a) == prefetches(b) &&
	       !strcmp(a->rule.dev, b->rule.dev);
}

/* Insert an attachment behind those of the same or a lower order. From now on device
 * events update its ifindex.
 */
static void list_insert(struct ipcuckoo_net *pernet,
			struct ipcuckoo_attachment *new)
{
	struct ipcuckoo_attachment *at;

	spin_lock(&pernet->attached.lock);
	list_for_each_entry_reverse(at, &pernet->attached.list, list)
		if (at->rule.order <= new->rule.order)
			break;
	list_add(&new->list, &at->list);
	resolve(pernet->net, new, NULL);
	spin_unlock(&pernet->attached.lock);
	list_add_tail(&new->change, &pernet->attached.changes);
	new->program = ipcuckoo_attachment_has_program(new, pernet->net);
	WRITE_ONCE(pernet->attached.count, pernet->attached.count + 1);
}

static void list_remove(struct ipcuckoo_net *pernet,
			struct ipcuckoo_attachment *at)
{
	spin_lock(&pernet->attached.lock);
	list_del(&at->list);
	spin_unlock(&pernet->attached.lock);
	list_del_init(&at->change);
	ipcuckoo_points_leave(at);
	WRITE_ONCE(pernet->attached.count, pernet->attached.count - 1);
}

/* An approximate set also matches some non-members. With the verdict drop it drops
 * innocent packets, with accept it lets packets bypass the attachments that follow. So a
 * request must have the flag APPROXIMATE.
 */
static bool needs_consent(const struct ipcuckoo_attachment *at)
{
	return ipcuckoo_entries_approximate(&at->set->entries) &&
	       (at->rule.verdict == IPCUCKOO_VERDICT_DROP ||
		at->rule.verdict == IPCUCKOO_VERDICT_ACCEPT);
}

/* Find the attachment with the same set and rule as @new. Return: NULL if there is none. */
static struct ipcuckoo_attachment *find_same(struct ipcuckoo_net *pernet,
					     const struct ipcuckoo_attachment *new)
{
	struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.list, list)
		if (at->set == new->set && same_rule(&at->rule, &new->rule))
			return at;
	return NULL;
}

static void mark_changed(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	if (list_empty(&at->change))
		list_add_tail(&at->change, &pernet->attached.changes);
}

static void mark_detaching(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	at->detaching = true;
	mark_changed(pernet, at);
}

/* Mark the attachments that the new one replaces. Return: 0; -EEXIST if it would replace only
 * one attachment, and that is equal to it; -E2BIG if there would be too many attachments.
 */
static int mark_replaced(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *new)
{
	struct ipcuckoo_attachment *at, *same = find_same(pernet, new);
	unsigned int replaced = 0;

	list_for_each_entry(at, &pernet->attached.list, list)
		replaced += same_object(at, new);
	if (replaced == 1 && same && same->rule.order == new->rule.order &&
	    same_log(&same->rule, &new->rule)) {
		new->id = same->id;
		return -EEXIST;
	}
	if (pernet->attached.count - replaced >= IPCUCKOO_ATTACHMENTS_MAX)
		return -E2BIG;
	list_for_each_entry(at, &pernet->attached.list, list)
		if (same_object(at, new))
			mark_detaching(pernet, at);
	return 0;
}

static int check_attach(struct ipcuckoo_net *pernet, const char *name, bool replace,
			struct ipcuckoo_attachment *new)
{
	const struct ipcuckoo_attachment *same;

	new->set = ipcuckoo_set_find(pernet, name);
	if (!new->set || pernet->destroying)
		return -ENOENT;
	if (new->set->ipset)
		return -EREMOTE;
	if (needs_consent(new) && !new->rule.approximate)
		return -EOPNOTSUPP;
	if (replace)
		return mark_replaced(pernet, new);
	same = find_same(pernet, new);
	if (!same)
		return pernet->attached.count < IPCUCKOO_ATTACHMENTS_MAX ? 0 : -E2BIG;
	new->id = same->id;
	return same->rule.order == new->rule.order ? -EEXIST : -ENOTUNIQ;
}

/* Remove and free the attachments that are marked as detaching; if @err, keep them and
 * clear the mark.
 */
static void finish_detaching(struct ipcuckoo_net *pernet, int err)
{
	struct ipcuckoo_attachment *at, *next;

	list_for_each_entry_safe(at, next, &pernet->attached.changes, change) {
		if (!at->detaching)
			continue;
		at->detaching = false;
		if (err)
			continue;
		list_remove(pernet, at);
		ipcuckoo_event_attachment(at, at->set->name, IPCUCKOO_EVENT_DETACHED);
		release(at);
	}
}

/* Insert an attachment into the list, and take its references to the module and to its set.
 * It does not act on packets before ipcuckoo_points_publish() has published chains with it.
 * Return: 0, or -ENODEV if the module is being unloaded.
 */
static int insert(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	list_insert(pernet, at);
	kref_get(&at->set->ref);
	WRITE_ONCE(at->set->attachments, at->set->attachments + 1);
	return 0;
}

/**
 * ipcuckoo_attach_remove() - undo ipcuckoo_attach_add()
 * @pernet:	namespace, whose mutex is held
 * @at:		attachment, which is in no chain
 */
void ipcuckoo_attach_remove(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	lockdep_assert_held(&pernet->mutex);
	list_remove(pernet, at);
	WRITE_ONCE(at->set->attachments, at->set->attachments - 1);
	ipcuckoo_set_put(at->set);
	module_put(THIS_MODULE);
}

/**
 * ipcuckoo_attach_add() - add an attachment to the list
 * @pernet:	namespace, whose mutex is held
 * @name:	the set's name
 * @at:		attachment, from ipcuckoo_attach_prepare(). With -EEXIST and -ENOTUNIQ its id
 *		is set to that of the attachment that exists
 *
 * Packets do not see it before ipcuckoo_points_prepare() and ipcuckoo_points_publish(). After
 * that the caller calls ipcuckoo_attach_announce(); or, if ipcuckoo_points_prepare() fails,
 * ipcuckoo_attach_remove().
 *
 * Return: 0, or an error of ipcuckoo_attach().
 */
int ipcuckoo_attach_add(struct ipcuckoo_net *pernet, const char *name,
			struct ipcuckoo_attachment *at)
{
	lockdep_assert_held(&pernet->mutex);
	return check_attach(pernet, name, false, at) ?: insert(pernet, at);
}

/**
 * ipcuckoo_attach_announce() - number an attachment, and notify listeners of it
 * @pernet:	namespace, whose mutex is held
 * @at:		attachment, whose chains have been published
 * @name:	the name that its set had when it was attached
 */
void ipcuckoo_attach_announce(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at,
			      const char *name)
{
	/* 0 means that a request names no attachment. */
	at->id = ++pernet->attached.id ?: ++pernet->attached.id;
	ipcuckoo_event_attachment(at, name, IPCUCKOO_EVENT_ATTACHED);
}

static int attach_locked(struct ipcuckoo_net *pernet, const char *name, bool replace,
			 struct ipcuckoo_attachment *at)
{
	int err;

	err = check_attach(pernet, name, replace, at);
	if (err)
		return err;
	err = insert(pernet, at);
	if (!err) {
		err = ipcuckoo_points_prepare(pernet, ipcuckoo_rule_on_device(&at->rule));
		if (err)
			ipcuckoo_attach_remove(pernet, at);
	}
	if (!err) {
		ipcuckoo_points_publish(pernet);
		ipcuckoo_attach_announce(pernet, at, name);
	}
	finish_detaching(pernet, err);
	ipcuckoo_points_finish(pernet);
	return err;
}

/**
 * ipcuckoo_attach_prepare() - allocate an attachment and get its logger
 * @pernet:	namespace
 * @rule:	which packets it will act on, and how
 *
 * Context: process context; may sleep.
 * Return: an attachment, which the caller attaches or passes to
 * ipcuckoo_attach_discard(); or ERR_PTR(-ENOPROTOOPT) if there is no logger for it,
 * -EPROTONOSUPPORT if it needs connection tracking, and there is none, -EAGAIN while the module of
 * one of these is being loaded, -EDQUOT, -ENOMEM or -EINTR.
 */
struct ipcuckoo_attachment *ipcuckoo_attach_prepare(struct ipcuckoo_net *pernet,
						    const struct ipcuckoo_rule *rule)
{
	struct ipcuckoo_attachment *at = ipcuckoo_attachment_alloc(&pernet->mem);
	int err;

	if (IS_ERR(at))
		return at;
	at->rule = *rule;
	INIT_LIST_HEAD(&at->change);
	ratelimit_state_init(&at->limit, rule->log.rate ? HZ : 0,
			     min_t(u32, rule->log.rate, INT_MAX));
	/* Do not log how many samples the limit suppressed: suppressing them is its purpose. */
	ratelimit_set_flags(&at->limit, RATELIMIT_MSG_ON_RELEASE);
	err = rule->only_new ? ipcuckoo_conntrack_check() : 0;
	if (!err)
		err = ipcuckoo_log_get(rule);
	if (!err)
		return at;
	ipcuckoo_attachment_free(at, &pernet->mem);
	return ERR_PTR(err);
}

/**
 * ipcuckoo_attach_discard() - free an attachment that was not attached
 * @pernet:	namespace
 * @at:		attachment, from ipcuckoo_attach_prepare()
 */
void ipcuckoo_attach_discard(struct ipcuckoo_net *pernet, struct ipcuckoo_attachment *at)
{
	ipcuckoo_log_put(&at->rule);
	ipcuckoo_attachment_free(at, &pernet->mem);
}

/**
 * ipcuckoo_attach() - attach a set
 * @pernet:	namespace
 * @name:	the set's name
 * @rule:	which packets it acts on, and how
 * @replace:	replace all attachments of the set with the same place, direction and
 *		device by this one, in one step
 * @id:		set to the attachment's number; with -EEXIST and -ENOTUNIQ, to the number
 *		of the attachment that exists
 *
 * Context: process context; takes the namespace's mutex, and RTNL before it if the
 * attachment is at ingress or XDP.
 * Return: 0;
 * -ENOENT if there is no such set, or all sets are being destroyed;
 * -EOPNOTSUPP if the set is approximate and @rule does not accept that;
 * -EEXIST if there is an attachment with this rule;
 * -ENOTUNIQ if there is one with this rule but another order;
 * -E2BIG if there are IPCUCKOO_ATTACHMENTS_MAX attachments;
 * -ENODEV if the module is being unloaded;
 * -EINTR for a fatal signal;
 * -ENOMEM, an error of ipcuckoo_attach_prepare() or of nf_register_net_hook().
 */
int ipcuckoo_attach(struct ipcuckoo_net *pernet, const char *name,
		    const struct ipcuckoo_rule *rule, bool replace, u32 *id)
{
	struct ipcuckoo_attachment *at = ipcuckoo_attach_prepare(pernet, rule);
	int err;

	if (IS_ERR(at))
		return PTR_ERR(at);
	/* Taps of devices are registered under RTNL (point.c), which is taken first. */
	err = ipcuckoo_rule_on_device(rule) ? ipcuckoo_rtnl_lock_killable() : 0;
	if (err)
		goto out;
	mutex_lock(&pernet->mutex);
	err = attach_locked(pernet, name, replace, at);
	*id = at->id;
	mutex_unlock(&pernet->mutex);
	if (ipcuckoo_rule_on_device(rule))
		rtnl_unlock();
out:
	if (err)
		ipcuckoo_attach_discard(pernet, at);
	return err;
}

static bool selected(const struct ipcuckoo_attachment *at, const char *name,
		     const struct ipcuckoo_attach_selector *selector)
{
	const struct ipcuckoo_rule *a = &at->rule, *b = &selector->rule;

	return (!name || !strcmp(at->set->name, name)) &&
	       (!b->place || a->place == b->place) &&
	       (!b->dir || a->dir == b->dir) &&
	       (!b->verdict || a->verdict == b->verdict) &&
	       (!b->loopback || a->loopback) && (!b->only_new || a->only_new) &&
	       (!selector->by_mark || (a->mark == b->mark && a->mask == b->mask)) &&
	       (!selector->by_order || a->order == b->order) &&
	       (!selector->by_priority || a->priority == b->priority) &&
	       (!*b->dev || !strcmp(a->dev, b->dev)) &&
	       (!b->protocol || (a->protocol == b->protocol &&
				 ipcuckoo_ports_same(&a->ports, &b->ports)));
}

/**
 * ipcuckoo_detach() - detach sets
 * @pernet:	namespace
 * @id:		number of the attachment; if 0, @name and @selector choose attachments
 * @name:	name of the set, or NULL for all sets
 * @selector:	which of the set's attachments
 * @count:	set to the number of attachments that were selected
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -ENOENT if there is no such attachment, or -ENOMEM.
 */
int ipcuckoo_detach(struct ipcuckoo_net *pernet, u32 id, const char *name,
		    const struct ipcuckoo_attach_selector *selector, u32 *count)
{
	struct ipcuckoo_attachment *at;
	int err = -ENOENT;

	*count = 0;
	mutex_lock(&pernet->mutex);
	list_for_each_entry(at, &pernet->attached.list, list) {
		if (id ? at->id != id : !selected(at, name, selector))
			continue;
		mark_detaching(pernet, at);
		++*count;
	}
	if (*count) {
		err = ipcuckoo_points_prepare(pernet, false);
		if (!err)
			ipcuckoo_points_publish(pernet);
		finish_detaching(pernet, err);
		ipcuckoo_points_finish(pernet);
	}
	mutex_unlock(&pernet->mutex);
	return err;
}

/**
 * ipcuckoo_attach_exchange() - exchange the attachments of two sets
 * @pernet:	namespace, whose mutex is held
 * @a:		set
 * @b:		another set, of the same type and family
 *
 * Packets see no change before ipcuckoo_points_publish(). From then on a packet runs at each hook
 * either the chain from before the exchange or the one from after it; the former for one grace
 * period at most. A second call undoes the first.
 */
void ipcuckoo_attach_exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
			      struct ipcuckoo_set *b)
{
	struct ipcuckoo_attachment *at;
	unsigned int attachments;

	lockdep_assert_held(&pernet->mutex);
	list_for_each_entry(at, &pernet->attached.list, list) {
		struct ipcuckoo_set *old = at->set;

		if (old != a && old != b)
			continue;
		at->set = old == a ? b : a;
		mark_changed(pernet, at);
		kref_get(&at->set->ref);
		ipcuckoo_set_put(old);
	}
	attachments = a->attachments;
	WRITE_ONCE(a->attachments, b->attachments);
	WRITE_ONCE(b->attachments, attachments);
}

/* Check for each attachment at XDP whether its device has a program now, and notify listeners of
 * each change. ipcuckoo_points_follow() has done so already for attachments whose states it
 * changed.
 */
static void follow_programs(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_attachment *at;
	bool program;

	list_for_each_entry(at, &pernet->attached.list, list) {
		program = ipcuckoo_attachment_has_program(at, pernet->net);
		if (program == at->program)
			continue;
		at->program = program;
		ipcuckoo_event_attachment(at, at->set->name, IPCUCKOO_EVENT_STATE_CHANGED);
	}
}

/* A device has changed, perhaps its XDP program. The kernel sends this event only for devices that
 * are up, and not for programs that are attached with a BPF link.
 */
static void device_changed(struct ipcuckoo_net *pernet, const struct net_device *dev)
{
	struct ipcuckoo_attachment *at;
	bool concerned = false;

	spin_lock(&pernet->attached.lock);
	list_for_each_entry(at, &pernet->attached.list, list)
		concerned |= at->rule.place == IPCUCKOO_PLACE_XDP &&
			     at->ifindex == dev->ifindex;
	spin_unlock(&pernet->attached.lock);
	if (!concerned)
		return;
	mutex_lock(&pernet->mutex);
	follow_programs(pernet);
	mutex_unlock(&pernet->mutex);
}

/* A device is registered, unregistered, renamed or changed. The notifier runs under RTNL. A holder
 * of the namespace's mutex may be waiting for memory, so the notifier takes the mutex only if an
 * attachment is concerned: then hooks follow the device, and listeners are notified. It cannot
 * deadlock, because no holder of the mutex takes RTNL. There is no event for alternative
 * names: they are looked up again at the next event.
 */
static int device_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr), *going = NULL;
	struct ipcuckoo_net *pernet = ipcuckoo_net(dev_net(dev));
	struct ipcuckoo_attachment *at;
	bool follow = false;

	if (event == NETDEV_CHANGE)
		device_changed(pernet, dev);
	if (event == NETDEV_UNREGISTER)
		going = dev;
	else if (event != NETDEV_REGISTER && event != NETDEV_CHANGENAME)
		return NOTIFY_DONE;
	spin_lock(&pernet->attached.lock);
	list_for_each_entry(at, &pernet->attached.list, list)
		follow |= resolve(pernet->net, at, going);
	spin_unlock(&pernet->attached.lock);
	/* RTNL is held, so no tap is being registered on the device now. */
	if (follow || (going && READ_ONCE(pernet->attached.on_devices))) {
		mutex_lock(&pernet->mutex);
		ipcuckoo_points_follow(pernet, going);
		follow_programs(pernet);
		mutex_unlock(&pernet->mutex);
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

/**
 * ipcuckoo_attach_init_net() - initialise the attachments of a new namespace
 * @pernet:	namespace
 */
void ipcuckoo_attach_init_net(struct ipcuckoo_net *pernet)
{
	INIT_LIST_HEAD(&pernet->attached.list);
	ipcuckoo_points_init_net(pernet);
	spin_lock_init(&pernet->attached.lock);
}

/**
 * ipcuckoo_attach_exit_net() - detach everything in a namespace that ends
 * @pernet:	namespace
 *
 * Packets may still run chains for one grace period after this.
 */
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_attachment *at, *next;

	mutex_lock(&pernet->mutex);
	ipcuckoo_points_exit_net(pernet);
	list_for_each_entry_safe(at, next, &pernet->attached.list, list) {
		list_remove(pernet, at);
		release(at);
	}
	ipcuckoo_conntrack_end(pernet);
	mutex_unlock(&pernet->mutex);
	/* The work takes the mutex, and has nothing left to do. */
	cancel_delayed_work_sync(&pernet->attached.retry);
}

/**
 * ipcuckoo_attach_init() - begin to follow device events
 *
 * Return: 0 or an error.
 */
int ipcuckoo_attach_init(void)
{
	return register_netdevice_notifier(&device_notifier);
}

/**
 * ipcuckoo_attach_exit() - stop following device events, and cancel logger loading
 */
void ipcuckoo_attach_exit(void)
{
	unregister_netdevice_notifier(&device_notifier);
	ipcuckoo_load_exit();
}
