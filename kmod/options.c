// SPDX-License-Identifier: GPL-2.0-only
/* The options of sets: see options.h. */
#include <linux/string.h>
#include <net/netlink.h>

#include "net.h"
#include "options.h"
#include "set.h"
#include "wire.h"

static struct netlink_range_validation timeout_range = {
	.max = IPCUCKOO_TIMEOUT_MAX,
};

#define OPTION_POLICIES \
	[IPCUCKOO_A_SET] = { .type = NLA_NUL_STRING, .len = IPCUCKOO_NAME_SIZE - 1 }, \
	[IPCUCKOO_A_TYPE] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_TYPE_HASH_IP, \
					     IPCUCKOO_TYPE_FILTER_IP), \
	[IPCUCKOO_A_FAMILY] = NLA_POLICY_RANGE(NLA_U8, IPCUCKOO_FAMILY_INET, \
					       IPCUCKOO_FAMILY_ANY), \
	[IPCUCKOO_A_MAXELEM] = { .type = NLA_U32 }, \
	[IPCUCKOO_A_BITS] = { .type = NLA_U8 }, \
	[IPCUCKOO_A_CAPACITY] = { .type = NLA_U32 }, \
	[IPCUCKOO_A_OPTIONS] = NLA_POLICY_MASK(NLA_U32, IPCUCKOO_O_ALL), \
	[IPCUCKOO_A_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range), \
	[IPCUCKOO_A_NETMASK] = { .type = NLA_U8 }, \
	[IPCUCKOO_A_BITMASK] = { .type = NLA_BINARY, .len = IPCUCKOO_HOST6_SIZE }, \
	[IPCUCKOO_A_DESCRIPTION] = { .type = NLA_NUL_STRING, .len = IPCUCKOO_DESCRIPTION_MAX }

const struct nla_policy ipcuckoo_options_set_new_policy[IPCUCKOO_A_MAX + 1] = {
	OPTION_POLICIES,
	[IPCUCKOO_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, IPCUCKOO_F_EXIST | IPCUCKOO_F_MULTI |
						      IPCUCKOO_F_FORCEADD),
	[IPCUCKOO_A_SHADOW] = { .type = NLA_U32 },
};

const struct nla_policy ipcuckoo_options_shadow_new_policy[IPCUCKOO_A_MAX + 1] = {
	OPTION_POLICIES,
	[IPCUCKOO_A_FLAGS] = NLA_POLICY_MASK(NLA_U32, IPCUCKOO_F_APPEND | IPCUCKOO_F_CREATE |
						      IPCUCKOO_F_MULTI | IPCUCKOO_F_FORCEADD),
	[IPCUCKOO_A_CAPACITY_HOSTS4] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_HOSTS6] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_NETS4] = { .type = NLA_U32 },
	[IPCUCKOO_A_CAPACITY_NETS6] = { .type = NLA_U32 },
};

/**
 * struct option - an option of sets
 * @type:	NLA_*: the type of its attribute; NLA_BINARY: an address of the set's family;
 *		NLA_NUL_STRING: the value is a pointer to the string
 * @attr:	its attribute
 * @offset:	where struct ipcuckoo_set_options has its value, as the attribute carries it
 * @size:	bytes of the value
 * @compared:	sets that differ in it are different to a request with EXIST
 *
 * The value of an option that a set does not have is 0. The flags MULTI and FORCEADD are
 * handled apart.
 */
struct option {
	u8 type;
	u16 attr;
	u16 offset;
	u16 size;
	bool compared;
};

#define OPTION(type, attr, field, compared)				\
	{ NLA_##type, IPCUCKOO_A_##attr, offsetof(struct ipcuckoo_set_options, field), \
	  sizeof_field(struct ipcuckoo_set_options, field), compared }

static const struct option set_options[] = {
	OPTION(U8, TYPE, type, true),
	OPTION(U8, FAMILY, family, true),
	/* It can change, and is compared only if the request has it. */
	OPTION(U32, MAXELEM, maxelem, false),
	OPTION(U8, BITS, shape.bits, true),
	OPTION(U32, CAPACITY, shape.capacity, true),
	OPTION(U32, OPTIONS, exts, true),
	OPTION(U32, TIMEOUT, timeout, true),
	/* Different ones can say the same: ipcuckoo_options_same() compares the resulting mask. */
	OPTION(U8, NETMASK, netmask, false),
	OPTION(BINARY, BITMASK, bitmask, false),
	/* It does not change what the set does. */
	OPTION(NUL_STRING, DESCRIPTION, description, false),
};

/**
 * ipcuckoo_options_find() - find an option of a set among attributes
 * @attrs:	attributes of a request
 *
 * Return: the first attribute that is an option or has one among its flags, or NULL.
 */
