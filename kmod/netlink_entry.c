// SPDX-License-Identifier: GPL-2.0-only
/* The commands on entries, of sets and of shadows. */
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "batch.h"
#include "change.h"
#include "compat.h"
#include "net.h"
#include "netlink.h"
#include "set.h"
#include "shadow.h"

/* The attributes of packed entries, and bytes of an entry, by kind. */
const u8 ipcuckoo_nl_entry_attr[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_A_HOSTS4,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_A_HOSTS6,
	[IPCUCKOO_NETS4] = IPCUCKOO_A_NETS4,
	[IPCUCKOO_NETS6] = IPCUCKOO_A_NETS6,
};

const u8 ipcuckoo_nl_entry_size[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_HOST4_SIZE,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_HOST6_SIZE,
	[IPCUCKOO_NETS4] = IPCUCKOO_NET4_SIZE,
	[IPCUCKOO_NETS6] = IPCUCKOO_NET6_SIZE,
};

/* What can come with entries: as much of it for each as this, what a set has
 * to be made with, and where it goes.
 */
static const struct {
	u8 attr;
	u8 size;
	u8 option;
	const char *sentence;
	size_t member;
} values[] = {
	{ IPCUCKOO_A_TIMEOUTS, IPCUCKOO_TIMEOUT_SIZE, IPCUCKOO_O_TIMEOUT,
	  "the set was made without the option TIMEOUT",
	  offsetof(struct ipcuckoo_batch, timeouts) },
	{ IPCUCKOO_A_COUNTERS, IPCUCKOO_COUNTERS_SIZE, IPCUCKOO_O_COUNTERS,
	  "the set was made without the option COUNTERS",
	  offsetof(struct ipcuckoo_batch, counters) },
	{ IPCUCKOO_A_SKBINFOS, IPCUCKOO_SKBINFO_SIZE, IPCUCKOO_O_SKBINFO,
	  "the set was made without the option SKBINFO",
	  offsetof(struct ipcuckoo_batch, skbinfos) },
	{ IPCUCKOO_A_COMMENTS, 0, IPCUCKOO_O_COMMENT,
	  "the set was made without the option COMMENT",
	  offsetof(struct ipcuckoo_batch, comments) },
	{ IPCUCKOO_A_NOMATCHES, IPCUCKOO_NOMATCH_SIZE, 0,
	  "only sets of type hash:net have exceptions",
	  offsetof(struct ipcuckoo_batch, nomatches) },
};

/* As many comments as entries, none too long, and no more than these. */
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

static bool timeouts_fit(const struct nlattr *attr, u32 total)
{
	const u8 *p = nla_data(attr);

	for (; total--; p += IPCUCKOO_TIMEOUT_SIZE)
		if (get_unaligned_be32(p) > IPCUCKOO_TIMEOUT_MAX)
			return false;
	return true;
}

/* What comes with the entries of a request that may bring something. */
static int get_values(struct genl_info *info, struct ipcuckoo_batch *batch,
		      u32 total)
{
	const struct nlattr *attr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		attr = info->attrs[values[i].attr];
		*(const void **)((void *)batch + values[i].member) =
			attr ? nla_data(attr) : NULL;
		if (!attr)
			continue;
		if (values[i].size ? nla_len(attr) != (u64)values[i].size * total :
				     !comments_fit(attr, total)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "not as much of this as there are entries, or a comment without an end or of more than 255 bytes");
			return -EINVAL;
		}
	}
	attr = info->attrs[IPCUCKOO_A_TIMEOUTS];
	if (attr && !timeouts_fit(attr, total)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "a timeout has 2147483647 seconds at most");
		return -ERANGE;
	}
	return 0;
}

/* Does the set keep what comes with the entries? */
static int check_values(struct genl_info *info, const struct ipcuckoo_set *set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (!info->attrs[values[i].attr])
			continue;
		if (values[i].option ? set->entries.options & values[i].option :
				       set->type == IPCUCKOO_TYPE_HASH_NET)
			continue;
		NL_SET_BAD_ATTR(info->extack, info->attrs[values[i].attr]);
		if (info->extack)
			info->extack->_msg = values[i].sentence;
		return -EOPNOTSUPP;
	}
	return 0;
}

