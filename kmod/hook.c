// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Packets
 *
 * The functions that netfilter calls for each packet, and at the end of this file the one that
 * a BPF program calls for each frame in XDP. Each runs the chain of its hook: an array of
 * attachments, in order. A packet that matches the set of an attachment gets the verdict of the
 * attachment, and drop and accept end the chain. point.c makes the chains, tap.c registers the
 * hooks.
 */
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
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
#include <linux/u64_stats_sync.h>
#include <net/xdp.h>

#include "attach.h"
#include "compat.h"
#include "conntrack.h"
#include "hook.h"
#include "in6.h"
#include "log.h"
#include "net.h"
#include "ports.h"
#include "prefetch.h"
#include "set.h"
#include "tap.h"

#define CREATE_TRACE_POINTS
#include "ipcuckoo_trace.h"

/* The source address of a packet, or its destination address if @dst. */
static __always_inline struct ipcuckoo_key key4(const struct iphdr *ip, bool dst)
{
	return (struct ipcuckoo_key){ .lo = ntohl(dst ? ip->daddr : ip->saddr) };
}

static __always_inline struct ipcuckoo_key key6(const struct ipv6hdr *ip, bool dst)
{
	return ipcuckoo_in6_key(dst ? &ip->daddr : &ip->saddr);
}

static struct ipcuckoo_key key_of(const void *ip, bool v6, bool dst)
{
	return v6 ? key6(ip, dst) : key4(ip, dst);
}

typedef bool (*match_fn)(struct ipcuckoo_set *set, const void *ip, bool dst);

static __always_inline bool match4(struct ipcuckoo_set *set, const void *ip, bool dst)
{
	return ipcuckoo_set_match4(set, key4(ip, dst).lo);
}

static __always_inline bool match6(struct ipcuckoo_set *set, const void *ip, bool dst)
{
	const struct ipcuckoo_key key = key6(ip, dst);

	return ipcuckoo_set_match6(set, &key);
}

/* An address of a packet, masked if the set has a mask. */
static struct ipcuckoo_key masked_key(const struct ipcuckoo_set *set, const void *ip, bool v6,
				      bool dst)
{
	struct ipcuckoo_key key = key_of(ip, v6, dst);

	return set->mask.present ? ipcuckoo_mask_key(&set->mask, &key) : key;
}

/* Look an address up in a set that has a mask, or whose entries have records. If they have records,
 * the look-up also returns the entry that matches, and the packet is counted for that entry here.
 */
static bool match_special(struct ipcuckoo_set *set, const void *ip, bool v6, bool dst,
			  unsigned int bytes, u64 *mark)
{
	const struct ipcuckoo_key key = masked_key(set, ip, v6, dst);

	if (ipcuckoo_set_has_records(set))
		return ipcuckoo_set_hit(set, &key, v6, bytes, mark);
	return ipcuckoo_set_match(set, &key, v6);
}

static void prefetch_for(const struct ipcuckoo_set *set, const void *ip, bool v6, bool dst)
{
	const struct ipcuckoo_key key = masked_key(set, ip, v6, dst);

	if (v6)
		ipcuckoo_prefetch6(&set->entries, &key);
	else
		ipcuckoo_prefetch4(&set->entries, key.lo);
}

/* Does a packet match a link whose direction is shifted by IPCUCKOO_SPECIAL_SHIFT? If the entry
 * that matches has counters, count the packet's @bytes for it. If the entry has a mark, set @mark
 * to it.
 */
static noinline bool look_up_special(const struct ipcuckoo_link *link, const void *ip, bool v6,
				     unsigned int bytes, u64 *mark)
{
	u8 dir = link->dir >> IPCUCKOO_SPECIAL_SHIFT;

	if (link->at->rule.verdict == IPCUCKOO_VERDICT_PREFETCH) {
		if (dir & IPCUCKOO_DIR_SRC)
			prefetch_for(link->set, ip, v6, false);
		if (dir & IPCUCKOO_DIR_DST)
			prefetch_for(link->set, ip, v6, true);
		return false;
	}
	return (dir & IPCUCKOO_DIR_SRC &&
		match_special(link->set, ip, v6, false, bytes, mark)) ||
	       (dir & IPCUCKOO_DIR_DST &&
		match_special(link->set, ip, v6, true, bytes, mark));
}

