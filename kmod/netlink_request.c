// SPDX-License-Identifier: GPL-2.0-only
/* Helpers of all handlers of requests: see netlink_request.h. */
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "compat.h"
#include "attach.h"
#include "commit.h"
#include "lock.h"
#include "names.h"
#include "net.h"
#include "netlink_request.h"
#include "shadow.h"
#include "wire.h"

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

/* Get an attribute that the request must have. Return: NULL if it is missing, and then the
 * extended ACK says so.
 */
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
		[IPCUCKOO_A_CHANGES] = "there are no changes in the request",
		[IPCUCKOO_A_DIRECTION] = "the direction is missing",
		[IPCUCKOO_A_VERDICT] = "the verdict is missing",
		[IPCUCKOO_A_MARK] = "the verdict mark needs a mark",
		[IPCUCKOO_A_LOG] = "LOG is missing: it says where to log",
		[IPCUCKOO_A_DEV] = "an attachment at ingress or XDP needs the name of a device",
		[IPCUCKOO_A_PROTOCOL] = "PORTS need a protocol",
		[IPCUCKOO_A_PORTS] = "PROTOCOL needs PORTS",
	};

	if (!attrs[type] && extack) {
		extack->_msg = sentences[type];
		NL_SET_ERR_ATTR_MISS(extack, NULL, type);
	}
	return attrs[type];
}

/* Get the name of a set from an attribute. Return: NULL if it is not valid, and then the
 * extended ACK says so.
 */
const char *ipcuckoo_nl_check_name(const struct nlattr *attr,
				   struct netlink_ext_ack *extack)
{
	if (ipcuckoo_names_valid(nla_data(attr)))
		return nla_data(attr);
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "a set's name has 1 to 31 ASCII letters, digits and punctuation characters but '/' and '\"', and is not '.' or '..'");
	return NULL;
}

/* Get the name of the set in a request. Return: NULL if it is missing or not valid, and
 * then the extended ACK says so.
 */
const char *ipcuckoo_nl_name(struct nlattr **attrs,
			     struct netlink_ext_ack *extack)
{
	struct nlattr *attr = ipcuckoo_nl_need(attrs, IPCUCKOO_A_SET, extack);

	return attr ? ipcuckoo_nl_check_name(attr, extack) : NULL;
}

/* Say in the extended ACK that there is no set of the name in a request. Return: -ENOENT. */
int ipcuckoo_nl_no_such_set(struct nlattr **attrs, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_SET], "there is no set of that name");
	return -ENOENT;
}

/* Find and lock the set that attributes name. Sets of ip_set may have names that ours cannot have,
 * so a name is refused only if there is no such set. Return: the set with a reference, to be
 * released with ipcuckoo_nl_unlock_set(), or ERR_PTR().
 */
struct ipcuckoo_set *ipcuckoo_nl_lock_attr_set(struct net *net, struct nlattr **attrs,
					       struct netlink_ext_ack *extack)
{
	struct nlattr *attr = ipcuckoo_nl_need(attrs, IPCUCKOO_A_SET, extack);
	struct ipcuckoo_set *set;

	if (!attr)
		return ERR_PTR(-EINVAL);
	set = ipcuckoo_set_get_locked(ipcuckoo_net(net), nla_data(attr), ipcuckoo_lock_limit());
	if (set == ERR_PTR(-ENOENT)) {
		if (!ipcuckoo_nl_check_name(attr, extack))
			return ERR_PTR(-EINVAL);
		ipcuckoo_nl_no_such_set(attrs, extack);
	} else if (IS_ERR(set)) {
		ipcuckoo_nl_explain(extack, PTR_ERR(set));
	}
	return set;
}

/* Find and lock the set that a request names: as ipcuckoo_nl_lock_attr_set(). */
struct ipcuckoo_set *ipcuckoo_nl_lock_set(struct genl_info *info)
{
	return ipcuckoo_nl_lock_attr_set(genl_info_net(info), info->attrs, info->extack);
}

void ipcuckoo_nl_unlock_set(struct ipcuckoo_set *set)
{
	ipcuckoo_set_unlock(set);
	ipcuckoo_set_put(set);
}

