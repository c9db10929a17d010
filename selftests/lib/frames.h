/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds packets byte by byte. Each packet ends in a tag with its number, so that a receiver can
 * identify the packet, even if it is a fragment.
 */
#ifndef _FRAMES_H
#define _FRAMES_H

#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

#include "lists.h"

/* Kinds of packets. The fragments are the two halves of a UDP datagram. */
enum kind {
	KIND_TCP,
	KIND_UDP,
	KIND_ICMP,
	KIND_FIRST,
	KIND_LATER,
	KINDS
};

static const char * const kind_name[KINDS] = {
	"tcp", "udp", "icmp", "first fragment", "later fragment",
};

/* Size of a buffer for a packet, Ethernet header included. */
#define FRAME_SIZE	512

#define TAG_MAGIC	0x69706375

struct tag {
	uint32_t magic;
	uint32_t run;
	uint32_t id;
} __attribute__((packed));

/* Number of bytes of the datagram in its first fragment. */
#define FIRST_SIZE	64

/**
 * struct frame - a packet to build
 * @v6:		IPv6, not IPv4
 * @kind:	protocol, or which fragment
 * @src:	source address
 * @dst:	destination address
 * @run:	number of the run: tells packets of different runs apart
 * @id:		number of the packet
 * @datagram:	number of the datagram: the same in both of its fragments
 * @fill:	bytes of payload before the tag
 */
struct frame {
	bool v6;
	enum kind kind;
	addr_t src;
	addr_t dst;
	uint32_t run;
	uint32_t id;
	uint32_t datagram;
	unsigned int fill;
};

static inline uint32_t sum_bytes(const uint8_t *data, size_t size, uint32_t sum)
{
	size_t i;

	for (i = 0; i + 1 < size; i += 2)
		sum += data[i] << 8 | data[i + 1];
	if (size & 1)
		sum += data[size - 1] << 8;
	return sum;
}

static inline uint16_t sum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Checksum of a transport header and its payload; includes the pseudo header. */
static inline uint16_t transport_sum(const struct frame *f, uint8_t protocol,
				     const uint8_t *data, size_t size)
{
	uint8_t addr[16];
	uint32_t sum = 0;

	if (f->v6 || protocol != IPPROTO_ICMP) {
		addr_store(addr, f->src, f->v6);
		sum = sum_bytes(addr, f->v6 ? 16 : 4, sum);
		addr_store(addr, f->dst, f->v6);
		sum = sum_bytes(addr, f->v6 ? 16 : 4, sum);
		sum += protocol + size;
	}
	return sum_fold(sum_bytes(data, size, sum));
}

static inline size_t put_tag(const struct frame *f, uint8_t *data)
{
	const struct tag tag = { TAG_MAGIC, f->run, f->id };

	memcpy(data, &tag, sizeof(tag));
	return sizeof(tag);
}

static inline size_t put_tcp(const struct frame *f, uint8_t *data)
{
	struct tcphdr tcp = {
		.source = htons(1024 + f->id % 60000), .dest = htons(443),
		.seq = htonl(f->id), .doff = 5, .syn = 1, .window = htons(1024),
	};
	size_t size = sizeof(tcp);

	memcpy(data, &tcp, sizeof(tcp));
	size += put_tag(f, data + size);
	tcp.check = transport_sum(f, IPPROTO_TCP, data, size);
	memcpy(data, &tcp, sizeof(tcp));
	return size;
}

static inline size_t put_udp(const struct frame *f, uint8_t *data)
{
	struct udphdr udp = {
		.source = htons(1024 + f->id % 60000), .dest = htons(4789),
		.len = htons(sizeof(udp) + f->fill + sizeof(struct tag)),
	};
	size_t size = sizeof(udp) + f->fill;

	memcpy(data, &udp, sizeof(udp));
	memset(data + sizeof(udp), 'x', f->fill);
	size += put_tag(f, data + size);
	udp.check = transport_sum(f, IPPROTO_UDP, data, size);
	memcpy(data, &udp, sizeof(udp));
	return size;
}

static inline size_t put_icmp(const struct frame *f, uint8_t *data)
{
	struct icmphdr icmp = {
		.type = f->v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO,
		.un.echo.id = htons(f->run), .un.echo.sequence = htons(f->id),
	};
	size_t size = sizeof(icmp) + f->fill;

	memcpy(data, &icmp, sizeof(icmp));
	memset(data + sizeof(icmp), 'x', f->fill);
	size += put_tag(f, data + size);
	icmp.checksum = transport_sum(f, f->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
				      data, size);
	memcpy(data, &icmp, sizeof(icmp));
	return size;
}

