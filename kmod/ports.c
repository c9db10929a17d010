// SPDX-License-Identifier: GPL-2.0-only
/*
 * The destination port of a packet. Packets of netfilter and frames of XDP are read by the same
 * functions, so that an attachment finds the same port in both.
 *
 * A fragment other than the first has no ports, and matches none. So a host that reassembles the
 * fragments lacks the first one, if that is dropped.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "compat.h"
#include "ports.h"

/* What the functions below return if there is no header of the protocol. */
#define NONE	(-1)

/* Find the header of a protocol in a packet of IPv4. Return: where it begins, or NONE. */
static int find4(u8 protocol, const void *packet, ipcuckoo_read_fn read)
{
	const struct iphdr *ip;
	struct iphdr copy;

	ip = read(packet, 0, sizeof(copy), &copy);
	if (!ip || ip->ihl < 5 || ip->protocol != protocol || ip->frag_off & htons(IP_OFFSET))
		return NONE;
	return ip->ihl * 4;
}

/* The same for IPv6, behind all extension headers that the kernel skips (ipv6_find_hdr()). */
static int find6(u8 protocol, const void *packet, ipcuckoo_read_fn read)
{
	unsigned int at = sizeof(struct ipv6hdr);
	const struct ipv6_opt_hdr *header;
	const struct frag_hdr *fragment;
	struct ipv6hdr copy;
	const struct ipv6hdr *ip = read(packet, 0, sizeof(copy), &copy);
	struct frag_hdr extension;
	u8 next;

	if (!ip)
		return NONE;
	for (next = ip->nexthdr; next != protocol; next = header->nexthdr) {
		header = read(packet, at, next == NEXTHDR_FRAGMENT ? sizeof(*fragment) :
			      sizeof(*header), &extension);
		if (!header)
			return NONE;
		switch (next) {
		case NEXTHDR_HOP:
		case NEXTHDR_ROUTING:
		case NEXTHDR_DEST:
			at += ipv6_optlen(header);
			break;
		case NEXTHDR_AUTH:
			at += ipv6_authlen(header);
			break;
		case NEXTHDR_FRAGMENT:
			fragment = (const struct frag_hdr *)header;
			if (fragment->frag_off & htons(IP6_OFFSET))
				return NONE;
			at += sizeof(*fragment);
			break;
		default:
			return NONE;
		}
	}
	return at;
}

/**
 * ipcuckoo_ports_match() - does a packet go to one of some ports?
 * @ports:	the ports
 * @protocol:	their protocol: TCP, UDP or SCTP
 * @v6:		it is a packet of IPv6
 * @packet:	the packet, for @read
 * @read:	reads the packet
 *
 * Context: softirq or process context.
 * Return: false also if it has no ports, or is cut off before them.
 */
bool ipcuckoo_ports_match(const struct ipcuckoo_ports *ports, u8 protocol, bool v6,
			  const void *packet, ipcuckoo_read_fn read)
{
	int at = v6 ? find6(protocol, packet, read) : find4(protocol, packet, read);
	const __be16 *header;	/* begins with the source port and the destination port */
	__be16 copy[2];
	u16 port;
	int i;

	header = at == NONE ? NULL : read(packet, at, sizeof(copy), copy);
	if (!header)
		return false;
	port = ntohs(header[1]);
	for (i = 0; i < ports->count; i++)
		if (port >= ports->range[i].first && port <= ports->range[i].last)
			return true;
	return false;
}

/**
 * ipcuckoo_ports_same() - are two sets of ports equal?
 * @a:		ports
 * @b:		ports
 */
bool ipcuckoo_ports_same(const struct ipcuckoo_ports *a, const struct ipcuckoo_ports *b)
{
	return a->count == b->count && !memcmp(a->range, b->range, a->count * sizeof(*a->range));
}

/**
 * ipcuckoo_ports_read() - read the ports of a request
 * @ports:	to fill
 * @data:	packed ranges
 * @size:	their bytes
 *
 * Return: whether they are valid: IPCUCKOO_PORTS_MAX ranges at most, and in ascending order.
 */
bool ipcuckoo_ports_read(struct ipcuckoo_ports *ports, const u8 *data, unsigned int size)
{
	unsigned int least = 0;	/* the least port with which the next range may begin */
	struct ipcuckoo_port_range range;

	if (!size || size % IPCUCKOO_PORTS_SIZE || size > IPCUCKOO_PORTS_MAX * IPCUCKOO_PORTS_SIZE)
		return false;
	for (ports->count = 0; size; size -= IPCUCKOO_PORTS_SIZE, data += IPCUCKOO_PORTS_SIZE) {
		range.first = get_unaligned_be16(data);
		range.last = get_unaligned_be16(data + 2);
		if (range.first < least || range.last < range.first)
			return false;
		least = range.last + 2;
		ports->range[ports->count++] = range;
	}
	return true;
}
