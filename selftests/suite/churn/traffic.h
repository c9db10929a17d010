/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that a program sends to itself over the loopback device, from many source addresses. Each
 * packet carries a number, so that the program knows which packets have arrived.
 */
#ifndef _TRAFFIC_H
#define _TRAFFIC_H

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* traffic_receive() remembers this many packets: more than a program sends before it calls it. */
#define TRAFFIC_PACKETS		(1 << 16)

/* How long traffic_receive() waits for the next packet. */
#define TRAFFIC_TIMEOUT_MS	60000

/* The payload of a packet. */
struct payload {
	uint32_t number;
	uint32_t from;
};

/**
 * struct traffic - the sockets of a program that sends packets to itself
 * @sender:	socket that sends the packets
 * @receiver:	socket that receives them
 * @to:		address of @receiver
 * @number:	number of the next packet
 * @arrived:	whether a packet has arrived, by its number modulo TRAFFIC_PACKETS; the caller sets
 *		it to false before it sends the packet
 */
struct traffic {
	int sender;
	int receiver;
	struct sockaddr_in to;
	uint32_t number;
	bool arrived[TRAFFIC_PACKETS];
};

static inline void traffic_open(struct traffic *t)
{
	socklen_t size = sizeof(t->to);
	int room = 4 << 20;

	t->to = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	t->sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	t->receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (t->sender < 0 || t->receiver < 0 ||
	    setsockopt(t->receiver, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(t->receiver, (struct sockaddr *)&t->to, size) ||
	    getsockname(t->receiver, (struct sockaddr *)&t->to, &size))
		err(2, "sockets");
}

/* Run this thread on a single processor, so that the packets that it sends arrive in order. */
static inline void traffic_pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

/* Send a packet with the source address @from, any address of 127.0.0.0/8: this machine has all of
 * them.
 */
static inline void traffic_send(struct traffic *t, uint32_t from)
{
	char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {};
	struct in_pktinfo info = { .ipi_spec_dst.s_addr = htonl(from) };
	struct payload payload = { t->number++, from };
	struct iovec data = { &payload, sizeof(payload) };
	struct msghdr msg = {
		.msg_name = &t->to, .msg_namelen = sizeof(t->to), .msg_iov = &data,
		.msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = IPPROTO_IP;
	cmsg->cmsg_type = IP_PKTINFO;
	cmsg->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(cmsg), &info, sizeof(info));
	if (sendmsg(t->sender, &msg, 0) != sizeof(payload))
		err(2, "a packet from %#x", from);
}

/* Receive packets until the one with @number has arrived; call @each for every packet. Returns
 * false if no packet arrives for TRAFFIC_TIMEOUT_MS.
 */
static inline bool traffic_receive(struct traffic *t, uint32_t number,
				   void (*each)(void *data, const struct payload *payload),
				   void *data)
{
	struct pollfd pfd = { t->receiver, POLLIN, 0 };
	struct payload payload;

	while (poll(&pfd, 1, TRAFFIC_TIMEOUT_MS) == 1) {
		if (recv(t->receiver, &payload, sizeof(payload), 0) != sizeof(payload))
			continue;
		each(data, &payload);
		t->arrived[payload.number % TRAFFIC_PACKETS] = true;
		if (payload.number == number)
			return true;
	}
	return false;
}

static inline void traffic_close(struct traffic *t)
{
	close(t->sender);
	close(t->receiver);
}

#endif /* _TRAFFIC_H */
