// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Attachments
 *
 * Packets are looked at before defragmentation, so that fragments of the
 * blocked never fill a queue: at PRE_ROUTING, where all that comes in passes,
 * and at LOCAL_OUT, where what the machine sends begins. Each of the four hooks
 * (two families) runs its chain, an array of the attachments that matter
 * there, in order. A chain is never changed: attaching and detaching make new
 * ones. A hook with nothing to run is not registered.
 *
 * Each attachment holds a reference to the module, so that it cannot be
 * unloaded under a firewall that relies on it.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "attach.h"
#include "event.h"
#include "net.h"
#include "set.h"

/**
 * struct ipcuckoo_link - an attachment in a chain
 * @at:		the attachment
 * @set:	the set it looks in: packets go by this, not by @at->set, so that
 *		all attachments change their sets in one step, with the chain
 */
struct ipcuckoo_link {
	const struct ipcuckoo_attachment *at;
	struct ipcuckoo_set *set;
};

/**
 * struct ipcuckoo_chain - what a hook runs
 * @rcu:	to free it
 * @count:	attachments
 * @link:	in order
 */
struct ipcuckoo_chain {
	struct rcu_head rcu;
	unsigned int count;
	struct ipcuckoo_link link[];
};

/* Each is a look-up for each packet: more is a mistake. */
#define ATTACHMENTS_MAX	1024

/* No device of an attachment's name exists. */
#define IFINDEX_NONE	(-1)

/* Packets */

/* The addresses of a packet, source and destination. */
struct addresses {
	struct ipcuckoo_key addr[2];
};

typedef bool (*match_fn)(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr);

static bool match4(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr)
{
	return ipcuckoo_set_match4(set, addr->lo);
}

static __always_inline bool matches(const struct ipcuckoo_link *link,
				    const struct addresses *a, match_fn match)
{
	u8 dir = link->at->rule.dir;

	return (dir & IPCUCKOO_DIR_SRC && match(link->set, &a->addr[0])) ||
	       (dir & IPCUCKOO_DIR_DST && match(link->set, &a->addr[1]));
}

/* The same once more for a set that keeps records: which entry it is, counted. */
static noinline bool hit(const struct ipcuckoo_link *link, const struct addresses *a,
			 bool v6, unsigned int bytes, u64 *mark)
{
	u8 dir = link->at->rule.dir;

	return (dir & IPCUCKOO_DIR_SRC &&
		ipcuckoo_set_hit(link->set, &a->addr[0], v6, bytes, mark)) ||
	       (dir & IPCUCKOO_DIR_DST &&
		ipcuckoo_set_hit(link->set, &a->addr[1], v6, bytes, mark));
}

static bool concerns(const struct ipcuckoo_attachment *at,
		     const struct net_device *dev)
{
	int ifindex = READ_ONCE(at->ifindex);

	if (dev->flags & IFF_LOOPBACK && !at->rule.loopback)
		return false;
	return !ifindex || ifindex == dev->ifindex;
}

/* Run a chain. Inlined into the hook of each family, so that the look-up is a
 * direct call.
 */
static __always_inline unsigned int run(const struct ipcuckoo_chain *chain,
					struct sk_buff *skb,
					const struct net_device *dev,
					const struct addresses *a, match_fn match)
{
	const struct ipcuckoo_attachment *at;
	unsigned int i;
	u64 mark;

	for (i = 0; i < chain->count; i++) {
		at = chain->link[i].at;
		if (!concerns(at, dev) || !matches(&chain->link[i], a, match))
			continue;
		mark = 0;
		if (ipcuckoo_set_recorded(chain->link[i].set) &&
		    !hit(&chain->link[i], a, match == ipcuckoo_set_match6, skb->len, &mark))
			continue;
		this_cpu_inc(at->counter->packets);
		this_cpu_add(at->counter->bytes, skb->len);
		switch (at->rule.verdict) {
		case IPCUCKOO_VERDICT_DROP:
			return NF_DROP;
		case IPCUCKOO_VERDICT_ACCEPT:
			return NF_ACCEPT;
		case IPCUCKOO_VERDICT_MARK:
			mark = mark ?: (u64)at->rule.mask << 32 | at->rule.mark;
			skb->mark = (skb->mark & ~(u32)(mark >> 32)) | (u32)mark;
			break;
		default:
			break;
		}
	}
	return NF_ACCEPT;
}

