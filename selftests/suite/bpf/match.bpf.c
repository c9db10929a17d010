// SPDX-License-Identifier: GPL-2.0
/* BPF programs that look addresses up in sets; bpf-load.c loads them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ipcuckoo_bpf.h"

#ifndef NULL
#define NULL	((void *)0)
#endif

/* What the loader asks */
volatile __u32 set;
volatile __u32 flags;
volatile __u32 v6;
struct in6_addr addr;

/* The answer */
int result;

#define ASK(ctx)								\
	(v6 ? bpf_ipcuckoo_match6(ctx, set, &addr, flags) :			\
	      bpf_ipcuckoo_match4(ctx, set, addr.s6_addr32[0], flags))

SEC("xdp")
int ask_xdp(struct xdp_md *ctx)
{
	result = ASK(ctx);
	return XDP_PASS;
}

/* Asks again and again. The answer has a bit for each that it was given: 1 for a match, 2 for none,
 * 4 for errors.
 */
SEC("xdp")
int ask_again(struct xdp_md *ctx)
{
	int found = ASK(ctx);

	result |= found == 1 ? 1 : found ? 4 : 2;
	return XDP_PASS;
}

SEC("tc")
int ask_tc(struct __sk_buff *ctx)
{
	result = ASK(ctx);
	return TC_ACT_OK;
}

/* 1: the source of the packet matches. */
#define MATCHES(ctx) ({								\
	void *data = (void *)(long)(ctx)->data, *end = (void *)(long)(ctx)->data_end; \
	struct ethhdr *eth = data;						\
	struct iphdr *ip = data + sizeof(*eth);					\
	struct ipv6hdr *ip6 = data + sizeof(*eth);				\
	int found = 0;								\
	if ((void *)(ip + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IP))	\
		found = bpf_ipcuckoo_match4(ctx, set, ip->saddr, flags);	\
	else if ((void *)(ip6 + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IPV6)) \
		found = bpf_ipcuckoo_match6(ctx, set, &ip6->saddr, flags);	\
	found; })

SEC("xdp")
int drop_xdp(struct xdp_md *ctx)
{
	return MATCHES(ctx) == 1 ? XDP_DROP : XDP_PASS;
}

/* Runs what is attached at the device, for a frame of which only the first bytes are not in fragments:
 * as many as the loader asks in flags, or all if that is 0. The answer is the number of bytes, or the
 * verdict.
 */
SEC("xdp.frags")
int run_fragments(struct xdp_md *ctx)
{
	int bytes = (int)(ctx->data_end - ctx->data);

	if (!flags)
		result = bytes;
	else if (bpf_xdp_adjust_head(ctx, bytes - (int)flags))
		result = -1;
	else
		result = bpf_xdp_ipcuckoo_run(ctx);
	return XDP_PASS;
}

/* Programs that must not harm the kernel: bpf-match.sh loads each. */

/* The verifier must refuse this: the memory is not a context. */
SEC("tc")
int forged_tc(struct __sk_buff *ctx)
{
	struct xdp_md forged = { .data = 1 };

	result = bpf_xdp_ipcuckoo_run(&forged);
	return TC_ACT_OK;
}

/* The verifier refuses a NULL pointer (since 6.12), or the answer is an error. */
SEC("xdp")
int null_xdp(struct xdp_md *ctx)
{
	result = bpf_xdp_ipcuckoo_match6(ctx, set, NULL, 0);
	return XDP_PASS;
}

SEC("tc")
int null_tc(struct __sk_buff *ctx)
{
	result = bpf_skb_ipcuckoo_match6(ctx, set, NULL, 0);
	return TC_ACT_OK;
}

SEC("tc")
int drop_tc(struct __sk_buff *ctx)
{
	return MATCHES(ctx) == 1 ? TC_ACT_SHOT : TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
