/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports of an attachment that acts only on packets that go to them. */
#ifndef _IPCUCKOO_PORTS_H
#define _IPCUCKOO_PORTS_H

#include <linux/ip.h>
#include <linux/types.h>
#include <net/ip.h>

#include "ipcuckoo.h"

struct ipv6hdr;

/* From @first to @last */
struct ipcuckoo_port_range {
	u16 first;
	u16 last;
};

/**
 * struct ipcuckoo_ports - a set of ports
 * @count:	number of ranges
 * @range:	the ranges, in ascending order; between two of them is a port that is in none, so
 *		that the same ports are always the same ranges
 */
struct ipcuckoo_ports {
	u8 count;
	struct ipcuckoo_port_range range[IPCUCKOO_PORTS_MAX];
};

/* Reads @size bytes of @packet, from @at bytes after the beginning of its IP header on. Return: a
 * pointer to the bytes, perhaps @copy; or NULL if the packet is shorter.
 */
typedef const void *(*ipcuckoo_read_fn)(const void *packet, unsigned int at, unsigned int size,
					void *copy);

bool ipcuckoo_ports_read(struct ipcuckoo_ports *ports, const u8 *data, unsigned int size);
bool ipcuckoo_ports_same(const struct ipcuckoo_ports *a, const struct ipcuckoo_ports *b);
/* The packet has no ports of the protocol; or a later fragment may have them. */
#define IPCUCKOO_PORTS_NONE	(-1)
#define IPCUCKOO_PORTS_LATER	(-2)

/* The source port and the destination port: any of the protocols' headers begins with them. */
#define IPCUCKOO_PORTS_HEADER	(2 * sizeof(__be16))

int ipcuckoo_ports_find6(u8 protocol, const struct ipv6hdr *ip, const void *packet,
			 ipcuckoo_read_fn read);

/* Find the ports of a packet. Return: where they begin, counted from the IP header on, though the
 * packet may be cut off there; IPCUCKOO_PORTS_NONE; or IPCUCKOO_PORTS_LATER if a later fragment may
 * have them.
 */
static inline int ipcuckoo_ports_find(u8 protocol, bool v6, const void *ip, const void *packet,
				      ipcuckoo_read_fn read)
{
	const struct iphdr *ip4 = ip;

	if (v6)
		return ipcuckoo_ports_find6(protocol, ip, packet, read);
	if (ip4->ihl < 5 || ip4->protocol != protocol || ip4->frag_off & htons(IP_OFFSET))
		return IPCUCKOO_PORTS_NONE;
	return ip4->ihl * 4;
}

/* Is a port one of these? */
static inline bool ipcuckoo_ports_have(const struct ipcuckoo_ports *ports, u16 port)
{
	int i;

	for (i = 0; i < ports->count; i++)
		if (port >= ports->range[i].first && port <= ports->range[i].last)
			return true;
	return false;
}

#endif /* _IPCUCKOO_PORTS_H */
