// SPDX-License-Identifier: GPL-2.0-only
/* Opens and closes the connection, and asks for information about the module. */
#include <linux/genetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "nl/netlink.h"
#include "nl/request.h"

/* Some kernel headers are older than this constant; its value is ABI. */
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK	12
#endif

/* The kernel doubles it. A commit that creates as many sets as there may be, each with its
 * entries, takes 3 MiB.
 */
#define SEND_BUFFER	(4 << 20)
#define RECEIVE_BUFFER	(1 << 20)

const struct nl_error *nl_error(const struct nl *nl)
{
	return &nl->error;
}

bool nl_error_entry(const struct nl *nl, const struct packed *entries, struct entry_ref *ref)
{
	const struct nl_error *error = &nl->error;

	if (error->has_entry && error->entry.index < entries->kind[error->entry.kind].count)
		*ref = error->entry;
	else if (packed_count(entries) == 1)
		*ref = first_entry(entries);
	else
		return false;
	return true;
}

void nl_set_error(struct nl *nl, const struct nl_error *error)
{
	nl->error = *error;
}

/* The id of a multicast group if it is the group for events, else 0. */
static uint32_t read_group(const struct nlattr *group)
{
	const struct nlattr *attr;
	const char *name = "";
	uint32_t id = 0;

	mnl_attr_for_each_nested(attr, group) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
			id = mnl_attr_get_u32(attr);
		else if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
			name = mnl_attr_get_str(attr);
	}
	return strcmp(name, IPCUCKOO_GROUP_EVENTS) ? 0 : id;
}

static int read_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *group;
	struct nl *nl = data;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_VERSION)
			nl->version = mnl_attr_get_u32(attr);
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(group, attr)
			nl->group = nl->group ? nl->group : read_group(group);
	}
	return MNL_CB_OK;
}

/* Ask the generic netlink controller for the ids of the family and of its group. Its
 * attributes are not those of the module, so nl_talk() cannot read them.
 */
static int find_family(struct nl *nl, const char *family)
{
	unsigned int portid = mnl_socket_get_portid(nl->socket);
	struct nlmsghdr *nlh;
	int len;

	nl->family = GENL_ID_CTRL;
	nlh = nl_start(nl, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, family);
	if (mnl_socket_sendto(nl->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	nl->family = 0;
	for (;;) {
		len = mnl_socket_recvfrom(nl->socket, nl->answer,
					  sizeof(nl->answer));
		if (len < 0)
			return -errno;
		len = mnl_cb_run(nl->answer, len, nl->seq, portid, read_family,
				 nl);
		if (len < 0)
			return errno == ENOENT ? -ENOPROTOOPT : -errno;
		if (len == MNL_CB_STOP)
			return nl->family ? 0 : -EBADMSG;
	}
}

/* Set socket options. Errors are ignored, because old kernels lack some of them. */
static void set_options(struct nl *nl)
{
	static const int options[] = {
		NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK
	};
	int fd = mnl_socket_get_fd(nl->socket), one = 1;
	int size = SEND_BUFFER;
	unsigned int i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		mnl_socket_setsockopt(nl->socket, options[i], &one,
				      sizeof(one));
	/* SO_*BUFFORCE needs CAP_NET_ADMIN in the initial user namespace. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	size = RECEIVE_BUFFER;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

int nl_open(struct nl **result, const char *family)
{
	struct nl *nl = calloc(1, sizeof(*nl));
	int err;

	if (!nl)
		return -ENOMEM;
	nl->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->socket || mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID)) {
		err = -errno;
		goto err_close;
	}
	set_options(nl);
	err = find_family(nl, family);
	if (err)
		goto err_close;
	*result = nl;
	return 0;

err_close:
	nl_close(nl);
	return err;
}

void nl_close(struct nl *nl)
{
	if (!nl)
		return;
	if (nl->socket)
		mnl_socket_close(nl->socket);
	free(nl->commit.data);
	free(nl);
}

static int read_info(const struct nlattr **attrs, void *data)
{
	struct nl_info *info = data;

	nl_string(attrs, IPCUCKOO_A_VERSION, info->version,
		  sizeof(info->version));
	info->sets = nl_uint(attrs, IPCUCKOO_A_SETS);
	info->attachments = nl_uint(attrs, IPCUCKOO_A_ATTACHMENTS);
	info->memory = nl_uint(attrs, IPCUCKOO_A_MEMORY);
	info->memory_limit = nl_uint(attrs, IPCUCKOO_A_MEMORY_LIMIT);
	return 0;
}

int nl_info(struct nl *nl, struct nl_info *info)
{
	memset(info, 0, sizeof(*info));
	nl_start(nl, IPCUCKOO_CMD_INFO, NLM_F_ACK);
	return nl_talk(nl, read_info, info);
}
