// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: policies, operations, and what all handlers use.
 * A handler parses, makes one call into the rooms that do the work, and
 * replies; every error gets a sentence.
 */
#include <linux/if.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/sched/signal.h>
#include <net/genetlink.h>

#include "compat.h"
#include "event.h"
#include "net.h"
#include "netlink.h"
#include "set.h"
#include "shadow.h"

/* Policies: one for each command, so that an attribute that means nothing to a
 * command is refused.
 */

#define FLAGS_POLICY(mask)	NLA_POLICY_MASK(NLA_U32, mask)
#define STRING_POLICY(size)	{ .type = NLA_NUL_STRING, .len = (size) - 1 }
#define U32_POLICY		{ .type = NLA_U32 }
#define PACKED_POLICY		{ .type = NLA_BINARY }
#define TIMEOUT_POLICY		NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range)
#define DIRECTION_POLICY	NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_DIR_SRC, IPCUCKOO_DIR_BOTH)
#define PLACE_POLICY		NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_PLACE_IP, IPCUCKOO_PLACE_INGRESS)
#define VERDICT_POLICY		NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_VERDICT_DROP, \
						 IPCUCKOO_VERDICT_COUNT)

static struct netlink_range_validation timeout_range = {
	.max = IPCUCKOO_TIMEOUT_MAX,
};

static const struct nla_policy none_policy[] = {
	[IPCUCKOO_A_PAD] = { .type = NLA_REJECT },
};

static const struct nla_policy set_new_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_MULTI |
					 IPCUCKOO_F_FORCEADD),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_TYPE] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_TYPE_HASH_IP,
					     IPCUCKOO_TYPE_FILTER_IP),
	[IPCUCKOO_A_FAMILY] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_FAMILY_INET,
					       IPCUCKOO_FAMILY_ANY),
	[IPCUCKOO_A_MAXELEM] = U32_POLICY,
	[IPCUCKOO_A_BITS] = { .type = NLA_U8 },
	[IPCUCKOO_A_CAPACITY] = U32_POLICY,
	[IPCUCKOO_A_OPTIONS] = NLA_POLICY_MASK(NLA_U32, IPCUCKOO_O_ALL),
	[IPCUCKOO_A_TIMEOUT] = TIMEOUT_POLICY,
	[IPCUCKOO_A_HASHSIZE] = U32_POLICY,
	[IPCUCKOO_A_BUCKETSIZE] = { .type = NLA_U8 },
	[IPCUCKOO_A_INITVAL] = U32_POLICY,
	[IPCUCKOO_A_NETMASK] = { .type = NLA_U8 },
	[IPCUCKOO_A_BITMASK] = { .type = NLA_BINARY, .len = IPCUCKOO_HOST6_SIZE },
};

/* One set, or all. */
static const struct nla_policy sets_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy set_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy two_sets_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_SET_TO] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy set_change_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_MAXELEM] = U32_POLICY,
};

#define VALUE_POLICIES					\
	[IPCUCKOO_A_TIMEOUTS] = PACKED_POLICY,		\
	[IPCUCKOO_A_COUNTERS] = PACKED_POLICY,		\
	[IPCUCKOO_A_SKBINFOS] = PACKED_POLICY,		\
	[IPCUCKOO_A_COMMENTS] = PACKED_POLICY,		\
	[IPCUCKOO_A_NOMATCHES] = PACKED_POLICY

static const struct nla_policy entry_add_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
	VALUE_POLICIES,
};

static const struct nla_policy entry_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
};

static const struct nla_policy entry_test_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
};

static const struct nla_policy shadow_new_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_APPEND),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_CAPACITY_HOSTS4] = U32_POLICY,
	[IPCUCKOO_A_CAPACITY_HOSTS6] = U32_POLICY,
	[IPCUCKOO_A_CAPACITY_NETS4] = U32_POLICY,
	[IPCUCKOO_A_CAPACITY_NETS6] = U32_POLICY,
};

static const struct nla_policy shadow_add_policy[] = {
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
	VALUE_POLICIES,
};

