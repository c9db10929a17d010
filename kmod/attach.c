// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Attachments
 *
 * Packets are looked at before defragmentation, so that fragments of the
 * blocked never fill a queue, unless a priority is asked for: at PRE_ROUTING,
 * where all that comes in passes, and at LOCAL_OUT, where what the machine
 * sends begins; or at the ingress of one device, before all else. point.c has the
 * hooks.
 *
 * Each attachment holds a reference to the module, so that it cannot be
 * unloaded under a firewall that relies on it.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>

#include "attach.h"
#include "event.h"
#include "log.h"
#include "net.h"
#include "point.h"
#include "set.h"

/* No device of an attachment's name exists. */
#define IFINDEX_NONE	(-1)

/* Let go of an attachment that no chain has any more. */
static void release(struct ipcuckoo_attachment *at)
{
	struct ipcuckoo_mem *mem = &at->set->pernet->mem;

	WRITE_ONCE(at->set->attachments, at->set->attachments - 1);
	ipcuckoo_set_put(at->set);
	ipcuckoo_log_put(&at->rule);
	ipcuckoo_attachment_retire(at, mem);
	module_put(THIS_MODULE);
}

/* Whether it is another device now. Under ipcuckoo_attached.lock, so that the last
 * to look is the last to tell.
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
	       a->priority == b->priority && !strcmp(a->dev, b->dev);
}

static bool same_log(const struct ipcuckoo_rule *a, const struct ipcuckoo_rule *b)
{
	return a->log.to == b->log.to && a->log.group == b->log.group &&
	       a->log.rate == b->log.rate && a->log.every == b->log.every;
}

/* Whether one takes the place of the other: what is looked up is the same. */
static bool same_object(const struct ipcuckoo_attachment *a,
			const struct ipcuckoo_attachment *b)
{
	return a->set == b->set && a->rule.place == b->rule.place &&
	       a->rule.dir == b->rule.dir && !strcmp(a->rule.dev, b->rule.dev);
}

/* Insert behind all of the same or a lower order. A device event from then on
 * finds it.
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
	WRITE_ONCE(pernet->attached.count, pernet->attached.count + 1);
}

static void list_remove(struct ipcuckoo_net *pernet,
			struct ipcuckoo_attachment *at)
{
	spin_lock(&pernet->attached.lock);
	list_del(&at->list);
	spin_unlock(&pernet->attached.lock);
	WRITE_ONCE(pernet->attached.count, pernet->attached.count - 1);
}

/* An approximate set also matches some addresses that are not in it. With the verdict drop
 * it drops innocent packets, with accept it lets packets past the sets behind it. A request
 * must say that it knows this (APPROXIMATE).
 */
static bool needs_consent(const struct ipcuckoo_attachment *at)
{
	return ipcuckoo_entries_approximate(&at->set->entries) &&
	       (at->rule.verdict == IPCUCKOO_VERDICT_DROP ||
		at->rule.verdict == IPCUCKOO_VERDICT_ACCEPT);
}

/* The attachment with the same set and rule, or NULL. */
static struct ipcuckoo_attachment *find_same(struct ipcuckoo_net *pernet,
					     const struct ipcuckoo_attachment *new)
{
	struct ipcuckoo_attachment *at;

	list_for_each_entry(at, &pernet->attached.list, list)
		if (at->set == new->set && same_rule(&at->rule, &new->rule))
			return at;
	return NULL;
}

/* Mark the attachments that a new one is to replace. Return: 0; -EEXIST if the only one is
 * the same as the new one; -E2BIG if too many would be left with it.
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
		at->detaching = same_object(at, new);
	return 0;
}

static int check_attach(struct ipcuckoo_net *pernet, const char *name, bool replace,
			struct ipcuckoo_attachment *new)
{
	const struct ipcuckoo_attachment *same;

	new->set = ipcuckoo_set_find(pernet, name);
	if (!new->set || pernet->destroying)
		return -ENOENT;
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

/* What is marked as leaving has left, or, if @err, stays. */
static void finish_detaching(struct ipcuckoo_net *pernet, int err)
{
	struct ipcuckoo_attachment *at, *next;

	list_for_each_entry_safe(at, next, &pernet->attached.list, list) {
		if (!at->detaching)
			continue;
		at->detaching = false;
		if (err)
			continue;
		list_remove(pernet, at);
		ipcuckoo_event_attachment(at, IPCUCKOO_EVENT_DETACHED);
		release(at);
	}
}

