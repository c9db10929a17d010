// SPDX-License-Identifier: GPL-2.0-only
/* The commands on shadows. */
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "batch.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "shadow.h"

int ipcuckoo_nl_shadow_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	const u32 capacity[IPCUCKOO_KINDS] = {
		[IPCUCKOO_HOSTS4] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS4, 0),
		[IPCUCKOO_HOSTS6] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS6, 0),
		[IPCUCKOO_NETS4] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_NETS4, 0),
		[IPCUCKOO_NETS6] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_NETS6, 0),
	};
	struct net *net = genl_info_net(info);
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_set *set;
	u32 id = 0;
	int err;

	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_set(net, attrs, info->extack);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = ipcuckoo_shadow_create(ipcuckoo_net(net), set, NETLINK_CB(skb).sk,
				     info->snd_portid,
				     ipcuckoo_nl_flag(attrs, IPCUCKOO_F_APPEND),
				     capacity, &id);
	ipcuckoo_set_put(set);
	if (err == -ENOENT)
		ipcuckoo_nl_no_such_set(attrs, info->extack);
	else if (err == -E2BIG)
		NL_SET_ERR_MSG(info->extack,
			       "this network namespace has 65535 shadows, which is the most: commit or delete some, or close their sockets");
	else
		ipcuckoo_nl_explain(info->extack, err);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_SHADOW, id);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* Find the shadow that a request names. Return: the shadow with a reference, or ERR_PTR(). */
static struct ipcuckoo_shadow *get_shadow(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *attr = ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_SHADOW,
					       info->extack);
	struct ipcuckoo_shadow *shadow;

	if (!attr)
		return ERR_PTR(-EINVAL);
	shadow = ipcuckoo_shadow_get(ipcuckoo_net(genl_info_net(info)), NETLINK_CB(skb).sk,
				     info->snd_portid, nla_get_u32(attr));
	if (shadow)
		return shadow;
	NL_SET_ERR_MSG_ATTR(info->extack, attr, "this socket has no such shadow");
	return ERR_PTR(-ENOENT);
}

static void explain_spent(struct genl_info *info, int err)
{
	if (err == -ESTALE)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SHADOW],
				    "the shadow was swapped in already");
}

int ipcuckoo_nl_shadow_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_change_result result;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_shadow *shadow;
	struct ipcuckoo_batch batch;
	int err;

	err = ipcuckoo_nl_get_batch(info, &batch) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	shadow = get_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = ipcuckoo_nl_check_exts(info, shadow->set);
	if (err) {
		ipcuckoo_shadow_put(shadow);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_shadow_add(shadow, &batch, &result);
	ipcuckoo_shadow_put(shadow);
	explain_spent(info, err);
	return ipcuckoo_nl_reply_batch(info, &reply, err, &result);
}

int ipcuckoo_nl_shadow_remove_doit(struct sk_buff *skb, struct genl_info *info)
{
	bool exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	struct ipcuckoo_change_result result;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_shadow *shadow;
	struct ipcuckoo_batch batch;
	u32 total;
	int err;

	err = ipcuckoo_nl_get_entries(info, &batch, &total) ?:
	      ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	shadow = get_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = ipcuckoo_nl_check_delete(info, shadow->set);
	if (err) {
		ipcuckoo_shadow_put(shadow);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_shadow_del(shadow, &batch, exist, &result);
	ipcuckoo_shadow_put(shadow);
	explain_spent(info, err);
	return ipcuckoo_nl_reply_batch(info, &reply, err, &result);
}

static void explain_commit(struct genl_info *info, int err)
{
	struct nlattr *attr = info->attrs[IPCUCKOO_A_SHADOW];

	if (err == -ESTALE)
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the set has changed since the shadow was made; start over, or override");
	else if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "the set was destroyed");
	else
		ipcuckoo_nl_explain(info->extack, err);
}

int ipcuckoo_nl_shadow_commit_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_shadow *shadow;
	u32 entries = 0;
	int err;

	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	shadow = get_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = ipcuckoo_shadow_commit(shadow, ipcuckoo_nl_flag(info->attrs,
							      IPCUCKOO_F_OVERRIDE),
				     &entries);
	explain_commit(info, err);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_ENTRIES, entries);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_CHANGED, shadow->changed);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_UNCHANGED, shadow->unchanged);
	if (!err)
		ipcuckoo_shadow_remove(ipcuckoo_net(genl_info_net(info)), shadow);
	ipcuckoo_shadow_put(shadow);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

int ipcuckoo_nl_shadow_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_shadow *shadow = get_shadow(skb, info);

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	ipcuckoo_shadow_remove(ipcuckoo_net(genl_info_net(info)), shadow);
	ipcuckoo_shadow_put(shadow);
	return 0;
}