static const struct nla_policy shadow_remove_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST),
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
};

static const struct nla_policy shadow_commit_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_OVERRIDE),
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
};

static const struct nla_policy shadow_del_policy[] = {
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
};

static const struct nla_policy attach_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_LOOPBACK |
					  IPCUCKOO_F_APPROXIMATE | IPCUCKOO_F_REPLACE),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_DIRECTION] = DIRECTION_POLICY,
	[IPCUCKOO_A_VERDICT] = VERDICT_POLICY,
	[IPCUCKOO_A_DEV] = STRING_POLICY(IFNAMSIZ),
	[IPCUCKOO_A_MARK] = U32_POLICY,
	[IPCUCKOO_A_MARK_MASK] = U32_POLICY,
	[IPCUCKOO_A_ORDER] = { .type = NLA_S32 },
	[IPCUCKOO_A_PRIORITY] = { .type = NLA_S32 },
	[IPCUCKOO_A_PLACE] = PLACE_POLICY,
	[IPCUCKOO_A_LOG] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_LOG_KERNEL, IPCUCKOO_LOG_NFLOG),
	[IPCUCKOO_A_LOG_GROUP] = { .type = NLA_U16 },
	[IPCUCKOO_A_LOG_RATE] = U32_POLICY,
	[IPCUCKOO_A_LOG_EVERY] = NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy detach_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL |
					  IPCUCKOO_F_LOOPBACK),
	[IPCUCKOO_A_MARK] = U32_POLICY,
	[IPCUCKOO_A_MARK_MASK] = U32_POLICY,
	[IPCUCKOO_A_ORDER] = { .type = NLA_S32 },
	[IPCUCKOO_A_PRIORITY] = { .type = NLA_S32 },
	[IPCUCKOO_A_PLACE] = PLACE_POLICY,
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_DIRECTION] = DIRECTION_POLICY,
	[IPCUCKOO_A_VERDICT] = VERDICT_POLICY,
	[IPCUCKOO_A_DEV] = STRING_POLICY(IFNAMSIZ),
	[IPCUCKOO_A_ATTACHMENT] = U32_POLICY,
};

/* Parsing */

bool ipcuckoo_nl_flag(struct nlattr **attrs, u32 flag)
{
	return attrs[IPCUCKOO_A_FLAGS] &&
	       nla_get_u32(attrs[IPCUCKOO_A_FLAGS]) & flag;
}

u32 ipcuckoo_nl_u32(struct nlattr **attrs, int attr, u32 otherwise)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : otherwise;
}

/* An attribute that the request has to have: NULL, with an error, if not. */
struct nlattr *ipcuckoo_nl_need(struct nlattr **attrs, int type,
				struct netlink_ext_ack *extack)
{
	static const char * const sentences[] = {
		[IPCUCKOO_A_SET] = "the name of a set is missing",
		[IPCUCKOO_A_SET_TO] = "the name of the second set is missing",
		[IPCUCKOO_A_TYPE] = "the type of the set is missing",
		[IPCUCKOO_A_FAMILY] = "the family of the set is missing",
		[IPCUCKOO_A_MAXELEM] = "the new limit is missing",
		[IPCUCKOO_A_HOSTS4] = "there are no entries in the request",
		[IPCUCKOO_A_SHADOW] = "the number of a shadow is missing",
		[IPCUCKOO_A_DIRECTION] = "the direction is missing",
		[IPCUCKOO_A_VERDICT] = "the verdict is missing",
		[IPCUCKOO_A_MARK] = "the verdict mark needs a mark",
		[IPCUCKOO_A_LOG] = "where to log is missing",
		[IPCUCKOO_A_DEV] = "ingress is that of a device: its name is missing",
	};

	if (!attrs[type] && extack) {
		extack->_msg = sentences[type];
		NL_SET_ERR_ATTR_MISS(extack, NULL, type);
	}
	return attrs[type];
}

