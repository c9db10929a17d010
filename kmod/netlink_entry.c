// SPDX-License-Identifier: GPL-2.0-only
/* The commands on entries of sets. */
#include <linux/netlink.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "compat.h"
#include "lock.h"
#include "net.h"
#include "netlink.h"
#include "netlink_request.h"
#include "set.h"
#include "shadow.h"

int ipcuckoo_nl_entry_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	bool exist = ipcuckoo_nl_flag(info->attrs, IPCUCKOO_F_EXIST);
	struct ipcuckoo_change_result result;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_batch batch;
	struct ipcuckoo_set *set;
	int err;

	err = ipcuckoo_nl_get_batch(info, &batch) ?: ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = ipcuckoo_nl_check_exts(info, set);
	if (err) {
		ipcuckoo_nl_unlock_set(set);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_change_add(set, &batch, exist, &result);
	ipcuckoo_nl_unlock_set(set);
	return ipcuckoo_nl_reply_batch(info, &reply, err, &result);
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

	err = ipcuckoo_nl_get_entries(info, &batch, &total) ?:
	      ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	err = ipcuckoo_nl_check_delete(info, set);
	if (err) {
		ipcuckoo_nl_unlock_set(set);
		return ipcuckoo_nl_reply_end(info, &reply, err);
	}
	err = ipcuckoo_change_del(set, &batch, exist, &result);
	ipcuckoo_nl_unlock_set(set);
	return ipcuckoo_nl_reply_batch(info, &reply, err, &result);
}

/* Get the single entry of a request. @at is its position, for error messages. */
static int get_entry(struct genl_info *info, struct ipcuckoo_entry *entry,
		     struct ipcuckoo_batch_cursor *at)
{
	struct ipcuckoo_batch batch;
	u32 total;
	int err;

	err = ipcuckoo_nl_get_entries(info, &batch, &total);
	if (err)
		return err;
	ipcuckoo_batch_next(&batch, at, entry);
	if (total == 1)
		return 0;
	ipcuckoo_batch_next(&batch, at, entry);
	NL_SET_ERR_MSG(info->extack, "one entry can be tested at a time");
	ipcuckoo_nl_blame_entry(info, at);
	return -EINVAL;
}

/* Find the entry that decides about an address, as look-ups of packets do. In a set of
 * family any, ipcuckoo_set_normalize() has made @entry the IPv4 form of an IPv4-mapped
 * address @asked. If no IPv4 entry covers it, a short IPv6 prefix may: IPv4 entries count
 * as longer, so they come first. @entry becomes the one that decides, if there is one;
 * otherwise its length becomes IPCUCKOO_LEN_NONE.
 */
static bool find_entry(struct ipcuckoo_set *set, const struct ipcuckoo_entry *asked,
		       struct ipcuckoo_entry *entry)
{
	bool mapped = asked->v6 && asked->len == 128 && !entry->v6;
	bool found;
	u8 len;

	found = ipcuckoo_entries_find(&set->entries, entry, &len);
	if (mapped && len == IPCUCKOO_LEN_NONE) {
		*entry = *asked;
		found = ipcuckoo_entries_find(&set->entries, entry, &len);
	}
	entry->len = len;
	return found;
}

/* Put the extensions of an entry into a reply. */
static int put_value(struct sk_buff *skb, struct ipcuckoo_entries *e,
		     const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_value value;

	if (!e->options || !ipcuckoo_entries_get(e, entry, &value))
		return 0;
	if (skb_tailroom(skb) < IPCUCKOO_WIRE_EXT_HEADS +
				ipcuckoo_wire_value_size(e->options, &value))
		return -EMSGSIZE;
	/* NOMATCHES is in the reply already. */
	ipcuckoo_wire_append_exts(skb, e->options, false, &value, 1);
	return 0;
}

/* Find out what a set has of an entry, and put that into a reply. */
static int test_entry(struct sk_buff *skb, struct ipcuckoo_set *set,
		      const struct ipcuckoo_entry *asked, struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_entries *e = &set->entries;
	bool approximate = ipcuckoo_entries_approximate(e);
	u32 copies = approximate ? ipcuckoo_entries_copies(e, entry) : 0;
	bool found = find_entry(set, asked, entry);

	if (nla_put_u8(skb, IPCUCKOO_A_FOUND, found) ||
	    (approximate && nla_put_u32(skb, IPCUCKOO_A_COPIES, copies)))
		return -EMSGSIZE;
	if (entry->len == IPCUCKOO_LEN_NONE)
		return 0;
	if (nla_put_u8(skb, IPCUCKOO_A_PREFIX_LEN, entry->len) ||
	    (!found && nla_put_u8(skb, IPCUCKOO_A_NOMATCHES, 1)))
		return -EMSGSIZE;
	return put_value(skb, e, entry);
}

