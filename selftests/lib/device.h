/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices for tests: rtnetlink requests that create, rename and delete devices, add alternative
 * names, and move devices between namespaces. If a request fails, it returns a negative errno.
 */
#ifndef _DEVICE_H
#define _DEVICE_H

#include <err.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* Open a socket in the current namespace of the caller. */
static inline struct mnl_socket *device_socket(void)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		err(2, "rtnetlink");
	return nl;
}

static inline struct nlmsghdr *device_request(void *buf, uint16_t type, uint16_t flags,
					      const char *name)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return nlh;
}

static inline int device_ask(struct mnl_socket *nl, struct nlmsghdr *nlh)
{
	char in[8192];
	const struct nlmsghdr *answer = (void *)in;
	ssize_t size;

	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	size = mnl_socket_recvfrom(nl, in, sizeof(in));
	if (size < 0)
		return -errno;
	if (!mnl_nlmsg_ok(answer, size) || answer->nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(answer))->error;
}

/* Create a dummy device or, if @peer is set, a veth pair. */
static inline int device_new(struct mnl_socket *nl, const char *name, const char *peer)
{
	char buf[1024] __attribute__((aligned(8))) = {};
	struct nlmsghdr *nlh = device_request(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, name);
	struct nlattr *info, *data, *other;

	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_str(nlh, IFLA_INFO_KIND, peer ? "veth" : "dummy");
	if (peer) {
		data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
		other = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
		mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
		mnl_attr_put_strz(nlh, IFLA_IFNAME, peer);
		mnl_attr_nest_end(nlh, other);
		mnl_attr_nest_end(nlh, data);
	}
	mnl_attr_nest_end(nlh, info);
	return device_ask(nl, nlh);
}

static inline int device_del(struct mnl_socket *nl, const char *name)
{
	char buf[256] __attribute__((aligned(8))) = {};

	return device_ask(nl, device_request(buf, RTM_DELLINK, 0, name));
}

/* Set flags of a device, such as IFF_UP, and clear others. */
static inline int device_flags(struct mnl_socket *nl, const char *name, uint32_t set,
			       uint32_t clear)
{
	char buf[256] __attribute__((aligned(8))) = {};
	struct nlmsghdr *nlh = device_request(buf, RTM_NEWLINK, 0, name);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_flags = set;
	ifi->ifi_change = set | clear;
	return device_ask(nl, nlh);
}

static inline int device_up(struct mnl_socket *nl, const char *name)
{
	return device_flags(nl, name, IFF_UP, 0);
}

static inline int device_down(struct mnl_socket *nl, const char *name)
{
	return device_flags(nl, name, 0, IFF_UP);
}

/* Rename a device of the caller's namespace. */
static inline int device_rename(struct mnl_socket *nl, const char *name, const char *to)
{
	char buf[256] __attribute__((aligned(8))) = {};
	struct nlmsghdr *nlh = device_request(buf, RTM_NEWLINK, 0, to);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_index = if_nametoindex(name);
	return ifi->ifi_index ? device_ask(nl, nlh) : -ENODEV;
}

/* Move a device to the namespace of process @pid, and name it @to there. */
static inline int device_move(struct mnl_socket *nl, const char *name, uint32_t pid,
			      const char *to)
{
	char buf[256] __attribute__((aligned(8))) = {};
	struct nlmsghdr *nlh = device_request(buf, RTM_NEWLINK, 0, to);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_index = if_nametoindex(name);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_PID, pid);
	return ifi->ifi_index ? device_ask(nl, nlh) : -ENODEV;
}

/* Add (RTM_NEWLINKPROP) or delete (RTM_DELLINKPROP) an alternative name of a device. */
static inline int device_altname(struct mnl_socket *nl, uint16_t type, const char *name,
				 const char *other)
{
	char buf[512] __attribute__((aligned(8))) = {};
	struct nlmsghdr *nlh = device_request(buf, type,
					      type == RTM_NEWLINKPROP ?
					      NLM_F_CREATE | NLM_F_EXCL : 0, name);
	struct nlattr *list = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);

	mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, other);
	mnl_attr_nest_end(nlh, list);
	return device_ask(nl, nlh);
}

#endif /* _DEVICE_H */