/* The name in an attribute: NULL, with an error, if it is none that sets have. */
const char *ipcuckoo_nl_check_name(const struct nlattr *attr,
				   struct netlink_ext_ack *extack)
{
	if (ipcuckoo_set_name_valid(nla_data(attr)))
		return nla_data(attr);
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "a set's name has 1 to 31 ASCII letters, digits and punctuation characters but '/' and '\"', and is not '.' or '..'");
	return NULL;
}

/* The name of a set: NULL, with an error, if it is missing or bad. */
const char *ipcuckoo_nl_name(struct nlattr **attrs,
			     struct netlink_ext_ack *extack)
{
	struct nlattr *attr = ipcuckoo_nl_need(attrs, IPCUCKOO_A_SET, extack);

	return attr ? ipcuckoo_nl_check_name(attr, extack) : NULL;
}

int ipcuckoo_nl_no_such_set(struct nlattr **attrs, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_SET], "there is no set of that name");
	return -ENOENT;
}

/* The set that a request names, held. */
struct ipcuckoo_set *ipcuckoo_nl_set(struct net *net, struct nlattr **attrs,
				     struct netlink_ext_ack *extack)
{
	const char *name = ipcuckoo_nl_name(attrs, extack);
	struct ipcuckoo_set *set;

	if (!name)
		return ERR_PTR(-EINVAL);
	set = ipcuckoo_set_get(ipcuckoo_net(net), name);
	return set ?: ERR_PTR(ipcuckoo_nl_no_such_set(attrs, extack));
}

/* The set that a request names, held and locked. */
struct ipcuckoo_set *ipcuckoo_nl_locked_set(struct genl_info *info)
{
	struct ipcuckoo_set *set = ipcuckoo_nl_set(genl_info_net(info), info->attrs,
					   info->extack);
	int err;

	if (IS_ERR(set))
		return set;
	err = ipcuckoo_set_lock(set);
	if (!err)
		return set;
	ipcuckoo_set_put(set);
	if (err == -ENOENT)
		ipcuckoo_nl_no_such_set(info->attrs, info->extack);
	return ERR_PTR(err);
}

void ipcuckoo_nl_put_set(struct ipcuckoo_set *set)
{
	ipcuckoo_set_unlock(set);
	ipcuckoo_set_put(set);
}

/* What an error means, for those that can happen anywhere. */
static const struct {
	int err;
	const char *sentence;
} sentences[] = {
	{ -EINVAL,
	  "not valid: host bits set, prefix too long, or IPv4-mapped (family any only, not all)" },
	{ -EAFNOSUPPORT,
	  "the set does not hold addresses of this family" },
	{ -EOPNOTSUPP,
	  "a set of this type holds hosts only; make a hash:net set for prefixes" },
	{ -EEXIST,
	  "the entry is in the set already" },
	{ -ENOENT,
	  "the entry is not in the set" },
	{ -ENOSPC,
	  "the set is full: its maxelem or capacity is reached, or its table takes no more" },
	{ -EMLINK,
	  "no place is left for a copy: an entry has eight at most, fewer if others share them" },
	{ -E2BIG,
	  "there are 1024 attachments here, or as many hooks as the kernel takes: detach some" },
	{ -ENOPROTOOPT,
	  "this kernel has no such logger: nf_log_syslog or nfnetlink_log cannot be loaded" },
	{ -EAGAIN,
	  "the module of the logger is being loaded: ask again soon" },
	{ -ENODEV,
	  "the module is being unloaded" },
	{ -EDQUOT,
	  "the memory limit of this network namespace is reached (module parameter memory_limit)" },
	{ -ENOMEM,
	  "out of memory" },
};

/* Let a sentence go with an error. */
int ipcuckoo_nl_explain(struct netlink_ext_ack *extack, int err)
{
	unsigned int i;

	for (i = 0; extack && i < ARRAY_SIZE(sentences); i++)
		if (sentences[i].err == err)
			extack->_msg = sentences[i].sentence;
	return err;
}

