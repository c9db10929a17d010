/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Sets of ipcuckoo in BPF programs: the functions of the kernel module
 * ipcuckoo_bpf that programs of the types XDP and SCHED_CLS (tc) can call.
 *
 *   bpf_ipcuckoo_match4(ctx, set, addr, flags)
 *   bpf_ipcuckoo_match6(ctx, set, addr, flags)
 *   bpf_xdp_ipcuckoo_run(ctx)
 *
 * Look-ups
 * --------
 *
 * @ctx is the context of the program, struct xdp_md * or struct __sk_buff *. Its
 * network namespace is that of the packet's device, and the set is looked for
 * there. @set is the id of a set, a number. @addr is an address in network byte
 * order: __be32, or const struct in6_addr *, in memory that the program may write
 * to: on the stack, in the packet, in the value of a map. @flags is 0 or
 * BPF_IPCUCKOO_APPROXIMATE.
 *
 * Return:
 *
 *   1            the address matches: an entry covers it that is not an exception
 *                and has not expired
 *   0            it does not match
 *   -ENOENT      no set of the namespace has this id
 *   -EOPNOTSUPP  the set is approximate (filter:ip), so some addresses match that
 *                are not in it: accept that with BPF_IPCUCKOO_APPROXIMATE
 *   -EINVAL      there are other flags, or @addr is NULL
 *
 * So compare with 1, and decide what a packet gets while the set does not exist.
 * A set with a netmask or bitmask looks at these bits of @addr. A set of the other
 * family matches nothing; an IPv4-mapped IPv6 address also matches IPv4 entries of
 * a set of family any. No counters count.
 *
 * Attachments
 * -----------
 *
 * bpf_xdp_ipcuckoo_run() does with a packet what is attached at IPCUCKOO_PLACE_XDP
 * of the packet's device ("ipcuckoo attach NAME src drop xdp dev IFNAME"): it
 * returns XDP_DROP or XDP_PASS, counts and logs. The program that this command
 * attaches only calls this function. Programs of the section xdp.frags may call it,
 * too: the IP header may be in any fragment of the frame.
 *
 * Ids
 * ---
 *
 * A set gets its id when it is created; "ipcuckoo -json list -t NAME" shows it, as
 * does IPCUCKOO_A_SET_ID of netlink. A program is given the id when it is loaded,
 * in a constant or in a map. It sees
 *
 *   add, del, flush, load, restore, commit of a shadow: the new contents, at once.
 *   A look-up sees the old contents or the new ones.
 *
 *   rename: no change. The set keeps its id.
 *
 *   swap: the other contents. The names keep their ids. When the request has
 *   returned, no program sees the old contents any more under the id. A commit that
 *   also changes the contents of a set which it swaps cannot do both at the same
 *   moment. If it swaps the set out and then flushes it, programs that have the id
 *   of the name under which the contents end may see them for one more grace period
 *   of RCU (milliseconds). If it first changes the set and then swaps it, programs
 *   that have the id which the set had see the new contents until the swap. So fill
 *   a set that no program uses, and swap it in.
 *
 *   destroy: -ENOENT. A program does not keep a set from being destroyed. The id
 *   is not given to another set until 2147483647 others were created.
 *
 *   create, after destroy: -ENOENT. The new set has another id, whatever its name
 *   is, and so have all sets after a boot: give the program the new id.
 *
 * Sets of ip_set (ipcuckoo_ipset) have no id.
 *
 * A program that calls these functions can be loaded only while the module is
 * loaded ("modprobe ipcuckoo_bpf"), and keeps it, and with it ipcuckoo, from being
 * unloaded. The kernel needs CONFIG_DEBUG_INFO_BTF_MODULES, and the module must
 * have been built with BTF: "make" and the kernel log say so if it was not.
 *
 * Programs include <linux/bpf.h> and <bpf/bpf_helpers.h> before this header, and
 * <linux/in6.h> to look up IPv6 addresses; or vmlinux.h in their place.
 */
#ifndef _UAPI_IPCUCKOO_BPF_H
#define _UAPI_IPCUCKOO_BPF_H

#define BPF_IPCUCKOO_APPROXIMATE	1	/* the set may be a filter:ip */

#ifdef __bpf__

struct in6_addr;

int bpf_xdp_ipcuckoo_match4(struct xdp_md *ctx, __u32 set, __be32 addr,
			    __u32 flags) __ksym;
int bpf_xdp_ipcuckoo_match6(struct xdp_md *ctx, __u32 set,
			    const struct in6_addr *addr, __u32 flags) __ksym;
int bpf_skb_ipcuckoo_match4(struct __sk_buff *ctx, __u32 set, __be32 addr,
			    __u32 flags) __ksym;
int bpf_skb_ipcuckoo_match6(struct __sk_buff *ctx, __u32 set,
			    const struct in6_addr *addr, __u32 flags) __ksym;

int bpf_xdp_ipcuckoo_run(struct xdp_md *ctx) __ksym;

/* The kernel has a function for each type of ctx. */
#define bpf_ipcuckoo_match4(ctx, set, addr, flags)				\
	__builtin_choose_expr(							\
		__builtin_types_compatible_p(typeof(ctx), struct xdp_md *),	\
		bpf_xdp_ipcuckoo_match4((void *)(ctx), set, addr, flags),	\
		bpf_skb_ipcuckoo_match4((void *)(ctx), set, addr, flags))

#define bpf_ipcuckoo_match6(ctx, set, addr, flags)				\
	__builtin_choose_expr(							\
		__builtin_types_compatible_p(typeof(ctx), struct xdp_md *),	\
		bpf_xdp_ipcuckoo_match6((void *)(ctx), set, addr, flags),	\
		bpf_skb_ipcuckoo_match6((void *)(ctx), set, addr, flags))

#endif /* __bpf__ */

#endif /* _UAPI_IPCUCKOO_BPF_H */
