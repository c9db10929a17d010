// SPDX-License-Identifier: GPL-2.0-only
/* The commands on attachments. */
#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "attach.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "wire.h"

/* Get the rule of a request, unchecked; a field is 0 or "" if its attribute is missing. */
static struct ipcuckoo_rule get_rule(struct nlattr **attrs)
{
	struct ipcuckoo_rule rule = {
		.loopback = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_LOOPBACK),
		.approximate = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_APPROXIMATE),
		.only_new = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_NEW),
	};

	if (attrs[IPCUCKOO_A_DIRECTION])
		rule.dir = nla_get_u8(attrs[IPCUCKOO_A_DIRECTION]);
	if (attrs[IPCUCKOO_A_VERDICT])
		rule.verdict = nla_get_u8(attrs[IPCUCKOO_A_VERDICT]);
	if (attrs[IPCUCKOO_A_DEV])
		nla_strscpy(rule.dev, attrs[IPCUCKOO_A_DEV], sizeof(rule.dev));
	if (attrs[IPCUCKOO_A_PLACE])
		rule.place = nla_get_u8(attrs[IPCUCKOO_A_PLACE]);
	if (attrs[IPCUCKOO_A_ORDER])
		rule.order = nla_get_s32(attrs[IPCUCKOO_A_ORDER]);
	if (attrs[IPCUCKOO_A_PRIORITY])
		rule.priority = nla_get_s32(attrs[IPCUCKOO_A_PRIORITY]);
	rule.mark = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_MARK, 0);
	rule.mask = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_MARK_MASK,
				    attrs[IPCUCKOO_A_MARK] ? U32_MAX : 0);
	return rule;
}

/* Parse the ports of a request, if it has any. */
static int get_ports(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	struct nlattr *protocol = info->attrs[IPCUCKOO_A_PROTOCOL];
	struct nlattr *ports = info->attrs[IPCUCKOO_A_PORTS];

	if (!protocol && !ports)
		return 0;
	if (!ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_PROTOCOL, info->extack) ||
	    !ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_PORTS, info->extack))
		return -EINVAL;
	rule->protocol = nla_get_u8(protocol);
	if (rule->protocol != IPPROTO_TCP && rule->protocol != IPPROTO_UDP &&
	    rule->protocol != IPPROTO_SCTP) {
		NL_SET_ERR_MSG_ATTR(info->extack, protocol,
				    "the protocols that have PORTS are TCP (6), UDP (17) and SCTP (132)");
		return -EINVAL;
	}
	if (!ipcuckoo_ports_read(&rule->ports, nla_data(ports), nla_len(ports))) {
		NL_SET_ERR_MSG_ATTR(info->extack, ports,
				    "PORTS are 1 to 15 ranges: first and last port, 2 bytes each; in ascending order, with ports between them that are in none");
		return -EINVAL;
	}
	return 0;
}

/* Parse the attributes of logging. Without LOG, the others are an error. */
static int get_log(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	struct nlattr **attrs = info->attrs, *group = attrs[IPCUCKOO_A_LOG_GROUP];

	if (!attrs[IPCUCKOO_A_LOG]) {
		if (!group && !attrs[IPCUCKOO_A_LOG_RATE] && !attrs[IPCUCKOO_A_LOG_EVERY])
			return 0;
		ipcuckoo_nl_need(attrs, IPCUCKOO_A_LOG, info->extack);
		return -EINVAL;
	}
	rule->log.to = nla_get_u8(attrs[IPCUCKOO_A_LOG]);
	if (group && rule->log.to != IPCUCKOO_LOG_NFLOG) {
		NL_SET_ERR_MSG_ATTR(info->extack, group, "LOG_GROUP is valid only if LOG is nflog");
		return -EINVAL;
	}
	rule->log.group = group ? nla_get_u16(group) : 0;
	rule->log.rate = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_LOG_RATE,
					 IPCUCKOO_LOG_RATE_DEFAULT);
	rule->log.every = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_LOG_EVERY, 1);
	return 0;
}