/* ALL and a name exclude each other. */
int ipcuckoo_nl_name_or_all(struct genl_info *info, const char **name)
{
	*name = NULL;
	if (ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_ALL)) {
		if (!info->attrs[IPCUCKOO_A_SET])
			return 0;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "give the name of a set, or ask for all, not both");
		return -EINVAL;
	}
	*name = ipcuckoo_nl_name(info->attrs, info->extack);
	return *name ? 0 : -EINVAL;
}

/* Replies */

/* A reply is begun before anything is changed, so that a change never fails for
 * want of memory to tell of it.
 */
int ipcuckoo_nl_reply_begin(struct genl_info *info,
			    struct ipcuckoo_nl_reply *reply)
{
	reply->skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!reply->skb)
		return ipcuckoo_nl_explain(info->extack, -ENOMEM);
	reply->header = genlmsg_put_reply(reply->skb, info, &ipcuckoo_nl_family,
					  0, info->genlhdr->cmd);
	return 0;
}

/* Replies are small: all of any fits. */
void ipcuckoo_nl_reply_u32(struct ipcuckoo_nl_reply *reply, int attr, u32 value)
{
	WARN_ON_ONCE(nla_put_u32(reply->skb, attr, value));
}

/* Send a reply, or with an error drop it. A client that does not read its
 * socket does without; what it asked for is done.
 */
int ipcuckoo_nl_reply_end(struct genl_info *info,
			  struct ipcuckoo_nl_reply *reply, int err)
{
	if (err) {
		nlmsg_free(reply->skb);
		return err;
	}
	genlmsg_end(reply->skb, reply->header);
	genlmsg_reply(reply->skb, info);
	return 0;
}

/* Begin a message of a dump; cb->seq says of which state of things it tells.
 * Returns NULL if there is no room.
 */
void *ipcuckoo_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			   u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, &ipcuckoo_nl_family,
				   NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

int ipcuckoo_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, IPCUCKOO_A_PAD);
}

/* The module */

static int fill_info(struct sk_buff *skb, struct ipcuckoo_net *pernet)
{
	return nla_put_string(skb, IPCUCKOO_A_VERSION, IPCUCKOO_VERSION) ||
	       nla_put_u32(skb, IPCUCKOO_A_SETS, READ_ONCE(pernet->sets_count)) ||
	       nla_put_u32(skb, IPCUCKOO_A_ATTACHMENTS,
			   READ_ONCE(pernet->attached.count)) ||
	       ipcuckoo_nl_put_u64(skb, IPCUCKOO_A_MEMORY,
				   atomic_long_read(&pernet->mem.used)) ||
	       ipcuckoo_nl_put_u64(skb, IPCUCKOO_A_MEMORY_LIMIT,
				   pernet->mem.limit) ? -EMSGSIZE : 0;
}

static int info_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(genl_info_net(info));
	struct ipcuckoo_nl_reply reply;
	int err;

	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	return ipcuckoo_nl_reply_end(info, &reply, fill_info(reply.skb, pernet));
}

/* A socket was closed. */
static int release_event(struct notifier_block *nb, unsigned long event,
			 void *ptr)
{
	struct netlink_notify *notify = ptr;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC)
		ipcuckoo_shadow_release(ipcuckoo_net(notify->net),
					notify->portid);
	return NOTIFY_DONE;
}

static struct notifier_block release_notifier = {
	.notifier_call = release_event,
};

/* The family */

/* ipcuckoo_nl_init() makes it GENL_UNS_ADMIN_PERM if userns=1: see
 * ipcuckoo_net_owner(). Either is looked at before a policy parses anything.
 */
#define OP(command, table, ...) {					\
	.cmd = IPCUCKOO_CMD_##command,					\
	.flags = GENL_ADMIN_PERM,					\
	.policy = table,						\
	.maxattr = ARRAY_SIZE(table) - 1,				\
	__VA_ARGS__							\
}