/* Does a packet match a special link (is_special())? */
static __always_inline bool matches_special(const struct ipcuckoo_link *link, const void *ip,
					    match_fn match, unsigned int bytes, u64 *mark)
{
	u8 dir = link->dir >> IPCUCKOO_LIMITED_SHIFT;

	if (!dir)
		return look_up_special(link, ip, match == match6, bytes, mark);
	return (dir & IPCUCKOO_DIR_SRC && match(link->set, ip, false)) ||
	       (dir & IPCUCKOO_DIR_DST && match(link->set, ip, true));
}

/* Is the direction of a link shifted? struct ipcuckoo_link says for which links it is. */
static bool is_special(const struct ipcuckoo_link *link)
{
	return unlikely(link->dir >> IPCUCKOO_SPECIAL_SHIFT);
}

/* Does a packet match a link that is not special? This function reads the direction again after the
 * first look-up, so that the direction needs no register during the look-up.
 */
static __always_inline bool matches(const struct ipcuckoo_link *link, const void *ip,
				    match_fn match)
{
	return (link->dir & IPCUCKOO_DIR_SRC && match(link->set, ip, false)) ||
	       (link->dir & IPCUCKOO_DIR_DST && match(link->set, ip, true));
}

/* Does an attachment act on packets of this device? @dev can be NULL: kernels before 6.11
 * that lack a later fix pass no device for packets that SRv6 has decapsulated (End.DX4,
 * End.DX6). Attachments to one device do not see such packets.
 */
static bool concerns(const struct ipcuckoo_attachment *at,
		     const struct net_device *dev)
{
	int ifindex = READ_ONCE(at->ifindex);

	if (unlikely(!dev))
		return !ifindex;
	if (dev->flags & IFF_LOOPBACK && !at->rule.loopback)
		return false;
	return !ifindex || ifindex == dev->ifindex;
}

static struct in6_addr traced(struct ipcuckoo_key addr, bool v4)
{
	struct in6_addr in6 = ipcuckoo_key_in6(&addr);

	if (v4)
		in6.s6_addr32[2] = htonl(0xffff);
	return in6;
}

static void trace(const struct ipcuckoo_link *link, const struct sk_buff *skb,
		  const struct net_device *dev, const void *ip)
{
	bool v6 = ((const struct iphdr *)ip)->version == 6;
	struct in6_addr src = traced(key_of(ip, v6, false), !v6);
	struct in6_addr dst = traced(key_of(ip, v6, true), !v6);

	trace_ipcuckoo_match(link->at, link->set, skb, dev, &src, &dst);
}

/* Count a packet on this CPU. Return: the packets counted on this CPU, including this one.
 *
 * Where the processor has instructions for per-CPU variables, this takes two of them. Elsewhere,
 * each this_cpu operation disables interrupts, so this function disables them once for both
 * additions; mm/vmstat.c distinguishes the same two cases. On 32-bit machines readers use @syncp to
 * get consistent 64-bit numbers.
 */
static u64 count_return(struct ipcuckoo_counter __percpu *counter, unsigned int bytes)
{
#if defined(CONFIG_64BIT) && defined(CONFIG_HAVE_CMPXCHG_LOCAL)
	this_cpu_add(counter->bytes, bytes);
	return this_cpu_inc_return(counter->packets);
#else
	struct ipcuckoo_counter *own;
	unsigned long flags;
	u64 packets;

	local_irq_save(flags);
	own = this_cpu_ptr(counter);
	u64_stats_update_begin(&own->syncp);
	own->bytes += bytes;
	packets = ++own->packets;
	u64_stats_update_end(&own->syncp);
	local_irq_restore(flags);
	return packets;
#endif
}

/* Count a packet, like count_return(). As no number is returned, cheaper instructions do. */
static __always_inline void count(struct ipcuckoo_counter __percpu *counter, unsigned int bytes)
{
#if defined(CONFIG_64BIT) && defined(CONFIG_HAVE_CMPXCHG_LOCAL)
	this_cpu_add(counter->bytes, bytes);
	this_cpu_inc(counter->packets);
#else
	count_return(counter, bytes);
#endif
}

