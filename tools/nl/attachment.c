// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>

#include "nl/attachment.h"
#include "nl/request.h"

static void read_ports(const struct nlattr *attr, struct ports *ports)
{
	const uint16_t *data = attr ? mnl_attr_get_payload(attr) : NULL;
	int count = attr ? mnl_attr_get_payload_len(attr) / IPCUCKOO_PORTS_SIZE : 0;

	for (; ports->count < count && ports->count < IPCUCKOO_PORTS_MAX; ports->count++) {
		ports->range[ports->count].first = ntohs(*data++);
		ports->range[ports->count].last = ntohs(*data++);
	}
}

static void put_ports(struct nlmsghdr *nlh, const struct ports *ports)
{
	uint16_t data[2 * IPCUCKOO_PORTS_MAX];
	int i;

	if (!ports->protocol)
		return;
	for (i = 0; i < ports->count; i++) {
		data[2 * i] = htons(ports->range[i].first);
		data[2 * i + 1] = htons(ports->range[i].last);
	}
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PROTOCOL, ports->protocol);
	mnl_attr_put(nlh, IPCUCKOO_A_PORTS, ports->count * IPCUCKOO_PORTS_SIZE, data);
}

int nl_read_attachment(const struct nlattr **attrs, void *data)
{
	struct nl_attachment *attachment = data;

	memset(attachment, 0, sizeof(*attachment));
	nl_string(attrs, IPCUCKOO_A_SET, attachment->set,
		  sizeof(attachment->set));
	nl_string(attrs, IPCUCKOO_A_DEV, attachment->dev,
		  sizeof(attachment->dev));
	attachment->id = nl_uint(attrs, IPCUCKOO_A_ATTACHMENT);
	attachment->direction = nl_uint(attrs, IPCUCKOO_A_DIRECTION);
	attachment->verdict = nl_uint(attrs, IPCUCKOO_A_VERDICT);
	attachment->mark = nl_uint(attrs, IPCUCKOO_A_MARK);
	attachment->mark_mask = nl_uint(attrs, IPCUCKOO_A_MARK_MASK);
	attachment->has_order = attrs[IPCUCKOO_A_ORDER];
	attachment->order = nl_uint(attrs, IPCUCKOO_A_ORDER);
	attachment->log = nl_uint(attrs, IPCUCKOO_A_LOG);
	attachment->log_group = nl_uint(attrs, IPCUCKOO_A_LOG_GROUP);
	attachment->log_rate = nl_uint(attrs, IPCUCKOO_A_LOG_RATE);
	attachment->log_every = nl_uint(attrs, IPCUCKOO_A_LOG_EVERY);
	attachment->place = nl_uint(attrs, IPCUCKOO_A_PLACE);
	attachment->ports.protocol = nl_uint(attrs, IPCUCKOO_A_PROTOCOL);
	read_ports(attrs[IPCUCKOO_A_PORTS], &attachment->ports);
	attachment->priority = nl_uint(attrs, IPCUCKOO_A_PRIORITY);
	attachment->flags = nl_uint(attrs, IPCUCKOO_A_FLAGS);
	attachment->state = nl_uint(attrs, IPCUCKOO_A_STATE);
	attachment->missing = nl_uint(attrs, IPCUCKOO_A_ERRNO);
	attachment->packets = nl_uint(attrs, IPCUCKOO_A_PACKETS);
	attachment->bytes = nl_uint(attrs, IPCUCKOO_A_BYTES);
	return 0;
}

int nl_attachments(struct nl *nl, struct nl_attachment **attachments,
		   size_t *count)
{
	int err;

	*attachments = nl_gather(nl, IPCUCKOO_CMD_ATTACH_GET, nl_read_attachment,
				 sizeof(**attachments), count, &err);
	return err;
}

static int read_attached(const struct nlattr **attrs, void *data)
{
	*(uint32_t *)data = nl_uint(attrs, IPCUCKOO_A_ATTACHMENT);
	return 0;
}

static void put_log(struct nlmsghdr *nlh, const struct nl_attachment *attachment)
{
	if (!attachment->log)
		return;
	mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, attachment->log);
	if (attachment->log == IPCUCKOO_LOG_NFLOG)
		mnl_attr_put_u16(nlh, IPCUCKOO_A_LOG_GROUP,
				 attachment->log_group);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_RATE, attachment->log_rate);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_EVERY, attachment->log_every);
}

/* Append the attributes that describe an attachment, except its log. @mark: append the
 * mark, too.
 */
static void put_rule(struct nlmsghdr *nlh, const struct nl_attachment *attachment,
		     bool mark)
{
	if (attachment->direction)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION,
				attachment->direction);
	if (attachment->verdict)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, attachment->verdict);
	if (mark) {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK, attachment->mark);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK_MASK,
				 attachment->mark_mask);
	}
	if (attachment->has_order)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_ORDER, attachment->order);
	if (attachment->has_priority)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY,
				 attachment->priority);
	if (attachment->place)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, attachment->place);
	if (attachment->dev[0])
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, attachment->dev);
	put_ports(nlh, &attachment->ports);
}

int nl_attach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *id)
{
	struct nlmsghdr *nlh = nl_start_for_set(nl, IPCUCKOO_CMD_ATTACH,
						attachment->set,
						attachment->flags);

	put_rule(nlh, attachment, attachment->verdict == IPCUCKOO_VERDICT_MARK);
	put_log(nlh, attachment);
	*id = 0;
	return nl_talk(nl, read_attached, id);
}

int nl_detach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *detached)
{
	struct nl_change change = { 0 };
	struct nlmsghdr *nlh;
	int err;

	if (attachment->id) {
		nlh = nl_start(nl, IPCUCKOO_CMD_DETACH, NLM_F_ACK);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_ATTACHMENT, attachment->id);
		if (attachment->flags)
			mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS,
					 attachment->flags);
	} else {
		nlh = nl_start_for_set(nl, IPCUCKOO_CMD_DETACH,
				       attachment->set[0] ? attachment->set : NULL,
				       attachment->flags);
	}
	put_rule(nlh, attachment, attachment->has_mark);
	err = nl_talk(nl, nl_read_change, &change);
	*detached = change.changed;
	return err;
}
