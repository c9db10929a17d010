// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family. A handler parses, makes one call into the rooms
 * that do the work, and replies; every error gets a sentence.
 */
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include <asm/unaligned.h>

#include "compat.h"
#include "net.h"
#include "netlink.h"
#include "set.h"
#include "shadow.h"

static struct genl_family ipcuckoo_nl_family;

/* Policies: one for each command, so that an attribute that means nothing to a
 * command is refused.
 */

#define POLICY_FLAGS(mask)	[IPCUCKOO_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, mask)
#define POLICY_SET		[IPCUCKOO_A_SET] = {			\
		.type = NLA_NUL_STRING, .len = IPCUCKOO_NAME_SIZE - 1 }
#define POLICY_ENTRIES							\
	[IPCUCKOO_A_HOSTS4] = { .type = NLA_BINARY },			\
	[IPCUCKOO_A_HOSTS6] = { .type = NLA_BINARY },			\
	[IPCUCKOO_A_NETS4] = { .type = NLA_BINARY },			\
	[IPCUCKOO_A_NETS6] = { .type = NLA_BINARY }
#define POLICY_RULE							\
	[IPCUCKOO_A_DIRECTION] =					\
		NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_DIR_SRC, IPCUCKOO_DIR_BOTH), \
	[IPCUCKOO_A_VERDICT] = NLA_POLICY_RANGE(NLA_U8,			\
		IPCUCKOO_VERDICT_DROP, IPCUCKOO_VERDICT_COUNT),		\
	[IPCUCKOO_A_DEV] = { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 }

static const struct nla_policy none_policy[] = {
	[IPCUCKOO_A_PAD] = { .type = NLA_REJECT },
};

static const struct nla_policy set_new_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_EXIST),
	POLICY_SET,
	[IPCUCKOO_A_TYPE] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_TYPE_HASH_IP,
					     IPCUCKOO_TYPE_HASH_NET),
	[IPCUCKOO_A_FAMILY] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_FAMILY_INET,
					       IPCUCKOO_FAMILY_ANY),
	[IPCUCKOO_A_MAXELEM] = { .type = NLA_U32 },
};

static const struct nla_policy set_del_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL),
	POLICY_SET,
};

static const struct nla_policy set_policy[] = {
	POLICY_SET,
};

static const struct nla_policy set_flush_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_ALL),
	POLICY_SET,
};

static const struct nla_policy entry_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_EXIST),
	POLICY_SET,
	POLICY_ENTRIES,
};

static const struct nla_policy entry_test_policy[] = {
	POLICY_SET,
	POLICY_ENTRIES,
};

static const struct nla_policy shadow_new_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_APPEND),
	POLICY_SET,
	[IPCUCKOO_A_CAPACITY_HOSTS4] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_HOSTS6] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_NETS4] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_NETS6] = { .type = NLA_U32 },
};

static const struct nla_policy shadow_add_policy[] = {
	POLICY_ENTRIES,
	[IPCUCKOO_A_SHADOW] = { .type = NLA_U32 },
};

static const struct nla_policy shadow_commit_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_OVERRIDE),
	[IPCUCKOO_A_SHADOW] = { .type = NLA_U32 },
};

static const struct nla_policy shadow_del_policy[] = {
	[IPCUCKOO_A_SHADOW] = { .type = NLA_U32 },
};

static const struct nla_policy attach_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_EXIST | IPCUCKOO_F_LOOPBACK),
	POLICY_SET,
	POLICY_RULE,
	[IPCUCKOO_A_MARK] = { .type = NLA_U32 },
	[IPCUCKOO_A_MARK_MASK] = { .type = NLA_U32 },
	[IPCUCKOO_A_ORDER] = { .type = NLA_S32 },
};

static const struct nla_policy detach_policy[] = {
	POLICY_FLAGS(IPCUCKOO_F_EXIST | IPCUCKOO_F_ALL),
	POLICY_SET,
	POLICY_RULE,
	[IPCUCKOO_A_ATTACHMENT] = { .type = NLA_U32 },
};

/* The attributes of packed entries, by kind. */
static const u8 entries_attr[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_A_HOSTS4,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_A_HOSTS6,
	[IPCUCKOO_NETS4] = IPCUCKOO_A_NETS4,
	[IPCUCKOO_NETS6] = IPCUCKOO_A_NETS6,
};

static const u8 entries_size[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_HOST4_SIZE,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_HOST6_SIZE,
	[IPCUCKOO_NETS4] = IPCUCKOO_NET4_SIZE,
	[IPCUCKOO_NETS6] = IPCUCKOO_NET6_SIZE,
};

/* Parsing */