/* Sentences for errors that many handlers can return. */
static const struct {
	int err;
	const char *sentence;
} sentences[] = {
	{ -EINVAL,
	  "entry not valid: host bits set, prefix too long, or IPv4-mapped (write it as IPv4)" },
	{ -EREMOTE,
	  "the set belongs to ip_set: use ipset, or rules of iptables that refer to it" },
	{ -EAFNOSUPPORT,
	  "the set does not hold addresses of this family" },
	{ -EOPNOTSUPP,
	  "a set of this type holds hosts only; make a hash:net set for prefixes" },
	{ -EADDRNOTAVAIL,
	  "the set belongs to ip_set, whose hash:ip has no 0.0.0.0 or ::, and hash:net no /0" },
	{ -EEXIST,
	  "the entry is in the set already" },
	{ -ENOENT,
	  "the entry is not in the set" },
	{ -ENOSPC,
	  "the set is full: its maxelem or capacity is reached, or its table has no room left" },
	{ -EMLINK,
	  "no room for another copy of the entry: 8 at most, fewer if others use its slots" },
	{ -E2BIG,
	  "1024 attachments exist, or the kernel accepts no more netfilter hooks: detach some" },
	{ -ENOPROTOOPT,
	  "this kernel has no such logger: nf_log_syslog or nfnetlink_log cannot be loaded" },
	{ -EPROTONOSUPPORT,
	  "NEW needs connection tracking: nf_conntrack cannot be loaded" },
	{ -EAGAIN,
	  "other requests or writers are busy, or a module is being loaded: send it again" },
	{ -EXDEV,
	  "one commit cannot both swap a set in use and change its contents: use two commits" },
	{ -ENODEV,
	  "the module is being unloaded" },
	{ -EDQUOT,
	  "the memory limit of this network namespace is reached (module parameter memory_limit)" },
	{ -ENOMEM,
	  "out of memory" },
};

/* Put the sentence for @err into the extended ACK, if sentences[] has one. Return: @err. */
int ipcuckoo_nl_explain(struct netlink_ext_ack *extack, int err)
{
	unsigned int i;

	for (i = 0; extack && i < ARRAY_SIZE(sentences); i++)
		if (sentences[i].err == err)
			extack->_msg = sentences[i].sentence;
	return err;
}

/* Get the name of the set in a request, or NULL if the request has the flag ALL instead.
 * Return: 0; or -EINVAL if it has both or neither, or the name is not valid, and then the
 * extended ACK says so.
 */
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

/* Allocate a reply. Handlers do this before they change anything, so that a change never
 * succeeds without memory for its reply.
 */
int ipcuckoo_nl_reply_begin(struct genl_info *info,
			    struct ipcuckoo_nl_reply *reply)
{
	reply->skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!reply->skb)
		return ipcuckoo_nl_explain(info->extack, -ENOMEM);
	reply->header = genlmsg_put_reply(reply->skb, info, &ipcuckoo_wire_family,
					  0, info->genlhdr->cmd);
	return 0;
}

/* Put a number into a reply. Replies are small, so it always fits. */
void ipcuckoo_nl_reply_u32(struct ipcuckoo_nl_reply *reply, int attr, u32 value)
{
	WARN_ON_ONCE(nla_put_u32(reply->skb, attr, value));
}

/* Send a reply; or, if @err, drop it. An error of sending is ignored: a client that does
 * not read its socket misses the reply, but the change was made.
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

/* Begin a message of a dump. The caller has set cb->seq: if it differs from that of the
 * previous message, the dump is inconsistent (NLM_F_DUMP_INTR). Return: NULL if there is no
 * room.
 */
void *ipcuckoo_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			   u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, &ipcuckoo_wire_family,
				   NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

/* Entries */

/* Are there exactly @total comments, each terminated and none too long? */
static bool comments_fit(const struct nlattr *attr, u32 total)
{
	const char *p = nla_data(attr), *end = p + nla_len(attr);
	size_t len;

	while (total--) {
		len = strnlen(p, end - p);
		if (p + len == end || len > IPCUCKOO_COMMENT_MAX)
			return false;
		p += len + 1;
	}
	return p == end;
}

/* The longest timeout in seconds that ipset accepts: it could not restore a longer one. */
#define IPSET_TIMEOUT_MAX	((UINT_MAX >> 1) / MSEC_PER_SEC)

/* Is no timeout longer than @max? */
static bool timeouts_fit(const struct nlattr *attr, u32 max)
{
	const u8 *p = nla_data(attr), *end = p + nla_len(attr);

	for (; p < end; p += IPCUCKOO_TIMEOUT_SIZE)
		if (get_unaligned_be32(p) > max)
			return false;
	return true;
}

