// SPDX-License-Identifier: GPL-2.0-only
/*
 * XDP programs that drop packets whose address is in a map of BPF, for pps: the source of IPv4
 * packets, the destination of IPv6 packets. maps.c loads one of them, and fills its map.
 *
 *   hash4, hash6	a hash table
 *   lpm4, lpm6		a trie of prefixes
 *   filter4, filter6	as xdp-filter does: a hash table with a value for each processor, which
 *			has flags and a counter; source and destination are looked up, and what
 *			becomes of packets is counted
 *   all		no map: drops everything
 *
 * "frames_" in front of a name makes a program for test runs, in which all frames come from the same
 * data: it gives each frame the next of a list of addresses. Also:
 *
 *   frames_ipcuckoo	what our module drops at the device
 *   frames_pass	drops nothing: the kernel makes packets of frames, and hands them on in lists
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ipcuckoo_bpf.h"

/* Flags of entries: which address of a packet they are for */
#define SOURCE		1
#define DESTINATION	2
/* A counter is above them. */
#define ONE		4

struct prefix4 {
	__u32 len;
	__be32 addr;
};

struct prefix6 {
	__u32 len;
	struct in6_addr addr;
};

/* BPF_MAP_TYPE_RHASH; a number, which headers of older kernels lack */
#define RHASH		35

/* maps.c says how many entries there are. */
#define MAP(name, kind, key_type, value_type, flags)		\
	struct {						\
		__uint(type, kind);				\
		__uint(max_entries, 1);				\
		__type(key, key_type);				\
		__type(value, value_type);			\
		__uint(map_flags, flags);			\
	} name SEC(".maps")

MAP(map_hash4, BPF_MAP_TYPE_HASH, __be32, __u8, 0);
MAP(map_hash6, BPF_MAP_TYPE_HASH, struct in6_addr, __u8, 0);
MAP(map_rhash4, RHASH, __be32, __u8, BPF_F_NO_PREALLOC);
MAP(map_rhash6, RHASH, struct in6_addr, __u8, BPF_F_NO_PREALLOC);
MAP(map_lpm4, BPF_MAP_TYPE_LPM_TRIE, struct prefix4, __u8, BPF_F_NO_PREALLOC);
MAP(map_lpm6, BPF_MAP_TYPE_LPM_TRIE, struct prefix6, __u8, BPF_F_NO_PREALLOC);
MAP(map_filter4, BPF_MAP_TYPE_PERCPU_HASH, __be32, __u64, 0);
MAP(map_filter6, BPF_MAP_TYPE_PERCPU_HASH, struct in6_addr, __u64, 0);

/* By what becomes of packets */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XDP_REDIRECT + 1);
	__type(key, __u32);
	__type(value, __u64);
} fates SEC(".maps");

/* Return: the header behind that of Ethernet, or NULL if it is of another protocol. */
static __always_inline void *header(struct xdp_md *ctx, __u16 protocol, __u32 size)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	void *ip = eth + 1;

	if (ip + size > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(protocol))
		return NULL;
	return ip;
}

static __always_inline struct iphdr *header4(struct xdp_md *ctx)
{
	return header(ctx, ETH_P_IP, sizeof(struct iphdr));
}

static __always_inline struct ipv6hdr *header6(struct xdp_md *ctx)
{
	return header(ctx, ETH_P_IPV6, sizeof(struct ipv6hdr));
}

static __always_inline int fate(void *map, const void *key)
{
	return bpf_map_lookup_elem(map, key) ? XDP_DROP : XDP_PASS;
}

/* The program NAME: a function, which other programs use as well, decides about each packet. */
#define PROGRAM(name, decide)			\
	SEC("xdp")				\
	int name(struct xdp_md *ctx)		\
	{					\
		return decide(ctx);		\
	}

static __always_inline int in_hash4(struct xdp_md *ctx)
{
	struct iphdr *ip = header4(ctx);

	return ip ? fate(&map_hash4, &ip->saddr) : XDP_PASS;
}

static __always_inline int in_lpm4(struct xdp_md *ctx)
{
	struct iphdr *ip = header4(ctx);
	struct prefix4 key = { .len = 32 };

	if (!ip)
		return XDP_PASS;
	key.addr = ip->saddr;
	return fate(&map_lpm4, &key);
}

