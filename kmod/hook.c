// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Hooks and chains
 *
 * A *point* is a netfilter hook of ours: one of the places of enum
 * ipcuckoo_hook, a priority, and at ingress the name of a device. It runs its
 * chain, an array of the attachments that matter there, in order. A chain is
 * never changed: attaching and detaching make new ones. A point with nothing to
 * run is not there, and an idle module costs nothing.
 *
 * Points and chains are made under ipcuckoo_net.mutex. Packets reach a chain by
 * the pointer in its point, under rcu_read_lock(), which netfilter holds; a
 * point is freed a grace period after its hook is gone.
 *
 * At ingress the hook belongs to a device, which comes and goes: the point is
 * there as long as something is attached to the name, the hook as long as there
 * is a device that has it. ipcuckoo_hooks_follow() is called under RTNL after
 * each change, ipcuckoo_hooks_update() without RTNL. A device that is about to
 * go is taken off the list of names before its going is announced, so that
 * update() either does not find it, or registers a hook that follow(), which
 * waits for the mutex, takes away again.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/netfilter_netdev.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "attach.h"
#include "compat.h"
#include "hook.h"
#include "log.h"
#include "net.h"
#include "set.h"

#define CREATE_TRACE_POINTS
#include "ipcuckoo_trace.h"

/**
 * struct ipcuckoo_link - an attachment in a chain
 * @at:		the attachment
 * @set:	the set it looks in: packets go by this, not by @at->set, so that
 *		all attachments change their sets in one step, with the chain
 * @dir:	its direction, or, if the set has a mask, that << MASKED_SHIFT: sets
 *		without are not asked for one
 */
struct ipcuckoo_link {
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_set *set;
	u8 dir;
};

#define MASKED_SHIFT	2

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

/**
 * struct ipcuckoo_point - a hook of ours
 * @chain:	what packets run; NULL until the first one is in
 * @next:	what they will run, while update() is at work
 * @leaving:	nothing runs there any more, while publish() is at work
 * @ops:	the hook; its device may be gone unless @registered
 * @hook:	which place
 * @dev:	at ingress, the name of the device, else ""
 * @registered:	@ops is
 * @list:	in ipcuckoo_attached.points
 * @rcu:	to free it
 */
struct ipcuckoo_point {
	struct ipcuckoo_chain __rcu *chain;
	struct ipcuckoo_chain *next;
	struct nf_hook_ops ops;
	enum ipcuckoo_hook hook;
	char dev[IFNAMSIZ];
	bool registered;
	bool leaving;
	struct list_head list;
	struct rcu_head rcu;
};

/* Packets */

/* The addresses of a packet, source and destination. */
struct addresses {
	struct ipcuckoo_key addr[2];
};