struct nlattr *ipcuckoo_options_find(struct nlattr **attrs)
{
	struct nlattr *flags = attrs[IPCUCKOO_A_FLAGS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(set_options); i++)
		if (attrs[set_options[i].attr])
			return attrs[set_options[i].attr];
	return flags && nla_get_u32(flags) & (IPCUCKOO_F_MULTI | IPCUCKOO_F_FORCEADD) ?
	       flags : NULL;
}

/* Parse and check the shape of a filter: bits, capacity and MULTI. Exact types have no such
 * options.
 */
static int parse_shape(struct nlattr **attrs, struct netlink_ext_ack *extack,
		       struct ipcuckoo_set_options *options)
{
	struct nlattr *bits = attrs[IPCUCKOO_A_BITS], *capacity = attrs[IPCUCKOO_A_CAPACITY];
	struct ipcuckoo_filter_shape *shape = &options->shape;

	if (options->type != IPCUCKOO_TYPE_FILTER_IP) {
		if (!shape->multi && !bits && !capacity)
			return 0;
		NL_SET_ERR_MSG_ATTR(extack, bits ?: capacity ?: attrs[IPCUCKOO_A_FLAGS],
				    "BITS, CAPACITY and MULTI go with the type filter:ip only");
		return -EINVAL;
	}
	if (!bits)
		shape->bits = IPCUCKOO_BITS_DEFAULT;
	if (shape->bits != 8 && shape->bits != 16 && shape->bits != 32) {
		NL_SET_ERR_MSG_ATTR(extack, bits, "fingerprints have 8, 16 or 32 bits");
		return -EINVAL;
	}
	if (!capacity)
		shape->capacity = options->maxelem ?: IPCUCKOO_CAPACITY_DEFAULT;
	if (shape->capacity && shape->capacity <= IPCUCKOO_CAPACITY_MAX)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, capacity ?: attrs[IPCUCKOO_A_MAXELEM],
			    "the capacity of a filter is a number from 1 to 128000000");
	return -ERANGE;
}

/* Check the extensions and forceadd: does the type take them? A timeout needs its extension. */
static int check_exts(struct nlattr **attrs, struct netlink_ext_ack *extack,
		      const struct ipcuckoo_set_options *options)
{
	if (options->exts && options->type == IPCUCKOO_TYPE_FILTER_IP) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_OPTIONS],
				    "a set of type filter:ip stores fingerprints only: it has no timeouts, counters, comments or skbinfo");
		return -EOPNOTSUPP;
	}
	if (options->forceadd && options->type == IPCUCKOO_TYPE_FILTER_IP) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_FLAGS],
				    "a set of type filter:ip cannot have FORCEADD: it cannot remove entries to make room");
		return -EOPNOTSUPP;
	}
	if (options->timeout && !(options->exts & IPCUCKOO_O_TIMEOUT)) {
		NL_SET_ERR_MSG_ATTR(extack, attrs[IPCUCKOO_A_TIMEOUT],
				    "a timeout needs the option TIMEOUT");
		return -EINVAL;
	}
	return 0;
}

/* Parse and check the mask. The set must be of one family, because its addresses must have as
 * many bits as the mask.
 */
static int parse_mask(struct nlattr **attrs, struct netlink_ext_ack *extack,
		      struct ipcuckoo_set_options *options)
{
	struct nlattr *bitmask = attrs[IPCUCKOO_A_BITMASK];
	struct nlattr *netmask = attrs[IPCUCKOO_A_NETMASK];
	bool v6 = options->family == IPCUCKOO_FAMILY_INET6;
	enum ipcuckoo_kind kind = v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4;
	struct ipcuckoo_mask *mask = &options->mask;
	int size = ipcuckoo_wire_entry_size[kind];
	u8 len = options->netmask;

	mask->present = bitmask || netmask;
	if (!mask->present)
		return 0;
	if (options->type != IPCUCKOO_TYPE_HASH_IP || options->family == IPCUCKOO_FAMILY_ANY ||
	    (bitmask && netmask)) {
		NL_SET_ERR_MSG_ATTR(extack, bitmask ?: netmask,
				    "NETMASK or BITMASK, not both, is for the type hash:ip and the family inet or inet6 only");
		return -EINVAL;
	}
	if (bitmask && nla_len(bitmask) == size)
		mask->bits = ipcuckoo_wire_get_entry(options->bitmask, kind).addr;
	else if (netmask && len && len <= 8 * size)
		mask->bits = ipcuckoo_prefix_mask(len, v6);
	if (mask->bits.hi || mask->bits.lo)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, bitmask ?: netmask,
			    "a mask must be as long as an address of the family, and not zero");
	return -ERANGE;
}