int ipcuckoo_nl_entry_test_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ipcuckoo_batch_cursor at = IPCUCKOO_BATCH_BEGIN;
	struct ipcuckoo_entry asked, entry;
	struct ipcuckoo_nl_reply reply;
	struct ipcuckoo_set *set;
	int err;

	err = get_entry(info, &asked, &at);
	if (err)
		return err;
	err = ipcuckoo_nl_reply_begin(info, &reply);
	if (err)
		return err;
	set = ipcuckoo_nl_lock_set(info);
	if (IS_ERR(set))
		return ipcuckoo_nl_reply_end(info, &reply, PTR_ERR(set));
	entry = asked;
	err = ipcuckoo_nl_explain(info->extack, ipcuckoo_set_normalize(set, &entry));
	if (err)
		ipcuckoo_nl_blame_entry(info, &at);
	else
		err = test_entry(reply.skb, set, &asked, &entry);
	ipcuckoo_nl_unlock_set(set);
	return ipcuckoo_nl_reply_end(info, &reply, err);
}

/* State of a dump of entries, in cb->ctx: those of a set, or of a shadow. */
struct entry_dump {
	struct ipcuckoo_set *set;
	struct ipcuckoo_shadow *shadow;
	u64 pos;
	u32 layout;
	bool begun;
};

int ipcuckoo_nl_entry_get_done(struct netlink_callback *cb)
{
	struct entry_dump *dump = (void *)cb->ctx;

	if (dump->set)
		ipcuckoo_set_put(dump->set);
	if (dump->shadow)
		ipcuckoo_shadow_put(dump->shadow);
	return 0;
}

/**
 * struct dump_run - entries of one kind that go into one message
 * @kind:	the kind
 * @begin:	position of the first
 * @end:	position behind the last
 * @now:	the current second since boot; expired entries are left out
 * @except:	some of the entries are exceptions
 * @full:	the message has no room for the next entry
 */
struct dump_run {
	enum ipcuckoo_kind kind;
	u64 begin;
	u64 end;
	u32 now;
	bool except;
	bool full;
};

/* Put entries of one kind into a message, as many as fit into @room bytes with their
 * extensions. The extensions are only counted here: see put_exts().
 *
 * Return: true if there is any entry. Sets @end at the end of the contents.
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
			size += ipcuckoo_wire_entry_size[kind] +
				ipcuckoo_wire_value_size(e->options, &value);
			run->full = size > room;
			if (run->full || (attr && kind != run->kind))
				break;
			if (!attr)
				attr = nla_reserve(skb, ipcuckoo_wire_entry_attr[kind], 0);
			run->kind = kind;
			run->except |= value.nomatch;
			to = skb_put(skb, ipcuckoo_wire_entry_size[kind]);
			ipcuckoo_wire_put_entry(to, &entry, kind);
			attr->nla_len += ipcuckoo_wire_entry_size[kind];
		}
		run->end = at;
	}
	if (attr)
		skb_put_zero(skb, nla_padlen(nla_len(attr)));
	return attr;
}

/* Put one extension of the entries of a run into a message. */
static void put_exts(struct sk_buff *skb, struct ipcuckoo_entries *e,
		     const struct dump_run *run, enum ipcuckoo_wire_ext_id ext)
{
	struct nlattr *attr = nla_reserve(skb, ipcuckoo_wire_exts[ext].attr, 0);
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
	u64 pos = run->begin;

	while (pos < run->end && ipcuckoo_entries_next_value(e, &pos, &entry, &value))
		if (!ipcuckoo_expired(value.expires, run->now))
			ipcuckoo_wire_append_ext(skb, attr, ext, &value, run->now);
	skb_put_zero(skb, nla_padlen(nla_len(attr)));
}

/* Put one run of entries of a kind, with their extensions, into a message. In sets with
 * extensions or exceptions a message has one run only, because the attribute of an
 * extension has values for all entries of the message. In other sets the caller adds runs
 * of the other kinds to the same message.
 *
 * Return: true if another run may follow in this message.
 */