static __always_inline struct addresses addresses4(const struct iphdr *ip)
{
	return (struct addresses){
		.addr[0].lo = ntohl(ip->saddr),
		.addr[1].lo = ntohl(ip->daddr),
	};
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

static __always_inline struct addresses addresses6(const struct ipv6hdr *ip)
{
	return (struct addresses){
		.addr[0] = key6(&ip->saddr),
		.addr[1] = key6(&ip->daddr),
	};
}

static struct addresses addresses_of(const void *ip, bool v6)
{
	return v6 ? addresses6(ip) : addresses4(ip);
}

typedef bool (*match_fn)(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr);

static bool match4(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr)
{
	return ipcuckoo_set_match4(set, addr->lo);
}

static bool match_masked(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
			 bool v6)
{
	struct ipcuckoo_key key = ipcuckoo_mask_key(&set->mask, addr);

	return v6 ? ipcuckoo_set_match6(set, &key) : ipcuckoo_set_match4(set, key.lo);
}

static noinline bool matches_masked(const struct ipcuckoo_link *link, const void *ip,
				    bool v6)
{
	const struct addresses a = addresses_of(ip, v6);
	u8 dir = link->dir >> MASKED_SHIFT;

	return (dir & IPCUCKOO_DIR_SRC && match_masked(link->set, &a.addr[0], v6)) ||
	       (dir & IPCUCKOO_DIR_DST && match_masked(link->set, &a.addr[1], v6));
}

static __always_inline bool matches(const struct ipcuckoo_link *link, const void *ip,
				    const struct addresses *a, match_fn match)
{
	u8 dir = link->dir;

	if ((dir & IPCUCKOO_DIR_SRC && match(link->set, &a->addr[0])) ||
	    (dir & IPCUCKOO_DIR_DST && match(link->set, &a->addr[1])))
		return true;
	return unlikely(dir >> MASKED_SHIFT) &&
	       matches_masked(link, ip, match == ipcuckoo_set_match6);
}

/* The same once more for a set that keeps records: which entry it is, counted. */
static bool hit_entry(const struct ipcuckoo_link *link, const struct addresses *a,
		      bool v6, unsigned int bytes, u64 *mark)
{
	const struct ipcuckoo_mask *mask = &link->set->mask;
	struct addresses by = *a;
	u8 dir = link->at->rule.dir;

	if (mask->given) {
		by.addr[0] = ipcuckoo_mask_key(mask, &a->addr[0]);
		by.addr[1] = ipcuckoo_mask_key(mask, &a->addr[1]);
	}
	return (dir & IPCUCKOO_DIR_SRC &&
		ipcuckoo_set_hit(link->set, &by.addr[0], v6, bytes, mark)) ||
	       (dir & IPCUCKOO_DIR_DST &&
		ipcuckoo_set_hit(link->set, &by.addr[1], v6, bytes, mark));
}

static const struct net_device *device(const struct nf_hook_state *state)
{
	return state->hook == NF_INET_LOCAL_OUT && state->pf != NFPROTO_NETDEV ?
	       state->out : state->in;
}

static bool concerns(const struct ipcuckoo_attachment *at,
		     const struct net_device *dev)
{
	int ifindex = READ_ONCE(at->ifindex);

	if (dev->flags & IFF_LOOPBACK && !at->rule.loopback)
		return false;
	return !ifindex || ifindex == dev->ifindex;
}

static struct in6_addr traced(const struct ipcuckoo_key *addr, bool v4)
{
	struct in6_addr in6;

	put_unaligned_be64(addr->hi, in6.s6_addr);
	put_unaligned_be64(addr->lo, in6.s6_addr + 8);
	if (v4)
		in6.s6_addr32[2] = htonl(0xffff);
	return in6;
}

static void trace(const struct ipcuckoo_link *link, const struct sk_buff *skb,
		  const struct net_device *dev, const struct addresses *a)
{
	bool v4 = skb->protocol == htons(ETH_P_IP);
	struct in6_addr src = traced(&a->addr[0], v4), dst = traced(&a->addr[1], v4);

	trace_ipcuckoo_match(link->at, link->set, skb, dev, &src, &dst);
}

/* What a match comes to: a verdict of netfilter, or NF_REPEAT to go on. Kept out
 * of the way of those that match nothing, whose addresses stay in registers: it
 * reads them once more.
 */
static noinline unsigned int hit(const struct ipcuckoo_link *link, struct sk_buff *skb,
				 const struct nf_hook_state *state,
				 const struct net_device *dev, const void *ip, bool v6)
{
	const struct addresses a = addresses_of(ip, v6);
	struct ipcuckoo_attachment *at = link->at;
	u64 packets, mark = 0;

	if (ipcuckoo_set_recorded(link->set) &&
	    !hit_entry(link, &a, v6, skb->len, &mark))
		return NF_REPEAT;
	packets = this_cpu_inc_return(at->counter->packets);
	this_cpu_add(at->counter->bytes, skb->len);
	if (trace_ipcuckoo_match_enabled())
		trace(link, skb, dev, &a);
	if (at->rule.log.to)
		ipcuckoo_log(at, link->set, packets, skb, state);
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
	return NF_REPEAT;
}

/* Run a chain. Inlined into the hook of each family, so that the look-up is a
 * direct call.
 */
static __always_inline unsigned int run(const struct ipcuckoo_chain *chain,
					struct sk_buff *skb,
					const struct nf_hook_state *state, const void *ip,
					const struct addresses *a, match_fn match)
{
	const struct net_device *dev = device(state);
	const struct ipcuckoo_link *link = chain->link, *end = link + chain->count;
	unsigned int verdict;

	for (; link < end; link++) {
		if (!concerns(link->at, dev) || !matches(link, ip, a, match))
			continue;
		verdict = hit(link, skb, state, dev, ip, match == ipcuckoo_set_match6);
		if (verdict != NF_REPEAT)
			return verdict;
	}
	return NF_ACCEPT;
}

static __always_inline unsigned int run4(const struct ipcuckoo_chain *chain,
					 struct sk_buff *skb,
					 const struct nf_hook_state *state,
					 const struct iphdr *ip)
{
	const struct addresses a = addresses4(ip);

	return run(chain, skb, state, ip, &a, match4);
}

static __always_inline unsigned int run6(const struct ipcuckoo_chain *chain,
					 struct sk_buff *skb,
					 const struct nf_hook_state *state,
					 const struct ipv6hdr *ip)
{
	const struct addresses a = addresses6(ip);

	return run(chain, skb, state, ip, &a, ipcuckoo_set_match6);
}

/* @priv of a hook is where the chain's pointer is. */
static const struct ipcuckoo_chain *chain_of(void *priv)
{
	struct ipcuckoo_chain __rcu **slot = priv;

	return rcu_dereference(*slot);
}

/* The network header of a packet was checked before it comes to one of these. */
static unsigned int hook4(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);

	return chain ? run4(chain, skb, state, ip_hdr(skb)) : NF_ACCEPT;
}