/* Count, trace, log and mark a packet that matched. @mark is the mark of the entry, or 0 if it has
 * none. Not inlined, so that the packets of most rules need no registers for this.
 */
static noinline void act(const struct ipcuckoo_link *link, struct sk_buff *skb,
			 const struct nf_hook_state *state, const void *ip, unsigned int bytes,
			 u64 mark)
{
	struct ipcuckoo_attachment *at = link->at;
	u64 packets = count_return(at->counter, bytes);

	if (trace_ipcuckoo_match_enabled())
		trace(link, skb, state->in ?: state->out, ip);
	if (at->rule.log.to && ipcuckoo_log_due(at, packets))
		ipcuckoo_log(at, link->set, skb, state);
	if (at->rule.verdict != IPCUCKOO_VERDICT_MARK)
		return;
	mark = mark ?: (u64)at->rule.mask << 32 | at->rule.mark;
	skb->mark = (skb->mark & ~(u32)(mark >> 32)) | (u32)mark;
}

/* Does an attachment act on packets to this packet's port? See ports.c for the verdict drop.
 * Inlined, so that the ports are read by a direct call of @read.
 */
static __always_inline bool concerns_port(const struct ipcuckoo_rule *rule, bool v6, const void *ip,
					  const void *packet, ipcuckoo_read_fn read)
{
	const __be16 *header;
	__be16 copy[2];
	int at;

	if (!rule->protocol)
		return true;
	at = ipcuckoo_ports_find(rule->protocol, v6, ip, packet, read);
	if (at == IPCUCKOO_PORTS_LATER)
		return rule->verdict == IPCUCKOO_VERDICT_DROP;
	header = at == IPCUCKOO_PORTS_NONE ? NULL : read(packet, at, IPCUCKOO_PORTS_HEADER, copy);
	return header && ipcuckoo_ports_have(&rule->ports, ntohs(header[1]));
}

/* A packet behind VLAN tags, whose length is @tags, for read_packet(). */
struct tagged {
	const struct sk_buff *skb;
	unsigned int tags;
};

static const void *read_packet(const void *packet, unsigned int at, unsigned int size, void *copy)
{
	const struct tagged *tagged = packet;

	return skb_header_pointer(tagged->skb, skb_network_offset(tagged->skb) + tagged->tags + at,
				  size, copy);
}

/* Run a special link. Return: its verdict if the packet matches, or IPCUCKOO_NO_VERDICT. */
static __always_inline u32 run_special(const struct ipcuckoo_link *link, struct sk_buff *skb,
				       const struct nf_hook_state *state, const void *ip,
				       unsigned int tags, match_fn match)
{
	const struct ipcuckoo_rule *rule = &link->at->rule;
	const struct tagged tagged = { .skb = skb, .tags = tags };
	unsigned int bytes = skb->len - tags;
	u64 mark = 0;

	/* Connection and ports come first: they cost less than a look-up, and of an entry only
	 * those packets are counted that match.
	 */
	if (rule->only_new && !ipcuckoo_conntrack_is_new(skb))
		return IPCUCKOO_NO_VERDICT;
	if (!concerns_port(rule, match == match6, ip, &tagged, read_packet))
		return IPCUCKOO_NO_VERDICT;
	if (!matches_special(link, ip, match, bytes, &mark))
		return IPCUCKOO_NO_VERDICT;
	if (unlikely(link->acts || trace_ipcuckoo_match_enabled()))
		act(link, skb, state, ip, bytes, mark);
	else
		count(link->at->counter, bytes);
	return link->verdict;
}

/* Not inlined, so that the packets of other links need no registers for this. */

static noinline u32 run_special4(const struct ipcuckoo_link *link, struct sk_buff *skb,
				 const struct nf_hook_state *state, const void *ip,
				 unsigned int tags)
{
	return run_special(link, skb, state, ip, tags, match4);
}

static noinline u32 run_special6(const struct ipcuckoo_link *link, struct sk_buff *skb,
				 const struct nf_hook_state *state, const void *ip,
				 unsigned int tags)
{
	return run_special(link, skb, state, ip, tags, match6);
}