static bool has_flag(struct nlattr **attrs, u32 flag)
{
	return attrs[IPCUCKOO_A_FLAGS] &&
	       nla_get_u32(attrs[IPCUCKOO_A_FLAGS]) & flag;
}

static u32 get_u32(struct nlattr **attrs, int attr, u32 otherwise)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : otherwise;
}

/* The name of a set: NULL, with an error, if it is missing or bad. */
static const char *get_name(struct nlattr **attrs,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *attr = attrs[IPCUCKOO_A_SET];

	if (!attr) {
		NL_SET_ERR_MSG(extack, "the name of a set is missing");
		return NULL;
	}
	if (ipcuckoo_set_name_valid(nla_data(attr)))
		return nla_data(attr);
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "a set's name has 1 to 31 letters, digits, '_', '.' or '-', and is not '.' or '..'");
	return NULL;
}

static int no_such_set(struct nlattr **attrs, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_SET], "there is no set of that name");
	return -ENOENT;
}

/* The set that a request names, held. */
static struct ipcuckoo_set *get_set(struct net *net, struct nlattr **attrs,
				    struct netlink_ext_ack *extack)
{
	const char *name = get_name(attrs, extack);
	struct ipcuckoo_set *set;

	if (!name)
		return ERR_PTR(-EINVAL);
	set = ipcuckoo_set_get(ipcuckoo_net(net), name);
	return set ?: ERR_PTR(no_such_set(attrs, extack));
}

/* The set that a request names, held and locked. */
static struct ipcuckoo_set *get_locked_set(struct genl_info *info)
{
	struct ipcuckoo_set *set = get_set(genl_info_net(info), info->attrs,
					   info->extack);

	if (IS_ERR(set) || !ipcuckoo_set_lock(set))
		return set;
	ipcuckoo_set_put(set);
	return ERR_PTR(no_such_set(info->attrs, info->extack));
}

static void put_locked_set(struct ipcuckoo_set *set)
{
	ipcuckoo_set_unlock(set);
	ipcuckoo_set_put(set);
}

/* The packed entries of a request, one at least. */
static int get_batch(struct genl_info *info, struct ipcuckoo_batch *batch,
		     u32 *total)
{
	struct nlattr *attr;
	int kind;

	*total = 0;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		attr = info->attrs[entries_attr[kind]];
		batch->data[kind] = attr ? nla_data(attr) : NULL;
		batch->count[kind] = attr ? nla_len(attr) / entries_size[kind] : 0;
		if (attr && nla_len(attr) % entries_size[kind]) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "packed entries do not fill the attribute evenly");
			return -EINVAL;
		}
		*total += batch->count[kind];
	}
	if (*total)
		return 0;
	NL_SET_ERR_MSG(info->extack, "there are no entries in the request");
	return -EINVAL;
}

/* Say what an error means, for those that can happen anywhere. */
static int explain(struct netlink_ext_ack *extack, int err)
{
	switch (err) {
	case -EINVAL:
		NL_SET_ERR_MSG(extack, "not a valid entry: host bits must be zero, the prefix not longer than the address, IPv4-mapped addresses in family any only");
		break;
	case -EAFNOSUPPORT:
		NL_SET_ERR_MSG(extack, "the set does not hold addresses of this family");
		break;
	case -EOPNOTSUPP:
		NL_SET_ERR_MSG(extack, "a hash:ip set holds hosts only; make a hash:net set for prefixes");
		break;
	case -EEXIST:
		NL_SET_ERR_MSG(extack, "the entry is in the set already");
		break;
	case -ENOENT:
		NL_SET_ERR_MSG(extack, "the entry is not in the set");
		break;
	case -ENOSPC:
		NL_SET_ERR_MSG(extack, "the set is full: its maxelem is reached");
		break;
	case -EDQUOT:
		NL_SET_ERR_MSG(extack, "the memory limit of this network namespace is reached (module parameter memory_limit)");
		break;
	case -ENOMEM:
		NL_SET_ERR_MSG(extack, "out of memory");
		break;
	default:
		break;
	}
	return err;
}

/* The same, for the entry of a batch at which it went wrong. */
static int explain_batch(struct genl_info *info, int err,
			 const struct ipcuckoo_batch_result *result)
{
	struct netlink_ext_ack *extack = info->extack;

	explain(extack, err);
	if (!err || result->kind >= IPCUCKOO_KINDS || !extack)
		return err;
	NL_SET_BAD_ATTR(extack, info->attrs[entries_attr[result->kind]]);
	memcpy(extack->cookie, &result->index, sizeof(result->index));
	extack->cookie_len = sizeof(result->index);
	return err;
}

/* Replies */

static struct sk_buff *reply_new(struct genl_info *info, void **header)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);

	if (!skb)
		return NULL;
	*header = genlmsg_put_reply(skb, info, &ipcuckoo_nl_family, 0,
				    info->genlhdr->cmd);
	return skb;
}

