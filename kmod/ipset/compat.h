/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernels, for this directory: constants of the protocol of ip_set, which
 * ip_set.h has only since 6.2.
 */
#ifndef _IPCUCKOO_IPSET_COMPAT_H
#define _IPCUCKOO_IPSET_COMPAT_H

#include <linux/netfilter/ipset/ip_set.h>

/* The mask of hash:ip since revision 6: IPSET_ATTR_BITMASK. */
#define IPCUCKOO_IPSET_ATTR_BITMASK	12

/* A set cannot have both masks: IPSET_ERR_BITMASK_NETMASK_EXCL. */
#define IPCUCKOO_IPSET_ERR_TWO_MASKS	(IPSET_ERR_SKBINFO + 1)

#endif /* _IPCUCKOO_IPSET_COMPAT_H */
