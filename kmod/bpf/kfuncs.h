/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that BPF programs can call: see uapi/ipcuckoo_bpf.h. */
#ifndef _IPCUCKOO_BPF_KFUNCS_H
#define _IPCUCKOO_BPF_KFUNCS_H

#include <linux/types.h>

struct __sk_buff;
struct in6_addr;
struct xdp_md;

int bpf_xdp_ipcuckoo_match4(struct xdp_md *ctx, u32 set, __be32 addr, u32 flags);
int bpf_xdp_ipcuckoo_match6(struct xdp_md *ctx, u32 set, const struct in6_addr *addr, u32 flags);
int bpf_xdp_ipcuckoo_run(struct xdp_md *ctx);
int bpf_skb_ipcuckoo_match4(struct __sk_buff *ctx, u32 set, __be32 addr, u32 flags);
int bpf_skb_ipcuckoo_match6(struct __sk_buff *ctx, u32 set, const struct in6_addr *addr, u32 flags);

#endif /* _IPCUCKOO_BPF_KFUNCS_H */