/* Send a reply of u32 attributes: pairs of attribute and value. */
static int reply_u32(struct genl_info *info, const u32 (*pairs)[2], int count)
{
	struct sk_buff *skb;
	void *header;

	skb = reply_new(info, &header);
	if (!skb)
		return -ENOMEM;
	while (count--) {
		if (nla_put_u32(skb, pairs[count][0], pairs[count][1])) {
			nlmsg_free(skb);
			return -EMSGSIZE;
		}
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

#define REPLY_U32(info, ...) ({						\
	const u32 pairs[][2] = { __VA_ARGS__ };				\
	reply_u32(info, pairs, ARRAY_SIZE(pairs));			\
})

static int put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, IPCUCKOO_A_PAD);
}

/* The module */

static int info_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(genl_info_net(info));
	struct sk_buff *reply;
	void *header;

	reply = reply_new(info, &header);
	if (!reply)
		return -ENOMEM;
	if (nla_put_string(reply, IPCUCKOO_A_VERSION, IPCUCKOO_VERSION) ||
	    nla_put_u32(reply, IPCUCKOO_A_SETS, READ_ONCE(inet->sets_count)) ||
	    nla_put_u32(reply, IPCUCKOO_A_ATTACHMENTS,
			READ_ONCE(inet->attached.count)) ||
	    put_u64(reply, IPCUCKOO_A_MEMORY,
		    atomic_long_read(&inet->mem.used)) ||
	    put_u64(reply, IPCUCKOO_A_MEMORY_LIMIT, inet->mem.limit)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

/* Sets */

static int set_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(genl_info_net(info));
	const char *name = get_name(info->attrs, info->extack);
	int err;

	if (!name)
		return -EINVAL;
	if (!info->attrs[IPCUCKOO_A_TYPE] || !info->attrs[IPCUCKOO_A_FAMILY]) {
		NL_SET_ERR_MSG(info->extack, "the type or the family of the set is missing");
		return -EINVAL;
	}
	err = ipcuckoo_set_create(inet, name,
				  nla_get_u8(info->attrs[IPCUCKOO_A_TYPE]),
				  nla_get_u8(info->attrs[IPCUCKOO_A_FAMILY]),
				  get_u32(info->attrs, IPCUCKOO_A_MAXELEM,
					  ipcuckoo_maxelem));
	if (err == -EEXIST && has_flag(info->attrs, IPCUCKOO_F_EXIST))
		return 0;
	if (err != -EEXIST && err != -ENOTUNIQ)
		return explain(info->extack, err);
	if (err == -EEXIST)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "there is a set of that name already");
	else
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "there is a set of that name already, of another type or family");
	return -EEXIST;
}

/* ALL and a name exclude each other. */
static int get_name_or_all(struct genl_info *info, const char **name)
{
	*name = NULL;
	if (has_flag(info->attrs, IPCUCKOO_F_ALL)) {
		if (!info->attrs[IPCUCKOO_A_SET])
			return 0;
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET],
				    "give the name of a set, or ask for all, not both");
		return -EINVAL;
	}
	*name = get_name(info->attrs, info->extack);
	return *name ? 0 : -EINVAL;
}

static int set_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(genl_info_net(info));
	const char *name;
	int err;

	err = get_name_or_all(info, &name);
	if (err)
		return err;
	err = name ? ipcuckoo_set_destroy(inet, name) :
		     ipcuckoo_set_destroy_all(inet);
	if (err == -ENOENT && has_flag(info->attrs, IPCUCKOO_F_EXIST))
		return 0;
	if (err == -ENOENT)
		return no_such_set(info->attrs, info->extack);
	if (err == -EBUSY)
		NL_SET_ERR_MSG(info->extack, "sets are attached; detach them first");
	return err;
}

