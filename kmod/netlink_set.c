// SPDX-License-Identifier: GPL-2.0-only
/* The commands on sets. */
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "compat.h"
#include "commit.h"
#include "lock.h"
#include "names.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "options.h"
#include "set.h"
#include "shadow.h"
#include "usage.h"
#include "wire.h"

/**
 * ipcuckoo_nl_make_set() - make the set that the attributes of SET_NEW ask for
 * @info:	request
 *
 * Return: a set that nobody finds, to be given back with ipcuckoo_set_put(); or an
 * ERR_PTR(), which is explained.
 */
struct ipcuckoo_set *ipcuckoo_nl_make_set(struct genl_info *info)
{
	const char *name = ipcuckoo_nl_name(info->attrs, info->extack);
	struct ipcuckoo_set_options options;
	struct ipcuckoo_set *set;
	int err;

	if (!name || !ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_TYPE, info->extack) ||
	    !ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_FAMILY, info->extack))
		return ERR_PTR(-EINVAL);
	err = ipcuckoo_options_parse(info->attrs, info->extack, &options);
	if (err)
		return ERR_PTR(err);
	set = ipcuckoo_set_alloc(ipcuckoo_net(genl_info_net(info)), name, &options);
	if (IS_ERR(set))
		ipcuckoo_nl_explain(info->extack, PTR_ERR(set));
	return set;
}

/* Parse a request for a new set that gets the contents of a shadow. The shadow was made with a
 * set that is not in the tree yet: that set, with its options, is the one to be created, so
 * the request must not give options. Return: 0; or an error, which the extended ACK explains.
 */
static int parse_shadow(struct sk_buff *skb, struct genl_info *info,
			struct ipcuckoo_commit_change *change)
{
	struct nlattr **attrs = info->attrs, *bad = ipcuckoo_options_find(attrs);
	struct ipcuckoo_shadow *shadow;

	if (change->exist) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_FLAGS],
				    "EXIST cannot be used with a shadow: to replace the contents of a set that exists, use SHADOW_COMMIT");
		return -EINVAL;
	}
	if (bad) {
		NL_SET_ERR_MSG_ATTR(info->extack, bad,
				    "the options of the set were given when its shadow was made: leave them out here");
		return -EINVAL;
	}
	change->name = ipcuckoo_nl_name(attrs, info->extack);
	if (!change->name)
		return -EINVAL;
	shadow = ipcuckoo_nl_shadow(skb, info);
	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	change->shadow = shadow;
	change->set = shadow->set;
	kref_get(&change->set->ref);
	return 0;
}

int ipcuckoo_nl_parse_set_new(struct sk_buff *skb, struct genl_info *info,
			      struct ipcuckoo_commit_change *change)
{
	struct nlattr **attrs = info->attrs;

	change->kind = IPCUCKOO_COMMIT_CREATE;
	change->exist = ipcuckoo_nl_flag(attrs, IPCUCKOO_F_EXIST);
	change->same_maxelem = attrs[IPCUCKOO_A_MAXELEM];
	if (attrs[IPCUCKOO_A_SHADOW])
		return parse_shadow(skb, info, change);
	change->set = ipcuckoo_nl_make_set(info);
	if (IS_ERR(change->set))
		return PTR_ERR(change->set);
	change->name = nla_data(attrs[IPCUCKOO_A_SET]);
	return 0;
}

int ipcuckoo_nl_explain_set_new(struct genl_info *info, int err)
{
	switch (err) {
	case -ESTALE:
	case -EBUSY:
		return ipcuckoo_nl_explain_shadow(info, err);
	case -EINVAL:
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SHADOW],
				    "the shadow belongs to a set that exists: commit it with SHADOW_COMMIT");
		return err;
	case -EEXIST:
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "there is a set of that name already");
		return err;
	case -ENOTUNIQ:
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "there is a set of that name already, of another type or family, or with other options or another limit");
		return -EEXIST;
	case -E2BIG:
		NL_SET_ERR_MSG(info->extack,
			       "this network namespace has 65535 sets, which is the most: destroy some");
		return err;
	case -EDQUOT:
		NL_SET_BAD_ATTR(info->extack, info->attrs[IPCUCKOO_A_CAPACITY]);
		fallthrough;
	default:
		return ipcuckoo_nl_explain(info->extack, err);
	}
}

int ipcuckoo_nl_set_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ipcuckoo_nl_change_doit(skb, info, ipcuckoo_nl_parse_set_new,
				       ipcuckoo_nl_explain_set_new);
}

int ipcuckoo_nl_parse_set_del(struct sk_buff *skb, struct genl_info *info,
			      struct ipcuckoo_commit_change *change)
{
	change->kind = IPCUCKOO_COMMIT_DESTROY;
	change->exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	change->name = ipcuckoo_nl_name(info->attrs, info->extack);
	return change->name ? 0 : -EINVAL;
}

