// SPDX-License-Identifier: GPL-2.0-only
/* The commands on shadows. */
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "batch.h"
#include "lock.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "options.h"
#include "shadow.h"

/* Options of a set are those of one that does not exist yet; nothing can be copied from it. */
static int check_new(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs, *bad;

	if (!ipcuckoo_nl_flag(attrs, IPCUCKOO_F_CREATE))
		bad = ipcuckoo_options_find(attrs);
	else
		bad = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_APPEND) ? attrs[IPCUCKOO_A_FLAGS] : NULL;
	if (!bad)
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, bad,
			    "options of a set need the flag CREATE, and the flag APPEND excludes it");
	return -EINVAL;
}

/* Make a set that only this request knows, and lock it, which therefore need not wait. */
static struct ipcuckoo_set *make_locked_set(struct genl_info *info)
{
	struct ipcuckoo_set *set = ipcuckoo_nl_make_set(info);

	if (!IS_ERR(set))
		ipcuckoo_lock_contents_anyway(set);
	return set;
}

int ipcuckoo_nl_shadow_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	const u32 capacity[IPCUCKOO_KINDS] = {
		[IPCUCKOO_HOSTS4] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS4, 0),
		[IPCUCKOO_HOSTS6] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS6, 0),
		[IPCUCKOO_NETS4] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_NETS4, 0),
		[IPCUCKOO_NETS6] = ipcuckoo_nl_u32(attrs, IPCUCKOO_A_CAPACITY_NETS6, 0),
	};
	struct ipcuckoo_net *pernet = ipcuckoo_net(genl_info_net(info));
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_set *set;
	u32 id = 0;
	int err;

	err = check_new(info) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_CREATE) ? make_locked_set(info) :
	      ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = ipcuckoo_shadow_create(pernet, set, NETLINK_CB(skb).sk, info->snd_portid,
				     ipcuckoo_nl_flag(attrs, IPCUCKOO_F_APPEND),
				     capacity, &id);
	ipcuckoo_nl_unlock_set(set);
	if (err == -E2BIG)
		NL_SET_ERR_MSG(info->extack,
			       "this network namespace has 65535 shadows, which is the most: commit or delete some, or close their sockets");
	else
		ipcuckoo_nl_explain(info->extack, err);
	ipcuckoo_nl_reply_u32(&reply, IPCUCKOO_A_SHADOW, id);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

static void explain_spent(struct genl_info *info, int err)
{
	if (err == -ESTALE)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SHADOW],
				    "the shadow was committed already: make a new one");
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
	shadow = ipcuckoo_nl_shadow(skb, info);
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
	shadow = ipcuckoo_nl_shadow(skb, info);
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

int ipcuckoo_nl_parse_shadow_commit(struct sk_buff *skb, struct genl_info *info,
				    struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_shadow *shadow = ipcuckoo_nl_shadow(skb, info);

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	change->kind = IPCUCKOO_COMMIT_REPLACE;
	change->override = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_OVERRIDE);
	change->shadow = shadow;
	return 0;
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
	shadow = ipcuckoo_nl_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = ipcuckoo_shadow_commit(shadow, ipcuckoo_nl_flag(info->attrs,
							      IPCUCKOO_F_OVERRIDE),
				     &entries);
	ipcuckoo_nl_explain_shadow(info, err);
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
	struct ipcuckoo_shadow *shadow = ipcuckoo_nl_shadow(skb, info);

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	ipcuckoo_shadow_remove(ipcuckoo_net(genl_info_net(info)), shadow);
	ipcuckoo_shadow_put(shadow);
	return 0;
}