static int fill_set(struct sk_buff *skb, struct ipcuckoo_set *set)
{
	struct ipcuckoo_entries *e = &set->entries;

	return nla_put_string(skb, IPCUCKOO_A_SET, set->name) ||
	       nla_put_u8(skb, IPCUCKOO_A_TYPE, set->type) ||
	       nla_put_u8(skb, IPCUCKOO_A_FAMILY, set->family) ||
	       nla_put_u32(skb, IPCUCKOO_A_MAXELEM, set->maxelem) ||
	       nla_put_u32(skb, IPCUCKOO_A_ENTRIES, ipcuckoo_set_count(set)) ||
	       nla_put_u32(skb, IPCUCKOO_A_HOSTS,
			   ipcuckoo_entries_count(e, IPCUCKOO_HOSTS4) +
			   ipcuckoo_entries_count(e, IPCUCKOO_HOSTS6)) ||
	       put_u64(skb, IPCUCKOO_A_MEMORY, ipcuckoo_set_memory(set)) ||
	       put_u64(skb, IPCUCKOO_A_SLOTS, ipcuckoo_entries_slots(e)) ||
	       nla_put_u32(skb, IPCUCKOO_A_ATTACHMENTS,
			   READ_ONCE(set->attachments)) ||
	       put_u64(skb, IPCUCKOO_A_GENERATION, e->generation) ||
	       nla_put_u32(skb, IPCUCKOO_A_GROWTHS, e->growths) ||
	       nla_put_u32(skb, IPCUCKOO_A_REKEYS, e->rekeys) ||
	       put_u64(skb, IPCUCKOO_A_DISPLACED,
		       ipcuckoo_entries_displaced(e)) ||
	       put_u64(skb, IPCUCKOO_A_RETRIES, ipcuckoo_entries_fallbacks(e)) ?
	       -EMSGSIZE : 0;
}

static int set_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_set *set = get_locked_set(info);
	struct sk_buff *reply;
	void *header;
	int err = -ENOMEM;

	if (IS_ERR(set))
		return PTR_ERR(set);
	reply = reply_new(info, &header);
	if (reply)
		err = fill_set(reply, set);
	put_locked_set(set);
	if (err) {
		nlmsg_free(reply);
		return err;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

/* Where a dump of sets is. */
struct set_dump {
	char last[IPCUCKOO_NAME_SIZE];
};

static int set_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(sock_net(skb->sk));
	struct set_dump *dump = (void *)cb->ctx;
	struct ipcuckoo_set *set;
	void *header;
	int err = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	mutex_lock(&inet->mutex);
	cb->seq = inet->sets_seq + 1;
	while (!err && (set = ipcuckoo_set_after(inet, dump->last))) {
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				     cb->nlh->nlmsg_seq, &ipcuckoo_nl_family,
				     NLM_F_MULTI, IPCUCKOO_CMD_SET_GET);
		if (!header)
			break;
		genl_dump_check_consistent(cb, header);
		mutex_lock(&set->entries.mutex);
		err = fill_set(skb, set);
		mutex_unlock(&set->entries.mutex);
		if (err) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		strscpy(dump->last, set->name, sizeof(dump->last));
	}
	mutex_unlock(&inet->mutex);
	return skb->len;
}

static int flush_all(struct ipcuckoo_net *inet)
{
	struct ipcuckoo_set *set;
	int err = 0;

	mutex_lock(&inet->mutex);
	for (set = ipcuckoo_set_after(inet, ""); set && !err;
	     set = ipcuckoo_set_after(inet, set->name)) {
		mutex_lock(&set->entries.mutex);
		err = ipcuckoo_entries_flush(&set->entries);
		mutex_unlock(&set->entries.mutex);
	}
	mutex_unlock(&inet->mutex);
	return err;
}

static int set_flush_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_set *set;
	const char *name;
	int err;

	err = get_name_or_all(info, &name);
	if (err)
		return err;
	if (!name)
		return explain(info->extack,
			       flush_all(ipcuckoo_net(genl_info_net(info))));
	set = get_locked_set(info);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = ipcuckoo_entries_flush(&set->entries);
	put_locked_set(set);
	return explain(info->extack, err);
}

/* Entries */

static int entry_doit(struct genl_info *info,
		      int (*apply)(struct ipcuckoo_set *set,
				   const struct ipcuckoo_batch *batch,
				   bool exist,
				   struct ipcuckoo_batch_result *result))
{
	struct ipcuckoo_batch_result result = {};
	struct ipcuckoo_batch batch;
	struct ipcuckoo_set *set;
	u32 total;
	int err;

	err = get_batch(info, &batch, &total);
	if (err)
		return err;
	set = get_locked_set(info);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = apply(set, &batch, has_flag(info->attrs, IPCUCKOO_F_EXIST),
		    &result);
	put_locked_set(set);
	if (err)
		return explain_batch(info, err, &result);
	return REPLY_U32(info, { IPCUCKOO_A_UNCHANGED, result.unchanged },
			       { IPCUCKOO_A_CHANGED, result.changed });
}

static int entry_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	return entry_doit(info, ipcuckoo_set_add);
}

static int entry_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return entry_doit(info, ipcuckoo_set_del);
}

/* The single entry of a request. */
static int get_entry(struct genl_info *info, struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_batch batch;
	u32 total;
	int kind, err;

	err = get_batch(info, &batch, &total);
	if (err)
		return err;
	if (total > 1) {
		NL_SET_ERR_MSG(info->extack, "one entry can be tested at a time");
		return -EINVAL;
	}
	for (kind = 0; !batch.count[kind]; kind++)
		;
	*entry = ipcuckoo_batch_entry(&batch, kind, 0);
	return 0;
}