/* The packed entries of a request, one at least; nothing comes with them. */
static int get_entries(struct genl_info *info, struct ipcuckoo_batch *batch,
		       u32 *total)
{
	struct nlattr *attr, *empty = NULL;
	int kind;

	*batch = (struct ipcuckoo_batch){};
	*total = 0;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		attr = info->attrs[ipcuckoo_nl_entry_attr[kind]];
		batch->data[kind] = attr ? nla_data(attr) : NULL;
		batch->count[kind] = attr ? nla_len(attr) / ipcuckoo_nl_entry_size[kind] : 0;
		if (attr && nla_len(attr) % ipcuckoo_nl_entry_size[kind]) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "packed entries do not fill the attribute evenly");
			return -EINVAL;
		}
		*total += batch->count[kind];
		empty = empty ?: attr;
	}
	if (*total)
		return 0;
	if (empty)
		NL_SET_ERR_MSG_ATTR(info->extack, empty, "there are no entries in it");
	else
		ipcuckoo_nl_need(info->attrs, IPCUCKOO_A_HOSTS4, info->extack);
	return -EINVAL;
}

/* The packed entries of an addition, and what comes with them. */
static int get_batch(struct genl_info *info, struct ipcuckoo_batch *batch)
{
	u32 total;

	return get_entries(info, batch, &total) ?: get_values(info, batch, total);
}

/* Point at the entry that is to blame, or at what has no room for all. */
static void blame_entry(struct genl_info *info,
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
	NL_SET_BAD_ATTR(extack, info->attrs[ipcuckoo_nl_entry_attr[at->kind]]);
	memcpy(extack->cookie, &at->index, sizeof(at->index));
	extack->cookie_len = sizeof(at->index);
}

/* Answer for a batch that was applied, or was not. */
static int reply_batch(struct genl_info *info, struct ipcuckoo_nl_reply *reply,
		       int err, const struct ipcuckoo_change_result *result)
{
	if (err) {
		ipcuckoo_nl_explain(info->extack, err);
		blame_entry(info, &result->at);
	} else {
		ipcuckoo_nl_reply_u32(reply, IPCUCKOO_A_CHANGED, result->changed);
		ipcuckoo_nl_reply_u32(reply, IPCUCKOO_A_UNCHANGED,
				      result->unchanged);
	}
	return ipcuckoo_nl_reply_end(info, reply, err);
}

/* What is refused whatever the entries are. */
static int check_delete(struct genl_info *info, const struct ipcuckoo_set *set)
{
	if (ipcuckoo_set_deletes(set))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[IPCUCKOO_A_SET] ?:
					  info->attrs[IPCUCKOO_A_SHADOW],
			    "nothing can be deleted from a filter that is not multi: the fingerprint may be another entry's");
	return -EOPNOTSUPP;
}

int ipcuckoo_nl_entry_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	bool exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	struct ipcuckoo_change_result result;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_batch batch;
	struct ipcuckoo_set *set;
	int err;

	err = get_batch(info, &batch) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_locked_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = check_values(info, set);
	if (err) {
		ipcuckoo_nl_put_set(set);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_change_add(set, &batch, exist, &result);
	ipcuckoo_nl_put_set(set);
	return reply_batch(info, &reply, err, &result);
}

int ipcuckoo_nl_entry_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	bool exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	struct ipcuckoo_change_result result;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_batch batch;
	struct ipcuckoo_set *set;
	u32 total;
	int err;

	err = get_entries(info, &batch, &total) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_locked_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = check_delete(info, set);
	if (err) {
		ipcuckoo_nl_put_set(set);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_change_del(set, &batch, exist, &result);
	ipcuckoo_nl_put_set(set);
	return reply_batch(info, &reply, err, &result);
}

