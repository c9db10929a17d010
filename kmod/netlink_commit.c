// SPDX-License-Identifier: GPL-2.0-only
/* Several changes in one request. */
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/sched/signal.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "wire.h"

/* The commands that can be part of a commit. */
static const struct {
	ipcuckoo_nl_parse_fn parse;
	ipcuckoo_nl_explain_fn explain;
} parts[] = {
	[IPCUCKOO_CMD_SET_NEW] = { ipcuckoo_nl_parse_set_new, ipcuckoo_nl_explain_set_new },
	[IPCUCKOO_CMD_SET_DEL] = { ipcuckoo_nl_parse_set_del, ipcuckoo_nl_explain_set_del },
	[IPCUCKOO_CMD_SET_RENAME] = {
		ipcuckoo_nl_parse_set_rename, ipcuckoo_nl_explain_set_rename
	},
	[IPCUCKOO_CMD_SET_SWAP] = { ipcuckoo_nl_parse_set_swap, ipcuckoo_nl_explain_set_swap },
	[IPCUCKOO_CMD_SET_FLUSH] = { ipcuckoo_nl_parse_set_flush, ipcuckoo_nl_explain_set_flush },
	[IPCUCKOO_CMD_SHADOW_COMMIT] = {
		ipcuckoo_nl_parse_shadow_commit, ipcuckoo_nl_explain_shadow
	},
	[IPCUCKOO_CMD_ATTACH] = { ipcuckoo_nl_parse_attach, ipcuckoo_nl_explain_attach },
};

static const struct genl_ops *find_op(u8 command)
{
	unsigned int i;

	for (i = 0; i < ipcuckoo_wire_family.n_ops; i++)
		if (ipcuckoo_wire_family.ops[i].cmd == command)
			return &ipcuckoo_wire_family.ops[i];
	return NULL;
}

/* Parse the attributes of a change by the policy of its command. */
static int get_attrs(struct genl_info *info, const struct nlattr *nested)
{
	const struct genl_ops *op;

	if (nla_type(nested) >= ARRAY_SIZE(parts) || !parts[nla_type(nested)].parse) {
		NL_SET_ERR_MSG_ATTR(info->extack, nested,
				    "this command cannot be part of a commit");
		return -EOPNOTSUPP;
	}
	op = find_op(nla_type(nested));
	memset(info->attrs, 0, (IPCUCKOO_A_MAX + 1) * sizeof(*info->attrs));
	return nla_parse_nested(info->attrs, op->maxattr, nested, op->policy, info->extack);
}

static int get_change(struct sk_buff *skb, struct genl_info *info,
		      const struct nlattr *nested, struct ipcuckoo_commit_change *change)
{
	int err = get_attrs(info, nested);

	if (err)
		return err;
	if (ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_ALL)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_FLAGS],
				    "ALL cannot be part of a commit");
		return -EOPNOTSUPP;
	}
	return parts[nla_type(nested)].parse(skb, info, change);
}

/* Say which change is at fault: put its index into the cookie of the extended ACK, and the
 * place of the change if it lacks an attribute. The functions that parse a change do not know
 * the nest that it is in.
 */
static void blame_change(struct netlink_ext_ack *extack, const struct nlattr *nested, u32 at)
{
	if (!extack)
		return;
	memcpy(extack->cookie, &at, sizeof(at));
	extack->cookie_len = sizeof(at);
	if (extack->miss_type)
		extack->miss_nest = nested;
}

/* List the changes of a request, or count them, if @list is NULL. An attribute holds up to
 * 64 KiB, so there may be several. Return: how many, or -EINVAL.
 */
static int list_changes(const struct genl_info *info, const struct nlattr **list)
{
	const struct nlattr *attr, *nested;
	int rem, rem_nested, count = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != IPCUCKOO_A_CHANGES)
			continue;
		nla_for_each_nested(nested, attr, rem_nested) {
			if (list)
				list[count] = nested;
			count++;
		}
		if (rem_nested > 0) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "the bytes after the last change are not an attribute");
			return -EINVAL;
		}
	}
	return count;
}

/* Say in the extended ACK why a commit has failed: at the change with the index @at, or, if
 * @at is not less than @count, at none in particular. Return: the error to answer with.
 */
static int explain(struct genl_info *info, const struct nlattr **list, unsigned int count,
		   unsigned int at, int err)
{
	if (at >= count || get_attrs(info, list[at]))
		return ipcuckoo_nl_explain(info->extack, err);
	err = parts[nla_type(list[at])].explain(info, err);
	blame_change(info->extack, list[at], at);
	return err;
}

static int commit(struct sk_buff *skb, struct genl_info *info, const struct nlattr **list,
		  struct ipcuckoo_commit_change *changes, unsigned int count, bool check)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(genl_info_net(info));
	unsigned int at;
	int err = 0;

	for (at = 0; at < count && !err; at++)
		err = fatal_signal_pending(current) ? -EINTR :
		      get_change(skb, info, list[at], &changes[at]);
	if (err) {
		blame_change(info->extack, list[at - 1], at - 1);
	} else {
		err = ipcuckoo_commit(pernet, changes, count, check, &at);
		err = err ? explain(info, list, count, at, err) : 0;
	}
	while (count--)
		ipcuckoo_nl_discard_change(pernet, &changes[count]);
	return err;
}

int ipcuckoo_nl_commit_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_commit_change *changes;
	struct genl_info part = *info;
	const struct nlattr **list;
	int count, err = -ENOMEM;

	if (!ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_CHANGES, info->extack))
		return -EINVAL;
	count = list_changes(info, NULL);
	if (count <= 0)
		return count;
	list = kvmalloc_array(count, sizeof(*list), GFP_KERNEL_ACCOUNT);
	changes = kvcalloc(count, sizeof(*changes), GFP_KERNEL_ACCOUNT);
	part.attrs = kcalloc(IPCUCKOO_A_MAX + 1, sizeof(*part.attrs), GFP_KERNEL);
	if (list && changes && part.attrs) {
		list_changes(info, list);
		err = commit(skb, &part, list, changes, count,
			     ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_CHECK));
	} else {
		ipcuckoo_nl_explain(info->extack, err);
	}
	kfree(part.attrs);
	kvfree(changes);
	kvfree(list);
	return err;
}