static int reply_found(struct genl_info *info, bool found, u8 len)
{
	struct sk_buff *reply;
	void *header;

	reply = reply_new(info, &header);
	if (!reply)
		return -ENOMEM;
	if (nla_put_u8(reply, IPCUCKOO_A_FOUND, found) ||
	    (found && nla_put_u8(reply, IPCUCKOO_A_PREFIX_LEN, len))) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

static int entry_test_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_entry entry;
	struct ipcuckoo_set *set;
	bool found = false;
	u8 len = 0;
	int err;

	err = get_entry(info, &entry);
	if (err)
		return err;
	set = get_locked_set(info);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = ipcuckoo_set_check(set, &entry);
	if (!err)
		found = ipcuckoo_entries_find(&set->entries, &entry, &len);
	put_locked_set(set);
	if (err)
		return explain(info->extack, err);
	return reply_found(info, found, len);
}

/* Where a dump of entries is, and of what. */
struct entry_dump {
	struct ipcuckoo_set *set;
	u64 pos;
	u32 layout;
	bool begun;
};

static int entry_get_start(struct netlink_callback *cb)
{
	const struct genl_dumpit_info *info = genl_dumpit_info(cb);
	struct entry_dump *dump = (void *)cb->ctx;
	struct ipcuckoo_set *set;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	set = get_set(sock_net(cb->skb->sk), info->attrs, cb->extack);
	if (IS_ERR(set))
		return PTR_ERR(set);
	dump->set = set;
	return 0;
}

static int entry_get_done(struct netlink_callback *cb)
{
	struct entry_dump *dump = (void *)cb->ctx;

	if (dump->set)
		ipcuckoo_set_put(dump->set);
	return 0;
}

static void pack_entry(u8 *data, const struct ipcuckoo_entry *entry,
		       enum ipcuckoo_kind kind)
{
	if (entry->v6) {
		put_unaligned_be64(entry->addr.hi, data);
		put_unaligned_be64(entry->addr.lo, data + 8);
	} else {
		put_unaligned_be32(entry->addr.lo, data);
	}
	if (kind == IPCUCKOO_NETS4 || kind == IPCUCKOO_NETS6)
		data[entries_size[kind] - 1] = entry->len;
}

/* Put as many entries of one kind as fit into one attribute. Returns whether
 * there is room for more in the message.
 */
static bool dump_kind(struct sk_buff *skb, struct ipcuckoo_entries *e, u64 *pos,
		      bool *end)
{
	enum ipcuckoo_kind kind = IPCUCKOO_KINDS;
	struct ipcuckoo_entry entry;
	struct nlattr *attr = NULL;
	unsigned int size = 0;
	u64 at = *pos;

	while (!(*end = !ipcuckoo_entries_next(e, &at, &entry))) {
		if (!attr) {
			kind = ipcuckoo_entry_kind(&entry);
			size = entries_size[kind];
			if (skb_tailroom(skb) < nla_total_size(size))
				return false;
			attr = nla_reserve(skb, entries_attr[kind], 0);
		}
		if (kind != ipcuckoo_entry_kind(&entry))
			break;
		if (skb_tailroom(skb) < size + NLA_ALIGNTO ||
		    attr->nla_len + size > U16_MAX)
			break;
		pack_entry(skb_put(skb, size), &entry, kind);
		attr->nla_len += size;
		*pos = at;
	}
	if (attr)
		skb_put_zero(skb, nla_padlen(nla_len(attr)));
	return attr && !*end;
}

/* The set's mutex is held for one message at a time. A change between two of
 * them is told by NLM_F_DUMP_INTR; if it was one after which positions mean
 * nothing any more, the dump ends there.
 */
static int entry_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct entry_dump *dump = (void *)cb->ctx;
	struct ipcuckoo_entries *e = &dump->set->entries;
	u64 begin = dump->pos;
	bool end = false;
	void *header;

	if (ipcuckoo_set_lock(dump->set))
		return -ENOENT;
	cb->seq = e->layout + e->generation + 1;
	if (dump->begun && dump->layout != e->layout)
		goto out;
	dump->begun = true;
	dump->layout = e->layout;
	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
			     cb->nlh->nlmsg_seq, &ipcuckoo_nl_family,
			     NLM_F_MULTI, IPCUCKOO_CMD_ENTRY_GET);
	if (!header)
		goto out;
	genl_dump_check_consistent(cb, header);
	while (dump_kind(skb, e, &dump->pos, &end))
		;
	if (dump->pos != begin)
		genlmsg_end(skb, header);
	else
		genlmsg_cancel(skb, header);