static unsigned int hook6(void *priv, struct sk_buff *skb,
			  const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);

	return chain ? run6(chain, skb, state, ipv6_hdr(skb)) : NF_ACCEPT;
}

/* At ingress nothing was checked: what is no whole header is for the stack to
 * refuse. A VLAN tag was taken off by then, the first of several; what stands
 * behind a second one is not looked into.
 */
static unsigned int ingress4(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);
	const struct iphdr *ip;
	struct iphdr copy;

	if (!chain || skb->protocol != htons(ETH_P_IP))
		return NF_ACCEPT;
	ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(copy), &copy);
	return ip && ip->version == 4 ? run4(chain, skb, state, ip) : NF_ACCEPT;
}

static unsigned int ingress6(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);
	const struct ipv6hdr *ip;
	struct ipv6hdr copy;

	if (!chain || skb->protocol != htons(ETH_P_IPV6))
		return NF_ACCEPT;
	ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(copy), &copy);
	return ip && ip->version == 6 ? run6(chain, skb, state, ip) : NF_ACCEPT;
}

/* Points */

/* What is particular to each hook. */
static const struct {
	u8 place;
	u8 pf;
	u8 hooknum;
	u8 family;
	u8 dirs;
	nf_hookfn *fn;
} hooks[IPCUCKOO_HOOKS] = {
	[IPCUCKOO_HOOK_IN4] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV4, NF_INET_PRE_ROUTING,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_BOTH, hook4,
	},
	[IPCUCKOO_HOOK_IN6] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV6, NF_INET_PRE_ROUTING,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_BOTH, hook6,
	},
	[IPCUCKOO_HOOK_OUT4] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV4, NF_INET_LOCAL_OUT,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_DST, hook4,
	},
	[IPCUCKOO_HOOK_OUT6] = {
		IPCUCKOO_PLACE_IP, NFPROTO_IPV6, NF_INET_LOCAL_OUT,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_DST, hook6,
	},
	[IPCUCKOO_HOOK_INGRESS4] = {
		IPCUCKOO_PLACE_INGRESS, NFPROTO_NETDEV, NF_NETDEV_INGRESS,
		IPCUCKOO_FAMILY_INET, IPCUCKOO_DIR_BOTH, ingress4,
	},
	[IPCUCKOO_HOOK_INGRESS6] = {
		IPCUCKOO_PLACE_INGRESS, NFPROTO_NETDEV, NF_NETDEV_INGRESS,
		IPCUCKOO_FAMILY_INET6, IPCUCKOO_DIR_BOTH, ingress6,
	},
};