/* Run a chain. Inlined into the hook of each family, so that the look-up is a direct call.
 * @tags is the length of the VLAN tags in front of the IP header, which are not counted. @out says
 * that the machine sends the packet.
 */
static __always_inline unsigned int run(const struct ipcuckoo_chain *chain,
					struct sk_buff *skb,
					const struct nf_hook_state *state, const void *ip,
					unsigned int tags, bool out, match_fn match)
{
	const struct ipcuckoo_link *link;
	u32 verdict;

	for (link = chain->link; link->at; link++) {
		if (!concerns(link->at, out ? state->out : state->in))
			continue;
		if (matches(link, ip, match)) {
			if (unlikely(link->acts || trace_ipcuckoo_match_enabled()))
				act(link, skb, state, ip, skb->len - tags, 0);
			else
				count(link->at->counter, skb->len - tags);
			verdict = link->verdict;
		} else if (is_special(link)) {
			verdict = match == match6 ? run_special6(link, skb, state, ip, tags) :
						    run_special4(link, skb, state, ip, tags);
		} else {
			continue;
		}
		if (verdict != IPCUCKOO_NO_VERDICT)
			return verdict;
	}
	return NF_ACCEPT;
}

/* @priv of a hook points to the pointer to its chain. */
static const struct ipcuckoo_chain *chain_of(void *priv)
{
	struct ipcuckoo_chain __rcu **slot = priv;

	return rcu_dereference(*slot);
}

/* The IP stack has checked the network header before it calls these functions. */

static __always_inline unsigned int hook4(void *priv, struct sk_buff *skb,
					  const struct nf_hook_state *state, bool out)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);

	return chain ? run(chain, skb, state, ip_hdr(skb), 0, out, match4) : NF_ACCEPT;
}

static __always_inline unsigned int hook6(void *priv, struct sk_buff *skb,
					  const struct nf_hook_state *state, bool out)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);

	return chain ? run(chain, skb, state, ipv6_hdr(skb), 0, out, match6) : NF_ACCEPT;
}

unsigned int ipcuckoo_hook4(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	return hook4(priv, skb, state, false);
}

unsigned int ipcuckoo_hook6(void *priv, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	return hook6(priv, skb, state, false);
}

/* A packet that the machine sends was routed before LOCAL_OUT. If an attachment has changed
 * its mark, it is routed again, as iptables does after the table mangle.
 */
static noinline unsigned int reroute(struct sk_buff *skb, const struct nf_hook_state *state,
				     bool v6)
{
	int err = v6 ? nf_ip6_route_me_harder(state->net, state->sk, skb) :
		       ip_route_me_harder(state->net, state->sk, skb, RTN_UNSPEC);

	return err < 0 ? NF_DROP_ERR(err) : NF_ACCEPT;
}

unsigned int ipcuckoo_hook_out4(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	u32 mark = skb->mark;
	unsigned int verdict = hook4(priv, skb, state, true);

	if (verdict != NF_ACCEPT || likely(skb->mark == mark))
		return verdict;
	return reroute(skb, state, false);
}

unsigned int ipcuckoo_hook_out6(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	u32 mark = skb->mark;
	unsigned int verdict = hook6(priv, skb, state, true);

	if (verdict != NF_ACCEPT || likely(skb->mark == mark))
		return verdict;
	return reroute(skb, state, true);
}

/* Skipping VLAN tags costs time, so no frame may have more than these, unless nothing is dropped.
 * They include the outermost one, which the stack has moved out of the frame.
 */
#define TAGS_MAX	16

/* What tags_before() returns if there is no header of the protocol behind the tags, or if there are
 * more than TAGS_MAX tags.
 */
enum { NO_HEADER = -1, TOO_DEEP = -2 };

/* Skip all VLAN tags: the slow path of tags_before(). */
static noinline int walk_tags(const struct sk_buff *skb, __be16 protocol)
{
	int start = skb_network_offset(skb), at = start;
	int tags = skb_vlan_tag_present(skb);
	const struct vlan_hdr *tag;
	__be16 next = skb->protocol;
	struct vlan_hdr copy;

	for (; eth_type_vlan(next); tags++) {
		if (tags == TAGS_MAX)
			return TOO_DEEP;
		tag = skb_header_pointer(skb, at, sizeof(copy), &copy);
		if (!tag)
			return NO_HEADER;
		next = tag->h_vlan_encapsulated_proto;
		at += VLAN_HLEN;
	}
	return next == protocol ? at - start : NO_HEADER;
}

