// SPDX-License-Identifier: GPL-2.0-only
#include <linux/genetlink.h>

#include "nl/event.h"
#include "nl/request.h"

int nl_listen(struct nl *nl)
{
	/* The group of the generic netlink controller, whose number is GENL_ID_CTRL,
	 * notifies of families that are unregistered.
	 */
	uint32_t groups[] = { nl->group, GENL_ID_CTRL };
	unsigned int i;

	nl_fail(nl, 0);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (mnl_socket_setsockopt(nl->socket, NETLINK_ADD_MEMBERSHIP,
					  &groups[i], sizeof(groups[i])))
			return nl_fail(nl, -errno);
	return 0;
}

bool nl_events_have_values(const struct nl *nl)
{
	return nl->version >= 2;
}

int nl_fd(const struct nl *nl)
{
	return mnl_socket_get_fd(nl->socket);
}

static int read_event(const struct nlattr **attrs, struct nl_event *event)
{
	int err;

	packed_clear(&event->entries);
	extended_free(&event->extended);
	event->type = nl_uint(attrs, IPCUCKOO_A_EVENT);
	nl_read_set(attrs, &event->set);
	nl_string(attrs, IPCUCKOO_A_SET_TO, event->to, sizeof(event->to));
	nl_read_attachment(attrs, &event->attachment);
	err = nl_read_entries(attrs, &event->entries);
	event->set.options |= nl_read_options(attrs) & ~NL_NOMATCH;
	if (!err && event->entries.has_extensions)
		err = nl_read_extended(attrs, &event->extended);
	return err;
}

void nl_event_free(struct nl_event *event)
{
	packed_free(&event->entries);
	extended_free(&event->extended);
}

/* Whether a message of the controller says that the family of the module has been
 * unregistered.
 */
static bool is_farewell(const struct nl *nl, const struct nlmsghdr *nlh)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			return mnl_attr_get_u16(attr) == nl->family;
	return false;
}

int nl_event(struct nl *nl, struct nl_event *event)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->answer;
	const struct nlattr *attrs[IPCUCKOO_A_MAX + 1];
	int len, err;

	nl_fail(nl, 0);
	len = mnl_socket_recvfrom(nl->socket, nl->answer, sizeof(nl->answer));
	if (len < 0)
		return nl_fail(nl, -errno);
	if (mnl_nlmsg_ok(nlh, len) && is_farewell(nl, nlh))
		return nl_fail(nl, -ENODEV);
	if (!mnl_nlmsg_ok(nlh, len) || nlh->nlmsg_type != nl->family)
		return -EAGAIN;
	nl_index(nlh, attrs);
	err = read_event(attrs, event);
	return err ? nl_fail(nl, err) : 0;
}