static struct ipcuckoo_chain *current_chain(const struct ipcuckoo_net *inet,
					    const struct ipcuckoo_point *point)
{
	return rcu_dereference_protected(point->chain,
					 lockdep_is_held(&inet->mutex));
}

static bool at_ingress(const struct ipcuckoo_point *point)
{
	return hooks[point->hook].place == IPCUCKOO_PLACE_INGRESS;
}

static bool runs_at(const struct ipcuckoo_attachment *at, enum ipcuckoo_hook hook)
{
	return !at->leaving && at->rule.place == hooks[hook].place &&
	       at->set->family & hooks[hook].family &&
	       at->rule.dir & hooks[hook].dirs;
}

static bool runs_in(const struct ipcuckoo_attachment *at,
		    const struct ipcuckoo_point *point)
{
	return runs_at(at, point->hook) &&
	       at->rule.priority == point->ops.priority &&
	       (!at_ingress(point) || !strcmp(at->rule.dev, point->dev));
}

static int create_point(struct ipcuckoo_net *inet, enum ipcuckoo_hook hook,
			const struct ipcuckoo_attachment *at)
{
	struct ipcuckoo_point *point;

	list_for_each_entry(point, &inet->attached.points, list)
		if (point->hook == hook && runs_in(at, point))
			return 0;
	point = kzalloc(sizeof(*point), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!point)
		return -ENOMEM;
	point->hook = hook;
	point->ops.hook = hooks[hook].fn;
	point->ops.priv = &point->chain;
	point->ops.pf = hooks[hook].pf;
	point->ops.hooknum = hooks[hook].hooknum;
	point->ops.priority = at->rule.priority;
	if (at_ingress(point))
		strscpy(point->dev, at->rule.dev, sizeof(point->dev));
	list_add_tail(&point->list, &inet->attached.points);
	return 0;
}

/* Points for all that is attached. */
static int create_points(struct ipcuckoo_net *inet)
{
	const struct ipcuckoo_attachment *at;
	int hook, err;

	list_for_each_entry(at, &inet->attached.list, list) {
		for (hook = 0; hook < IPCUCKOO_HOOKS; hook++) {
			err = runs_at(at, hook) ? create_point(inet, hook, at) : 0;
			if (err)
				return err;
		}
	}
	return 0;
}

static struct ipcuckoo_link make_link(struct ipcuckoo_attachment *at)
{
	u8 dir = at->rule.dir;

	return (struct ipcuckoo_link){
		.at = at,
		.set = at->set,
		.dir = at->set->mask.given ? dir << MASKED_SHIFT : dir,
	};
}

/* The chain of a point as the list is now: NULL if nothing runs there. */
static struct ipcuckoo_chain *make_chain(struct ipcuckoo_net *inet,
					 const struct ipcuckoo_point *point)
{
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_chain *chain;
	unsigned int count = 0;

	list_for_each_entry(at, &inet->attached.list, list)
		count += runs_in(at, point);
	if (!count)
		return NULL;
	chain = kzalloc(struct_size(chain, link, count),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chain)
		return ERR_PTR(-ENOMEM);
	list_for_each_entry(at, &inet->attached.list, list)
		if (runs_in(at, point))
			chain->link[chain->count++] = make_link(at);
	return chain;
}

static int make_chains(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_point *point;
	struct ipcuckoo_chain *chain;

	list_for_each_entry(point, &inet->attached.points, list) {
		chain = make_chain(inet, point);
		if (IS_ERR(chain))
			return PTR_ERR(chain);
		point->next = chain;
	}
	return 0;
}

/* At ingress nothing is registered while there is no such device. */
static int register_point(struct ipcuckoo_net *inet, struct ipcuckoo_point *point)
{
	struct net_device *dev = NULL;
	int err;

	if (at_ingress(point)) {
		dev = dev_get_by_name(inet->net, point->dev);
		if (!dev)
			return 0;
	}
	point->ops.dev = dev;
	err = nf_register_net_hook(inet->net, &point->ops);
	point->registered = !err;
	/* The hook is gone before the device is: see above. */
	dev_put(dev);
	return err;
}