/* The single entry of a request, and where it is. */
static int get_entry(struct genl_info *info, struct ipcuckoo_entry *entry,
		     struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_batch batch;
	u32 total;
	int err;

	err = get_entries(info, &batch, &total);
	if (err)
		return err;
	ipcuckoo_batch_next(&batch, at, entry);
	if (total == 1)
		return 0;
	ipcuckoo_batch_next(&batch, at, entry);
	NL_SET_ERR_MSG(info->extack, "one entry can be tested at a time");
	blame_entry(info, at);
	return -EINVAL;
}

/* In family any a mapped address is an IPv4 address, which was looked for as
 * such; packets that carry it match short IPv6 prefixes as well, unless something
 * longer decides, and that all of IPv4 is.
 */
static bool find_entry(struct ipcuckoo_set *set, const struct ipcuckoo_entry *asked,
		       const struct ipcuckoo_entry *entry, u8 *len)
{
	bool found = ipcuckoo_entries_find(&set->entries, entry, len);
	bool mapped = asked->v6 && asked->len == 128 && !entry->v6;

	if (!mapped || *len != IPCUCKOO_LEN_NONE)
		return found;
	return ipcuckoo_entries_find(&set->entries, asked, len);
}

int ipcuckoo_nl_entry_test_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry asked, entry;
	struct ipcuckoo_nl_reply reply;
	bool found = false, approximate;
	struct ipcuckoo_set *set;
	u32 copies = 0;
	u8 len = IPCUCKOO_LEN_NONE;
	int err;

	err = get_entry(info, &asked, &at);
	if (err)
		return err;
	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_locked_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	entry = asked;
	err = ipcuckoo_nl_explain(info->extack, ipcuckoo_set_normalize(set, &entry));
	if (err)
		blame_entry(info, &at);
	else
		found = find_entry(set, &asked, &entry, &len);
	approximate = ipcuckoo_entries_approximate(&set->entries);
	if (!err && approximate)
		copies = ipcuckoo_entries_copies(&set->entries, &entry);
	ipcuckoo_nl_put_set(set);
	if (!err && (nla_put_u8(reply.skb, IPCUCKOO_A_FOUND, found) ||
		     (approximate && nla_put_u32(reply.skb, IPCUCKOO_A_COPIES, copies)) ||
		     (len != IPCUCKOO_LEN_NONE &&
		      nla_put_u8(reply.skb, IPCUCKOO_A_PREFIX_LEN, len)) ||
		     (len != IPCUCKOO_LEN_NONE && !found &&
		      nla_put_u8(reply.skb, IPCUCKOO_A_NOMATCHES, 1))))
		err = -EMSGSIZE;
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* Where a dump of entries is, and of what. */
struct entry_dump {
	struct ipcuckoo_set *set;
	u64 pos;
	u32 layout;
	bool begun;
};

int ipcuckoo_nl_entry_get_done(struct netlink_callback *cb)
{
	struct entry_dump *dump = (void *)cb->ctx;

	if (dump->set)
		ipcuckoo_set_put(dump->set);
	return 0;
}

void ipcuckoo_nl_pack_entry(u8 *data, const struct ipcuckoo_entry *entry,
			    enum ipcuckoo_kind kind)
{
	if (entry->v6) {
		put_unaligned_be64(entry->addr.hi, data);
		put_unaligned_be64(entry->addr.lo, data + 8);
	} else {
		put_unaligned_be32(entry->addr.lo, data);
	}
	if (kind == IPCUCKOO_NETS4 || kind == IPCUCKOO_NETS6)
		data[ipcuckoo_nl_entry_size[kind] - 1] = entry->len;
}

/* Bytes that an entry takes in a message, with what is kept for it. */
static size_t dump_size(const struct ipcuckoo_entries *e, enum ipcuckoo_kind kind,
			const struct ipcuckoo_value *value)
{
	size_t size = ipcuckoo_nl_entry_size[kind] + IPCUCKOO_NOMATCH_SIZE;
	const char *comment = ipcuckoo_record_comment(value->record);
	unsigned int i;

	for (i = 0; e->options && i < ARRAY_SIZE(values); i++)
		if (e->options & values[i].option)
			size += values[i].size;
	if (e->options & IPCUCKOO_O_COMMENT)
		size += (comment ? strlen(comment) : 0) + 1;
	return size;
}