out:
	ipcuckoo_set_unlock(dump->set);
	return skb->len;
}

/* Shadows */

static int shadow_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	const u32 capacity[IPCUCKOO_KINDS] = {
		[IPCUCKOO_HOSTS4] = get_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS4, 0),
		[IPCUCKOO_HOSTS6] = get_u32(attrs, IPCUCKOO_A_CAPACITY_HOSTS6, 0),
		[IPCUCKOO_NETS4] = get_u32(attrs, IPCUCKOO_A_CAPACITY_NETS4, 0),
		[IPCUCKOO_NETS6] = get_u32(attrs, IPCUCKOO_A_CAPACITY_NETS6, 0),
	};
	struct net *net = genl_info_net(info);
	struct ipcuckoo_set *set;
	int err;
	u32 id;

	set = get_set(net, attrs, info->extack);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = ipcuckoo_shadow_create(ipcuckoo_net(net), set, info->snd_portid,
				     has_flag(attrs, IPCUCKOO_F_APPEND),
				     capacity, &id);
	ipcuckoo_set_put(set);
	if (err == -ENOENT)
		return no_such_set(attrs, info->extack);
	if (err)
		return explain(info->extack, err);
	return REPLY_U32(info, { IPCUCKOO_A_SHADOW, id });
}

/* The shadow that a request names, held. */
static struct ipcuckoo_shadow *get_shadow(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[IPCUCKOO_A_SHADOW];
	struct ipcuckoo_shadow *shadow;

	if (!attr) {
		NL_SET_ERR_MSG(info->extack, "the number of a shadow is missing");
		return ERR_PTR(-EINVAL);
	}
	shadow = ipcuckoo_shadow_get(ipcuckoo_net(genl_info_net(info)),
				     info->snd_portid, nla_get_u32(attr));
	if (shadow)
		return shadow;
	NL_SET_ERR_MSG_ATTR(info->extack, attr, "this socket has no such shadow");
	return ERR_PTR(-ENOENT);
}

static int shadow_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_batch_result result = {};
	struct ipcuckoo_shadow *shadow;
	struct ipcuckoo_batch batch;
	u32 total;
	int err;

	err = get_batch(info, &batch, &total);
	if (err)
		return err;
	shadow = get_shadow(info);
	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	err = ipcuckoo_shadow_add(shadow, &batch, &result);
	ipcuckoo_shadow_put(shadow);
	if (err)
		return explain_batch(info, err, &result);
	return REPLY_U32(info, { IPCUCKOO_A_UNCHANGED, result.unchanged },
			       { IPCUCKOO_A_CHANGED, result.changed });
}

static int shadow_commit_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_shadow *shadow = get_shadow(info);
	u32 entries, changed, unchanged;
	int err;

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	err = ipcuckoo_shadow_commit(shadow,
				     has_flag(info->attrs, IPCUCKOO_F_OVERRIDE),
				     &entries);
	changed = shadow->changed;
	unchanged = shadow->unchanged;
	if (!err)
		ipcuckoo_shadow_remove(ipcuckoo_net(genl_info_net(info)), shadow);
	ipcuckoo_shadow_put(shadow);
	switch (err) {
	case 0:
		return REPLY_U32(info, { IPCUCKOO_A_UNCHANGED, unchanged },
				       { IPCUCKOO_A_CHANGED, changed },
				       { IPCUCKOO_A_ENTRIES, entries });
	case -ESTALE:
		NL_SET_ERR_MSG(info->extack,
			       "the set has changed since the shadow was made; start over, or override");
		return err;
	case -ENOENT:
		NL_SET_ERR_MSG(info->extack, "the set was destroyed");
		return err;
	default:
		return explain(info->extack, err);
	}
}

static int shadow_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_shadow *shadow = get_shadow(info);

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	ipcuckoo_shadow_remove(ipcuckoo_net(genl_info_net(info)), shadow);
	ipcuckoo_shadow_put(shadow);
	return 0;
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

/* Attachments */

/* What a request says of an attachment; 0 and "" where it says nothing. */
static struct ipcuckoo_rule get_rule(struct nlattr **attrs)
{
	struct ipcuckoo_rule rule = {
		.loopback = has_flag(attrs, IPCUCKOO_F_LOOPBACK),
	};

	if (attrs[IPCUCKOO_A_DIRECTION])
		rule.dir = nla_get_u8(attrs[IPCUCKOO_A_DIRECTION]);
	if (attrs[IPCUCKOO_A_VERDICT])
		rule.verdict = nla_get_u8(attrs[IPCUCKOO_A_VERDICT]);
	if (attrs[IPCUCKOO_A_DEV])
		nla_strscpy(rule.dev, attrs[IPCUCKOO_A_DEV], sizeof(rule.dev));
	return rule;
}

