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
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "compat.h"
#include "ports.h"

/* What the functions below return if there is no header of the protocol. LATER: a later fragment
 * may have it.
 */
#define NONE	(-1)
#define LATER	(-2)

/* The source port and the destination port: any of the protocols' headers begins with them. */
#define PORTS_SIZE	(2 * sizeof(__be16))

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
	unsigned int at = sizeof(struct ipv6hdr), end = UINT_MAX, size;
	const struct ipv6_opt_hdr *header;
	const struct frag_hdr *fragment;
	struct ipv6hdr copy;
	const struct ipv6hdr *ip = read(packet, 0, sizeof(copy), &copy);
	struct frag_hdr extension;
	int missing = NONE;
	u8 next;

	if (!ip)
		return NONE;
	/* XDP and ingress see a frame before the IP stack cuts off what is behind the packet. There
	 * an attacker could put another port than that of the later fragment. Only jumbograms and
	 * large packets of GRO and GSO have no length, and they are no fragments.
	 */
	if (ip->payload_len)
		end = at + ntohs(ip->payload_len);
	for (next = ip->nexthdr; next != protocol; next = header->nexthdr) {
		if (!ipv6_ext_hdr(next) || next == NEXTHDR_NONE)
			return NONE;
		size = next == NEXTHDR_FRAGMENT ? sizeof(*fragment) : sizeof(*header);
		header = at + size <= end ? read(packet, at, size, &extension) : NULL;
		if (!header)
			return missing;
		if (next == NEXTHDR_FRAGMENT) {
			fragment = (const struct frag_hdr *)header;
			if (fragment->frag_off & htons(IP6_OFFSET))
				return NONE;
			if (fragment->frag_off & htons(IP6_MF))
				missing = LATER;
			at += sizeof(*fragment);
		} else if (next == NEXTHDR_AUTH) {
			at += ipv6_authlen(header);
		} else {
			at += ipv6_optlen(header);
		}
	}
	return at + PORTS_SIZE <= end && read(packet, at, PORTS_SIZE, &extension) ? at : missing;
}

/**
 * ipcuckoo_ports_match() - does a packet go to one of some ports?
 * @ports:	the ports
 * @protocol:	their protocol: TCP, UDP or SCTP
 * @later:	what to return for a first fragment if the port may be in a later one
 * @v6:		it is a packet of IPv6
 * @packet:	the packet, for @read
 * @read:	reads the packet
 *
 * Context: softirq or process context.
 * Return: false also if it has no ports, or is cut off before them.
 */
bool ipcuckoo_ports_match(const struct ipcuckoo_ports *ports, u8 protocol, bool later, bool v6,
			  const void *packet, ipcuckoo_read_fn read)
{
	int at = v6 ? find6(protocol, packet, read) : find4(protocol, packet, read);
	const __be16 *header;
	__be16 copy[2];
	u16 port;
	int i;

	if (at == LATER)
		return later;
	header = at == NONE ? NULL : read(packet, at, PORTS_SIZE, copy);
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