/**
 * struct dump_run - entries of one kind that go into one message
 * @kind:	the kind
 * @begin:	position to begin at
 * @end:	position behind the last
 * @now:	the time; entries that have ended are passed over
 * @except:	there are exceptions among them
 * @full:	the message has no room for the next one
 */
struct dump_run {
	enum ipcuckoo_kind kind;
	u64 begin;
	u64 end;
	u32 now;
	bool except;
	bool full;
};

/* Put as many entries of one kind as fit, with what is kept for them, into so
 * much room. Returns whether there are any.
 */
static bool put_entries(struct sk_buff *skb, struct ipcuckoo_entries *e,
			struct dump_run *run, size_t room, bool *end)
{
	struct nlattr *attr = NULL;
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
	enum ipcuckoo_kind kind;
	u64 at = run->begin;
	size_t size = 0;
	u8 *to;

	run->end = run->begin;
	while (!(*end = !ipcuckoo_entries_next_value(e, &at, &entry, &value))) {
		if (!ipcuckoo_expired(value.expires, run->now)) {
			kind = ipcuckoo_entry_kind(&entry);
			size += dump_size(e, kind, &value);
			run->full = size > room;
			if (run->full || (attr && kind != run->kind))
				break;
			if (!attr)
				attr = nla_reserve(skb, ipcuckoo_nl_entry_attr[kind], 0);
			run->kind = kind;
			run->except |= value.nomatch;
			to = skb_put(skb, ipcuckoo_nl_entry_size[kind]);
			ipcuckoo_nl_pack_entry(to, &entry, kind);
			attr->nla_len += ipcuckoo_nl_entry_size[kind];
		}
		run->end = at;
	}
	if (attr)
		skb_put_zero(skb, nla_padlen(nla_len(attr)));
	return attr;
}

/* What is kept for an entry, as it goes into a message. Returns its size. */
static size_t pack_value(u8 *data, u8 attr, const struct ipcuckoo_value *value, u32 now)
{
	const char *comment;
	struct ipcuckoo_skbinfo *info;
	struct ipcuckoo_hits *hits;

	switch (attr) {
	case IPCUCKOO_A_TIMEOUTS:
		put_unaligned_be32(ipcuckoo_left(value->expires, now), data);
		return IPCUCKOO_TIMEOUT_SIZE;
	case IPCUCKOO_A_COUNTERS:
		hits = ipcuckoo_record_hits(value->record);
		put_unaligned_be64(atomic64_read(&hits->packets), data);
		put_unaligned_be64(atomic64_read(&hits->bytes), data + 8);
		return IPCUCKOO_COUNTERS_SIZE;
	case IPCUCKOO_A_SKBINFOS:
		info = ipcuckoo_record_info(value->record);
		put_unaligned_be64(info->mark, data);
		put_unaligned_be32(info->prio, data + 8);
		put_unaligned_be16(info->queue, data + 12);
		put_unaligned_be16(0, data + 14);
		return IPCUCKOO_SKBINFO_SIZE;
	case IPCUCKOO_A_COMMENTS:
		comment = ipcuckoo_record_comment(value->record) ?: "";
		strcpy(data, comment);
		return strlen(comment) + 1;
	default:
		*data = value->nomatch;
		return IPCUCKOO_NOMATCH_SIZE;
	}
}

/* Something that is kept for the entries of a run. */
static void put_values(struct sk_buff *skb, struct ipcuckoo_entries *e,
		       const struct dump_run *run, u8 type)
{
	struct nlattr *attr = nla_reserve(skb, type, 0);
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
	u64 pos = run->begin;
	size_t size;

	while (pos < run->end && ipcuckoo_entries_next_value(e, &pos, &entry, &value)) {
		if (ipcuckoo_expired(value.expires, run->now))
			continue;
		size = pack_value(skb_tail_pointer(skb), type, &value, run->now);
		skb_put(skb, size);
		attr->nla_len += size;
	}
	skb_put_zero(skb, nla_padlen(nla_len(attr)));
}