static int check_rule(struct genl_info *info, struct ipcuckoo_rule *rule)
{
	static const s32 orders[] = {
		[IPCUCKOO_VERDICT_DROP] = IPCUCKOO_ORDER_DROP,
		[IPCUCKOO_VERDICT_ACCEPT] = IPCUCKOO_ORDER_ACCEPT,
		[IPCUCKOO_VERDICT_MARK] = IPCUCKOO_ORDER_MARK,
		[IPCUCKOO_VERDICT_COUNT] = IPCUCKOO_ORDER_COUNT,
	};
	struct nlattr **attrs = info->attrs;
	bool mark = rule->verdict == IPCUCKOO_VERDICT_MARK;

	if (!rule->dir || !rule->verdict) {
		NL_SET_ERR_MSG(info->extack, "the direction or the verdict is missing");
		return -EINVAL;
	}
	if (mark != !!attrs[IPCUCKOO_A_MARK] ||
	    (!mark && attrs[IPCUCKOO_A_MARK_MASK])) {
		NL_SET_ERR_MSG(info->extack, "a mark belongs to the verdict mark, and it to a mark");
		return -EINVAL;
	}
	if (attrs[IPCUCKOO_A_DEV] && !dev_valid_name(rule->dev)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_DEV],
				    "not a valid name of a device");
		return -EINVAL;
	}
	rule->mark = get_u32(attrs, IPCUCKOO_A_MARK, 0);
	rule->mask = get_u32(attrs, IPCUCKOO_A_MARK_MASK, mark ? U32_MAX : 0);
	rule->order = attrs[IPCUCKOO_A_ORDER] ?
		      nla_get_s32(attrs[IPCUCKOO_A_ORDER]) :
		      orders[rule->verdict];
	if (rule->mark & ~rule->mask) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[IPCUCKOO_A_MARK],
				    "the mark has bits outside its mask");
		return -EINVAL;
	}
	return 0;
}

static int attach_doit(struct sk_buff *skb, struct genl_info *info)
{
	const char *name = get_name(info->attrs, info->extack);
	struct ipcuckoo_rule rule = get_rule(info->attrs);
	u32 id = 0;
	int err;

	if (!name)
		return -EINVAL;
	err = check_rule(info, &rule);
	if (err)
		return err;
	err = ipcuckoo_attach(ipcuckoo_net(genl_info_net(info)), name, &rule,
			      &id);
	switch (err) {
	case 0:
		return REPLY_U32(info, { IPCUCKOO_A_ATTACHMENT, id });
	case -ENOENT:
		return no_such_set(info->attrs, info->extack);
	case -EEXIST:
		if (has_flag(info->attrs, IPCUCKOO_F_EXIST))
			return REPLY_U32(info, { IPCUCKOO_A_ATTACHMENT, id });
		NL_SET_ERR_MSG(info->extack, "the set is attached like that already");
		return err;
	default:
		return explain(info->extack, err);
	}
}

/* One of: a number, a name with details, ALL. */
static int detach_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(genl_info_net(info));
	struct ipcuckoo_rule rule = get_rule(info->attrs);
	u32 id = get_u32(info->attrs, IPCUCKOO_A_ATTACHMENT, 0), count;
	const char *name = NULL;
	int err = 0;

	if (!info->attrs[IPCUCKOO_A_ATTACHMENT])
		err = get_name_or_all(info, &name);
	if (err)
		return err;
	if (!name && (rule.dir || rule.verdict || *rule.dev ||
		      info->attrs[IPCUCKOO_A_SET] ||
		      (info->attrs[IPCUCKOO_A_ATTACHMENT] &&
		       (!id || has_flag(info->attrs, IPCUCKOO_F_ALL))))) {
		NL_SET_ERR_MSG(info->extack, "give the number of an attachment, or a set and what narrows the choice, or ask for all");
		return -EINVAL;
	}
	err = ipcuckoo_detach(inet, id, name, &rule, &count);
	if (err == -ENOENT && (has_flag(info->attrs, IPCUCKOO_F_EXIST) ||
			       has_flag(info->attrs, IPCUCKOO_F_ALL)))
		err = 0;
	if (!err)
		return REPLY_U32(info, { IPCUCKOO_A_CHANGED, count });
	if (err == -ENOENT)
		NL_SET_ERR_MSG(info->extack, "there is no such attachment");
	return err;
}