/* The length of the VLAN tags between the network header and a header of @protocol; or NO_HEADER,
 * or TOO_DEEP.
 *
 * The outermost tag is in skb->vlan_tci by now. The stack may still deliver the packet
 * behind any number of further tags: it removes tags of VLAN 0; a VLAN device removes its
 * tag, and may have another VLAN device on top of it, or be a port of a bridge that has
 * one. So what has too many tags is dropped if anything can be: to let it pass would bypass
 * the set.
 */
static __always_inline int tags_before(const struct sk_buff *skb, __be16 protocol)
{
	if (likely(skb->protocol == protocol))
		return 0;
	return eth_type_vlan(skb->protocol) ? walk_tags(skb, protocol) : NO_HEADER;
}

/* Does a chain drop some packets of a device? */
static bool can_drop(const struct ipcuckoo_chain *chain, const struct net_device *dev)
{
	const struct ipcuckoo_link *link;

	for (link = chain->link; link->at; link++)
		if (link->verdict == NF_DROP && concerns(link->at, dev))
			return true;
	return false;
}

/* The verdict for a packet in which tags_before() has found no header. */
static noinline unsigned int without_header(const struct ipcuckoo_chain *chain, int tags,
					    const struct nf_hook_state *state)
{
	return tags == TOO_DEEP && can_drop(chain, state->in) ? NF_DROP : NF_ACCEPT;
}

/* At ingress the IP stack has not checked the packet yet. A packet without a complete IP header
 * is accepted here: the IP stack will drop it.
 */
unsigned int ipcuckoo_hook_ingress4(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);
	const struct iphdr *ip;
	struct iphdr copy;
	int tags;

	if (!chain)
		return NF_ACCEPT;
	tags = tags_before(skb, htons(ETH_P_IP));
	if (tags < 0)
		return without_header(chain, tags, state);
	ip = skb_header_pointer(skb, skb_network_offset(skb) + tags, sizeof(copy), &copy);
	return ip && ip->version == 4 ? run(chain, skb, state, ip, tags, false, match4) : NF_ACCEPT;
}

unsigned int ipcuckoo_hook_ingress6(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct ipcuckoo_chain *chain = chain_of(priv);
	const struct ipv6hdr *ip;
	struct ipv6hdr copy;
	int tags;

	if (!chain)
		return NF_ACCEPT;
	tags = tags_before(skb, htons(ETH_P_IPV6));
	if (tags < 0)
		return without_header(chain, tags, state);
	ip = skb_header_pointer(skb, skb_network_offset(skb) + tags, sizeof(copy), &copy);
	return ip && ip->version == 6 ? run(chain, skb, state, ip, tags, false, match6) : NF_ACCEPT;
}

/* XDP */

/* The number of bytes, from the IP header on, that are copied for a logger or a tracer. */
#define SAMPLE	128

/**
 * struct frame - a frame in XDP
 * @xdp:	the frame, or a copy of its beginning
 * @dev:	the device whose attachments it runs
 * @ip:		its IP header
 * @rest:	the number of bytes after that copy; 0 if there is no copy
 * @v6:		the header is one of IPv6
 *
 * Kernels that clear the stack do it here for each frame: with stores, if the structure has at
 * most 32 bytes. A larger one would be cleared with rep stos, which takes 10 ns.
 */
struct frame {
	const struct xdp_buff *xdp;
	struct net_device *dev;
	const void *ip;
	unsigned int rest;
	bool v6;
};

/* Copy a frame into an skb for a logger or a tracer, which take no frames. Return: NULL without
 * memory.
 */
