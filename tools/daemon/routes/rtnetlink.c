// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "daemon/base/memory.h"
#include "daemon/routes/rtnetlink.h"

/* Some kernel headers are older than these constants; their values are ABI. */
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK	12
#endif
#ifndef RTM_NEWNEXTHOP
#define RTM_NEWNEXTHOP		104
#define RTM_DELNEXTHOP		105
#endif
#define GROUP_NEXTHOP		32
#define ATTR_NH_ID		30

/* The kernel doubles it. Some 10,000 messages about changes fit into it. */
#define RECEIVE_BUFFER		(4 << 20)

/* So many messages are read in a turn of the event loop, then others have theirs. */
#define MESSAGES_MOST		4096

/* The kernel never answers with more at once. */
#define MESSAGE_SIZE		(64 << 10)

/**
 * struct rtnetlink - a connection
 * @user:	who follows the table
 * @socket:	the socket
 * @io:		its file descriptor in the event loop
 * @family:	the family whose routes are being read; 0: none
 * @seq:	number of the request
 * @changed:	the table has changed since its routes are being read
 * @turn:	what has happened in this turn
 * @why:	for RTNETLINK_FAILED
 * @buffer:	what was read last
 */
struct rtnetlink {
	struct rtnetlink_user user;
	struct mnl_socket *socket;
	sd_event_source *io;
	uint8_t family;
	unsigned int seq;
	bool changed;
	enum rtnetlink_turn turn;
	const char *why;
	char buffer[MESSAGE_SIZE];
};

static void fail(struct rtnetlink *rt, int code)
{
	rt->turn = code == ENOBUFS || code == ENOSPC ? RTNETLINK_LOST : RTNETLINK_FAILED;
	rt->why = strerror(code);
}

/* --- requests --- */

/* Ask for the routes of one family. The kernel looks for table and protocol, so that it need not
 * send a million others; not for the type, because it does not know there that a nexthop object is
 * a blackhole.
 */
static void ask(struct rtnetlink *rt, uint8_t family)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(rt->buffer);
	struct rtmsg *message;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++rt->seq;
	message = mnl_nlmsg_put_extra_header(nlh, sizeof(*message));
	message->rtm_family = family;
	message->rtm_protocol = rt->user.protocol;
	mnl_attr_put_u32(nlh, RTA_TABLE, rt->user.table);
	rt->family = family;
	if (mnl_socket_sendto(rt->socket, nlh, nlh->nlmsg_len) < 0)
		fail(rt, errno);
}

const char *rtnetlink_read(struct rtnetlink *rt)
{
	rt->changed = false;
	rt->turn = RTNETLINK_CHANGES;
	ask(rt, rt->user.family & IPCUCKOO_FAMILY_INET ? AF_INET : AF_INET6);
	return rt->turn == RTNETLINK_CHANGES ? NULL : rt->why;
}

/* The routes of a family have been read; @code is 0 or a negative errno. */
static void end_family(struct rtnetlink *rt, int code)
{
	bool more = rt->family == AF_INET && rt->user.family & IPCUCKOO_FAMILY_INET6;

	rt->family = 0;
	/* A table that does not exist has no routes. A kernel may be without IPv6. */
	if (code && code != -ENOENT && code != -EOPNOTSUPP && code != -EAFNOSUPPORT) {
		rt->turn = RTNETLINK_FAILED;
		rt->why = strerror(-code);
	} else if (more) {
		ask(rt, AF_INET6);
	} else {
		rt->turn = rt->changed ? RTNETLINK_INEXACT : RTNETLINK_READ;
	}
}

/* --- messages --- */

/* FNV-1a: collisions matter only between routes of one destination. */
static uint64_t hash(uint64_t so_far, const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		so_far = (so_far ^ *byte++) * 0x100000001b3ull;
	return so_far;
}

/* Read an attribute of a fixed size. Return: whether it has that size. */
static bool get(const struct nlattr *attr, void *to, size_t size)
{
	if (mnl_attr_get_payload_len(attr) != size)
		return false;
	memcpy(to, mnl_attr_get_payload(attr), size);
	return true;
}

