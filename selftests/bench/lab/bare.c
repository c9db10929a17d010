// SPDX-License-Identifier: GPL-2.0-only
/* Measures look-ups without a packet: calls the function of each subject in a loop, as its hook
 * would. "nothing" is the loop alone.  "lines" is a lower bound: it reads two random cache lines,
 * independently, of an area as large as the memory of our table that a look-up may read.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/x_tables.h>
#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <net/netfilter/nf_tables.h>

#include "lab_ipset.h"
#include "net.h"
#include "set.h"

/* nothing */

static int nothing_begin(const struct lab_run *run)
{
	return 0;
}

static void nothing_end(void)
{
}

/* The compiler must load the address. */
static __always_inline bool nothing4(__be32 be)
{
	OPTIMIZER_HIDE_VAR(be);
	return false;
}

static __always_inline bool nothing6(const struct in6_addr *in6)
{
	u64 a = READ_ONCE(*(const u64 *)in6), b = READ_ONCE(*((const u64 *)in6 + 1));

	OPTIMIZER_HIDE_VAR(a);
	OPTIMIZER_HIDE_VAR(b);
	return false;
}

static u32 nothing_chunk(const struct lab_run *run)
{
	if (run->traffic->v4)
		return LAB_LOOP4(run, nothing4(be));
	return LAB_LOOP6(run, nothing6(in6));
}

/* lines */

static int lines_begin(const struct lab_run *run)
{
	return run->lines ? 0 : -ENODATA;
}

/* The area is all zeros, so nothing matches. */
static __always_inline bool two_lines(const struct lab_run *run, u32 a, u32 b)
{
	const u64 *area = run->area;
	u64 x = READ_ONCE(area[((u64)a * run->lines >> 32) * 8]);
	u64 y = READ_ONCE(area[((u64)b * run->lines >> 32) * 8]);

	return x | y;
}

static __always_inline bool lines4(const struct lab_run *run, __be32 be)
{
	u32 a = (__force u32)be * GOLDEN_RATIO_32;

	return two_lines(run, a, (a ^ a >> 15) * GOLDEN_RATIO_32);
}

static __always_inline bool lines6(const struct lab_run *run, const struct in6_addr *in6)
{
	u32 a = (in6->s6_addr32[0] ^ in6->s6_addr32[1] ^ in6->s6_addr32[2] ^
		 in6->s6_addr32[3]) * GOLDEN_RATIO_32;

	return two_lines(run, a, (a ^ a >> 15) * GOLDEN_RATIO_32);
}

static u32 lines_chunk(const struct lab_run *run)
{
	if (run->traffic->v4)
		return LAB_LOOP4(run, lines4(run, be));
	return LAB_LOOP6(run, lines6(run, in6));
}

/* ipcuckoo, and filter:ip */

static struct ipcuckoo_set *set;

static int ipcuckoo_begin(const struct lab_run *run)
{
	set = ipcuckoo_set_get(ipcuckoo_net(run->net), LAB_SET);
	return set ? 0 : -ENOENT;
}

static void ipcuckoo_end(void)
{
	ipcuckoo_set_put(set);
}

static struct ipcuckoo_key key6(const struct in6_addr *in6)
{
	return (struct ipcuckoo_key){
		.hi = be64_to_cpup((const __be64 *)in6),
		.lo = be64_to_cpup((const __be64 *)in6 + 1),
	};
}

static __always_inline bool match6(struct ipcuckoo_set *s, const struct in6_addr *in6)
{
	const struct ipcuckoo_key key = key6(in6);

	return ipcuckoo_set_match6(s, &key);
}

static u32 ipcuckoo_chunk(const struct lab_run *run)
{
	struct ipcuckoo_set *s = set;

	if (run->traffic->v4)
		return LAB_LOOP4(run, ipcuckoo_set_match4(s, ntohl(be)));
	return LAB_LOOP6(run, match6(s, in6));
}

/* ipset, which takes the address from a packet */

ip_set_id_t lab_ipset_index = IPSET_INVALID_ID;
static struct net *ipset_net;
struct sk_buff *lab_ipset_skb;

int lab_ipset_begin(const struct lab_run *run)
{
	struct {
		struct nlattr head;
		char name[IPSET_MAXNAMELEN];
	} attr = {
		.head.nla_len = NLA_HDRLEN + sizeof(LAB_SET),
		.name = LAB_SET,
	};
	struct ip_set *s;

	lab_ipset_index = ip_set_get_byname(run->net, &attr.head, &s);
	if (lab_ipset_index == IPSET_INVALID_ID)
		return -ENOENT;
	ipset_net = run->net;
	lab_ipset_skb = alloc_skb(128, GFP_KERNEL);
	if (!lab_ipset_skb) {
		ip_set_put_byindex(ipset_net, lab_ipset_index);
		return -ENOMEM;
	}
	skb_put_zero(lab_ipset_skb, sizeof(struct ipv6hdr));
	skb_reset_network_header(lab_ipset_skb);
	return 0;
}