static const struct net_device *device(const struct nf_hook_state *state)
{
	return state->hook == NF_INET_PRE_ROUTING ? state->in : state->out;
}

/* @priv is where the chain's pointer is; rcu_read_lock() is held by netfilter.
 * The network header of the packet was checked before it came here.
 */
static unsigned int hook4(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	struct ipcuckoo_chain __rcu **slot = priv;
	const struct ipcuckoo_chain *chain = rcu_dereference(*slot);
	const struct iphdr *ip = ip_hdr(skb);
	const struct addresses a = {
		.addr[0].lo = ntohl(ip->saddr),
		.addr[1].lo = ntohl(ip->daddr),
	};

	return chain ? run(chain, skb, device(state), &a, match4) : NF_ACCEPT;
}

static struct ipcuckoo_key key6(const struct in6_addr *addr)
{
	return (struct ipcuckoo_key){
		.hi = (u64)ntohl(addr->s6_addr32[0]) << 32 |
		      ntohl(addr->s6_addr32[1]),
		.lo = (u64)ntohl(addr->s6_addr32[2]) << 32 |
		      ntohl(addr->s6_addr32[3]),
	};
}

static unsigned int hook6(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	struct ipcuckoo_chain __rcu **slot = priv;
	const struct ipcuckoo_chain *chain = rcu_dereference(*slot);
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	const struct addresses a = {
		.addr[0] = key6(&ip->saddr),
		.addr[1] = key6(&ip->daddr),
	};

	return chain ? run(chain, skb, device(state), &a, ipcuckoo_set_match6) :
		       NF_ACCEPT;
}

/* Chains and hooks */

/* What is particular to each hook. */
static const struct {
	u8 pf;
	u8 hooknum;
	u8 family;
	u8 dirs;
	nf_hookfn *fn;
} hooks[IPCUCKOO_HOOKS] = {
	[IPCUCKOO_HOOK_IN4] = {
		NFPROTO_IPV4, NF_INET_PRE_ROUTING, IPCUCKOO_FAMILY_INET,
		IPCUCKOO_DIR_BOTH, hook4,
	},
	[IPCUCKOO_HOOK_IN6] = {
		NFPROTO_IPV6, NF_INET_PRE_ROUTING, IPCUCKOO_FAMILY_INET6,
		IPCUCKOO_DIR_BOTH, hook6,
	},
	[IPCUCKOO_HOOK_OUT4] = {
		NFPROTO_IPV4, NF_INET_LOCAL_OUT, IPCUCKOO_FAMILY_INET,
		IPCUCKOO_DIR_DST, hook4,
	},
	[IPCUCKOO_HOOK_OUT6] = {
		NFPROTO_IPV6, NF_INET_LOCAL_OUT, IPCUCKOO_FAMILY_INET6,
		IPCUCKOO_DIR_DST, hook6,
	},
};

static struct ipcuckoo_chain *
current_chain(struct ipcuckoo_net *inet, enum ipcuckoo_hook hook)
{
	return rcu_dereference_protected(inet->attached.chain[hook],
					 lockdep_is_held(&inet->mutex));
}

static bool runs_at(const struct ipcuckoo_attachment *at,
		    enum ipcuckoo_hook hook)
{
	return !at->leaving && at->set->family & hooks[hook].family &&
	       at->rule.dir & hooks[hook].dirs;
}

/* The chain of a hook as the list is now: NULL if nothing runs there. */
static struct ipcuckoo_chain *make_chain(struct ipcuckoo_net *inet,
					 enum ipcuckoo_hook hook)
{
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_chain *chain;
	unsigned int count = 0;

	list_for_each_entry(at, &inet->attached.list, list)
		count += runs_at(at, hook);
	if (!count)
		return NULL;
	chain = kzalloc(struct_size(chain, link, count),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chain)
		return ERR_PTR(-ENOMEM);
	list_for_each_entry(at, &inet->attached.list, list)
		if (runs_at(at, hook))
			chain->link[chain->count++] = (struct ipcuckoo_link){ at, at->set };
	return chain;
}

static void free_chains(struct ipcuckoo_chain *chain[IPCUCKOO_HOOKS])
{
	int hook;

	for (hook = 0; hook < IPCUCKOO_HOOKS; hook++)
		kfree(chain[hook]);
}