int ipcuckoo_nl_explain_set_del(struct genl_info *info, int err)
{
	struct nlattr *name = info->attrs[IPCUCKOO_A_SET];

	if (err == -ENOENT)
		return ipcuckoo_nl_no_such_set(info->attrs, info->extack);
	if (err == -EBUSY)
		NL_SET_ERR_MSG_ATTR(info->extack, name ?: info->attrs[IPCUCKOO_A_FLAGS],
				    "sets are attached; detach them first");
	else if (err == -EUSERS)
		NL_SET_ERR_MSG_ATTR(info->extack, name ?: info->attrs[IPCUCKOO_A_FLAGS],
				    "rules of iptables refer to sets; delete these rules first");
	else
		return ipcuckoo_nl_explain(info->extack, err);
	return -EBUSY;
}

int ipcuckoo_nl_set_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	const char *name;
	int err;

	err = ipcuckoo_nl_name_or_all(info, &name);
	if (err)
		return err;
	if (name)
		return ipcuckoo_nl_change_doit(skb, info, ipcuckoo_nl_parse_set_del,
					       ipcuckoo_nl_explain_set_del);
	err = ipcuckoo_names_destroy_all(ipcuckoo_net(genl_info_net(info)));
	return ipcuckoo_nl_explain_set_del(info, err);
}

/* Get the name of the second set in a request. Return: NULL if it is missing or not valid,
 * and then the extended ACK says so.
 */
static const char *other_name(struct genl_info *info)
{
	struct nlattr *attr = ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_SET_TO, info->extack);

	return attr ? ipcuckoo_nl_check_name(attr, info->extack) : NULL;
}

static int parse_two(struct genl_info *info, enum ipcuckoo_commit_kind kind,
		     struct ipcuckoo_commit_change *change)
{
	change->kind = kind;
	change->name = ipcuckoo_nl_name(info->attrs, info->extack);
	change->to = change->name ? other_name(info) : NULL;
	return change->to ? 0 : -EINVAL;
}

int ipcuckoo_nl_parse_set_rename(struct sk_buff *skb, struct genl_info *info,
				 struct ipcuckoo_commit_change *change)
{
	return parse_two(info, IPCUCKOO_COMMIT_RENAME, change);
}

int ipcuckoo_nl_explain_set_rename(struct genl_info *info, int err)
{
	if (err == -ENOENT)
		return ipcuckoo_nl_no_such_set(info->attrs, info->extack);
	if (err == -EUSERS) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "rules of iptables refer to the set by its name: delete them first, or swap sets");
		return -EBUSY;
	}
	if (err != -EEXIST)
		return ipcuckoo_nl_explain(info->extack, err);
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET_TO],
			    "there is a set of that name already");
	return err;
}

int ipcuckoo_nl_set_rename_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ipcuckoo_nl_change_doit(skb, info, ipcuckoo_nl_parse_set_rename,
				       ipcuckoo_nl_explain_set_rename);
}

int ipcuckoo_nl_parse_set_swap(struct sk_buff *skb, struct genl_info *info,
			       struct ipcuckoo_commit_change *change)
{
	return parse_two(info, IPCUCKOO_COMMIT_SWAP, change);
}

int ipcuckoo_nl_explain_set_swap(struct genl_info *info, int err)
{
	struct nlattr *attr = info->attrs[IPCUCKOO_A_SET_TO];

	if (err == -ENOENT)
		return ipcuckoo_nl_no_such_set(info->attrs, info->extack);
	if (err == -ESRCH) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "there is no set of that name");
		return -ENOENT;
	}
	if (err != -ENOTUNIQ)
		return ipcuckoo_nl_explain(info->extack, err);
	NL_SET_ERR_MSG_ATTR(info->extack, attr,
			    "sets that are swapped have the same type and family");
	return -EOPNOTSUPP;
}

int ipcuckoo_nl_set_swap_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ipcuckoo_nl_change_doit(skb, info, ipcuckoo_nl_parse_set_swap,
				       ipcuckoo_nl_explain_set_swap);
}

int ipcuckoo_nl_set_change_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *maxelem;
	struct ipcuckoo_set *set;
	int err;

	maxelem = ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_MAXELEM, info->extack);
	if (!maxelem)
		return -EINVAL;
	set = ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = ipcuckoo_set_change(set, nla_get_u32(maxelem));
	ipcuckoo_nl_unlock_set(set);
	if (err == -EREMOTE)
		NL_SET_ERR_MSG_ATTR(info->extack, maxelem,
				    "the set belongs to ip_set, where 0 is not \"no limit\": give 4294967295");
	else if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, maxelem,
				    "the set has more entries than that");
	return err;
}

static u64 failed(const struct ipcuckoo_set *set, int reason)
{
	return atomic64_read(&set->failed[reason]);
}

static int fill_failures(struct sk_buff *skb, const struct ipcuckoo_set *set)
{
	return ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_FULL,
				     failed(set, IPCUCKOO_FAILURE_FULL)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_COPIES,
				     failed(set, IPCUCKOO_FAILURE_COPIES)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_QUOTA,
				     failed(set, IPCUCKOO_FAILURE_QUOTA)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_MEMORY,
				     failed(set, IPCUCKOO_FAILURE_MEMORY)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_EXIST,
				     failed(set, IPCUCKOO_FAILURE_EXIST)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FAILED_PENDING,
				     failed(set, IPCUCKOO_FAILURE_PENDING));
}

