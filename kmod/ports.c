// SPDX-License-Identifier: GPL-2.0-only
/*
 * The destination port of a packet. Packets of netfilter and frames of XDP are read by the same
 * functions, so that an attachment finds the same port in both.
 *
 * A fragment other than the first has no ports, and matches none. So a host that reassembles the
 * fragments lacks the first one, if that is dropped.
 *
 * Some hosts also reassemble a packet of IPv6 whose port is in a later fragment, because its first
 * one ends before: RFC 8200, 4.5 forbids that, but there is no way to know the port. So what drops
 * packets to any port drops such a first fragment. In IPv4 hosts discard a first fragment with less
 * than 8 bytes behind its header, and the ports are in the first 4 of these.
 */
#include <linux/ipv6.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "compat.h"
#include "ports.h"

/**
 * ipcuckoo_ports_find6() - find the ports of a packet of IPv6
 * @protocol:	protocol of the ports: TCP, UDP or SCTP
 * @ip:		its IP header
 * @packet:	the packet, for @read
 * @read:	reads the packet
 *
 * They are behind all extension headers that the kernel skips (ipv6_find_hdr()).
 *
 * Context: softirq or process context.
 * Return: as ipcuckoo_ports_find().
 */
int ipcuckoo_ports_find6(u8 protocol, const struct ipv6hdr *ip, const void *packet,
			 ipcuckoo_read_fn read)
{
	unsigned int at = sizeof(struct ipv6hdr), end = UINT_MAX, size;
	const struct ipv6_opt_hdr *header;
	const struct frag_hdr *fragment;
	struct frag_hdr extension;
	int missing = IPCUCKOO_PORTS_NONE;
	u8 next;

	/* XDP and ingress see a frame before the IP stack cuts off what is behind the packet. There
	 * an attacker could put another port than that of the later fragment. Only jumbograms and
	 * large packets of GRO and GSO have no length, and they are no fragments.
	 */
	if (ip->payload_len)
		end = at + ntohs(ip->payload_len);
	for (next = ip->nexthdr; next != protocol; next = header->nexthdr) {
		if (!ipv6_ext_hdr(next) || next == NEXTHDR_NONE)
			return IPCUCKOO_PORTS_NONE;
		size = next == NEXTHDR_FRAGMENT ? sizeof(*fragment) : sizeof(*header);
		header = at + size <= end ? read(packet, at, size, &extension) : NULL;
		if (!header)
			return missing;
		if (next == NEXTHDR_FRAGMENT) {
			fragment = (const struct frag_hdr *)header;
			if (fragment->frag_off & htons(IP6_OFFSET))
				return IPCUCKOO_PORTS_NONE;
			if (fragment->frag_off & htons(IP6_MF))
				missing = IPCUCKOO_PORTS_LATER;
			at += sizeof(*fragment);
		} else if (next == NEXTHDR_AUTH) {
			at += ipv6_authlen(header);
		} else {
			at += ipv6_optlen(header);
		}
	}
	if (at + IPCUCKOO_PORTS_HEADER > end)
		return missing;
	/* The caller reads the ports; here it matters only if a later fragment may have them. */
	if (missing == IPCUCKOO_PORTS_NONE || read(packet, at, IPCUCKOO_PORTS_HEADER, &extension))
		return at;
	return missing;
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