static int attach_locked(struct ipcuckoo_net *pernet, const char *name, bool replace,
			 struct ipcuckoo_attachment *at)
{
	int err;

	err = check_attach(pernet, name, replace, at);
	if (err)
		return err;
	err = -ENODEV;
	if (!try_module_get(THIS_MODULE))
		goto err_module;
	list_insert(pernet, at);
	err = ipcuckoo_points_update(pernet, at);
	if (err)
		goto err_update;
	at->id = ++pernet->attached.id;
	WRITE_ONCE(at->set->attachments, at->set->attachments + 1);
	kref_get(&at->set->ref);
	ipcuckoo_event_attachment(at, IPCUCKOO_EVENT_ATTACHED);
	finish_detaching(pernet, 0);
	return 0;

err_update:
	list_remove(pernet, at);
	module_put(THIS_MODULE);
err_module:
	finish_detaching(pernet, err);
	return err;
}

/**
 * ipcuckoo_attach() - make a set act on packets
 * @pernet:	namespace
 * @name:	the set's name
 * @rule:	what it shall do
 * @replace:	in place of all that looks up the same address of packets of the
 *		same device at the same place in the set, in one step
 * @id:		set to the attachment's number, or to that of the one there is
 *
 * Context: process context; takes the namespace's mutex, at ingress RTNL before.
 * Return: 0, -ENOENT if there is no such set, -EOPNOTSUPP if it is approximate
 * and @rule does not accept that, -EEXIST if it does that already, -ENOTUNIQ if
 * it does in another order, -ENOPROTOOPT if there is no logger for it, -EAGAIN while
 * the module of one is being loaded, -E2BIG if
 * there are too many already, -ENODEV if the module is about to be unloaded,
 * -EDQUOT, -ENOMEM, or what nf_register_net_hook() returns.
 */
int ipcuckoo_attach(struct ipcuckoo_net *pernet, const char *name,
		    const struct ipcuckoo_rule *rule, bool replace, u32 *id)
{
	bool ingress = rule->place == IPCUCKOO_PLACE_INGRESS;
	struct ipcuckoo_attachment *at;
	int err;

	at = ipcuckoo_attachment_alloc(&pernet->mem);
	if (IS_ERR(at))
		return PTR_ERR(at);
	at->rule = *rule;
	ratelimit_state_init(&at->limit, rule->log.rate ? HZ : 0,
			     min_t(u32, rule->log.rate, INT_MAX));
	/* Do not log how many samples the limit suppressed: suppressing them is its purpose. */
	ratelimit_set_flags(&at->limit, RATELIMIT_MSG_ON_RELEASE);
	err = ipcuckoo_log_get(rule);
	if (err)
		goto err_free;
	/* See point.c. */
	if (ingress)
		rtnl_lock();
	mutex_lock(&pernet->mutex);
	err = attach_locked(pernet, name, replace, at);
	*id = at->id;
	mutex_unlock(&pernet->mutex);
	if (ingress)
		rtnl_unlock();
	if (!err)
		return 0;
	ipcuckoo_log_put(rule);
err_free:
	ipcuckoo_attachment_free(at, &pernet->mem);
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
	       (!b->loopback || a->loopback) &&
	       (!selector->by_mark || (a->mark == b->mark && a->mask == b->mask)) &&
	       (!selector->by_order || a->order == b->order) &&
	       (!selector->by_priority || a->priority == b->priority) &&
	       (!*b->dev || !strcmp(a->dev, b->dev));
}

/**
 * ipcuckoo_detach() - make sets act no longer
 * @pernet:	namespace
 * @id:		number of the attachment; 0 to go by the rest
 * @name:	name of the set, or NULL for all sets
 * @selector:	which of them
 * @count:	set to the number of attachments removed
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -ENOENT if there is none like that, or -ENOMEM.
 */