/* Get the extensions of the entries of a request, and check their sizes and timeouts. */
static int get_exts(struct genl_info *info, struct ipcuckoo_batch *batch, u32 total)
{
	const struct ipcuckoo_wire_ext *ext;
	const struct nlattr *attr;
	unsigned int i;

	for (i = 0; i < IPCUCKOO_WIRE_EXTS; i++) {
		ext = &ipcuckoo_wire_exts[i];
		attr = info->attrs[ext->attr];
		batch->ext[i] = attr ? nla_data(attr) : NULL;
		if (!attr)
			continue;
		if (ext->size ? nla_len(attr) != (u64)ext->size * total :
				!comments_fit(attr, total)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "the attribute must have one value for each entry; a comment is a string of at most 255 bytes, with a terminating 0");
			return -EINVAL;
		}
	}
	attr = info->attrs[IPCUCKOO_A_TIMEOUTS];
	if (attr && !timeouts_fit(attr, IPCUCKOO_TIMEOUT_MAX)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "a timeout has 2147483647 seconds at most");
		return -ERANGE;
	}
	return 0;
}

/* Check that the set has each extension that a request sets. Return: 0; -EOPNOTSUPP if not, and
 * then the extended ACK says which one it has not; or -ERANGE if a timeout is too long for ipset.
 */
int ipcuckoo_nl_check_exts(struct genl_info *info, const struct ipcuckoo_set *set)
{
	const struct nlattr *timeouts = info->attrs[IPCUCKOO_A_TIMEOUTS];
	const struct ipcuckoo_wire_ext *ext;

	for (ext = ipcuckoo_wire_exts; ext < ipcuckoo_wire_exts + IPCUCKOO_WIRE_EXTS; ext++) {
		if (!info->attrs[ext->attr])
			continue;
		if (ext->option ? set->entries.options & ext->option :
				  set->type == IPCUCKOO_TYPE_HASH_NET)
			continue;
		NL_SET_BAD_ATTR(info->extack, info->attrs[ext->attr]);
		if (info->extack)
			info->extack->_msg = ext->sentence;
		return -EOPNOTSUPP;
	}
	if (timeouts && set->ipset && !timeouts_fit(timeouts, IPSET_TIMEOUT_MAX)) {
		NL_SET_ERR_MSG_ATTR(info->extack, timeouts,
				    "the set belongs to ip_set, where a timeout has 2147483 seconds at most");
		return -ERANGE;
	}
	return 0;
}

/* Get the packed entries of a request, without extensions; set @total to their number.
 * Return: 0; or -EINVAL if there are none or their size is wrong, and then the extended ACK
 * says so.
 */
int ipcuckoo_nl_get_entries(struct genl_info *info, struct ipcuckoo_batch *batch,
			    u32 *total)
{
	struct nlattr *attr, *empty = NULL;
	int kind;

	*batch = (struct ipcuckoo_batch){};
	*total = 0;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		attr = info->attrs[ipcuckoo_wire_entry_attr[kind]];
		batch->data[kind] = attr ? nla_data(attr) : NULL;
		batch->count[kind] = attr ? nla_len(attr) / ipcuckoo_wire_entry_size[kind] : 0;
		if (attr && nla_len(attr) % ipcuckoo_wire_entry_size[kind]) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "the length of the attribute is not a multiple of the size of an entry");
			return -EINVAL;
		}
		*total += batch->count[kind];
		empty = empty ?: attr;
	}
	if (*total)
		return 0;
	if (empty)
		NL_SET_ERR_MSG_ATTR(info->extack, empty, "the attribute has no entries");
	else
		ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_HOSTS4, info->extack);
	return -EINVAL;
}

/* Get the packed entries of a request to add, with their extensions. */
int ipcuckoo_nl_get_batch(struct genl_info *info, struct ipcuckoo_batch *batch)
{
	u32 total;

	return ipcuckoo_nl_get_entries(info, batch, &total) ?: get_exts(info, batch, total);
}

/* Put the entry at fault into the extended ACK: its attribute, and its index in the cookie.
 * If the error is not about one entry, the attribute is that of the set or shadow.
 */
void ipcuckoo_nl_blame_entry(struct genl_info *info,
			     const struct ipcuckoo_batch_cursor *at)
{
	struct netlink_ext_ack *extack = info->extack;

	if (!extack)
		return;
	if (at->kind >= IPCUCKOO_KINDS) {
		NL_SET_BAD_ATTR(extack, info->attrs[IPCUCKOO_A_SET] ?:
					info->attrs[IPCUCKOO_A_SHADOW]);
		return;
	}
	NL_SET_BAD_ATTR(extack, info->attrs[ipcuckoo_wire_entry_attr[at->kind]]);
	memcpy(extack->cookie, &at->index, sizeof(at->index));
	extack->cookie_len = sizeof(at->index);
}

