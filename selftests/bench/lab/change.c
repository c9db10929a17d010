// SPDX-License-Identifier: GPL-2.0-only
/* Measures what packets change in a set of ipset: calls what the target SET calls, in a loop.
 *
 *   add	adds each address
 *   refresh	adds each address, which is there, again: --exist
 *   extend	the same with another timeout each time
 *   churn	adds the addresses of a chunk, and deletes them
 *   beside	looks each address up; before each chunk, one of the addresses of the chunk gets another
 *		timeout
 *
 * Traffic of IPv4 only. A match is a change without an error.
 */
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter/x_tables.h>
#include <linux/skbuff.h>

#include "lab_ipset.h"

static u32 chunks;

static int begin(const struct lab_run *run)
{
	return run->traffic->v4 ? lab_ipset_begin(run) : -EAFNOSUPPORT;
}

/* What the target SET passes to ip_set_add() and ip_set_del() */
struct call {
	struct nf_hook_state state;
	struct xt_action_param par;
	struct ip_set_adt_opt opt;
};

/* The target SET without --timeout has the timeout UINT_MAX: that of the set. */
static void prepare(struct call *c, const struct lab_run *run, u32 timeout)
{
	*c = (struct call){
		.state = {
			.hook = NF_INET_PRE_ROUTING,
			.pf = NFPROTO_IPV4,
			.net = run->net,
		},
		.par.state = &c->state,
		.opt = {
			.family = NFPROTO_IPV4,
			.dim = IPSET_DIM_ONE,
			.flags = IPSET_DIM_ONE_SRC,
			.cmdflags = IPSET_FLAG_EXIST,
			.ext.timeout = timeout,
		},
	};
}

static u32 add_each(const struct lab_run *run, u32 timeout)
{
	struct sk_buff *skb = lab_ipset_skb;
	struct call c;

	prepare(&c, run, timeout);
	return LAB_LOOP4(run, (ip_hdr(skb)->saddr = be,
			       !ip_set_add(lab_ipset_index, skb, &c.par, &c.opt)));
}

static u32 refresh_chunk(const struct lab_run *run)
{
	return add_each(run, UINT_MAX);
}

static u32 next_timeout(void)
{
	return 1000 + chunks++ % 4999;
}

static u32 extend_chunk(const struct lab_run *run)
{
	return add_each(run, next_timeout());
}

static u32 churn_chunk(const struct lab_run *run)
{
	u32 added = refresh_chunk(run), deleted;
	struct sk_buff *skb = lab_ipset_skb;
	struct call c;

	prepare(&c, run, UINT_MAX);
	deleted = LAB_LOOP4(run, (ip_hdr(skb)->saddr = be,
				  !ip_set_del(lab_ipset_index, skb, &c.par, &c.opt)));
	return min(added, deleted);
}

static void extend_one(const struct lab_run *run)
{
	struct call c;

	prepare(&c, run, next_timeout());
	ip_hdr(lab_ipset_skb)->saddr = run->traffic->v4[lab_index(run, 0)];
	ip_set_add(lab_ipset_index, lab_ipset_skb, &c.par, &c.opt);
}

const struct lab_subject lab_change[] = {
	{ "change", "add", begin, refresh_chunk, lab_ipset_end },
	{ "change", "refresh", begin, refresh_chunk, lab_ipset_end },
	{ "change", "extend", begin, extend_chunk, lab_ipset_end },
	{ "change", "churn", begin, churn_chunk, lab_ipset_end },
	{ "change", "beside", begin, lab_ipset_chunk, lab_ipset_end, extend_one },
	{ }
};