/* Append half of a UDP datagram. The UDP checksum would cover both halves, so it is 0 in IPv4,
 * where it is optional, and wrong in IPv6, where raw sockets do not check it.
 */
static inline size_t put_fragment(const struct frame *f, uint8_t *data)
{
	struct udphdr udp = {
		.source = htons(4789), .dest = htons(4789),
		.len = htons(2 * FIRST_SIZE), .check = f->v6 ? htons(1) : 0,
	};

	memset(data, 'x', FIRST_SIZE);
	if (f->kind == KIND_FIRST)
		memcpy(data, &udp, sizeof(udp));
	put_tag(f, data + FIRST_SIZE - sizeof(struct tag));
	return FIRST_SIZE;
}

static inline size_t put_transport(const struct frame *f, uint8_t *data)
{
	switch (f->kind) {
	case KIND_TCP:
		return put_tcp(f, data);
	case KIND_UDP:
		return put_udp(f, data);
	case KIND_ICMP:
		return put_icmp(f, data);
	default:
		return put_fragment(f, data);
	}
}

static inline uint8_t protocol_of(const struct frame *f)
{
	switch (f->kind) {
	case KIND_TCP:
		return IPPROTO_TCP;
	case KIND_ICMP:
		return f->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	default:
		return IPPROTO_UDP;
	}
}

static inline bool is_fragment(const struct frame *f)
{
	return f->kind == KIND_FIRST || f->kind == KIND_LATER;
}

static inline size_t put_ip4(const struct frame *f, uint8_t *data)
{
	size_t size = sizeof(struct iphdr);
	struct iphdr ip = {
		.version = 4, .ihl = 5, .ttl = 8, .protocol = protocol_of(f),
		.id = htons(f->datagram),
	};

	size += put_transport(f, data + size);
	ip.tot_len = htons(size);
	if (f->kind == KIND_FIRST)
		ip.frag_off = htons(IP_MF);
	else if (f->kind == KIND_LATER)
		ip.frag_off = htons(FIRST_SIZE / 8);
	addr_store((uint8_t *)&ip.saddr, f->src, false);
	addr_store((uint8_t *)&ip.daddr, f->dst, false);
	ip.check = sum_fold(sum_bytes((uint8_t *)&ip, sizeof(ip), 0));
	memcpy(data, &ip, sizeof(ip));
	return size;
}

static inline size_t put_ip6(const struct frame *f, uint8_t *data)
{
	struct ip6_frag frag = {
		.ip6f_nxt = IPPROTO_UDP, .ip6f_ident = htonl(f->datagram),
		.ip6f_offlg = f->kind == KIND_FIRST ? IP6F_MORE_FRAG :
						      htons(FIRST_SIZE),
	};
	struct ip6_hdr ip = {
		.ip6_flow = htonl(6U << 28), .ip6_hlim = 8,
		.ip6_nxt = is_fragment(f) ? IPPROTO_FRAGMENT : protocol_of(f),
	};
	size_t size = sizeof(ip);

	if (is_fragment(f)) {
		memcpy(data + size, &frag, sizeof(frag));
		size += sizeof(frag);
	}
	size += put_transport(f, data + size);
	ip.ip6_plen = htons(size - sizeof(ip));
	addr_store(ip.ip6_src.s6_addr, f->src, true);
	addr_store(ip.ip6_dst.s6_addr, f->dst, true);
	memcpy(data, &ip, sizeof(ip));
	return size;
}

/**
 * frame_put - write a packet, from its IP header on
 * @f:		the packet
 * @data:	the buffer, FRAME_SIZE bytes
 *
 * Return: size of the packet.
 */
static inline size_t frame_put(const struct frame *f, uint8_t *data)
{
	return f->v6 ? put_ip6(f, data) : put_ip4(f, data);
}

/**
 * frame_tag - read the number of a packet
 * @data:	the end of the packet, or all of it
 * @size:	number of bytes
 * @run:	number of the current run
 * @id:		set to the number of the packet
 *
 * Return: does the packet have a tag, and is it of run @run?
 */
static inline bool frame_tag(const uint8_t *data, size_t size, uint32_t run,
			     uint32_t *id)
{
	struct tag tag;

	if (size < sizeof(tag))
		return false;
	memcpy(&tag, data + size - sizeof(tag), sizeof(tag));
	*id = tag.id;
	return tag.magic == TAG_MAGIC && tag.run == run;
}

#endif /* _FRAMES_H */
