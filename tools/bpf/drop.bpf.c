// SPDX-License-Identifier: GPL-2.0-only
/* An example: drops IPv4 packets whose source is in a set. ipcuckoo-bpf(7) says how to load it. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "ipcuckoo_bpf.h"

const volatile __u32 set;	/* the id of the set */

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	return bpf_ipcuckoo_match4(ctx, set, ip->saddr, 0) == 1 ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "GPL";
