/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: receive events, and read dumps, one message at a time. */
#ifndef _LISTEN_H
#define _LISTEN_H

#include "client.h"

/* Ask generic netlink for the id of the multicast group of events. Returns 0 if there is none. */
static inline uint32_t listen_group(struct client *c)
{
	struct nlmsghdr *nlh = client_begin_as(c, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	const struct nlattr *group, *attr;
	struct answer answer;
	uint32_t id = 0;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, IPCUCKOO_FAMILY_NAME);
	if (client_ask(c, &answer) || !answer.attr[CTRL_ATTR_MCAST_GROUPS])
		return 0;
	mnl_attr_for_each_nested(group, answer.attr[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_for_each_nested(attr, group)
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				id = mnl_attr_get_u32(attr);
	return id;
}

/* Join the multicast group of events. Returns 0, or -1 if that is not possible. */
static inline int listen_join(struct client *c)
{
	uint32_t group = listen_group(c);

	return group ? mnl_socket_setsockopt(c->nl, NETLINK_ADD_MEMBERSHIP, &group,
					     sizeof(group)) : -1;
}

/* Open a socket that receives events, with a buffer for thousands of them. */
static inline struct client *listen_open(void)
{
	struct client *c = client_open_or_die();
	int size = 8 << 20;

	if (setsockopt(mnl_socket_get_fd(c->nl), SOL_SOCKET, SO_RCVBUFFORCE, &size,
		       sizeof(size)) || listen_join(c))
		err(2, "events");
	return c;
}

/* Read the attributes of the next event, without waiting for one: the kernel sends the events of a
 * request before it answers the request. Returns 1, 0 if there is no event, or -errno.
 */
static inline int listen_next(struct client *c, struct answer *answer)
{
	const struct nlmsghdr *nlh = (void *)c->in;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	ssize_t size = recv(mnl_socket_get_fd(c->nl), c->in, c->room, MSG_DONTWAIT);

	memset(answer, 0, sizeof(*answer));
	if (size < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!mnl_nlmsg_ok(nlh, size) || nlh->nlmsg_type != c->family ||
	    genl->cmd != IPCUCKOO_CMD_EVENT)
		return -EBADMSG;
	client_read_attrs(nlh, answer);
	return answer->attr[IPCUCKOO_A_EVENT] ? 1 : -EBADMSG;
}

/* Send a dump request, and call @each for each message of the answer. @set may be NULL. Returns 0,
 * -errno, or -EAGAIN if the kernel says that the dump is not consistent (NLM_F_DUMP_INTR).
 */
static inline int dump_each(struct client *c, uint8_t cmd, const char *set,
			    void (*each)(const struct answer *answer, void *data), void *data)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	bool interrupted = false;
	struct answer answer;
	ssize_t size;
	int left;

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	client_send(c, nlh, nlh->nlmsg_len);
	while (client_wait(c, 20000)) {
		size = recv(mnl_socket_get_fd(c->nl), c->in, c->room, 0);
		if (size < 0)
			return -errno;
		left = size;
		for (nlh = (void *)c->in; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_seq != c->seq)
				continue;
			interrupted |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
				return *(int *)mnl_nlmsg_get_payload(nlh) ?:
				       interrupted ? -EAGAIN : 0;
			memset(&answer, 0, sizeof(answer));
			client_read_attrs(nlh, &answer);
			each(&answer, data);
		}
	}
	return NO_ANSWER;
}

/* The string of an attribute, or "" if the attribute is missing. */
static inline const char *answer_string(const struct answer *answer, int type)
{
	return answer->attr[type] ? mnl_attr_get_str(answer->attr[type]) : "";
}

#endif /* _LISTEN_H */