static int make_chains(struct ipcuckoo_net *inet,
		       struct ipcuckoo_chain *chain[IPCUCKOO_HOOKS])
{
	int hook, err;

	for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
		chain[hook] = make_chain(inet, hook);
		if (IS_ERR(chain[hook])) {
			err = PTR_ERR(chain[hook]);
			chain[hook] = NULL;
			free_chains(chain);
			return err;
		}
	}
	return 0;
}

/* Register the hooks that get their first chain; it is not there yet, so that
 * packets find NULL and pass.
 */
static int register_hooks(struct ipcuckoo_net *inet,
			  struct ipcuckoo_chain *chain[IPCUCKOO_HOOKS])
{
	int hook, err;

	for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
		if (!chain[hook] || current_chain(inet, hook))
			continue;
		err = nf_register_net_hook(inet->net,
					   &inet->attached.ops[hook]);
		if (err)
			goto err_register;
	}
	return 0;

err_register:
	while (--hook >= 0)
		if (chain[hook] && !current_chain(inet, hook))
			nf_unregister_net_hook(inet->net,
					       &inet->attached.ops[hook]);
	return err;
}

/* Put chains in, and unregister the hooks that have none any more. */
static void publish_chains(struct ipcuckoo_net *inet,
			   struct ipcuckoo_chain *chain[IPCUCKOO_HOOKS])
{
	struct ipcuckoo_chain *old;
	int hook;

	for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
		old = current_chain(inet, hook);
		rcu_assign_pointer(inet->attached.chain[hook], chain[hook]);
		if (!old)
			continue;
		if (!chain[hook])
			nf_unregister_net_hook(inet->net,
					       &inet->attached.ops[hook]);
		kfree_rcu(old, rcu);
	}
	inet->attached.seq++;
}

/* Bring chains and hooks in line with the list, or change nothing. */
static int update(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_chain *chain[IPCUCKOO_HOOKS] = {};
	int err;

	err = make_chains(inet, chain);
	if (err)
		return err;
	err = register_hooks(inet, chain);
	if (err) {
		free_chains(chain);
		return err;
	}
	publish_chains(inet, chain);
	return 0;
}

/* Attachments */

static void free_rcu(struct rcu_head *rcu)
{
	struct ipcuckoo_attachment *at = container_of(rcu,
						      struct ipcuckoo_attachment,
						      rcu);

	free_percpu(at->counter);
	kfree(at);
}

/* Let go of an attachment that no chain has any more. */
static void release(struct ipcuckoo_attachment *at)
{
	WRITE_ONCE(at->set->attachments, at->set->attachments - 1);
	ipcuckoo_set_put(at->set);
	call_rcu(&at->rcu, free_rcu);
	module_put(THIS_MODULE);
}

/* Under ipcuckoo_attached.lock, so that the last to look is the last to tell. */
static void resolve(struct net *net, struct ipcuckoo_attachment *at)
{
	const struct net_device *dev;

	if (!*at->rule.dev)
		return;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, at->rule.dev);
	WRITE_ONCE(at->ifindex, dev ? dev->ifindex : IFINDEX_NONE);
	rcu_read_unlock();
}

static bool same_rule(const struct ipcuckoo_rule *a,
		      const struct ipcuckoo_rule *b)
{
	return a->dir == b->dir && a->verdict == b->verdict &&
	       a->mark == b->mark && a->mask == b->mask &&
	       a->loopback == b->loopback && !strcmp(a->dev, b->dev);
}

/* Insert behind all of the same or a lower order. A device event from then on
 * finds it.
 */
static void list_insert(struct ipcuckoo_net *inet,
			struct ipcuckoo_attachment *new)
{
	struct ipcuckoo_attachment *at;

	spin_lock(&inet->attached.lock);
	list_for_each_entry_reverse(at, &inet->attached.list, list)
		if (at->rule.order <= new->rule.order)
			break;
	list_add(&new->list, &at->list);
	resolve(inet->net, new);
	spin_unlock(&inet->attached.lock);
	WRITE_ONCE(inet->attached.count, inet->attached.count + 1);
}

static void list_remove(struct ipcuckoo_net *inet,
			struct ipcuckoo_attachment *at)
{
	spin_lock(&inet->attached.lock);
	list_del(&at->list);
	spin_unlock(&inet->attached.lock);
	WRITE_ONCE(inet->attached.count, inet->attached.count - 1);
}

