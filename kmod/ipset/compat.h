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
 * destroys a set, and destroy() from a callback of RCU, which must not sleep. Older ones call only
 * destroy(), in process context under the mutex of ip_set, and free the set at once. Kbuild finds
 * out which it is.
 */
#ifdef IPCUCKOO_HAVE_CANCEL_GC
#define IPCUCKOO_IPSET_CANCEL(function)	.cancel_gc = (function),
#define IPCUCKOO_IPSET_DESTROYS_AT_ONCE	false
#else
#define IPCUCKOO_IPSET_CANCEL(function)
#define IPCUCKOO_IPSET_DESTROYS_AT_ONCE	true
#endif

#endif /* _IPCUCKOO_IPSET_COMPAT_H */