static int fill_attachment(struct sk_buff *skb,
			   const struct ipcuckoo_attachment *at)
{
	struct ipcuckoo_counter sum = ipcuckoo_attachment_count(at);
	const struct ipcuckoo_rule *rule = &at->rule;
	bool mark = rule->verdict == IPCUCKOO_VERDICT_MARK;

	return nla_put_u32(skb, IPCUCKOO_A_ATTACHMENT, at->id) ||
	       nla_put_string(skb, IPCUCKOO_A_SET, at->set->name) ||
	       nla_put_u8(skb, IPCUCKOO_A_DIRECTION, rule->dir) ||
	       nla_put_u8(skb, IPCUCKOO_A_VERDICT, rule->verdict) ||
	       (mark && nla_put_u32(skb, IPCUCKOO_A_MARK, rule->mark)) ||
	       (mark && nla_put_u32(skb, IPCUCKOO_A_MARK_MASK, rule->mask)) ||
	       nla_put_s32(skb, IPCUCKOO_A_ORDER, rule->order) ||
	       nla_put_s32(skb, IPCUCKOO_A_PRIORITY, ipcuckoo_hook_priority) ||
	       (*rule->dev && nla_put_string(skb, IPCUCKOO_A_DEV, rule->dev)) ||
	       nla_put_u32(skb, IPCUCKOO_A_FLAGS,
			   rule->loopback ? IPCUCKOO_F_LOOPBACK : 0) ||
	       put_u64(skb, IPCUCKOO_A_PACKETS, sum.packets) ||
	       put_u64(skb, IPCUCKOO_A_BYTES, sum.bytes) ? -EMSGSIZE : 0;
}

/* cb->args[0] counts what was dumped. */
static int attach_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ipcuckoo_net *inet = ipcuckoo_net(sock_net(skb->sk));
	const struct ipcuckoo_attachment *at;
	long skip = cb->args[0];
	void *header;

	mutex_lock(&inet->mutex);
	cb->seq = inet->attached.seq + 1;
	list_for_each_entry(at, &inet->attached.list, list) {
		if (skip-- > 0)
			continue;
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				     cb->nlh->nlmsg_seq, &ipcuckoo_nl_family,
				     NLM_F_MULTI, IPCUCKOO_CMD_ATTACH_GET);
		if (!header)
			break;
		genl_dump_check_consistent(cb, header);
		if (fill_attachment(skb, at)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0]++;
	}
	mutex_unlock(&inet->mutex);
	return skb->len;
}

/* The family */

#define OP(command, table, ...) {					\
	.cmd = IPCUCKOO_CMD_##command,					\
	.flags = GENL_UNS_ADMIN_PERM,					\
	.policy = table,						\
	.maxattr = ARRAY_SIZE(table) - 1,				\
	__VA_ARGS__							\
}

static const struct genl_ops ops[] = {
	OP(INFO, none_policy, .doit = info_doit),
	OP(SET_NEW, set_new_policy, .doit = set_new_doit),
	OP(SET_DEL, set_del_policy, .doit = set_del_doit),
	OP(SET_GET, set_policy, .doit = set_get_doit,
	   .dumpit = set_get_dumpit),
	OP(SET_FLUSH, set_flush_policy, .doit = set_flush_doit),
	OP(ENTRY_ADD, entry_policy, .doit = entry_add_doit),
	OP(ENTRY_DEL, entry_policy, .doit = entry_del_doit),
	OP(ENTRY_TEST, entry_test_policy, .doit = entry_test_doit),
	OP(ENTRY_GET, set_policy, .start = entry_get_start,
	   .dumpit = entry_get_dumpit, .done = entry_get_done),
	OP(SHADOW_NEW, shadow_new_policy, .doit = shadow_new_doit),
	OP(SHADOW_ADD, shadow_add_policy, .doit = shadow_add_doit),
	OP(SHADOW_COMMIT, shadow_commit_policy, .doit = shadow_commit_doit),
	OP(SHADOW_DEL, shadow_del_policy, .doit = shadow_del_doit),
	OP(ATTACH, attach_policy, .doit = attach_doit),
	OP(DETACH, detach_policy, .doit = detach_doit),
	OP(ATTACH_GET, none_policy, .dumpit = attach_get_dumpit),
};

static struct genl_family ipcuckoo_nl_family __ro_after_init = {
	.name = IPCUCKOO_FAMILY_NAME,
	.version = IPCUCKOO_FAMILY_VERSION,
	.maxattr = IPCUCKOO_A_MAX,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.resv_start_op = __IPCUCKOO_CMD_MAX,
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
	int err;

	err = netlink_register_notifier(&release_notifier);
	if (err)
		return err;
	err = genl_register_family(&ipcuckoo_nl_family);
	if (err)
		netlink_unregister_notifier(&release_notifier);
	return err;
}

/**
 * ipcuckoo_nl_exit() - take no more requests
 */
void ipcuckoo_nl_exit(void)
{
	genl_unregister_family(&ipcuckoo_nl_family);
	netlink_unregister_notifier(&release_notifier);
}
