// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of the module ipcuckoo_bpf that BPF programs call. uapi/ipcuckoo_bpf.h is their
 * manual; ../ids.c says how an id names a set.
 *
 * The verifier has checked the arguments: ctx is the context of the program (see main.c for the
 * types of programs), and addr is NULL or points to 16 bytes that can be read. 6.1 allows NULL, and
 * the result of bpf_map_lookup_elem() that was not compared with NULL.
 *
 * Every caller is an RCU reader already, but not in the same way: drivers run XDP programs with
 * softirqs disabled and without rcu_read_lock(), tc runs programs for sent packets under
 * rcu_read_lock_bh(), and BPF_PROG_TEST_RUN runs them under rcu_read_lock(), in 6.1 with softirqs
 * enabled. Grace periods wait for all of these. But with CONFIG_PROVE_RCU, rcu_dereference() warns
 * if it is not under rcu_read_lock(), so each function takes it.
 *
 * The types of this file become the type information of the module: see types.sh.
 */
#include <linux/filter.h>
#include <linux/netdevice.h>
#include <net/sock.h>
#include <net/xdp.h>

#include "compat.h"
#include "../compat.h"
#include "../hook.h"
#include "../ids.h"
#include "../in6.h"
#include "../net.h"
#include "../set.h"
#include "ipcuckoo_bpf.h"
#include "kfuncs.h"

/* The context of a program is a struct xdp_buff or sk_buff. skb->dev is set at every hook of
 * SCHED_CLS programs (clsact, tcx, netkit, filters of qdiscs) and in test runs. If it is not set,
 * skb_net() takes the socket's namespace, as the kernel's bpf_skb_ct_lookup() does; only programs
 * of other types, such as cgroup_skb, would need that.
 */
static const struct net *xdp_net(const struct xdp_md *ctx)
{
	return dev_net(((const struct xdp_buff *)ctx)->rxq->dev);
}

static const struct net *skb_net(const struct __sk_buff *ctx)
{
	const struct sk_buff *skb = (const struct sk_buff *)ctx;

	return skb->dev ? dev_net(skb->dev) : sock_net(skb->sk);
}

static int match(const struct net *net, u32 id, struct ipcuckoo_key addr, bool v6, u32 flags)
{
	struct ipcuckoo_set *set;
	int result;

	if (unlikely(flags & ~BPF_IPCUCKOO_APPROXIMATE))
		return -EINVAL;
	rcu_read_lock();
	set = ipcuckoo_ids_find(ipcuckoo_net(net), id);
	if (unlikely(!set)) {
		result = -ENOENT;
	} else if (unlikely(ipcuckoo_entries_approximate(&set->entries) && !flags)) {
		result = -EOPNOTSUPP;
	} else {
		if (set->mask.present)
			addr = ipcuckoo_mask_key(&set->mask, &addr);
		result = ipcuckoo_set_match(set, &addr, v6);
	}
	rcu_read_unlock();
	return result;
}

static int match6(const struct net *net, u32 id, const struct in6_addr *addr, u32 flags)
{
	return addr ? match(net, id, ipcuckoo_in6_key(addr), true, flags) : -EINVAL;
}

__bpf_kfunc int bpf_xdp_ipcuckoo_match4(struct xdp_md *ctx, u32 set, __be32 addr, u32 flags)
{
	return match(xdp_net(ctx), set, (struct ipcuckoo_key){ .lo = ntohl(addr) }, false, flags);
}

__bpf_kfunc int bpf_xdp_ipcuckoo_match6(struct xdp_md *ctx, u32 set, const struct in6_addr *addr,
					u32 flags)
{
	return match6(xdp_net(ctx), set, addr, flags);
}

__bpf_kfunc int bpf_xdp_ipcuckoo_run(struct xdp_md *ctx)
{
	int verdict;

	rcu_read_lock();
	verdict = ipcuckoo_hook_xdp((const struct xdp_buff *)ctx);
	rcu_read_unlock();
	return verdict;
}

__bpf_kfunc int bpf_skb_ipcuckoo_match4(struct __sk_buff *ctx, u32 set, __be32 addr, u32 flags)
{
	return match(skb_net(ctx), set, (struct ipcuckoo_key){ .lo = ntohl(addr) }, false, flags);
}

__bpf_kfunc int bpf_skb_ipcuckoo_match6(struct __sk_buff *ctx, u32 set,
					const struct in6_addr *addr, u32 flags)
{
	return match6(skb_net(ctx), set, addr, flags);
}