/* Parse and check the description. Lists and files of commands show it, in quotes. */
static int parse_description(struct nlattr **attrs, struct netlink_ext_ack *extack,
			     struct ipcuckoo_set_options *options)
{
	struct nlattr *attr = attrs[IPCUCKOO_A_DESCRIPTION];
	const u8 *c;

	if (!attr)
		return 0;
	for (c = nla_data(attr); *c; c++) {
		options->description = nla_data(attr);
		if (*c != '"' && *c != 0x7f && (*c >= ' ' || *c == '\t'))
			continue;
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "a description has no quotes and no control characters but tabs");
		return -EINVAL;
	}
	return 0;
}

/**
 * ipcuckoo_options_parse() - parse and check the options of a new set
 * @attrs:	attributes of the request, TYPE and FAMILY among them
 * @extack:	set to what is wrong
 * @options:	set to the options
 *
 * Return: 0, -EINVAL, -ERANGE or -EOPNOTSUPP as uapi/ipcuckoo.h describes them.
 */
int ipcuckoo_options_parse(struct nlattr **attrs, struct netlink_ext_ack *extack,
			   struct ipcuckoo_set_options *options)
{
	u32 flags = attrs[IPCUCKOO_A_FLAGS] ? nla_get_u32(attrs[IPCUCKOO_A_FLAGS]) : 0;
	const struct option *option;
	unsigned int i;

	*options = (struct ipcuckoo_set_options){
		.maxelem = ipcuckoo_maxelem,
		.forceadd = flags & IPCUCKOO_F_FORCEADD,
		.shape.multi = flags & IPCUCKOO_F_MULTI,
	};
	for (i = 0; i < ARRAY_SIZE(set_options); i++) {
		option = &set_options[i];
		if (attrs[option->attr] && option->type != NLA_NUL_STRING)
			nla_memcpy((void *)options + option->offset, attrs[option->attr],
				   option->size);
	}
	return parse_shape(attrs, extack, options) ?: check_exts(attrs, extack, options) ?:
	       parse_mask(attrs, extack, options) ?: parse_description(attrs, extack, options);
}

static int fill_option(struct sk_buff *skb, const struct option *option,
		       const struct ipcuckoo_set_options *options)
{
	const void *value = (const void *)options + option->offset;
	int size = option->size;
	bool present = option->attr == IPCUCKOO_A_MAXELEM || memchr_inv(value, 0, size);

	if (option->attr == IPCUCKOO_A_TIMEOUT)
		present = options->exts & IPCUCKOO_O_TIMEOUT;
	if (option->type == NLA_BINARY && options->family == IPCUCKOO_FAMILY_INET)
		size = IPCUCKOO_HOST4_SIZE;
	if (present && option->type == NLA_NUL_STRING)
		return nla_put_string(skb, option->attr, *(const char * const *)value);
	return present ? nla_put(skb, option->attr, size, value) : 0;
}

/**
 * ipcuckoo_options_fill() - put the options of a set into a message
 * @skb:	message
 * @set:	set, locked
 *
 * Return: 0 or -EMSGSIZE.
 */
int ipcuckoo_options_fill(struct sk_buff *skb, const struct ipcuckoo_set *set)
{
	u32 flags = (set->shape.multi ? IPCUCKOO_F_MULTI : 0) |
		    (set->forceadd ? IPCUCKOO_F_FORCEADD : 0) |
		    (set->ipset ? IPCUCKOO_F_IPSET : 0);
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(set_options) && !err; i++)
		err = fill_option(skb, &set_options[i], &set->options);
	if (!err && flags)
		err = nla_put_u32(skb, IPCUCKOO_A_FLAGS, flags);
	if (!err && set->exts & IPCUCKOO_O_TIMEOUT)
		err = ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_EXPIRED, set->entries.expired);
	return err;
}

/**
 * ipcuckoo_options_same() - were two sets created with the same options?
 * @a:		options of a set, which may have changed its limit
 * @b:		options of another one
 * @same_maxelem: compare their limits, too
 */
bool ipcuckoo_options_same(const struct ipcuckoo_set_options *a,
			   const struct ipcuckoo_set_options *b, bool same_maxelem)
{
	const struct option *option;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(set_options); i++) {
		option = &set_options[i];
		if (option->compared && memcmp((const void *)a + option->offset,
					       (const void *)b + option->offset, option->size))
			return false;
	}
	return (!same_maxelem || READ_ONCE(a->maxelem) == b->maxelem) &&
	       a->shape.multi == b->shape.multi && a->mask.bits.hi == b->mask.bits.hi &&
	       a->mask.bits.lo == b->mask.bits.lo;
}