/* Put as many entries as fit into a message: of one kind where the set keeps
 * anything for its entries, exceptions included, so that what is kept is of all
 * entries of the message; otherwise of one kind after the other, each once. Returns
 * whether there may be room for more in the message.
 */
static bool dump_run(struct sk_buff *skb, struct ipcuckoo_entries *e, u64 *pos,
		     bool *end)
{
	const size_t heads = (ARRAY_SIZE(values) + 1) * (NLA_HDRLEN + NLA_ALIGNTO);
	struct dump_run run = { .begin = *pos, .now = ipcuckoo_now() };
	size_t room = skb_tailroom(skb);
	unsigned int i;
	bool any;

	if (room < heads)
		return false;
	any = put_entries(skb, e, &run, min_t(size_t, room - heads, U16_MAX - heads),
			  end);
	for (i = 0; any && i < ARRAY_SIZE(values); i++)
		if (values[i].option ? e->options & values[i].option : run.except)
			put_values(skb, e, &run, values[i].attr);
	*pos = run.end;
	return any && !*end && !ipcuckoo_entries_keeps(e) && !run.full;
}

/* Not in a .start handler, whose errors would come without a sentence. */
static int begin_dump(struct netlink_callback *cb, struct entry_dump *dump)
{
	struct ipcuckoo_set *set;

	if (dump->set)
		return 0;
	set = ipcuckoo_nl_set(sock_net(cb->skb->sk), ipcuckoo_dump_attrs(cb),
			      cb->extack);
	if (IS_ERR(set))
		return PTR_ERR(set);
	if (ipcuckoo_entries_approximate(&set->entries)) {
		ipcuckoo_set_put(set);
		NL_SET_ERR_MSG(cb->extack,
			       "a filter keeps fingerprints: its entries cannot be listed");
		return -EOPNOTSUPP;
	}
	dump->set = set;
	return 0;
}

/* The set's mutex is held for one message at a time. A change between two of
 * them is told by NLM_F_DUMP_INTR; if it was one after which positions mean
 * nothing any more, the dump ends there.
 */
int ipcuckoo_nl_entry_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct entry_dump *dump = (void *)cb->ctx;
	struct ipcuckoo_entries *e;
	u64 begin = dump->pos;
	bool end = false;
	void *header;
	int err;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	err = begin_dump(cb, dump);
	if (err)
		return err;
	e = &dump->set->entries;
	err = ipcuckoo_set_lock(dump->set);
	if (err) {
		if (err == -ENOENT)
			NL_SET_ERR_MSG(cb->extack, "the set was destroyed");
		return err;
	}
	cb->seq = e->layout + e->generation + 1;
	if (dump->begun && dump->layout != e->layout)
		goto out;
	dump->begun = true;
	dump->layout = e->layout;
	header = ipcuckoo_nl_dump_put(skb, cb, IPCUCKOO_CMD_ENTRY_GET);
	if (!header)
		goto out;
	while (dump_run(skb, e, &dump->pos, &end))
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

/* The shadow that a request names, held. */
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

	err = get_batch(info, &batch) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	shadow = get_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = check_values(info, shadow->set);
	if (err) {
		ipcuckoo_shadow_put(shadow);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_shadow_add(shadow, &batch, &result);
	ipcuckoo_shadow_put(shadow);
	explain_spent(info, err);
	return reply_batch(info, &reply, err, &result);
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

	err = get_entries(info, &batch, &total) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	shadow = get_shadow(skb, info);
	if (IS_ERR(shadow))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(shadow));
	err = check_delete(info, shadow->set);
	if (err) {
		ipcuckoo_shadow_put(shadow);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_shadow_del(shadow, &batch, exist, &result);
	ipcuckoo_shadow_put(shadow);
	explain_spent(info, err);
	return reply_batch(info, &reply, err, &result);
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
