/* SPDX-License-Identifier: GPL-2.0-only */
/* IPv6 addresses of packets and messages, and the keys of tables. */
#ifndef _IPCUCKOO_IN6_H
#define _IPCUCKOO_IN6_H

#include <linux/in6.h>

#include "key.h"

/* Half an address. In packets, it may be anywhere: frames of XDP begin at even addresses only. */
struct ipcuckoo_in6_half {
	__be64 value;
} __packed;

static inline u64 ipcuckoo_in6_half(const void *at)
{
	return be64_to_cpu(((const struct ipcuckoo_in6_half *)at)->value);
}

static inline struct ipcuckoo_key ipcuckoo_in6_key(const struct in6_addr *addr)
{
	return (struct ipcuckoo_key){
		.hi = ipcuckoo_in6_half(&addr->s6_addr32[0]),
		.lo = ipcuckoo_in6_half(&addr->s6_addr32[2]),
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