/* Strangers who match are dropped, or pass by what should have blocked them:
 * not unless whoever asks for it says that he knows.
 */
static bool needs_consent(const struct ipcuckoo_attachment *at)
{
	return ipcuckoo_entries_approximate(&at->set->entries) &&
	       (at->rule.verdict == IPCUCKOO_VERDICT_DROP ||
		at->rule.verdict == IPCUCKOO_VERDICT_ACCEPT);
}

static int check_attach(struct ipcuckoo_net *inet, const char *name,
			struct ipcuckoo_attachment *new)
{
	const struct ipcuckoo_attachment *at;

	new->set = ipcuckoo_set_find(inet, name);
	if (!new->set)
		return -ENOENT;
	if (needs_consent(new) && !new->rule.approximate)
		return -EOPNOTSUPP;
	if (inet->attached.count >= ATTACHMENTS_MAX)
		return -E2BIG;
	list_for_each_entry(at, &inet->attached.list, list) {
		if (at->set == new->set && same_rule(&at->rule, &new->rule)) {
			new->id = at->id;
			return at->rule.order == new->rule.order ? -EEXIST :
								   -ENOTUNIQ;
		}
	}
	return 0;
}

static int attach_locked(struct ipcuckoo_net *inet, const char *name,
			 struct ipcuckoo_attachment *at)
{
	int err;

	err = check_attach(inet, name, at);
	if (err)
		return err;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	list_insert(inet, at);
	err = update(inet);
	if (err) {
		list_remove(inet, at);
		module_put(THIS_MODULE);
		return err;
	}
	at->id = ++inet->attached.id;
	WRITE_ONCE(at->set->attachments, at->set->attachments + 1);
	kref_get(&at->set->ref);
	ipcuckoo_event_attachment(at, IPCUCKOO_EVENT_ATTACHED);
	return 0;
}

/**
 * ipcuckoo_attach() - make a set act on packets
 * @inet:	namespace
 * @name:	the set's name
 * @rule:	what it shall do
 * @id:		set to the attachment's number, or to that of the one there is
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -ENOENT if there is no such set, -EOPNOTSUPP if it is approximate
 * and @rule does not accept that, -EEXIST if it does that already, -ENOTUNIQ if
 * it does in another order, -E2BIG if there are too many already, -ENODEV if the
 * module is about to be unloaded, -ENOMEM, or what nf_register_net_hook()
 * returns.
 */
int ipcuckoo_attach(struct ipcuckoo_net *inet, const char *name,
		    const struct ipcuckoo_rule *rule, u32 *id)
{
	struct ipcuckoo_attachment *at;
	int err;

	at = kzalloc(sizeof(*at), GFP_KERNEL_ACCOUNT);
	if (!at)
		return -ENOMEM;
	at->rule = *rule;
	at->counter = alloc_percpu_gfp(struct ipcuckoo_counter,
				       GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!at->counter) {
		kfree(at);
		return -ENOMEM;
	}
	mutex_lock(&inet->mutex);
	err = attach_locked(inet, name, at);
	*id = at->id;
	mutex_unlock(&inet->mutex);
	if (err) {
		free_percpu(at->counter);
		kfree(at);
	}
	return err;
}

/* Detach what is marked as leaving, or unmark it. */
static int detach_marked(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_attachment *at, *next;
	int err = update(inet);

	list_for_each_entry_safe(at, next, &inet->attached.list, list) {
		if (!at->leaving)
			continue;
		at->leaving = false;
		if (err)
			continue;
		list_remove(inet, at);
		ipcuckoo_event_attachment(at, IPCUCKOO_EVENT_DETACHED);
		release(at);
	}
	return err;
}

static bool like(const struct ipcuckoo_attachment *at, const char *name,
		 const struct ipcuckoo_rule *rule)
{
	return (!name || !strcmp(at->set->name, name)) &&
	       (!rule->dir || at->rule.dir == rule->dir) &&
	       (!rule->verdict || at->rule.verdict == rule->verdict) &&
	       (!*rule->dev || !strcmp(at->rule.dev, rule->dev));
}