static struct sk_buff *copy_frame(const struct frame *frame)
{
	const struct xdp_buff *xdp = frame->xdp;
	unsigned int front = frame->ip - xdp->data;
	unsigned int size = min_t(unsigned int, xdp->data_end - xdp->data, front + SAMPLE);
	struct sk_buff *skb = alloc_skb(size, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb_put_data(skb, xdp->data, size);
	skb->dev = frame->dev;
	skb->protocol = htons(frame->v6 ? ETH_P_IPV6 : ETH_P_IP);
	skb_reset_mac_header(skb);
	skb_pull(skb, front);
	skb_reset_network_header(skb);
	skb->mac_len = front;
	return skb;
}

static noinline void report(const struct ipcuckoo_link *link, const struct frame *frame, bool log)
{
	const struct nf_hook_state state = {
		.hook = NF_NETDEV_INGRESS, .pf = NFPROTO_NETDEV, .in = frame->dev,
		.net = dev_net(frame->dev),
	};
	struct sk_buff *skb = copy_frame(frame);

	if (!skb)
		return;
	if (trace_ipcuckoo_match_enabled())
		trace(link, skb, frame->dev, frame->ip);
	if (log)
		ipcuckoo_log(link->at, link->set, skb, &state);
	consume_skb(skb);
}

/**
 * struct pieces - what is left of a frame that is in several pieces of memory
 * @info:	has the pieces behind the first one
 * @at:		the rest of this piece; or NULL, if the kernel has it mapped nowhere
 * @length:	bytes of that
 * @next:	index of the next piece in @info
 */
struct pieces {
	const struct skb_shared_info *info;
	const void *at;
	unsigned int length;
	unsigned int next;
};

static struct pieces pieces_of(const struct xdp_buff *xdp)
{
	return (struct pieces){
		.info = xdp_get_shared_info_from_buff((struct xdp_buff *)xdp),
		.at = xdp->data,
		.length = xdp->data_end - xdp->data,
	};
}

/* Copy the next bytes of a frame, or skip them if @to is NULL. Return: how many were left, @size at
 * most.
 */
static unsigned int copy_bytes(struct pieces *pieces, void *to, unsigned int size)
{
	unsigned int copied = 0, part;

	while (pieces->at && copied < size) {
		part = min(pieces->length, size - copied);
		if (to)
			memcpy(to + copied, pieces->at, part);
		copied += part;
		pieces->at += part;
		pieces->length -= part;
		if (pieces->length)
			continue;
		if (pieces->next == pieces->info->nr_frags)
			break;
		pieces->at = skb_frag_address_safe(&pieces->info->frags[pieces->next]);
		pieces->length = skb_frag_size(&pieces->info->frags[pieces->next++]);
	}
	return copied;
}

/* A copy of the beginning of a frame: of @whole, of which @front bytes are before the IP header */
struct beginning {
	struct xdp_buff copy;
	const struct xdp_buff *whole;
	unsigned int front;
};

static const void *read_frame(const void *packet, unsigned int at, unsigned int size, void *copy)
{
	const struct frame *frame = packet;
	unsigned int front = frame->ip - frame->xdp->data;
	const struct xdp_buff *xdp = frame->xdp;
	const struct beginning *beginning;
	struct pieces pieces;

	if ((u64)at + size <= xdp->data_end - frame->ip)
		return frame->ip + at;
	if (frame->rest) {
		beginning = container_of(xdp, struct beginning, copy);
		xdp = beginning->whole;
		front = beginning->front;
	}
	if (!xdp_buff_has_frags((struct xdp_buff *)xdp))
		return NULL;
	pieces = pieces_of(xdp);
	return copy_bytes(&pieces, NULL, front + at) == front + at &&
	       copy_bytes(&pieces, copy, size) == size ? copy : NULL;
}

/* Does a frame match a special link? */
static noinline bool matches_frame(const struct ipcuckoo_link *link, const struct frame *frame,
				   unsigned int bytes)
{
	u64 mark;	/* not used: a frame has none */

	/* The ports come first: see run_special(). */
	return concerns_port(&link->at->rule, frame->v6, frame->ip, frame, read_frame) &&
	       (frame->v6 ? matches_special(link, frame->ip, match6, bytes, &mark) :
			    matches_special(link, frame->ip, match4, bytes, &mark));
}

/* The length of a frame from its IP header on, fragments included. */
static __always_inline unsigned int frame_bytes(const struct frame *frame)
{
	return xdp_get_buff_len((struct xdp_buff *)frame->xdp) - (frame->ip - frame->xdp->data) +
	       frame->rest;
}

/* Count a frame that matched, and trace and log it. Return: XDP_DROP, XDP_PASS, or
 * IPCUCKOO_NO_VERDICT.
 */
static noinline u32 hit_frame(const struct ipcuckoo_link *link, const struct frame *frame,
			      unsigned int bytes)
{
	struct ipcuckoo_attachment *at = link->at;
	u64 packets = count_return(at->counter, bytes);
	bool log = at->rule.log.to && ipcuckoo_log_due(at, packets);

	if (log || trace_ipcuckoo_match_enabled())
		report(link, frame, log);
	return at->rule.verdict == IPCUCKOO_VERDICT_DROP ? XDP_DROP :
	       at->rule.verdict == IPCUCKOO_VERDICT_ACCEPT ? XDP_PASS : IPCUCKOO_NO_VERDICT;
}

static __always_inline u32 run_frame(const struct ipcuckoo_chain *chain,
				     const struct frame *frame, match_fn match)
{
	unsigned int bytes = frame_bytes(frame);
	const struct ipcuckoo_link *link;
	u32 verdict;

	for (link = chain->link; link->at; link++) {
		if (!concerns(link->at, frame->dev))
			continue;
		if (!matches(link, frame->ip, match) &&
		    !(is_special(link) && matches_frame(link, frame, bytes)))
			continue;
		verdict = hit_frame(link, frame, bytes);
		if (verdict != IPCUCKOO_NO_VERDICT)
			return verdict;
	}
	return XDP_PASS;
}

/* Find the IP header of a frame, behind all VLAN tags: see tags_before(). Return: 0; NO_HEADER,
 * also if it is not complete; or TOO_DEEP.
 */
static __always_inline int find_ip(struct frame *frame)
{
	const void *at = frame->xdp->data, *end = frame->xdp->data_end;
	unsigned int tags;
	__be16 protocol;
	bool found;

	if (at + ETH_HLEN > end)
		return NO_HEADER;
	protocol = ((const struct ethhdr *)at)->h_proto;
	at += ETH_HLEN;
	for (tags = 0; unlikely(eth_type_vlan(protocol)); tags++) {
		if (tags == TAGS_MAX)
			return TOO_DEEP;
		if (at + VLAN_HLEN > end)
			return NO_HEADER;
		protocol = ((const struct vlan_hdr *)at)->h_vlan_encapsulated_proto;
		at += VLAN_HLEN;
	}
	frame->ip = at;
	frame->v6 = protocol == htons(ETH_P_IPV6);
	if (frame->v6)
		found = at + sizeof(struct ipv6hdr) <= end &&
			((const struct ipv6hdr *)at)->version == 6;
	else
		found = protocol == htons(ETH_P_IP) && at + sizeof(struct iphdr) <= end &&
			((const struct iphdr *)at)->version == 4;
	return found ? 0 : NO_HEADER;
}

/* Run all chains of a device. As at ingress, attachments that name the device differently (by its
 * name, or by an alternative name) are in different chains. The verdict accept ends one chain; the
 * others still run.
 */
static __always_inline u32 run_device(const struct frame *frame)
{
	const struct net_device *dev = frame->dev;
	struct ipcuckoo_xdp_taps *taps;
	const struct ipcuckoo_chain *chain;
	const struct ipcuckoo_tap *tap;
	u32 verdict;

	taps = rcu_dereference(ipcuckoo_net(dev_net(dev))->attached.xdp);
	if (!taps)
		return XDP_PASS;
	hlist_for_each_entry_rcu(tap, ipcuckoo_xdp_list(taps, dev->ifindex, frame->v6), node) {
		chain = tap->ops.dev == dev ? rcu_dereference(tap->chain) : NULL;
		if (!chain)
			continue;
		verdict = frame->v6 ? run_frame(chain, frame, match6) :
				      run_frame(chain, frame, match4);
		if (verdict == XDP_DROP)
			return verdict;
	}
	return XDP_PASS;
}

/* Find the device to which the running program was attached, from the device that received the
 * frame. A bond has its ports run its program, and a Hyper-V device has its virtual function run
 * it. Both lower devices have IFF_SLAVE, and no program of their own.
 */
static struct net_device *program_device(struct net_device *dev)
{
	struct net_device *master;

