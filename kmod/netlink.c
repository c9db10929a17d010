// SPDX-License-Identifier: GPL-2.0-only
/* The generic netlink family: its policies and operations. */
#include <linux/if.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/sched/signal.h>
#include <net/genetlink.h>

#include "compat.h"
#include "event.h"
#include "lock.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "options.h"
#include "release.h"
#include "shadow.h"
#include "wire.h"

/* Policies. The policy of a command refuses attributes that the command does not use. Those
 * of SET_NEW and SHADOW_NEW are in options.c.
 */

#define FLAGS_POLICY(mask)	NLA_POLICY_MASK(NLA_U32, mask)
#define STRING_POLICY(size)	{ .type = NLA_NUL_STRING, .len = (size) - 1 }
#define U32_POLICY		{ .type = NLA_U32 }
#define PACKED_POLICY		{ .type = NLA_BINARY }
#define DIRECTION_POLICY	NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_DIR_SRC, IPCUCKOO_DIR_BOTH)
#define PLACE_POLICY		NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_PLACE_IP, IPCUCKOO_PLACE_XDP)
#define VERDICT_POLICY		NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_VERDICT_DROP, \
						 IPCUCKOO_VERDICT_PREFETCH)

static const struct nla_policy none_policy[] = {
	[IPCUCKOO_A_PAD] = { .type = NLA_REJECT },
};

/* Commands on one set, or on all sets. */
static const struct nla_policy sets_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL),
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy set_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy entry_get_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
};

static const struct nla_policy two_sets_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_SET_TO] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
};

static const struct nla_policy set_change_policy[] = {
	[IPCUCKOO_A_SET] = STRING_POLICY(IPCUCKOO_NAME_SIZE),
	[IPCUCKOO_A_MAXELEM] = U32_POLICY,
};

#define EXT_POLICIES					\
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
	EXT_POLICIES,
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

static const struct nla_policy shadow_add_policy[] = {
	[IPCUCKOO_A_HOSTS4] = PACKED_POLICY,
	[IPCUCKOO_A_HOSTS6] = PACKED_POLICY,
	[IPCUCKOO_A_NETS4] = PACKED_POLICY,
	[IPCUCKOO_A_NETS6] = PACKED_POLICY,
	[IPCUCKOO_A_SHADOW] = U32_POLICY,
	EXT_POLICIES,
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
					  IPCUCKOO_F_APPROXIMATE | IPCUCKOO_F_REPLACE |
					  IPCUCKOO_F_NEW),
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
	[IPCUCKOO_A_PROTOCOL] = { .type = NLA_U8 },
	[IPCUCKOO_A_PORTS] = PACKED_POLICY,
};

static const struct nla_policy commit_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_CHECK),
	[IPCUCKOO_A_CHANGES] = { .type = NLA_NESTED },
};

static const struct nla_policy detach_policy[] = {
	[IPCUCKOO_A_FLAGS] = FLAGS_POLICY(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL |
					  IPCUCKOO_F_LOOPBACK | IPCUCKOO_F_NEW),
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
	[IPCUCKOO_A_PROTOCOL] = { .type = NLA_U8 },
	[IPCUCKOO_A_PORTS] = PACKED_POLICY,
};