int ipcuckoo_detach(struct ipcuckoo_net *pernet, u32 id, const char *name,
		    const struct ipcuckoo_attach_selector *selector, u32 *count)
{
	struct ipcuckoo_attachment *at;
	int err = -ENOENT;

	*count = 0;
	mutex_lock(&pernet->mutex);
	list_for_each_entry(at, &pernet->attached.list, list) {
		at->detaching = id ? at->id == id : selected(at, name, selector);
		*count += at->detaching;
	}
	if (*count) {
		err = ipcuckoo_points_update(pernet, NULL);
		finish_detaching(pernet, err);
	}
	mutex_unlock(&pernet->mutex);
	return err;
}

/* Let what is attached to one of two sets be attached to the other. */
static void exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
		     struct ipcuckoo_set *b)
{
	struct ipcuckoo_attachment *at;
	unsigned int attachments;

	list_for_each_entry(at, &pernet->attached.list, list) {
		struct ipcuckoo_set *old = at->set;

		if (old != a && old != b)
			continue;
		at->set = old == a ? b : a;
		kref_get(&at->set->ref);
		ipcuckoo_set_put(old);
	}
	attachments = a->attachments;
	WRITE_ONCE(a->attachments, b->attachments);
	WRITE_ONCE(b->attachments, attachments);
}

/**
 * ipcuckoo_attach_exchange() - let two sets exchange their attachments
 * @pernet:	namespace, whose mutex is held
 * @a:		set
 * @b:		another one, of the same type and family
 *
 * A packet meets all attachments as they were, or all as they are then. Those
 * that met them as they were may be at it for another grace period.
 *
 * Return: 0, or -ENOMEM; then nothing has changed.
 */
int ipcuckoo_attach_exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
			     struct ipcuckoo_set *b)
{
	int err;

	lockdep_assert_held(&pernet->mutex);
	exchange(pernet, a, b);
	err = ipcuckoo_points_update(pernet, NULL);
	if (err)
		exchange(pernet, a, b);
	return err;
}

/* Devices come, go and change names. Under RTNL, hence without the mutex, which
 * may wait for memory, unless it matters to an attachment: then hooks have to
 * follow the device, and listeners are told. Nobody waits for RTNL who holds the
 * mutex. Alternative names are resolved as they are then.
 */
static int device_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr), *going = NULL;
	struct ipcuckoo_net *pernet = ipcuckoo_net(dev_net(dev));
	struct ipcuckoo_attachment *at;
	bool follow = false;

	if (event == NETDEV_UNREGISTER)
		going = dev;
	else if (event != NETDEV_REGISTER && event != NETDEV_CHANGENAME)
		return NOTIFY_DONE;
	spin_lock(&pernet->attached.lock);
	list_for_each_entry(at, &pernet->attached.list, list)
		follow |= resolve(pernet->net, at, going);
	spin_unlock(&pernet->attached.lock);
	/* Hooks are put on devices under RTNL only. */
	if (follow || (going && READ_ONCE(pernet->attached.on_devices))) {
		mutex_lock(&pernet->mutex);
		ipcuckoo_points_follow(pernet, going);
		mutex_unlock(&pernet->mutex);
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

/**
 * ipcuckoo_attach_init_net() - a namespace begins
 * @pernet:	namespace
 */
void ipcuckoo_attach_init_net(struct ipcuckoo_net *pernet)
{
	INIT_LIST_HEAD(&pernet->attached.list);
	ipcuckoo_points_init_net(pernet);
	spin_lock_init(&pernet->attached.lock);
}

/**
 * ipcuckoo_attach_exit_net() - a namespace ends: detach all
 * @pernet:	namespace
 *
 * Readers may still be at it when this returns.
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
	mutex_unlock(&pernet->mutex);
	/* It finds nothing to do any more, and takes the mutex. */
	cancel_delayed_work_sync(&pernet->attached.retry);
}

/**
 * ipcuckoo_attach_init() - follow the coming and going of devices
 *
 * Return: 0 or an error.
 */
int ipcuckoo_attach_init(void)
{
	return register_netdevice_notifier(&device_notifier);
}

/**
 * ipcuckoo_attach_exit() - follow devices no longer
 */
void ipcuckoo_attach_exit(void)
{
	unregister_netdevice_notifier(&device_notifier);
	ipcuckoo_log_exit();
}
