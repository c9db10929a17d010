/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernels, for this directory. */
#ifndef _IPCUCKOO_IPSET_COMPAT_H
#define _IPCUCKOO_IPSET_COMPAT_H

#include <linux/netfilter/ipset/ip_set.h>

/* Constants of the protocol of ip_set, which ip_set.h has only since 6.2. */

/* The mask of hash:ip since revision 6: IPSET_ATTR_BITMASK. */
#define IPCUCKOO_IPSET_ATTR_BITMASK	12

/* A set cannot have both masks: IPSET_ERR_BITMASK_NETMASK_EXCL. */
#define IPCUCKOO_IPSET_ERR_TWO_MASKS	(IPSET_ERR_SKBINFO + 1)

/* Is a hash:ip of the other family another set for "ipset -exist create", if the options are the
 * same? ip_set of 6.1 compares the lengths of the netmasks, which differ; since 6.2, with
 * bitmasks, it compares their bits only. Of hash:net it never compared the family.
 */
#ifdef IPCUCKOO_HAVE_IPSET_BITMASK
#define IPCUCKOO_IPSET_FAMILY_COUNTS	false
#else
#define IPCUCKOO_IPSET_FAMILY_COUNTS	true
#endif

/* Since 6.8, and stable releases of February 2024 (6.1.79), ip_set calls cancel_gc() before it
 * destroys a set, and destroy() when no packet uses the set any more. Older ones free a set that
 * packets may be using: ipcuckoo_ipset cannot be loaded there. Kbuild finds out which it is.
 */
#ifdef IPCUCKOO_HAVE_CANCEL_GC
#define IPCUCKOO_IPSET_CANCEL(function)	.cancel_gc = (function),
#define IPCUCKOO_IPSET_TOO_OLD		false
#else
#define IPCUCKOO_IPSET_CANCEL(function)
#define IPCUCKOO_IPSET_TOO_OLD		true
#endif

#endif /* _IPCUCKOO_IPSET_COMPAT_H */