/* XDP comes before netfilter, and before the kernel has made a packet that has a mark. */
static int check_xdp(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	struct nlattr **attrs = info->attrs;

	if (attrs[IPCUCKOO_A_PRIORITY]) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_PRIORITY],
				    "XDP comes before netfilter, so it has no PRIORITY");
		return -EINVAL;
	}
	if (rule->verdict == IPCUCKOO_VERDICT_MARK) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_VERDICT],
				    "packets have no mark in XDP: attach at ingress");
		return -EINVAL;
	}
	rule->priority = 0;
	return ipcuckoo_nl_need(attrs, IPCUCKOO_A_DEV, info->extack) ? 0 : -EINVAL;
}

/* Connections are known behind connection tracking only. */
static int check_new(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	struct nlattr **attrs = info->attrs;

	if (!rule->only_new)
		return 0;
	if (rule->place != IPCUCKOO_PLACE_IP) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_PLACE],
				    "ingress and XDP come before connection tracking: with NEW, attach at PLACE_IP");
		return -EINVAL;
	}
	if (!attrs[IPCUCKOO_A_PRIORITY])
		rule->priority = max(rule->priority, NF_IP_PRI_CONNTRACK + 1);
	if (rule->priority <= NF_IP_PRI_CONNTRACK) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_PRIORITY],
				    "NEW needs a PRIORITY above -200, where connection tracking runs; -199 is the default");
		return -EINVAL;
	}
	return 0;
}

static int check_place(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	struct nlattr **attrs = info->attrs;
	int err;

	if (!attrs[IPCUCKOO_A_PLACE])
		rule->place = IPCUCKOO_PLACE_IP;
	if (!attrs[IPCUCKOO_A_PRIORITY])
		rule->priority = ipcuckoo_hook_priority;
	err = check_new(info, rule);
	if (err)
		return err;
	if (rule->place == IPCUCKOO_PLACE_XDP)
		return check_xdp(info, rule);
	if (rule->priority < -IPCUCKOO_PRIORITY_MAX ||
	    rule->priority > IPCUCKOO_PRIORITY_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_PRIORITY],
				    "a priority is a number from -100000 to 100000");
		return -ERANGE;
	}
	if (rule->place == IPCUCKOO_PLACE_IP && rule->verdict == IPCUCKOO_VERDICT_PREFETCH) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_VERDICT],
				    "prefetch is for a place before the look-up: ingress or XDP");
		return -EINVAL;
	}
	if (rule->place != IPCUCKOO_PLACE_INGRESS)
		return 0;
	if (!IS_ENABLED(CONFIG_NETFILTER_INGRESS)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_PLACE],
				    "this kernel has no netfilter hooks at ingress");
		return -EPROTONOSUPPORT;
	}
	return ipcuckoo_nl_need(attrs, IPCUCKOO_A_DEV, info->extack) ? 0 : -EINVAL;
}

/* The verdict prefetch acts on no packet. */
static int check_prefetch(struct genl_info *info, const struct ipcuckoo_rule *rule)
{
	struct nlattr *log = info->attrs[IPCUCKOO_A_LOG], *ports = info->attrs[IPCUCKOO_A_PROTOCOL];

	if (rule->verdict != IPCUCKOO_VERDICT_PREFETCH || (!log && !ports && !rule->only_new))
		return 0;
	if (log)
		NL_SET_ERR_MSG_ATTR(info->extack, log,
				    "prefetch looks nothing up, so there is nothing to log");
	else
		NL_SET_ERR_MSG_ATTR(info->extack, ports ?: info->attrs[IPCUCKOO_A_FLAGS],
				    "prefetch is for all packets: it takes neither PORTS nor NEW");
	return -EINVAL;
}