/* Read a route. Return: false if it is none of the table, or not for all sources of packets. */
static bool parse_route(const struct rtnetlink *rt, const struct nlmsghdr *nlh,
			struct rtnetlink_route *result)
{
	const struct rtmsg *message = mnl_nlmsg_get_payload(nlh);
	struct fib_route *route = &result->route;
	bool v6 = message->rtm_family == AF_INET6, right = true;
	uint32_t table = message->rtm_table, nexthop = 0;
	unsigned int bits = v6 ? 128 : 32;
	const struct nlattr *attr;
	int type;

	if ((!v6 && message->rtm_family != AF_INET) || message->rtm_dst_len > bits ||
	    message->rtm_src_len)
		return false;
	memset(result, 0, sizeof(*result));
	result->type = message->rtm_type;
	result->protocol = message->rtm_protocol;
	route->tos = message->rtm_tos;
	route->id = hash(0xcbf29ce484222325ull,
			 (uint8_t[]){ message->rtm_tos, message->rtm_protocol,
				      message->rtm_scope, message->rtm_type }, 4);
	mnl_attr_for_each(attr, nlh, sizeof(*message)) {
		type = mnl_attr_get_type(attr);
		if (type == RTA_DST)
			right &= get(attr, route->entry, bits / 8);
		else if (type == RTA_TABLE)
			right &= get(attr, &table, sizeof(table));
		else if (type == RTA_PRIORITY)
			right &= get(attr, &route->priority, sizeof(route->priority));
		else if (type == ATTR_NH_ID)
			right &= get(attr, &nexthop, sizeof(nexthop));
		/* These differ between two messages about the same route. */
		if (type == RTA_CACHEINFO || type == RTA_EXPIRES)
			continue;
		route->id = hash(route->id, &attr->nla_type, sizeof(attr->nla_type));
		route->id = hash(route->id, mnl_attr_get_payload(attr),
				 mnl_attr_get_payload_len(attr));
	}
	route->flags = nexthop ? FIB_NEXTHOP : 0;
	route->kind = v6 ? ENTRY_HOST6 : ENTRY_HOST4;
	if (message->rtm_dst_len < bits) {
		route->kind = v6 ? ENTRY_NET6 : ENTRY_NET4;
		route->entry[bits / 8] = message->rtm_dst_len;
	}
	return right && table == rt->user.table;
}

static void take_route(struct rtnetlink *rt, const struct nlmsghdr *nlh, bool answer)
{
	const struct rtmsg *message = mnl_nlmsg_get_payload(nlh);
	enum rtnetlink_event event = RTNETLINK_ADDED;
	struct rtnetlink_route route;
	bool parsed;

	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(*message))
		return;
	/* A kernel without IPv6 answers with what it has. */
	if (answer && message->rtm_family != rt->family)
		return;
	parsed = parse_route(rt, nlh, &route);
	rt->changed |= !answer && (parsed || message->rtm_src_len);
	if (!parsed)
		return;
	if (answer)
		event = RTNETLINK_THERE;
	else if (nlh->nlmsg_type == RTM_DELROUTE)
		event = RTNETLINK_DELETED;
	else if (nlh->nlmsg_flags & NLM_F_REPLACE)
		event = RTNETLINK_REPLACING;
	rt->user.route(rt->user.owner, &route, event);
}

/* The result of a request, which is behind the header of NLMSG_DONE and of NLMSG_ERROR */
static int result_of(const struct nlmsghdr *nlh)
{
	int code = 0;

	if (nlh->nlmsg_len >= MNL_NLMSG_HDRLEN + sizeof(code))
		memcpy(&code, mnl_nlmsg_get_payload(nlh), sizeof(code));
	return code;
}