void lab_ipset_end(void)
{
	kfree_skb(lab_ipset_skb);
	ip_set_put_byindex(ipset_net, lab_ipset_index);
}

u32 lab_ipset_chunk(const struct lab_run *run)
{
	const struct nf_hook_state state = {
		.hook = NF_INET_PRE_ROUTING,
		.pf = run->traffic->v4 ? NFPROTO_IPV4 : NFPROTO_IPV6,
		.net = run->net,
	};
	const struct xt_action_param par = { .state = &state };
	struct ip_set_adt_opt opt = {
		.family = state.pf,
		.dim = IPSET_DIM_ONE,
		.flags = IPSET_DIM_ONE_SRC,
		.ext.timeout = UINT_MAX,
	};
	struct sk_buff *skb = lab_ipset_skb;

	if (run->traffic->v4)
		return LAB_LOOP4(run, (ip_hdr(skb)->saddr = be,
				       ip_set_test(lab_ipset_index, skb, &par, &opt) > 0));
	return LAB_LOOP6(run, (ipv6_hdr(skb)->saddr = *in6,
			       ip_set_test(lab_ipset_index, skb, &par, &opt) > 0));
}

/* nftables: the set of the table whose chain is hooked in this namespace */

static const struct nft_set *nft_set;

static int nft_begin(const struct lab_run *run)
{
	const struct nf_hook_entries *entries;
	const struct nft_chain *chain;
	unsigned int i;

	nft_set = NULL;
	rcu_read_lock();
	if (run->traffic->v4)
		entries = rcu_dereference(run->net->nf.hooks_ipv4[NF_INET_PRE_ROUTING]);
	else
		entries = rcu_dereference(run->net->nf.hooks_ipv6[NF_INET_PRE_ROUTING]);
	for (i = 0; entries && i < entries->num_hook_entries; i++) {
		if (nf_hook_entries_get_hook_ops(entries)[i]->hook_ops_type !=
		    NF_HOOK_OP_NF_TABLES)
			continue;
		chain = entries->hooks[i].priv;
		nft_set = list_first_or_null_rcu(&chain->table->sets, struct nft_set, list);
	}
	rcu_read_unlock();
	return nft_set ? 0 : -ENOENT;
}

/* Before Linux 6.17 a look-up returned whether there is an element, and set a pointer to it. */
typedef bool (*nft_lookup_old)(const struct net *net, const struct nft_set *set, const u32 *key,
			       const struct nft_set_ext **ext);
typedef const struct nft_set_ext *(*nft_lookup_new)(const struct net *net,
						    const struct nft_set *set, const u32 *key);

static __always_inline bool nft_match(const struct lab_run *run, const struct nft_set *s,
				      const void *key)
{
	const struct nft_set_ext *ext;

	if (__same_type(s->ops->lookup, nft_lookup_old))
		return ((nft_lookup_old)(void *)s->ops->lookup)(run->net, s, key, &ext);
	BUILD_BUG_ON(!__same_type(s->ops->lookup, nft_lookup_old) &&
		     !__same_type(s->ops->lookup, nft_lookup_new));
	return ((nft_lookup_new)(void *)s->ops->lookup)(run->net, s, key);
}

static u32 nft_chunk(const struct lab_run *run)
{
	const struct nft_set *s = nft_set;

	if (run->traffic->v4)
		return LAB_LOOP4(run, nft_match(run, s, &be));
	return LAB_LOOP6(run, nft_match(run, s, in6));
}

const struct lab_subject lab_bare[] = {
	{ "bare", "nothing", nothing_begin, nothing_chunk, nothing_end },
	{ "bare", "lines", lines_begin, lines_chunk, nothing_end },
	{ "bare", "ipcuckoo", ipcuckoo_begin, ipcuckoo_chunk, ipcuckoo_end },
	{ "bare", "filter", ipcuckoo_begin, ipcuckoo_chunk, ipcuckoo_end },
	{ "bare", "ipset", lab_ipset_begin, lab_ipset_chunk, lab_ipset_end },
	{ "bare", "nft", nft_begin, nft_chunk, nothing_end },
	{ "bare", "nft-size", nft_begin, nft_chunk, nothing_end },
	{}
};