static int fill_info(struct sk_buff *skb, struct ipcuckoo_net *pernet)
{
	return nla_put_string(skb, IPCUCKOO_A_VERSION, IPCUCKOO_VERSION) ||
	       nla_put_u32(skb, IPCUCKOO_A_SETS, READ_ONCE(pernet->sets_count)) ||
	       nla_put_u32(skb, IPCUCKOO_A_ATTACHMENTS,
			   READ_ONCE(pernet->attached.count)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_MEMORY,
				     atomic_long_read(&pernet->mem.used)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_MEMORY_LIMIT,
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

/* A netlink socket was closed: free its shadows. */
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

/* With userns=1 ipcuckoo_nl_init() sets the flags to GENL_UNS_ADMIN_PERM: see
 * ipcuckoo_net_owner(). Generic netlink checks them before it parses attributes.
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
	OP(SET_NEW, ipcuckoo_options_set_new_policy, .doit = ipcuckoo_nl_set_new_doit),
	OP(SET_DEL, sets_policy, .doit = ipcuckoo_nl_set_del_doit),
	OP(SET_GET, set_policy, .doit = ipcuckoo_nl_set_get_doit,
	   .dumpit = ipcuckoo_nl_set_get_dumpit),
	OP(SET_FLUSH, sets_policy, .doit = ipcuckoo_nl_set_flush_doit),
	OP(ENTRY_ADD, entry_add_policy, .doit = ipcuckoo_nl_entry_add_doit),
	OP(ENTRY_DEL, entry_policy, .doit = ipcuckoo_nl_entry_del_doit),
	OP(ENTRY_TEST, entry_test_policy, .doit = ipcuckoo_nl_entry_test_doit),
	OP(ENTRY_GET, entry_get_policy,
	   .dumpit = ipcuckoo_nl_entry_get_dumpit, .done = ipcuckoo_nl_entry_get_done),
	OP(SHADOW_NEW, ipcuckoo_options_shadow_new_policy, .doit = ipcuckoo_nl_shadow_new_doit),
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
	OP(COMMIT, commit_policy, .doit = ipcuckoo_nl_commit_doit),
};

/* For how long the requests of one sendmsg() may begin, in milliseconds. */
#define BEGIN_MS	250

/* Has it been longer since the first of our requests in a sendmsg() began? They are in one skb, of
 * which netlink does not use the time stamp.
 */
static bool comes_late(struct sk_buff *skb)
{
	if (!skb->tstamp)
		skb->tstamp = ktime_get();
	return ktime_ms_delta(ktime_get(), skb->tstamp) > BEGIN_MS;
}

/* Generic netlink calls this before the handler of each request that is not a dump. It
 * refuses the request with -EINTR if the process has a fatal signal: one sendmsg() can carry
 * thousands of requests, and none may begin then. Netlink sends no ACK for a request that
 * returns -EINTR, and continues with the next one. So handlers must return -EINTR only for a
 * fatal signal.
 *
 * For the same reason a request is refused with -EAGAIN if those before it in its sendmsg() have
 * taken long: generic netlink handles all of them under cb_lock (lock.h).
 *
 * A request may name a set that ip_set has renamed. Dumps bring the names up to date themselves.
 */
static int begin_request(ipcuckoo_genl_op *op, struct sk_buff *skb,
			 struct genl_info *info)
{
	int err;

	if (fatal_signal_pending(current))
		return -EINTR;
	err = comes_late(skb) ? -EAGAIN :
	      ipcuckoo_net_sync(ipcuckoo_net(genl_info_net(info)), ipcuckoo_lock_limit());
	return ipcuckoo_nl_explain(info->extack, err);
}

/**
 * ipcuckoo_nl_init() - register the generic netlink family
 *
 * Requests can come before this returns, so the rest of the module must be initialised.
 *
 * Return: 0 or an error.
 */
int __init ipcuckoo_nl_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; ipcuckoo_userns && i < ARRAY_SIZE(ops); i++)
		ops[i].flags = GENL_UNS_ADMIN_PERM;
	ipcuckoo_wire_family.ops = ops;
	ipcuckoo_wire_family.n_ops = ARRAY_SIZE(ops);
	ipcuckoo_wire_family.pre_doit = begin_request;
	err = netlink_register_notifier(&release_notifier);
	if (err)
		return err;
	err = genl_register_family(&ipcuckoo_wire_family);
	if (err)
		netlink_unregister_notifier(&release_notifier);
	else
		ipcuckoo_event_init();
	return err;
}

/**
 * ipcuckoo_nl_exit() - unregister the generic netlink family
 */
void ipcuckoo_nl_exit(void)
{
	ipcuckoo_event_exit();
	genl_unregister_family(&ipcuckoo_wire_family);
	netlink_unregister_notifier(&release_notifier);
}