static int check_rule(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	static const s32 orders[] = {
		[IPCUCKOO_VERDICT_DROP] = IPCUCKOO_ORDER_DROP,
		[IPCUCKOO_VERDICT_ACCEPT] = IPCUCKOO_ORDER_ACCEPT,
		[IPCUCKOO_VERDICT_MARK] = IPCUCKOO_ORDER_MARK,
		[IPCUCKOO_VERDICT_COUNT] = IPCUCKOO_ORDER_COUNT,
		[IPCUCKOO_VERDICT_PREFETCH] = IPCUCKOO_ORDER_PREFETCH,
	};
	struct nlattr **attrs = info->attrs;
	bool mark = rule->verdict == IPCUCKOO_VERDICT_MARK;

	if (!ipcuckoo_nl_need(attrs, IPCUCKOO_A_DIRECTION, info->extack) ||
	    !ipcuckoo_nl_need(attrs, IPCUCKOO_A_VERDICT, info->extack) ||
	    (mark && !ipcuckoo_nl_need(attrs, IPCUCKOO_A_MARK, info->extack)))
		return -EINVAL;
	if (!mark && (attrs[IPCUCKOO_A_MARK] || attrs[IPCUCKOO_A_MARK_MASK])) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    attrs[IPCUCKOO_A_MARK] ?: attrs[IPCUCKOO_A_MARK_MASK],
				    "a mark goes with the verdict mark only");
		return -EINVAL;
	}
	if (attrs[IPCUCKOO_A_DEV] && !dev_valid_name(rule->dev)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_DEV],
				    "not a valid name of a device");
		return -EINVAL;
	}
	if (!attrs[IPCUCKOO_A_ORDER])
		rule->order = orders[rule->verdict];
	if (rule->mark & ~rule->mask) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_MARK],
				    "the mark has bits outside its mask");
		return -EINVAL;
	}
	return check_prefetch(info, rule) ?: check_place(info, rule);
}

/* Parse the name of the set and the rule of a request to attach. Return: 0; or an error,
 * which the extended ACK explains.
 */
static int get_attach(struct genl_info *info, const char **name, struct ipcuckoo_rule *rule)
{
	*name = ipcuckoo_nl_name(info->attrs, info->extack);
	if (!*name)
		return -EINVAL;
	*rule = get_rule(info->attrs);
	return check_rule(info, rule) ?: get_ports(info, rule) ?: get_log(info, rule);
}

int ipcuckoo_nl_parse_attach(struct sk_buff *skb, struct genl_info *info,
			     struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_attachment *at;
	struct ipcuckoo_rule rule;
	int err;

	if (ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_REPLACE)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_FLAGS],
				    "REPLACE cannot be part of a commit");
		return -EOPNOTSUPP;
	}
	err = get_attach(info, &change->name, &rule);
	if (err)
		return err;
	at = ipcuckoo_attach_prepare(ipcuckoo_net(genl_info_net(info)), &rule);
	if (IS_ERR(at))
		return ipcuckoo_nl_explain(info->extack, PTR_ERR(at));
	change->kind = IPCUCKOO_COMMIT_ATTACH;
	change->exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	change->same_order = info->attrs[IPCUCKOO_A_ORDER];
	change->at = at;
	return 0;
}

int ipcuckoo_nl_explain_attach(struct genl_info *info, int err)
{
	struct nlattr **attrs = info->attrs;

	switch (err) {
	case -ENOENT:
		return ipcuckoo_nl_no_such_set(attrs, info->extack);
	case -EOPNOTSUPP:
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_SET],
				    "the set is approximate, so that some non-members (addresses that are not in the set) match, too: drop and accept need APPROXIMATE");
		return err;
	case -ENOTUNIQ:
		if (attrs[IPCUCKOO_A_ORDER]) {
			NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_ORDER],
					    "the set is attached like that already, with another order");
			return -EEXIST;
		}
		fallthrough;
	case -EEXIST:
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_SET],
				    "the set is attached like that already");
		return -EEXIST;
	default:
		return ipcuckoo_nl_explain(info->extack, err);
	}
}

int ipcuckoo_nl_attach_doit(struct sk_buff *skb, struct genl_info *info)
{
	bool replace = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_REPLACE);
	bool exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_rule rule;
	const char *name;
	u32 id = 0;
	int err;

	err = get_attach(info, &name, &rule) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	err = ipcuckoo_attach(ipcuckoo_net(genl_info_net(info)), name, &rule, replace, &id);
	if ((err == -EEXIST && (replace || exist)) ||
	    (err == -ENOTUNIQ && exist && !info->attrs[IPCUCKOO_A_ORDER]))
		err = 0;
	if (err)
		err = ipcuckoo_nl_explain_attach(info, err);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_ATTACHMENT, id);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* Attributes that select some of a set's attachments. */
