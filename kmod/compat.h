/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the kernels that the module can be built for: 6.1 and later, with or
 * without procfs, IPv6, ingress hooks and SMP.
 */
#ifndef _IPCUCKOO_COMPAT_H
#define _IPCUCKOO_COMPAT_H

#include <linux/version.h>
#include <net/genetlink.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ipcuckoo needs Linux 6.1 or later: build it for another kernel (KDIR=...)"
#endif
#if !IS_ENABLED(CONFIG_INET) || !IS_ENABLED(CONFIG_NETFILTER)
#error "ipcuckoo needs CONFIG_INET and CONFIG_NETFILTER: set them in the kernel's configuration"
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* The attributes of the request that a dump answers. */
static inline struct nlattr **ipcuckoo_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/* The type of the operation that is passed to the family's pre_doit(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define ipcuckoo_genl_op	genl_split_ops
#else
#define ipcuckoo_genl_op	genl_ops
#endif

#endif /* _IPCUCKOO_COMPAT_H */
