/* SPDX-License-Identifier: GPL-2.0-only */
/* IPv6 addresses of packets and messages, and the keys of tables. */
#ifndef _IPCUCKOO_IN6_H
#define _IPCUCKOO_IN6_H

#include <linux/in6.h>

#include "compat.h"
#include "key.h"

/* In a frame of XDP, @addr may be at any even address. */
static inline struct ipcuckoo_key ipcuckoo_in6_key(const struct in6_addr *addr)
{
	return (struct ipcuckoo_key){
		.hi = get_unaligned_be64(addr->s6_addr),
		.lo = get_unaligned_be64(addr->s6_addr + 8),
	};
}

static inline struct in6_addr ipcuckoo_key_in6(const struct ipcuckoo_key *key)
{
	return (struct in6_addr){
		.s6_addr32 = {
			htonl(key->hi >> 32), htonl(key->hi),
			htonl(key->lo >> 32), htonl(key->lo),
		},
	};
}

#endif /* _IPCUCKOO_IN6_H */