	while (unlikely(dev->flags & IFF_SLAVE) && !ipcuckoo_device_has_program(dev)) {
		master = netdev_master_upper_dev_get_rcu(dev);
		if (!master)
			break;
		dev = master;
	}
	return dev;
}

/* Does a chain for frames of a family drop some of a device? */
static bool drops(const struct net_device *dev, bool v6)
{
	struct ipcuckoo_xdp_taps *taps;
	const struct ipcuckoo_chain *chain;
	const struct ipcuckoo_tap *tap;

	taps = rcu_dereference(ipcuckoo_net(dev_net(dev))->attached.xdp);
	if (!taps)
		return false;
	hlist_for_each_entry_rcu(tap, ipcuckoo_xdp_list(taps, dev->ifindex, v6), node) {
		chain = tap->ops.dev == dev ? rcu_dereference(tap->chain) : NULL;
		if (chain && can_drop(chain, dev))
			return true;
	}
	return false;
}

/* The verdict for a frame with too many VLAN tags, whatever is behind them. */
static u32 refuse(const struct xdp_buff *xdp)
{
	const struct net_device *dev = program_device(xdp->rxq->dev);

	return drops(dev, false) || drops(dev, true) ? XDP_DROP : XDP_PASS;
}

/* Run what is attached for a frame whose IP header is not in its first piece of memory. Drivers
 * hand over such frames only to programs that can handle fragments (xdp.frags). Some drivers, as
 * mlx5, put all bytes of a frame into fragments then. The copy is without VLAN tags.
 */
static u32 run_fragments(struct xdp_buff *xdp)
{
	struct {
		struct ethhdr ethernet;
		u8 ip[SAMPLE];
	} __packed copy;
	struct beginning beginning = { .copy = { .data = &copy, .rxq = xdp->rxq }, .whole = xdp };
	struct pieces pieces = pieces_of(xdp);
	struct frame frame = { .xdp = &beginning.copy };
	unsigned int front = ETH_HLEN, tags, size;
	struct vlan_hdr tag;

	if (copy_bytes(&pieces, &copy.ethernet, ETH_HLEN) < ETH_HLEN)
		return XDP_PASS;
	for (tags = 0; eth_type_vlan(copy.ethernet.h_proto); tags++) {
		if (tags == TAGS_MAX)
			return refuse(xdp);
		if (copy_bytes(&pieces, &tag, VLAN_HLEN) < VLAN_HLEN)
			return XDP_PASS;
		copy.ethernet.h_proto = tag.h_vlan_encapsulated_proto;
		front += VLAN_HLEN;
	}
	size = copy_bytes(&pieces, copy.ip, SAMPLE);
	beginning.copy.data_end = copy.ip + size;
	beginning.front = front;
	frame.rest = xdp_get_buff_len(xdp) - front - size;
	if (find_ip(&frame))
		return XDP_PASS;
	frame.dev = program_device(xdp->rxq->dev);
	return run_device(&frame);
}

/* The verdict for a frame in which find_ip() has found no header. */
static noinline u32 without_ip(struct xdp_buff *xdp, int found)
{
	if (found == TOO_DEEP)
		return refuse(xdp);
	return xdp_buff_has_frags(xdp) ? run_fragments(xdp) : XDP_PASS;
}

/**
 * ipcuckoo_hook_xdp() - run the chain of a device for a frame
 * @xdp:	the frame, in the context of a BPF program
 *
 * Context: softirq or process context, under rcu_read_lock().
 * Return: XDP_DROP; or XDP_PASS, also if it is no IP packet, or nothing is attached at the device.
 */
u32 ipcuckoo_hook_xdp(const struct xdp_buff *xdp)
{
	struct frame frame = { .xdp = xdp };
	int found = find_ip(&frame);

	if (unlikely(found))
		return without_ip((struct xdp_buff *)xdp, found);
	frame.dev = program_device(xdp->rxq->dev);
	return run_device(&frame);
}