static int fill_set(struct sk_buff *skb, struct ipcuckoo_set *set)
{
	struct ipcuckoo_entries *e = &set->entries;

	return nla_put_string(skb, IPCUCKOO_A_SET, set->name) ||
	       ipcuckoo_options_fill(skb, set) ||
	       nla_put_u32(skb, IPCUCKOO_A_SET_ID, set->id) ||
	       nla_put_u32(skb, IPCUCKOO_A_ENTRIES, ipcuckoo_usage_live(&set->entries)) ||
	       nla_put_u32(skb, IPCUCKOO_A_HOSTS, ipcuckoo_usage_live(&set->entries) -
			   ipcuckoo_usage_live_of(e, IPCUCKOO_NETS4) -
			   ipcuckoo_usage_live_of(e, IPCUCKOO_NETS6)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_MEMORY, ipcuckoo_set_memory(set)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_SLOTS, ipcuckoo_usage_slots(e)) ||
	       nla_put_u32(skb, IPCUCKOO_A_ATTACHMENTS,
			   READ_ONCE(set->attachments)) ||
	       nla_put_u32(skb, IPCUCKOO_A_RULES, READ_ONCE(set->rules)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_GENERATION, e->generation) ||
	       nla_put_u32(skb, IPCUCKOO_A_GROWTHS, e->growths) ||
	       nla_put_u32(skb, IPCUCKOO_A_REKEYS, e->rekeys) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_DISPLACED,
				     ipcuckoo_usage_displaced(e)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_FALLBACKS, ipcuckoo_usage_fallbacks(e)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_RETRIES, atomic64_read(&e->retries)) ||
	       fill_failures(skb, set) ?
	       -EMSGSIZE : 0;
}

int ipcuckoo_nl_set_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_set *set;
	int err;

	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = fill_set(reply.skb, set);
	ipcuckoo_nl_unlock_set(set);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* State of a dump of sets, in cb->ctx: the name of the set dumped last. */
struct set_dump {
	char last[IPCUCKOO_NAME_SIZE];
};

/* The set is locked. */
static int dump_set(struct sk_buff *skb, struct netlink_callback *cb,
		    struct set_dump *dump, struct ipcuckoo_set *set)
{
	void *header = ipcuckoo_nl_dump_put(skb, cb, IPCUCKOO_CMD_SET_GET);
	int err;

	if (!header)
		return -EMSGSIZE;
	err = fill_set(skb, set);
	if (err) {
		genlmsg_cancel(skb, header);
		return err;
	}
	strscpy(dump->last, set->name, sizeof(dump->last));
	genlmsg_end(skb, header);
	return 0;
}

int ipcuckoo_nl_set_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(sock_net(skb->sk));
	struct set_dump *dump = (void *)cb->ctx;
	const unsigned long until = *dump->last ? IPCUCKOO_FOREVER : ipcuckoo_lock_limit();
	struct ipcuckoo_set *set;
	int err = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	if (!*dump->last)
		err = ipcuckoo_net_sync(pernet, until);
	mutex_lock(&pernet->mutex);
	cb->seq = pernet->sets_seq + 1;
	mutex_unlock(&pernet->mutex);
	while (!err && (set = ipcuckoo_set_next_locked(pernet, dump->last, until))) {
		if (IS_ERR(set)) {
			err = PTR_ERR(set);
			break;
		}
		err = dump_set(skb, cb, dump, set);
		ipcuckoo_nl_unlock_set(set);
	}
	return skb->len ?: err;
}

static int flush_one(struct ipcuckoo_net *pernet, const char *name)
{
	struct ipcuckoo_set *set;
	int err;

	set = ipcuckoo_set_get_locked(pernet, name, ipcuckoo_lock_limit());
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = ipcuckoo_set_flush(set);
	ipcuckoo_nl_unlock_set(set);
	return err;
}

int ipcuckoo_nl_parse_set_flush(struct sk_buff *skb, struct genl_info *info,
				struct ipcuckoo_commit_change *change)
{
	change->kind = IPCUCKOO_COMMIT_FLUSH;
	change->exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	change->name = ipcuckoo_nl_name(info->attrs, info->extack);
	return change->name ? 0 : -EINVAL;
}

int ipcuckoo_nl_explain_set_flush(struct genl_info *info, int err)
{
	if (err == -ENOENT)
		return ipcuckoo_nl_no_such_set(info->attrs, info->extack);
	return ipcuckoo_nl_explain(info->extack, err);
}

int ipcuckoo_nl_set_flush_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(genl_info_net(info));
	const char *name;
	int err;

	err = ipcuckoo_nl_name_or_all(info, &name);
	if (err)
		return err;
	err = name ? flush_one(pernet, name) : ipcuckoo_names_flush_all(pernet);
	if (err == -ENOENT && ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST))
		return 0;
	return ipcuckoo_nl_explain_set_flush(info, err);
}
