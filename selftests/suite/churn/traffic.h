/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of many sources to oneself, each with a number, of which one knows when they arrive. */
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

enum { MARKS = 1 << 16, PATIENCE_MS = 60000 };

/* The payload. */
struct mark {
	uint32_t number;
	uint32_t from;
};

struct traffic {
	int sender;
	int receiver;
	struct sockaddr_in to;
	uint32_t number;
	bool arrived[MARKS];	/* by number, of this burst */
};

static inline void open_traffic(struct traffic *t)
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

/* From an address of this machine, which has all of 127.0.0.0/8. */
static inline void send_from(struct traffic *t, uint32_t from)
{
	char control[CMSG_SPACE(sizeof(struct in_pktinfo))] = {};
	struct in_pktinfo info = { .ipi_spec_dst.s_addr = htonl(from) };
	struct mark mark = { t->number++, from };
	struct iovec data = { &mark, sizeof(mark) };
	struct msghdr msg = {
		.msg_name = &t->to, .msg_namelen = sizeof(t->to), .msg_iov = &data,
		.msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = IPPROTO_IP;
	cmsg->cmsg_type = IP_PKTINFO;
	cmsg->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(cmsg), &info, sizeof(info));
	if (sendmsg(t->sender, &msg, 0) != sizeof(mark))
		err(2, "a packet from %#x", from);
}

/* Packets that a processor sends to itself stay in order. */
static inline void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

static inline void close_traffic(struct traffic *t)
{
	close(t->sender);
	close(t->receiver);
}

/* Read until the packet with this number has arrived; @each is called for all that have.
 * Returns false if it does not come.
 */
static inline bool await(struct traffic *t, uint32_t number,
			 void (*each)(void *data, const struct mark *mark), void *data)
{
	struct pollfd pfd = { t->receiver, POLLIN, 0 };
	struct mark mark;

	while (poll(&pfd, 1, PATIENCE_MS) == 1) {
		if (recv(t->receiver, &mark, sizeof(mark), 0) != sizeof(mark))
			continue;
		each(data, &mark);
		t->arrived[mark.number % MARKS] = true;
		if (mark.number == number)
			return true;
	}
	return false;
}

#endif /* _TRAFFIC_H */