/**
 * ipcuckoo_detach() - make sets act no longer
 * @inet:	namespace
 * @id:		number of the attachment; 0 to go by the rest
 * @name:	name of the set, or NULL for all sets
 * @rule:	direction, verdict and device; 0 and "" stand for any
 * @count:	set to the number of attachments removed
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -ENOENT if there is none like that, or -ENOMEM.
 */
int ipcuckoo_detach(struct ipcuckoo_net *inet, u32 id, const char *name,
		    const struct ipcuckoo_rule *rule, u32 *count)
{
	struct ipcuckoo_attachment *at;
	int err = -ENOENT;

	*count = 0;
	mutex_lock(&inet->mutex);
	list_for_each_entry(at, &inet->attached.list, list) {
		at->leaving = id ? at->id == id : like(at, name, rule);
		*count += at->leaving;
	}
	if (*count)
		err = detach_marked(inet);
	mutex_unlock(&inet->mutex);
	return err;
}

/* Let what is attached to one of two sets be attached to the other. */
static void exchange(struct ipcuckoo_net *inet, struct ipcuckoo_set *a,
		     struct ipcuckoo_set *b)
{
	struct ipcuckoo_attachment *at;
	unsigned int attachments;

	list_for_each_entry(at, &inet->attached.list, list) {
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
 * @inet:	namespace, whose mutex is held
 * @a:		set
 * @b:		another one, of the same type and family
 *
 * A packet meets all attachments as they were, or all as they are then. Those
 * that met them as they were may be at it for another grace period.
 *
 * Return: 0, or -ENOMEM; then nothing has changed.
 */
int ipcuckoo_attach_exchange(struct ipcuckoo_net *inet, struct ipcuckoo_set *a,
			     struct ipcuckoo_set *b)
{
	int err;

	lockdep_assert_held(&inet->mutex);
	exchange(inet, a, b);
	err = update(inet);
	if (err)
		exchange(inet, a, b);
	return err;
}

/**
 * ipcuckoo_attachment_count() - what matched so far
 * @at:		attachment; the namespace's mutex is held
 */
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at)
{
	struct ipcuckoo_counter sum = {};
	const struct ipcuckoo_counter *counter;
	int cpu;

	for_each_possible_cpu(cpu) {
		counter = per_cpu_ptr(at->counter, cpu);
		sum.packets += READ_ONCE(counter->packets);
		sum.bytes += READ_ONCE(counter->bytes);
	}
	return sum;
}

/* Devices come, go and change names. Under RTNL, hence without the mutex, which
 * may wait for memory. Alternative names are resolved as they are then.
 */
static int device_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net *net = dev_net(netdev_notifier_info_to_dev(ptr));
	struct ipcuckoo_net *inet = ipcuckoo_net(net);
	struct ipcuckoo_attachment *at;

	if (event != NETDEV_REGISTER && event != NETDEV_UNREGISTER &&
	    event != NETDEV_CHANGENAME)
		return NOTIFY_DONE;
	spin_lock(&inet->attached.lock);
	list_for_each_entry(at, &inet->attached.list, list)
		resolve(net, at);
	spin_unlock(&inet->attached.lock);
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

/**
 * ipcuckoo_attach_init_net() - a namespace begins
 * @inet:	namespace
 */
void ipcuckoo_attach_init_net(struct ipcuckoo_net *inet)
{
	struct nf_hook_ops *ops;
	int hook;

	INIT_LIST_HEAD(&inet->attached.list);
	spin_lock_init(&inet->attached.lock);
	for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
		ops = &inet->attached.ops[hook];
		ops->hook = hooks[hook].fn;
		ops->priv = &inet->attached.chain[hook];
		ops->pf = hooks[hook].pf;
		ops->hooknum = hooks[hook].hooknum;
		ops->priority = ipcuckoo_hook_priority;
	}
}

/**
 * ipcuckoo_attach_exit_net() - a namespace ends: detach all
 * @inet:	namespace
 *
 * Readers may still be at it when this returns.
 */
void ipcuckoo_attach_exit_net(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_chain *none[IPCUCKOO_HOOKS] = {};
	struct ipcuckoo_attachment *at, *next;

	mutex_lock(&inet->mutex);
	publish_chains(inet, none);
	list_for_each_entry_safe(at, next, &inet->attached.list, list) {
		list_remove(inet, at);
		release(at);
	}
	mutex_unlock(&inet->mutex);
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
}