static void unregister_point(struct ipcuckoo_net *inet, struct ipcuckoo_point *point)
{
	if (point->registered)
		nf_unregister_net_hook(inet->net, &point->ops);
	point->registered = false;
}

/* Register the points that get their first chain; it is not there yet, so that
 * packets find NULL and pass.
 */
static int register_points(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_point *point;
	int err;

	list_for_each_entry(point, &inet->attached.points, list) {
		if (!point->next || current_chain(inet, point))
			continue;
		err = register_point(inet, point);
		if (err)
			return err;
	}
	return 0;
}

/* Packets may be about to read its chain's pointer, and to run the chain. */
static void free_point(struct ipcuckoo_net *inet, struct ipcuckoo_point *point)
{
	unregister_point(inet, point);
	list_del(&point->list);
	kfree_rcu(point, rcu);
}

/* Forget what was to be, and the points that were made for it. */
static void give_up(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_point *point, *next;

	list_for_each_entry_safe(point, next, &inet->attached.points, list) {
		kfree(point->next);
		point->next = NULL;
		if (!current_chain(inet, point))
			free_point(inet, point);
	}
}

static void put_chain(struct ipcuckoo_net *inet, struct ipcuckoo_point *point)
{
	struct ipcuckoo_chain *old = current_chain(inet, point);

	rcu_assign_pointer(point->chain, point->next);
	point->next = NULL;
	if (old)
		kfree_rcu(old, rcu);
}

/* Put the chains in. Those that have attachments come first: what moves from
 * one point to another is at both for a moment, and not at none.
 */
static void publish(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_point *point, *next;

	list_for_each_entry(point, &inet->attached.points, list)
		point->leaving = !point->next;
	list_for_each_entry(point, &inet->attached.points, list)
		if (!point->leaving)
			put_chain(inet, point);
	list_for_each_entry_safe(point, next, &inet->attached.points, list) {
		if (!point->leaving)
			continue;
		put_chain(inet, point);
		free_point(inet, point);
	}
	inet->attached.seq++;
}

/**
 * ipcuckoo_hooks_update() - bring chains and hooks in line with the attachments
 * @inet:	namespace, whose mutex is held
 *
 * At each hook a packet meets the attachments as they were, or as they are now.
 *
 * Return: 0, -ENOMEM, or what nf_register_net_hook() returns; then nothing has
 * changed. It does not fail where nothing is attached any more.
 */
int ipcuckoo_hooks_update(struct ipcuckoo_net *inet)
{
	int err;

	lockdep_assert_held(&inet->mutex);
	err = create_points(inet);
	if (!err)
		err = make_chains(inet);
	if (!err)
		err = register_points(inet);
	if (err)
		give_up(inet);
	else
		publish(inet);
	return err;
}

/**
 * ipcuckoo_hooks_remove() - remove all hooks
 * @inet:	namespace, whose mutex is held
 */
void ipcuckoo_hooks_remove(struct ipcuckoo_net *inet)
{
	lockdep_assert_held(&inet->mutex);
	publish(inet);
}

/**
 * ipcuckoo_hooks_follow() - a device came, went, or has another name
 * @inet:	namespace, whose mutex is held
 *
 * Context: under RTNL.
 */
void ipcuckoo_hooks_follow(struct ipcuckoo_net *inet)
{
	const struct net_device *dev;
	struct ipcuckoo_point *point;
	int err;

	lockdep_assert_held(&inet->mutex);
	list_for_each_entry(point, &inet->attached.points, list) {
		if (!at_ingress(point))
			continue;
		dev = __dev_get_by_name(inet->net, point->dev);
		if (point->registered && point->ops.dev != dev)
			unregister_point(inet, point);
		if (!dev || point->registered)
			continue;
		err = register_point(inet, point);
		if (err)
			net_warn_ratelimited("ipcuckoo: no hook at the ingress of %s, what is attached there sees nothing: error %d\n",
					     point->dev, err);
	}
}