static struct genl_ops ops[] __ro_after_init = {
	OP(INFO, none_policy, .doit = info_doit),
	OP(SET_NEW, set_new_policy, .doit = ipcuckoo_nl_set_new_doit),
	OP(SET_DEL, sets_policy, .doit = ipcuckoo_nl_set_del_doit),
	OP(SET_GET, set_policy, .doit = ipcuckoo_nl_set_get_doit,
	   .dumpit = ipcuckoo_nl_set_get_dumpit),
	OP(SET_FLUSH, sets_policy, .doit = ipcuckoo_nl_set_flush_doit),
	OP(ENTRY_ADD, entry_add_policy, .doit = ipcuckoo_nl_entry_add_doit),
	OP(ENTRY_DEL, entry_policy, .doit = ipcuckoo_nl_entry_del_doit),
	OP(ENTRY_TEST, entry_test_policy, .doit = ipcuckoo_nl_entry_test_doit),
	OP(ENTRY_GET, set_policy,
	   .dumpit = ipcuckoo_nl_entry_get_dumpit, .done = ipcuckoo_nl_entry_get_done),
	OP(SHADOW_NEW, shadow_new_policy, .doit = ipcuckoo_nl_shadow_new_doit),
	OP(SHADOW_ADD, shadow_add_policy, .doit = ipcuckoo_nl_shadow_add_doit),
	OP(SHADOW_REMOVE, shadow_remove_policy, .doit = ipcuckoo_nl_shadow_remove_doit),
	OP(SHADOW_COMMIT, shadow_commit_policy, .doit = ipcuckoo_nl_shadow_commit_doit),
	OP(SHADOW_DEL, shadow_del_policy, .doit = ipcuckoo_nl_shadow_del_doit),
	OP(ATTACH, attach_policy, .doit = ipcuckoo_nl_attach_doit),
	OP(DETACH, detach_policy, .doit = ipcuckoo_nl_detach_doit),
	OP(ATTACH_GET, none_policy, .dumpit = ipcuckoo_nl_attach_get_dumpit),
	OP(SET_RENAME, two_sets_policy, .doit = ipcuckoo_nl_set_rename_doit),
	OP(SET_SWAP, two_sets_policy, .doit = ipcuckoo_nl_set_swap_doit),
	OP(SET_CHANGE, set_change_policy, .doit = ipcuckoo_nl_set_change_doit),
};

/* This flag goes by the user namespace that owns the network namespace, and there
 * is none that goes by the first. ipcuckoo_event_* does that: with userns=0 it
 * sends nothing where others could have joined.
 */
static const struct genl_multicast_group groups[] = {
	[IPCUCKOO_NL_GROUP_EVENTS] = {
		.name = IPCUCKOO_GROUP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

/* One sendmsg() may hold thousands of requests: if the process is killed none of
 * them begins any more. Generic netlink answers nothing to EINTR, and goes on to
 * the next one. So no handler may return it but for a fatal signal.
 */
static int begin_request(const struct ipcuckoo_genl_op *op, struct sk_buff *skb,
			 struct genl_info *info)
{
	return fatal_signal_pending(current) ? -EINTR : 0;
}

struct genl_family ipcuckoo_nl_family __ro_after_init = {
	.name = IPCUCKOO_FAMILY_NAME,
	.version = IPCUCKOO_FAMILY_VERSION,
	.maxattr = IPCUCKOO_A_MAX,
	.netnsok = true,
	.parallel_ops = true,
	.pre_doit = begin_request,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/**
 * ipcuckoo_nl_init() - begin to take requests
 *
 * The last thing to begin: whoever is heard finds everything in place.
 *
 * Return: 0 or an error.
 */
int __init ipcuckoo_nl_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; ipcuckoo_userns && i < ARRAY_SIZE(ops); i++)
		ops[i].flags = GENL_UNS_ADMIN_PERM;
	err = netlink_register_notifier(&release_notifier);
	if (err)
		return err;
	err = genl_register_family(&ipcuckoo_nl_family);
	if (err)
		netlink_unregister_notifier(&release_notifier);
	else
		ipcuckoo_event_init();
	return err;
}

/**
 * ipcuckoo_nl_exit() - take no more requests
 */
void ipcuckoo_nl_exit(void)
{
	ipcuckoo_event_exit();
	genl_unregister_family(&ipcuckoo_nl_family);
	netlink_unregister_notifier(&release_notifier);
}