static void take_message(struct rtnetlink *rt, const struct nlmsghdr *nlh)
{
	/* Others have other numbers of ports. */
	bool answer = rt->family && nlh->nlmsg_seq == rt->seq &&
		      nlh->nlmsg_pid == mnl_socket_get_portid(rt->socket);

	if (answer && nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		rt->changed = true;
	switch (nlh->nlmsg_type) {
	case NLMSG_DONE:
	case NLMSG_ERROR:
		if (answer)
			end_family(rt, result_of(nlh));
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		take_route(rt, nlh, answer);
		break;
	case RTM_DELNEXTHOP:
		rt->user.nexthop(rt->user.owner);
		break;
	case RTM_NEWNEXTHOP:
		if (nlh->nlmsg_flags & NLM_F_REPLACE)
			rt->user.nexthop(rt->user.owner);
		break;
	}
}

static int on_io(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct rtnetlink *rt = data;
	const struct nlmsghdr *nlh;
	int len, left, i;
	uint16_t type;

	(void)io;
	(void)fd;
	(void)events;
	rt->turn = RTNETLINK_CHANGES;
	for (i = 0; i < MESSAGES_MOST && rt->turn == RTNETLINK_CHANGES; i++) {
		len = mnl_socket_recvfrom(rt->socket, rt->buffer, sizeof(rt->buffer));
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (len < 0) {
			fail(rt, errno);
			break;
		}
		nlh = (const struct nlmsghdr *)rt->buffer;
		/* An end is the last message; the next request may be in the buffer after it. */
		for (left = len; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			type = nlh->nlmsg_type;
			take_message(rt, nlh);
			if (type == NLMSG_DONE || type == NLMSG_ERROR)
				break;
		}
	}
	rt->user.turn(rt->user.owner, rt->turn, rt->why);
	return 0;
}

/* --- the connection --- */

/*
 * The kernel drops messages about routes of other tables before they wake us: with a table of the
 * whole internet beside ours, there may be thousands in a second. Of a table from 256 on, a message
 * has RT_TABLE_COMPAT here; parse_route() looks at the whole number.
 */
static int attach_filter(int fd, uint32_t table)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
			 NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_table)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, table < 256 ? table : RT_TABLE_COMPAT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Return: 0, or -1 and errno. */
static int set_up(struct rtnetlink *rt)
{
	int one = 1, size = RECEIVE_BUFFER, group = GROUP_NEXTHOP, fd;
	unsigned int groups = 0;

	rt->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!rt->socket)
		return -1;
	fd = mnl_socket_get_fd(rt->socket);
	/* SO_RCVBUFFORCE needs CAP_NET_ADMIN in the initial user namespace. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (mnl_socket_setsockopt(rt->socket, NETLINK_GET_STRICT_CHK, &one, sizeof(one)) ||
	    attach_filter(fd, rt->user.table))
		return -1;
	if (rt->user.family & IPCUCKOO_FAMILY_INET)
		groups |= RTMGRP_IPV4_ROUTE;
	if (rt->user.family & IPCUCKOO_FAMILY_INET6)
		groups |= RTMGRP_IPV6_ROUTE;
	if (mnl_socket_bind(rt->socket, groups, MNL_SOCKET_AUTOPID))
		return -1;
	return mnl_socket_setsockopt(rt->socket, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

struct rtnetlink *rtnetlink_open(sd_event *event, const struct rtnetlink_user *user,
				 const char **why)
{
	struct rtnetlink *rt = need_zeros(sizeof(*rt));
	int err;

	rt->user = *user;
	err = set_up(rt) ? errno : 0;
	if (!err)
		err = -sd_event_add_io(event, &rt->io, mnl_socket_get_fd(rt->socket), EPOLLIN,
				       on_io, rt);
	if (err <= 0)
		return rt;
	*why = strerror(err);
	rtnetlink_close(rt);
	return NULL;
}

void rtnetlink_close(struct rtnetlink *rt)
{
	if (!rt)
		return;
	sd_event_source_disable_unref(rt->io);
	if (rt->socket)
		mnl_socket_close(rt->socket);
	free(rt);
}