static const u8 selector_attrs[] = {
	IPCUCKOO_A_DIRECTION, IPCUCKOO_A_VERDICT, IPCUCKOO_A_DEV,
	IPCUCKOO_A_MARK, IPCUCKOO_A_MARK_MASK, IPCUCKOO_A_ORDER,
	IPCUCKOO_A_PRIORITY, IPCUCKOO_A_PLACE, IPCUCKOO_A_PROTOCOL, IPCUCKOO_A_PORTS,
};

static struct nlattr *first_selector_attr(struct genl_info *info)
{
	struct nlattr *attr = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(selector_attrs) && !attr; i++)
		attr = info->attrs[selector_attrs[i]];
	if (!attr && ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_LOOPBACK | IPCUCKOO_F_NEW))
		attr = info->attrs[IPCUCKOO_A_FLAGS];
	return attr;
}

/* Refuse a selection that has an id together with other selectors, ALL together with
 * others, or the id 0.
 */
static int refuse_selector(struct genl_info *info)
{
	struct nlattr *bad = info->attrs[IPCUCKOO_A_SET] ?: first_selector_attr(info);

	if (!bad && ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_ALL))
		bad = info->attrs[IPCUCKOO_A_FLAGS];
	NL_SET_ERR_MSG_ATTR(info->extack, bad ?: info->attrs[IPCUCKOO_A_ATTACHMENT],
			    "select attachments in one way: by number, or by set and parts of the rule, or with ALL");
	return -EINVAL;
}

/* Parse which attachments to detach: an id; or the name of a set, with or without further
 * selectors; or ALL. Sets @id to 0 if there is none, and @name to NULL with an id or ALL.
 */
static int get_selector(struct genl_info *info, u32 *id, const char **name)
{
	struct nlattr **attrs = info->attrs, *narrow = first_selector_attr(info);
	bool others = narrow || attrs[IPCUCKOO_A_SET] ||
		      ipcuckoo_nl_flag(attrs, IPCUCKOO_F_ALL);
	int err;

	*name = NULL;
	*id = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_ATTACHMENT, 0);
	if (*id && !others)
		return 0;
	if (!attrs[IPCUCKOO_A_ATTACHMENT]) {
		err = ipcuckoo_nl_name_or_all(info, name);
		if (err || *name || !narrow)
			return err;
	}
	return refuse_selector(info);
}

int ipcuckoo_nl_detach_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_attach_selector selector = {
		.rule = get_rule(info->attrs),
		.by_mark = info->attrs[IPCUCKOO_A_MARK],
		.by_order = info->attrs[IPCUCKOO_A_ORDER],
		.by_priority = info->attrs[IPCUCKOO_A_PRIORITY],
	};
	struct ipcuckoo_nl_reply reply;
	const char *name;
	u32 id, count;
	int err;

	err = get_selector(info, &id, &name) ?: get_ports(info, &selector.rule);
	if (err)
		return err;
	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	err = ipcuckoo_detach(ipcuckoo_net(genl_info_net(info)), id, name, &selector,
			      &count);
	if (err == -ENOENT && ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST |
							    IPCUCKOO_F_ALL))
		err = 0;
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[id ? IPCUCKOO_A_ATTACHMENT : IPCUCKOO_A_SET],
				    "there is no such attachment");
	else
		ipcuckoo_nl_explain(info->extack, err);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_CHANGED, count);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* cb->args[0] is the number of attachments that were dumped so far. */
int ipcuckoo_nl_attach_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(sock_net(skb->sk));
	const struct ipcuckoo_attachment *at;
	long skip = cb->args[0];
	void *header;

	mutex_lock(&pernet->mutex);
	cb->seq = pernet->attached.seq + 1;
	list_for_each_entry(at, &pernet->attached.list, list) {
		if (skip-- > 0)
			continue;
		header = ipcuckoo_nl_dump_put(skb, cb, IPCUCKOO_CMD_ATTACH_GET);
		if (!header)
			break;
		if (ipcuckoo_wire_fill_attachment(skb, at, at->set->name)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0]++;
	}
	mutex_unlock(&pernet->mutex);
	return skb->len;
}