/* Send the reply to a request to add or delete a batch, or its error. */
int ipcuckoo_nl_reply_batch(struct genl_info *info, struct ipcuckoo_nl_reply *reply,
			    int err, const struct ipcuckoo_change_result *result)
{
	if (err) {
		ipcuckoo_nl_explain(info->extack, err);
		ipcuckoo_nl_blame_entry(info, &result->at);
	} else {
		ipcuckoo_nl_reply_u32(reply, IPCUCKOO_A_CHANGED, result->changed);
		ipcuckoo_nl_reply_u32(reply, IPCUCKOO_A_UNCHANGED,
				      result->unchanged);
	}
	return ipcuckoo_nl_reply_end(info, reply, err);
}

/* Check that entries can be deleted from a set at all. Return: 0; or -EOPNOTSUPP if not, and
 * then the extended ACK says why.
 */
int ipcuckoo_nl_check_delete(struct genl_info *info, const struct ipcuckoo_set *set)
{
	if (ipcuckoo_set_deletes(set))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET] ?:
					  info->attrs[IPCUCKOO_A_SHADOW],
			    "nothing can be deleted from a filter that is not multi: the fingerprint may be another entry's");
	return -EOPNOTSUPP;
}

/* Shadows and commits */

/* Find the shadow that a request names; it must be one of the socket that sent the request.
 * Return: the shadow with a reference, or ERR_PTR().
 */
struct ipcuckoo_shadow *ipcuckoo_nl_find_shadow(struct net *net, const struct sock *sk, u32 portid,
						struct nlattr **attrs,
						struct netlink_ext_ack *extack)
{
	struct nlattr *attr = ipcuckoo_nl_need(attrs, IPCUCKOO_A_SHADOW, extack);
	struct ipcuckoo_shadow *shadow;

	if (!attr)
		return ERR_PTR(-EINVAL);
	shadow = ipcuckoo_shadow_get(ipcuckoo_net(net), sk, portid, nla_get_u32(attr));
	if (shadow)
		return shadow;
	NL_SET_ERR_MSG_ATTR(extack, attr, "this socket has no such shadow");
	return ERR_PTR(-ENOENT);
}

struct ipcuckoo_shadow *ipcuckoo_nl_shadow(struct sk_buff *skb, struct genl_info *info)
{
	return ipcuckoo_nl_find_shadow(genl_info_net(info), NETLINK_CB(skb).sk, info->snd_portid,
				       info->attrs, info->extack);
}

/* Say in the extended ACK why a shadow cannot become the contents of its set. Return: @err. */
int ipcuckoo_nl_explain_shadow(struct genl_info *info, int err)
{
	struct nlattr *attr = info->attrs[IPCUCKOO_A_SHADOW];

	switch (err) {
	case -ESTALE:
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the shadow was committed already, or the set has changed since the shadow was made: make a new one (OVERRIDE accepts a changed set, but not a swapped one)");
		break;
	case -ENOENT:
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the set of the shadow was destroyed, or does not exist yet");
		break;
	case -EBUSY:
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "another request is using the shadow, or the commit names it twice");
		break;
	default:
		ipcuckoo_nl_explain(info->extack, err);
		break;
	}
	return err;
}

/* Drop the references of a change, and free its memory: after its commit, whether that
 * succeeded or not; or without a commit, if the request was refused. A shadow that was
 * committed is deleted.
 */
void ipcuckoo_nl_discard_change(struct ipcuckoo_net *pernet,
				struct ipcuckoo_commit_change *change)
{
	if (change->kind == IPCUCKOO_COMMIT_CREATE && !IS_ERR_OR_NULL(change->set))
		ipcuckoo_set_put(change->set);
	if (change->shadow && change->done)
		ipcuckoo_shadow_remove(pernet, change->shadow);
	if (change->shadow)
		ipcuckoo_shadow_put(change->shadow);
	if (change->at)
		ipcuckoo_attach_discard(pernet, change->at);
}

/* Handle a request that is one change: parse it with @parse, and commit it. If the commit
 * fails, @explain says why.
 */
int ipcuckoo_nl_change_doit(struct sk_buff *skb, struct genl_info *info,
			    ipcuckoo_nl_parse_fn parse, ipcuckoo_nl_explain_fn explain)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(genl_info_net(info));
	struct ipcuckoo_commit_change change = {};
	unsigned int at;
	int err;

	err = parse(skb, info, &change);
	if (!err) {
		err = ipcuckoo_commit(pernet, &change, 1, false, &at);
		err = err ? explain(info, err) : 0;
	}
	ipcuckoo_nl_discard_change(pernet, &change);
	return err;
}
