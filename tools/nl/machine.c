// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nl/machine.h"

/* Some kernel headers are older than these constants; their values are ABI. */
#ifndef RTM_F_FIB_MATCH
#define RTM_F_FIB_MATCH	0x2000
#endif

struct list {
	struct machine_address *at;
	size_t count;
};

/* Addresses of all machines. One of each network is enough: an entry that has all of the network is
 * refused, and one that has another single address of it is not.
 */
static const struct {
	const char *text;
	struct machine_address address;
} always[] = {
#define ALWAYS(text, ...)	{ text, { __VA_ARGS__ } }
	ALWAYS("127.0.0.1", .what = "a loopback address", .source = true, .destination = true,
	       .loopback = true),
	ALWAYS("::1", .what = "the loopback address", .source = true, .destination = true,
	       .loopback = true),
	ALWAYS("169.254.169.254", .what = "a link-local address", .source = true,
	       .destination = true),
	ALWAYS("fe80::1", .what = "a link-local address", .source = true, .destination = true),
	ALWAYS("224.0.0.1", .what = "a multicast address", .destination = true),
	ALWAYS("ff02::1", .what = "a multicast address", .destination = true),
	/* Who asks for an address by DHCP, or whether another one has it already, has none. */
	ALWAYS("0.0.0.0", .what = "the address of who has none yet", .source = true),
	ALWAYS("::", .what = "the address of who has none yet", .source = true),
#undef ALWAYS
};

/* @address: in network byte order. Without memory, it is left out. */
static void add(struct list *list, int family, const void *address, struct machine_address like)
{
	struct machine_address *at = realloc(list->at, (list->count + 1) * sizeof(*at));

	if (!at)
		return;
	list->at = at;
	like.family = family == AF_INET ? IPCUCKOO_FAMILY_INET : IPCUCKOO_FAMILY_INET6;
	memcpy(like.address, address, family == AF_INET ? 4 : sizeof(like.address));
	at[list->count++] = like;
}

static void add_peer(struct list *list, int family, const void *address, const char *what)
{
	add(list, family, address, (struct machine_address) {
		.what = what, .source = true, .destination = true,
	});
}

static bool is_loopback(int family, const void *address)
{
	return family == AF_INET ? *(const uint8_t *)address == 127 :
				   IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)address);
}

/* @text: an address, perhaps with a zone. Return: its family, or 0. */
static int parse(char *text, struct in6_addr *address)
{
	text[strcspn(text, "%")] = '\0';
	if (inet_pton(AF_INET, text, address) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, text, address) == 1 ? AF_INET6 : 0;
}

static void add_own(struct list *list)
{
	struct ifaddrs *all, *one;
	const void *address;
	int family;

	if (getifaddrs(&all))
		return;
	for (one = all; one; one = one->ifa_next) {
		family = one->ifa_addr ? one->ifa_addr->sa_family : 0;
		if (family == AF_INET)
			address = &((struct sockaddr_in *)one->ifa_addr)->sin_addr;
		else if (family == AF_INET6)
			address = &((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr;
		else
			continue;
		if (!is_loopback(family, address))
			add_peer(list, family, address, "an address of this machine");
	}
	freeifaddrs(all);
}

/* A resolver on the machine itself asks others, which systemd-resolved has in a file of its own. */
static void add_resolvers(struct list *list, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256], text[64];
	struct in6_addr address;
	int family;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " nameserver %63s", text) != 1)
			continue;
		family = parse(text, &address);
		if (family && !is_loopback(family, &address))
			add_peer(list, family, &address, "a resolver of this machine");
	}
	if (file)
		fclose(file);
}

struct gateways {
	struct list *list;
	int family;
};

static void add_gateway(struct gateways *gateways, int family, const void *address)
{
	add_peer(gateways->list, family, address, "a gateway of this machine");
}

static void read_gateway(struct gateways *gateways, const struct nlattr *attr)
{
	const struct rtvia *via = mnl_attr_get_payload(attr);
	size_t size = gateways->family == AF_INET ? 4 : 16, len = mnl_attr_get_payload_len(attr);

	if (mnl_attr_get_type(attr) == RTA_GATEWAY && len == size)
		add_gateway(gateways, gateways->family, mnl_attr_get_payload(attr));
	else if (mnl_attr_get_type(attr) == RTA_VIA && len == sizeof(*via) + 16 &&
		 via->rtvia_family == AF_INET6)
		add_gateway(gateways, AF_INET6, via->rtvia_addr);
}

/* The gateways of a route with several of them */
static void read_hops(struct gateways *gateways, const struct nlattr *hops)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(hops);
	int left = mnl_attr_get_payload_len(hops);
	const struct nlattr *attr;

	for (; RTNH_OK(hop, left); left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
		mnl_attr_for_each_payload((void *)RTNH_DATA(hop), hop->rtnh_len - sizeof(*hop))
			read_gateway(gateways, attr);
	}
}

static int read_route(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(attr) == RTA_MULTIPATH)
			read_hops(data, attr);
		else
			read_gateway(data, attr);
	}
	return MNL_CB_OK;
}

/* Ask for the route to an address of the internet, that of a root name server: a router may have a
 * million routes, which would take a second to read.
 */
static void add_gateways(struct list *list, int family, const char *to)
{
	struct gateways gateways = { .list = list, .family = family };
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	char buffer[8192];
	struct in6_addr address;
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	ssize_t len = -1;

	if (!socket)
		return;
	inet_pton(family, to, &address);
	nlh = mnl_nlmsg_put_header(buffer);
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = family;
	rtm->rtm_dst_len = family == AF_INET ? 32 : 128;
	rtm->rtm_flags = RTM_F_FIB_MATCH;
	mnl_attr_put(nlh, RTA_DST, family == AF_INET ? 4 : 16, &address);
	if (!mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) &&
	    mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) >= 0)
		len = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	if (len > 0)
		mnl_cb_run(buffer, len, 0, mnl_socket_get_portid(socket), read_route, &gateways);
	mnl_socket_close(socket);
}

size_t machine_addresses(struct machine_address **addresses)
{
	struct list list = { 0 };
	struct in6_addr address;
	size_t i;
	int family;

	add_own(&list);
	add_gateways(&list, AF_INET, "198.41.0.4");
	add_gateways(&list, AF_INET6, "2001:503:ba3e::2:30");
	add_resolvers(&list, "/etc/resolv.conf");
	add_resolvers(&list, "/run/systemd/resolve/resolv.conf");
	for (i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		family = strchr(always[i].text, ':') ? AF_INET6 : AF_INET;
		inet_pton(family, always[i].text, &address);
		add(&list, family, &address, always[i].address);
	}
	*addresses = list.at;
	return list.count;
}
