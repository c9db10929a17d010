// SPDX-License-Identifier: GPL-2.0-only
/* Sends a packet through PRE_ROUTING of a namespace, whatever is hooked there. It is one packet,
 * whose source address changes; a drop takes one of its many references.
 */
#include <linux/etherdevice.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/net_namespace.h>

#include "lab.h"

/* The port to which packets go */
#define LAB_PORT	80

/* The number of references, more than the drops of a chunk. */
#define REFERENCES	(1 << 20)

static struct sk_buff *skb;
static struct net_device *dev;

/* The device from which the packets seem to come: the first one except loopback. */
static struct net_device *find_device(struct net *net)
{
	struct net_device *d, *found = NULL;

	rcu_read_lock();
	for_each_netdev_rcu(net, d) {
		if (d->flags & IFF_LOOPBACK)
			continue;
		found = d;
		dev_hold(found);
		break;
	}
	rcu_read_unlock();
	return found;
}

static void fill4(void)
{
	struct iphdr *ip = skb_put_zero(skb, sizeof(*ip));

	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons(sizeof(*ip) + sizeof(struct udphdr));
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->daddr = htonl(0xc6336401);	/* 198.51.100.1 */
	skb->protocol = htons(ETH_P_IP);
	skb_set_transport_header(skb, sizeof(*ip));
}

static void fill6(void)
{
	struct ipv6hdr *ip = skb_put_zero(skb, sizeof(*ip));

	ip->version = 6;
	ip->payload_len = htons(sizeof(struct udphdr));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = 64;
	ip->daddr.s6_addr32[0] = htonl(0x20010db8);
	skb->protocol = htons(ETH_P_IPV6);
	skb_set_transport_header(skb, sizeof(*ip));
}

static int hook_begin(const struct lab_run *run)
{
	struct udphdr *udp;

	dev = find_device(run->net);
	if (!dev)
		return -ENODEV;
	skb = alloc_skb(256, GFP_KERNEL);
	if (!skb) {
		dev_put(dev);
		return -ENOMEM;
	}
	skb_reserve(skb, 64);
	skb_reset_network_header(skb);
	if (run->traffic->v4)
		fill4();
	else
		fill6();
	udp = skb_put_zero(skb, sizeof(*udp));
	udp->dest = htons(LAB_PORT);
	udp->len = htons(sizeof(*udp));
	skb->dev = dev;
	skb->pkt_type = PACKET_HOST;
	return 0;
}

static void hook_end(void)
{
	kfree_skb(skb);
	dev_put(dev);
}

static int arrived(struct net *net, struct sock *sk, struct sk_buff *s)
{
	return 0;
}

static __always_inline u32 chunk4(const struct lab_run *run, bool serial)
{
	const __be32 *v4 = run->traffic->v4;
	struct iphdr *ip = ip_hdr(skb);
	u32 drops = 0, i;

	for (i = 0; i < LAB_CHUNK; i++) {
		ip->saddr = v4[lab_index(run, i)];
		drops += nf_hook(NFPROTO_IPV4, NF_INET_PRE_ROUTING, run->net, NULL, skb, dev,
				 NULL, arrived) != 1;
		lab_wait(serial);
	}
	return drops;
}

static __always_inline u32 chunk6(const struct lab_run *run, bool serial)
{
	const struct in6_addr *v6 = run->traffic->v6;
	struct ipv6hdr *ip = ipv6_hdr(skb);
	u32 drops = 0, i;

	for (i = 0; i < LAB_CHUNK; i++) {
		ip->saddr = v6[lab_index(run, i)];
		drops += nf_hook(NFPROTO_IPV6, NF_INET_PRE_ROUTING, run->net, NULL, skb, dev,
				 NULL, arrived) != 1;
		lab_wait(serial);
	}
	return drops;
}

static u32 hook_chunk(const struct lab_run *run)
{
	u32 drops;

	refcount_set(&skb->users, REFERENCES);
	if (run->traffic->v4)
		drops = run->serial ? chunk4(run, true) : chunk4(run, false);
	else
		drops = run->serial ? chunk6(run, true) : chunk6(run, false);
	/* Drops are counted by their verdicts, and must have taken as many references. */
	if (refcount_read(&skb->users) != REFERENCES - drops)
		drops = LAB_CHUNK + 1;
	refcount_set(&skb->users, 1);
	return drops;
}

/* The lower bound for hooks: a hook that does nothing, in a namespace without others */

static struct net *floor_net;

static unsigned int accept(void *priv, struct sk_buff *s, const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

static const struct nf_hook_ops floor_ops[] = {
	{ .hook = accept, .pf = NFPROTO_IPV4, .hooknum = NF_INET_PRE_ROUTING, .priority = -300 },
	{ .hook = accept, .pf = NFPROTO_IPV6, .hooknum = NF_INET_PRE_ROUTING, .priority = -300 },
};

static int floor_begin(const struct lab_run *run)
{
	int err = hook_begin(run);

	if (err)
		return err;
	floor_net = run->net;
	err = nf_register_net_hooks(floor_net, floor_ops, ARRAY_SIZE(floor_ops));
	if (err)
		hook_end();
	return err;
}

static void floor_end(void)
{
	nf_unregister_net_hooks(floor_net, floor_ops, ARRAY_SIZE(floor_ops));
	hook_end();
}

/* The subjects differ only in their namespace. */
const struct lab_subject lab_hook[] = {
	{ "hook", "nothing", hook_begin, hook_chunk, hook_end },
	{ "hook", "floor", floor_begin, hook_chunk, floor_end },
	{ "hook", "ipcuckoo", hook_begin, hook_chunk, hook_end },
	{ "hook", "filter", hook_begin, hook_chunk, hook_end },
	{ "hook", "ipset", hook_begin, hook_chunk, hook_end },
	{ "hook", "nft", hook_begin, hook_chunk, hook_end },
	{ "hook", "nft-size", hook_begin, hook_chunk, hook_end },
	{}
};