PROGRAM(hash4, in_hash4)

SEC("xdp")
int hash6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = header6(ctx);

	return ip ? fate(&map_hash6, &ip->daddr) : XDP_PASS;
}

SEC("xdp")
int rhash4(struct xdp_md *ctx)
{
	struct iphdr *ip = header4(ctx);

	return ip ? fate(&map_rhash4, &ip->saddr) : XDP_PASS;
}

SEC("xdp")
int rhash6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = header6(ctx);

	return ip ? fate(&map_rhash6, &ip->daddr) : XDP_PASS;
}

PROGRAM(lpm4, in_lpm4)

SEC("xdp")
int lpm6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = header6(ctx);
	struct prefix6 key = { .len = 128 };

	if (!ip)
		return XDP_PASS;
	key.addr = ip->daddr;
	return fate(&map_lpm6, &key);
}

static __always_inline int is_filtered(void *map, const void *key, __u64 flag)
{
	__u64 *value = bpf_map_lookup_elem(map, key);

	if (!value || !(*value & flag))
		return 0;
	*value += ONE;
	return 1;
}

static __always_inline int count(__u32 verdict)
{
	__u64 *packets = bpf_map_lookup_elem(&fates, &verdict);

	if (packets)
		++*packets;
	return verdict;
}

SEC("xdp")
int filter4(struct xdp_md *ctx)
{
	struct iphdr *ip = header4(ctx);

	if (!ip)
		return count(XDP_PASS);
	return count(is_filtered(&map_filter4, &ip->daddr, DESTINATION) ||
		     is_filtered(&map_filter4, &ip->saddr, SOURCE) ? XDP_DROP : XDP_PASS);
}

SEC("xdp")
int filter6(struct xdp_md *ctx)
{
	struct ipv6hdr *ip = header6(ctx);

	if (!ip)
		return count(XDP_PASS);
	return count(is_filtered(&map_filter6, &ip->daddr, DESTINATION) ||
		     is_filtered(&map_filter6, &ip->saddr, SOURCE) ? XDP_DROP : XDP_PASS);
}

static __always_inline int drop(struct xdp_md *ctx)
{
	return XDP_DROP;
}

static __always_inline int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

PROGRAM(all, drop)

/**
 * struct progress - where in its list a program is
 * @dropped:	how many frames were dropped
 * @mask:	the number of addresses, a power of two, less 1
 * @next:	number of the next one
 * @sum:	the sum of the words of the IP header, without source and checksum
 */
struct progress {
	__u64 dropped;
	__u32 mask;
	__u32 next;
	__u32 sum;
};

MAP(addresses, BPF_MAP_TYPE_ARRAY, __u32, __be32, BPF_F_MMAPABLE);
MAP(progress_of, BPF_MAP_TYPE_ARRAY, __u32, struct progress, 0);

/* Lets a program decide about a frame with the next address, and counts it if it is dropped. */
static __always_inline int next_frame(struct xdp_md *ctx, int (*decide)(struct xdp_md *ctx))
{
	struct iphdr *ip = header4(ctx);
	struct progress *progress;
	__u32 i = 0, sum;
	__be32 *addr;
	int verdict;

	progress = bpf_map_lookup_elem(&progress_of, &i);
	if (!progress || !ip)
		return XDP_ABORTED;
	i = progress->next++ & progress->mask;
	addr = bpf_map_lookup_elem(&addresses, &i);
	if (!addr)
		return XDP_ABORTED;
	sum = progress->sum + (*addr & 0xffff) + (*addr >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->saddr = *addr;
	ip->check = ~((sum & 0xffff) + (sum >> 16));
	verdict = decide(ctx);
	progress->dropped += verdict == XDP_DROP;
	return verdict;
}

/* The program frames_NAME: a function decides about each frame. */
#define FRAMES(name, decide)			\
	SEC("xdp")				\
	int frames_##name(struct xdp_md *ctx)	\
	{					\
		return next_frame(ctx, decide);	\
	}

FRAMES(hash4, in_hash4)
FRAMES(lpm4, in_lpm4)
FRAMES(ipcuckoo, bpf_xdp_ipcuckoo_run)
FRAMES(pass, pass)
FRAMES(all, drop)

char _license[] SEC("license") = "GPL";
