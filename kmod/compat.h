/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels that the module can be built for: Linux 6.1 and RHEL 9.6, and
 * later ones, with or without procfs, IPv6, ingress hooks and SMP.
 *
 * Stable releases and distributions backport interfaces. So the code below looks for the
 * interface in the kernel's headers, and does not compare versions.
 */
#ifndef _IPCUCKOO_COMPAT_H
#define _IPCUCKOO_COMPAT_H

/* <linux/etherdevice.h> declares get_unaligned_be32() and so on, because it includes
 * <linux/unaligned.h>, or before 6.12 <asm/unaligned.h>.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/version.h>
#include <net/genetlink.h>

/* Red Hat's kernel 5.14 has all that we need since RHEL 9.6. */
#ifdef RHEL_RELEASE_CODE
#define IPCUCKOO_TOO_OLD	(RHEL_RELEASE_CODE < RHEL_RELEASE_VERSION(9, 6))
#else
#define IPCUCKOO_TOO_OLD	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0))
#endif
#if IPCUCKOO_TOO_OLD
#error "ipcuckoo needs Linux 6.1 or RHEL 9.6, or later: build it for another kernel (KDIR=...)"
#endif
#if !IS_ENABLED(CONFIG_INET) || !IS_ENABLED(CONFIG_NETFILTER)
#error "ipcuckoo needs CONFIG_INET and CONFIG_NETFILTER: set them in the kernel's configuration"
#endif

/* Since 6.8, and stable releases of June 2026, multicast groups have flags of their own, before
 * they had those of operations. genl_bind() ignores the flag of the other kind, so that any
 * user could join the group.
 */
#ifndef GENL_MCAST_CAP_NET_ADMIN
#define GENL_MCAST_CAP_NET_ADMIN	GENL_UNS_ADMIN_PERM
#endif

/* The const type of the operation that a family's pre_doit() gets: struct genl_split_ops since
 * 6.2, struct genl_ops before.
 */
struct genl_split_ops;
#define ipcuckoo_genl_op						\
	typeof(*__builtin_choose_expr(					\
		__same_type(((struct genl_family *)NULL)->pre_doit,	\
			    int (*)(const struct genl_split_ops *,	\
				    struct sk_buff *, struct genl_info *)),	\
		(const struct genl_split_ops *)NULL,			\
		(const struct genl_ops *)NULL))

/* Take RTNL, unless the process gets a fatal signal first. Since 6.14 the kernel does not export
 * rtnl_lock_killable(); Kbuild finds that out. On such a kernel this tries to take RTNL once each
 * jiffy, for a second. Then it calls rtnl_lock(), which no signal ends, but which cannot starve
 * while other processes take RTNL again and again.
 *
 * Return: 0 or -EINTR.
 */
static inline int ipcuckoo_rtnl_lock_killable(void)
{
#ifdef IPCUCKOO_HAVE_RTNL_LOCK_KILLABLE
	return rtnl_lock_killable();
#else
	unsigned int i;

	for (i = 0; i < HZ; i++) {
		if (rtnl_trylock())
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_killable(1);
	}
	rtnl_lock();
	return 0;
#endif
}

#endif /* _IPCUCKOO_COMPAT_H */
