// SPDX-License-Identifier: GPL-2.0-only
/* The wire format: see wire.h. */
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>

#include "attachment.h"
#include "compat.h"
#include "net.h"
#include "set.h"
#include "wire.h"

/* Netlink lets a socket join the group if it has CAP_NET_ADMIN in the user namespace that
 * owns the network namespace. No flag asks for the initial user namespace. So with
 * userns=0 event.c sends nothing in network namespaces that another user namespace owns.
 */
static const struct genl_multicast_group groups[] = {
	[IPCUCKOO_WIRE_GROUP_EVENTS] = {
		.name = IPCUCKOO_GROUP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

static_assert(sizeof(IPCUCKOO_NAME) <= GENL_NAMSIZ);

/* netlink.c adds the operations and registers it. */
struct genl_family ipcuckoo_wire_family __ro_after_init = {
	.name = IPCUCKOO_NAME,
	.version = IPCUCKOO_FAMILY_VERSION,
	.maxattr = IPCUCKOO_A_MAX,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/* Entries */

const u8 ipcuckoo_wire_entry_attr[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_A_HOSTS4,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_A_HOSTS6,
	[IPCUCKOO_NETS4] = IPCUCKOO_A_NETS4,
	[IPCUCKOO_NETS6] = IPCUCKOO_A_NETS6,
};

const u8 ipcuckoo_wire_entry_size[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = IPCUCKOO_HOST4_SIZE,
	[IPCUCKOO_HOSTS6] = IPCUCKOO_HOST6_SIZE,
	[IPCUCKOO_NETS4] = IPCUCKOO_NET4_SIZE,
	[IPCUCKOO_NETS6] = IPCUCKOO_NET6_SIZE,
};

/**
 * ipcuckoo_wire_put_entry() - write a packed entry
 * @data:	room for ipcuckoo_wire_entry_size[@kind] bytes
 * @entry:	entry
 * @kind:	its kind
 */
void ipcuckoo_wire_put_entry(u8 *data, const struct ipcuckoo_entry *entry,
			     enum ipcuckoo_kind kind)
{
	if (entry->v6) {
		put_unaligned_be64(entry->addr.hi, data);
		put_unaligned_be64(entry->addr.lo, data + 8);
	} else {
		put_unaligned_be32(entry->addr.lo, data);
	}
	if (ipcuckoo_kind_is_nets(kind))
		data[ipcuckoo_wire_entry_size[kind] - 1] = entry->len;
}

/**
 * ipcuckoo_wire_get_entry() - read a packed entry
 * @data:	ipcuckoo_wire_entry_size[@kind] bytes
 * @kind:	its kind
 *
 * Return: the entry as the request has it, unchecked.
 */
struct ipcuckoo_entry ipcuckoo_wire_get_entry(const u8 *data, enum ipcuckoo_kind kind)
{
	struct ipcuckoo_entry entry = { .v6 = ipcuckoo_kind_keyed(kind) };

	if (entry.v6) {
		entry.addr.hi = get_unaligned_be64(data);
		entry.addr.lo = get_unaligned_be64(data + 8);
		entry.len = 128;
	} else {
		entry.addr.lo = get_unaligned_be32(data);
		entry.len = 32;
	}
	if (ipcuckoo_kind_is_nets(kind))
		entry.len = data[ipcuckoo_wire_entry_size[kind] - 1];
	return entry;
}

/* Extensions */

const struct ipcuckoo_wire_ext ipcuckoo_wire_exts[IPCUCKOO_WIRE_EXTS] = {
	[IPCUCKOO_WIRE_TIMEOUT] = {
		IPCUCKOO_A_TIMEOUTS, IPCUCKOO_TIMEOUT_SIZE, IPCUCKOO_O_TIMEOUT,
		"the set was made without the option TIMEOUT"
	},
	[IPCUCKOO_WIRE_COUNTERS] = {
		IPCUCKOO_A_COUNTERS, IPCUCKOO_COUNTERS_SIZE, IPCUCKOO_O_COUNTERS,
		"the set was made without the option COUNTERS"
	},
	[IPCUCKOO_WIRE_SKBINFO] = {
		IPCUCKOO_A_SKBINFOS, IPCUCKOO_SKBINFO_SIZE, IPCUCKOO_O_SKBINFO,
		"the set was made without the option SKBINFO"
	},
	[IPCUCKOO_WIRE_COMMENT] = {
		IPCUCKOO_A_COMMENTS, 0, IPCUCKOO_O_COMMENT,
		"the set was made without the option COMMENT"
	},
	[IPCUCKOO_WIRE_NOMATCH] = {
		IPCUCKOO_A_NOMATCHES, IPCUCKOO_NOMATCH_SIZE, 0,
		"only sets of type hash:net have exceptions"
	},
};

/**
 * ipcuckoo_wire_value_size() - bytes that the extensions of an entry take in a message
 * @options:	the options of its set
 * @value:	value of the entry
 */
size_t ipcuckoo_wire_value_size(u32 options, const struct ipcuckoo_value *value)
{
	const char *comment = ipcuckoo_record_comment(value->record);
	size_t size = IPCUCKOO_NOMATCH_SIZE;
	unsigned int i;

	for (i = 0; options && i < IPCUCKOO_WIRE_EXTS; i++)
		if (options & ipcuckoo_wire_exts[i].option)
			size += ipcuckoo_wire_exts[i].size;
	if (options & IPCUCKOO_O_COMMENT)
		size += (comment ? strlen(comment) : 0) + 1;
	return size;
}

/* Write an extension of an entry, whose set has this extension. Return: bytes written. */
static size_t put_ext(u8 *data, enum ipcuckoo_wire_ext_id ext,
		      const struct ipcuckoo_value *value, u32 now)
{
	const char *comment;
	struct ipcuckoo_skbinfo *info;
	struct ipcuckoo_hits *hits;

	switch (ext) {
	case IPCUCKOO_WIRE_TIMEOUT:
		put_unaligned_be32(ipcuckoo_seconds_left(value->expires, now), data);
		break;
	case IPCUCKOO_WIRE_COUNTERS:
		hits = ipcuckoo_record_hits(value->record, value->record->options);
		put_unaligned_be64(atomic64_read(&hits->packets), data);
		put_unaligned_be64(atomic64_read(&hits->bytes), data + 8);
		break;
	case IPCUCKOO_WIRE_SKBINFO:
		info = ipcuckoo_record_info(value->record, value->record->options);
		put_unaligned_be64(info->mark, data);
		put_unaligned_be32(info->prio, data + 8);
		put_unaligned_be16(info->queue, data + 12);
		put_unaligned_be16(0, data + 14);
		break;
	case IPCUCKOO_WIRE_COMMENT:
		comment = ipcuckoo_record_comment(value->record) ?: "";
		strcpy(data, comment);
		return strlen(comment) + 1;
	default:
		*data = value->nomatch;
		break;
	}
	return ipcuckoo_wire_exts[ext].size;
}

/**
 * ipcuckoo_wire_append_ext() - append an extension of an entry to an attribute
 * @skb:	message that ends with the attribute, with room for ipcuckoo_wire_value_size()
 * @attr:	attribute of the extension
 * @ext:	which extension
 * @value:	value of the entry
 * @now:	the current second since boot, to compute the rest of a timeout
 */
void ipcuckoo_wire_append_ext(struct sk_buff *skb, struct nlattr *attr,
			      enum ipcuckoo_wire_ext_id ext,
			      const struct ipcuckoo_value *value, u32 now)
{
	size_t size = put_ext(skb_tail_pointer(skb), ext, value, now);

	skb_put(skb, size);
	attr->nla_len += size;
}

/**
 * ipcuckoo_wire_append_exts() - append all extensions of entries to a message
 * @skb:	message, with room for IPCUCKOO_WIRE_EXT_HEADS and, for each entry,
 *		ipcuckoo_wire_value_size()
 * @options:	the options of the set
 * @except:	say for each entry whether it is an exception
 * @values:	values of the entries
 * @count:	number of entries
 */
void ipcuckoo_wire_append_exts(struct sk_buff *skb, u32 options, bool except,
			       const struct ipcuckoo_value *values, u32 count)
{
	u32 now = ipcuckoo_now(), i;
	struct nlattr *attr;
	unsigned int ext;
	u8 option;

	for (ext = 0; ext < IPCUCKOO_WIRE_EXTS; ext++) {
		option = ipcuckoo_wire_exts[ext].option;
		if (option ? !(options & option) : !except)
			continue;
		attr = nla_reserve(skb, ipcuckoo_wire_exts[ext].attr, 0);
		for (i = 0; i < count; i++)
			ipcuckoo_wire_append_ext(skb, attr, ext, &values[i], now);
		skb_put_zero(skb, nla_padlen(nla_len(attr)));
	}
}

/**
 * ipcuckoo_wire_get_ext() - read an extension of an entry
 * @data:	data of the request; the caller has checked its size, and that comments are
 *		terminated
 * @ext:	which extension
 * @attrs:	attributes of the entry; the extension is stored here
 */
void ipcuckoo_wire_get_ext(const u8 *data, enum ipcuckoo_wire_ext_id ext,
			   struct ipcuckoo_entry_attrs *attrs)
{
	switch (ext) {
	case IPCUCKOO_WIRE_TIMEOUT:
		attrs->timeout = get_unaligned_be32(data);
		break;
	case IPCUCKOO_WIRE_COUNTERS:
		attrs->packets = get_unaligned_be64(data);
		attrs->bytes = get_unaligned_be64(data + 8);
		break;
	case IPCUCKOO_WIRE_SKBINFO:
		attrs->info.mark = get_unaligned_be64(data);
		attrs->info.prio = get_unaligned_be32(data + 8);
		attrs->info.queue = get_unaligned_be16(data + 12);
		break;
	case IPCUCKOO_WIRE_COMMENT:
		attrs->comment = (const char *)data;
		attrs->comment_len = strlen(attrs->comment);
		break;
	default:
		attrs->nomatch = *data;
		break;
	}
}

/* Attachments */

/**
 * ipcuckoo_wire_put_u64() - put a number of 64 bits into a message
 * @skb:	message
 * @attr:	attribute
 * @value:	number
 *
 * Return: 0 or -EMSGSIZE.
 */
int ipcuckoo_wire_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, IPCUCKOO_A_PAD);
}

static int fill_log(struct sk_buff *skb, const struct ipcuckoo_rule *rule)
{
	if (!rule->log.to)
		return 0;
	return nla_put_u8(skb, IPCUCKOO_A_LOG, rule->log.to) ||
	       nla_put_u16(skb, IPCUCKOO_A_LOG_GROUP, rule->log.group) ||
	       nla_put_u32(skb, IPCUCKOO_A_LOG_RATE, rule->log.rate) ||
	       nla_put_u32(skb, IPCUCKOO_A_LOG_EVERY, rule->log.every);
}

static int fill_ports(struct sk_buff *skb, const struct ipcuckoo_rule *rule)
{
	const struct ipcuckoo_port_range *range = rule->ports.range;
	struct nlattr *attr;
	__be16 *to;
	int i;

	if (!rule->protocol)
		return 0;
	attr = nla_reserve(skb, IPCUCKOO_A_PORTS, rule->ports.count * IPCUCKOO_PORTS_SIZE);
	if (!attr || nla_put_u8(skb, IPCUCKOO_A_PROTOCOL, rule->protocol))
		return -EMSGSIZE;
	for (to = nla_data(attr), i = 0; i < rule->ports.count; i++) {
		*to++ = htons(range[i].first);
		*to++ = htons(range[i].last);
	}
	return 0;
}

static int fill_state(struct sk_buff *skb, const struct ipcuckoo_attachment *at)
{
	u8 state = ipcuckoo_attachment_state(at, at->set->pernet->net);

	return nla_put_u8(skb, IPCUCKOO_A_STATE, state) ||
	       (at->err && nla_put_u32(skb, IPCUCKOO_A_ERRNO, -at->err));
}

/**
 * ipcuckoo_wire_fill_attachment() - put an attachment into a message
 * @skb:	message
 * @at:		attachment; the namespace's mutex is held
 * @name:	the name of its set
 *
 * Return: 0 or -EMSGSIZE.
 */
int ipcuckoo_wire_fill_attachment(struct sk_buff *skb,
				  const struct ipcuckoo_attachment *at, const char *name)
{
	struct ipcuckoo_counter sum = ipcuckoo_attachment_count(at);
	const struct ipcuckoo_rule *rule = &at->rule;
	bool mark = rule->verdict == IPCUCKOO_VERDICT_MARK;

	return nla_put_u32(skb, IPCUCKOO_A_ATTACHMENT, at->id) ||
	       nla_put_string(skb, IPCUCKOO_A_SET, name) ||
	       nla_put_u8(skb, IPCUCKOO_A_DIRECTION, rule->dir) ||
	       nla_put_u8(skb, IPCUCKOO_A_VERDICT, rule->verdict) ||
	       (mark && nla_put_u32(skb, IPCUCKOO_A_MARK, rule->mark)) ||
	       (mark && nla_put_u32(skb, IPCUCKOO_A_MARK_MASK, rule->mask)) ||
	       nla_put_s32(skb, IPCUCKOO_A_ORDER, rule->order) ||
	       nla_put_u8(skb, IPCUCKOO_A_PLACE, rule->place) ||
	       nla_put_s32(skb, IPCUCKOO_A_PRIORITY, rule->priority) ||
	       (*rule->dev && nla_put_string(skb, IPCUCKOO_A_DEV, rule->dev)) ||
	       nla_put_u32(skb, IPCUCKOO_A_FLAGS,
			   (rule->loopback ? IPCUCKOO_F_LOOPBACK : 0) |
			   (rule->only_new ? IPCUCKOO_F_NEW : 0)) ||
	       fill_ports(skb, rule) || fill_log(skb, rule) || fill_state(skb, at) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_PACKETS, sum.packets) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_BYTES, sum.bytes) ? -EMSGSIZE : 0;
}