static bool dump_run(struct sk_buff *skb, struct ipcuckoo_entries *e, u64 *pos,
		     bool *end)
{
	const size_t heads = NLA_HDRLEN + NLA_ALIGNTO + IPCUCKOO_WIRE_EXT_HEADS;
	struct dump_run run = { .begin = *pos, .now = ipcuckoo_now() };
	size_t room = skb_tailroom(skb);
	unsigned int i;
	u8 option;
	bool any;

	if (room < heads)
		return false;
	any = put_entries(skb, e, &run, min_t(size_t, room - heads, U16_MAX - heads),
			  end);
	for (i = 0; any && i < IPCUCKOO_WIRE_EXTS; i++) {
		option = ipcuckoo_wire_exts[i].option;
		if (option ? e->options & option : run.except)
			put_exts(skb, e, &run, i);
	}
	*pos = run.end;
	return any && !*end && !ipcuckoo_entries_has_exts(e) && !run.full;
}

static int lock_dumped(struct netlink_callback *cb, struct entry_dump *dump, unsigned long until)
{
	int err;

	if (dump->shadow) {
		err = ipcuckoo_shadow_lock(dump->shadow, until);
		if (err == -ESTALE)
			NL_SET_ERR_MSG(cb->extack, "the shadow was committed");
	} else {
		err = ipcuckoo_set_lock(dump->set, until);
		if (err == -ENOENT)
			NL_SET_ERR_MSG(cb->extack, "the set was destroyed");
	}
	return err;
}

static void unlock_dumped(struct entry_dump *dump)
{
	if (dump->shadow)
		ipcuckoo_shadow_unlock(dump->shadow);
	else
		ipcuckoo_set_unlock(dump->set);
}

/* Find the set or the shadow when the first message is dumped, and lock it. A .start handler could
 * not report an error with a message.
 */
static int begin_dump(struct netlink_callback *cb, struct entry_dump *dump)
{
	struct net *net = sock_net(cb->skb->sk);
	struct nlattr *attrs[IPCUCKOO_A_MAX + 1];
	struct ipcuckoo_shadow *shadow;
	struct ipcuckoo_set *set;
	int err;

	/* Generic netlink has checked them with the policy. */
	err = genlmsg_parse(cb->nlh, &ipcuckoo_wire_family, attrs, IPCUCKOO_A_MAX, NULL,
			    cb->extack);
	if (err)
		return err;
	if (attrs[IPCUCKOO_A_SHADOW] && attrs[IPCUCKOO_A_SET]) {
		NL_SET_ERR_MSG_ATTR(cb->extack, attrs[IPCUCKOO_A_SET],
				    "name a set or a shadow, not both");
		return -EINVAL;
	}
	if (attrs[IPCUCKOO_A_SHADOW]) {
		shadow = ipcuckoo_nl_find_shadow(net, NETLINK_CB(cb->skb).sk,
						 NETLINK_CB(cb->skb).portid, attrs, cb->extack);
		if (IS_ERR(shadow))
			return PTR_ERR(shadow);
		dump->shadow = shadow;
		return lock_dumped(cb, dump, ipcuckoo_lock_limit());
	}
	err = ipcuckoo_net_sync(ipcuckoo_net(net), ipcuckoo_lock_limit());
	if (err)
		return ipcuckoo_nl_explain(cb->extack, err);
	set = ipcuckoo_nl_lock_attr_set(net, attrs, cb->extack);
	if (IS_ERR(set))
		return PTR_ERR(set);
	dump->set = set;
	return 0;
}

/* Dump entries. The mutex of the set or shadow is held for one message at a time. If the contents
 * change between two messages, the next one has the flag NLM_F_DUMP_INTR. If a table was replaced
 * (e->layout), the position is invalid, and the dump ends.
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
	/* All messages but the first are made in recvmsg(), without a lock of generic netlink. */
	err = dump->set || dump->shadow ? lock_dumped(cb, dump, IPCUCKOO_FOREVER) :
	      begin_dump(cb, dump);
	if (err)
		return err;
	e = dump->shadow ? &dump->shadow->entries : &dump->set->entries;
	if (ipcuckoo_entries_approximate(e)) {
		unlock_dumped(dump);
		NL_SET_ERR_MSG(cb->extack,
			       "a filter keeps fingerprints: its entries cannot be listed");
		return -EOPNOTSUPP;
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
	unlock_dumped(dump);
	return skb->len;
}
