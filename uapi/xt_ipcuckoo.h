/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The match "ipcuckoo" of iptables and ip6tables: rules that look an address of
 * the packet up in a set of ipcuckoo. This is revision 0 of the match; the
 * families are IPv4 and IPv6.
 */
#ifndef _UAPI_XT_IPCUCKOO_H
#define _UAPI_XT_IPCUCKOO_H

#include <linux/types.h>

#include "ipcuckoo.h"

/**
 * enum xt_ipcuckoo_flag - flags of a rule
 * @XT_IPCUCKOO_DST: look up the destination address; without it, the source
 * @XT_IPCUCKOO_INVERT: match if the address does not match the set
 * @XT_IPCUCKOO_RETURN_NOMATCH: for sets of the type hash:net: an address
 *	matches if an exception (nomatch) decides about it, and not if another
 *	entry does
 * @XT_IPCUCKOO_NO_UPDATE: do not count packets for the entries that decide
 * @XT_IPCUCKOO_APPROXIMATE: the set may be one that also matches some addresses
 *	that are not in it (filter:ip)
 * @XT_IPCUCKOO_FLAGS: all of them; a rule with another flag is refused
 */
enum xt_ipcuckoo_flag {
	XT_IPCUCKOO_DST			= 1 << 0,
	XT_IPCUCKOO_INVERT		= 1 << 1,
	XT_IPCUCKOO_RETURN_NOMATCH	= 1 << 2,
	XT_IPCUCKOO_NO_UPDATE		= 1 << 3,
	XT_IPCUCKOO_APPROXIMATE		= 1 << 4,
	XT_IPCUCKOO_FLAGS		= (1 << 5) - 1,
};

/**
 * struct xt_ipcuckoo_info - a rule
 * @set:	name of the set, padded with zeros. When the rule is added, a set of
 *		this name must exist in the network namespace of the rule
 * @flags:	enum xt_ipcuckoo_flag
 * @reserved:	0
 * @referral:	for the kernel, which neither reads it from user space nor
 *		shows it: rules are the same if all fields before it are
 * @room:	gives @referral 8 bytes on all machines
 *
 * The structure is the same for programs of 32 and of 64 bits.
 *
 * Errors: ENOENT if there is no such set; EREMOTE if it is one of ip_set, for
 * which there is the match "set"; EAFNOSUPPORT if it has no addresses of the
 * rule's family; EOPNOTSUPP if it is approximate and the flag APPROXIMATE is
 * missing; EINVAL if the name or the flags are not valid; ENOMEM. iptables shows
 * no more than the number, so the kernel also logs a sentence.
 */
struct xt_ipcuckoo_info {
	char set[IPCUCKOO_NAME_SIZE];
	__u32 flags;
	__u32 reserved;
	union {
		struct ipcuckoo_referral *referral;
		__aligned_u64 room;
	};
};

#endif /* _UAPI_XT_IPCUCKOO_H */
