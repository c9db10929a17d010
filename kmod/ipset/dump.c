// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps of sets: see dump.h.
 *
 * A dump has many parts, and between two of them entries move in the tables, so that a dump of the
 * tables themselves would show some twice and leave out others. Therefore its first part makes a
 * snapshot: a packed copy of all elements, which the other parts read. The snapshot has references
 * to the records of entries. Whoever changes an entry then replaces its record
 * (ipcuckoo_value_update()).
 */
#include <linux/net.h>

#include "../entries.h"
#include "../in6.h"
#include "../lock.h"
#include "../usage.h"
#include "apply.h"
#include "compat.h"
#include "dump.h"

/**
 * struct snapshot - the elements of a set
 * @area:	the memory: this structure, and then the elements
 * @mem:	the account to which it is charged
 * @count:	number of elements
 * @size:	bytes of an element
 * @expires:	elements have deadlines
 * @records:	elements have records
 * @elements:	packed: address, length and exception of hash:net, deadline, pointer to the record
 */
struct snapshot {
	struct ipcuckoo_area area;
	struct ipcuckoo_mem *mem;
	u32 count;
	u32 size;
	bool expires;
	bool records;
	u8 elements[];
};

/* An element that was unpacked. */
struct element {
	struct ipcuckoo_entry entry;
	struct ipcuckoo_value value;
};

static u8 *pack(u8 *to, const void *from, size_t size)
{
	return memcpy(to, from, size) + size;
}

static const u8 *unpack(void *to, const u8 *from, size_t size)
{
	memcpy(to, from, size);
	return from + size;
}

static u32 element_size(const struct ipcuckoo_ipset *s)
{
	u32 size = s->v6 ? sizeof(struct ipcuckoo_key) : sizeof(u32);

	if (s->nets)
		size += sizeof(u8) + sizeof(bool);
	if (s->set->entries.options & IPCUCKOO_O_TIMEOUT)
		size += sizeof(u32);
	if (s->records)
		size += sizeof(struct ipcuckoo_record *);
	return size;
}

static void pack_element(const struct ipcuckoo_ipset *s, const struct snapshot *snap, u8 *to,
			 const struct element *el)
{
	u32 addr4 = el->entry.addr.lo;

	to = s->v6 ? pack(to, &el->entry.addr, sizeof(el->entry.addr)) :
		     pack(to, &addr4, sizeof(addr4));
	if (s->nets) {
		to = pack(to, &el->entry.len, sizeof(el->entry.len));
		to = pack(to, &el->value.nomatch, sizeof(el->value.nomatch));
	}
	if (snap->expires)
		to = pack(to, &el->value.expires, sizeof(el->value.expires));
	if (snap->records)
		pack(to, &el->value.record, sizeof(el->value.record));
}

static struct element unpack_element(const struct ipcuckoo_ipset *s, const struct snapshot *snap,
				     u32 n)
{
	const u8 *from = snap->elements + (size_t)n * snap->size;
	struct element el = { .entry = { .len = ipcuckoo_ipset_host_len(s), .v6 = s->v6 } };
	u32 addr4;

	if (s->v6) {
		from = unpack(&el.entry.addr, from, sizeof(el.entry.addr));
	} else {
		from = unpack(&addr4, from, sizeof(addr4));
		el.entry.addr.lo = addr4;
	}
	if (s->nets) {
		from = unpack(&el.entry.len, from, sizeof(el.entry.len));
		from = unpack(&el.value.nomatch, from, sizeof(el.value.nomatch));
	}
	if (snap->expires)
		from = unpack(&el.value.expires, from, sizeof(el.value.expires));
	if (snap->records)
		unpack(&el.value.record, from, sizeof(el.value.record));
	return el;
}

static struct snapshot *alloc_snapshot(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_entries *e = &s->set->entries;
	u32 size = element_size(s);
	struct ipcuckoo_area area;
	struct snapshot *snap;
	int err;

	err = ipcuckoo_area_alloc(&area, e->mem,
				  sizeof(*snap) + (size_t)size * ipcuckoo_usage_total(e),
				  IPCUCKOO_CHARGE_WAIT);
	if (err)
		return ERR_PTR(err);
	snap = area.data;
	*snap = (struct snapshot){
		.area = area,
		.mem = e->mem,
		.size = size,
		.expires = e->options & IPCUCKOO_O_TIMEOUT,
		.records = s->records,
	};
	return snap;
}

/* The caller has locked the contents. */
static struct snapshot *make_snapshot(struct ipcuckoo_ipset *s)
{
	struct snapshot *snap = alloc_snapshot(s);
	u32 now = ipcuckoo_now();
	struct element el;
	u64 pos = 0;

	if (IS_ERR(snap))
		return snap;
	while (ipcuckoo_entries_next_value(&s->set->entries, &pos, &el.entry, &el.value)) {
		if (ipcuckoo_expired(el.value.expires, now))
			continue;
		ipcuckoo_record_get(el.value.record);
		pack_element(s, snap, snap->elements + (size_t)snap->count++ * snap->size, &el);
		if (!(snap->count % 4096))
			cond_resched();
	}
	return snap;
}

static void free_snapshot(struct ipcuckoo_ipset *s, struct snapshot *snap)
{
	struct ipcuckoo_area area = snap->area;
	u32 n;

	for (n = 0; snap->records && n < snap->count; n++) {
		ipcuckoo_record_put(unpack_element(s, snap, n).value.record, snap->mem);
		if (!(n % 4096))
			cond_resched();
	}
	ipcuckoo_area_free(&area, snap->mem);
}

/**
 * ipcuckoo_ipset_hold() - make the snapshot for a dump, or free it
 * @set:	set
 * @cb:		dump
 * @start:	its first part begins; else it has ended
 *
 * Context: process context.
 */
void ipcuckoo_ipset_hold(struct ip_set *set, struct netlink_callback *cb, bool start)
{
	struct ipcuckoo_ipset *s = set->data;
	struct snapshot *snap = (void *)cb->args[IPSET_CB_PRIVATE];

	if (start) {
		snap = ERR_PTR(ipcuckoo_set_lock(s->set, IPCUCKOO_FOREVER));
		if (!snap) {
			ipcuckoo_ipset_apply_all(s);
			snap = make_snapshot(s);
			ipcuckoo_set_unlock(s->set);
		}
		if (snap == ERR_PTR(-EDQUOT) && net_ratelimit())
			pr_warn("Set %s is not listed: a copy of it would exceed the memory limit of its network namespace; ipcuckoo can list it\n",
				set->name);
		cb->args[IPSET_CB_PRIVATE] = (unsigned long)snap;
	} else if (snap) {
		if (!IS_ERR(snap))
			free_snapshot(s, snap);
		cb->args[IPSET_CB_PRIVATE] = 0;
	}
}

/* --- elements --- */

static bool put_addr(struct sk_buff *skb, const struct ipcuckoo_entry *entry)
{
	struct in6_addr in6;

	if (!entry->v6)
		return nla_put_ipaddr4(skb, IPSET_ATTR_IP, htonl(entry->addr.lo));
	in6 = ipcuckoo_key_in6(&entry->addr);
	return nla_put_ipaddr6(skb, IPSET_ATTR_IP, &in6);
}

static bool put_prefix(struct sk_buff *skb, const struct element *el)
{
	return nla_put_u8(skb, IPSET_ATTR_CIDR, el->entry.len) ||
	       (el->value.nomatch &&
		nla_put_net32(skb, IPSET_ATTR_CADT_FLAGS, htonl(IPSET_FLAG_NOMATCH)));
}

static bool put_hits(struct sk_buff *skb, const struct ipcuckoo_hits *hits)
{
	return hits &&
	       (nla_put_net64(skb, IPSET_ATTR_BYTES,
			      cpu_to_be64(atomic64_read(&hits->bytes)), IPSET_ATTR_PAD) ||
		nla_put_net64(skb, IPSET_ATTR_PACKETS,
			      cpu_to_be64(atomic64_read(&hits->packets)), IPSET_ATTR_PAD));
}

/* The mark is the mask in the low half here, and what is zero is left out. */
static bool put_info(struct sk_buff *skb, const struct ipcuckoo_skbinfo *info)
{
	u64 mark;

	if (!info)
		return false;
	mark = info->mark << 32 | info->mark >> 32;
	return (mark && nla_put_net64(skb, IPSET_ATTR_SKBMARK, cpu_to_be64(mark),
				      IPSET_ATTR_PAD)) ||
	       (info->prio && nla_put_net32(skb, IPSET_ATTR_SKBPRIO, cpu_to_be32(info->prio))) ||
	       (info->queue && nla_put_net16(skb, IPSET_ATTR_SKBQUEUE, cpu_to_be16(info->queue)));
}

static bool put_element(struct sk_buff *skb, const struct ipcuckoo_ipset *s,
			const struct snapshot *snap, const struct element *el)
{
	struct nlattr *nested = nla_nest_start(skb, IPSET_ATTR_DATA);
	struct ipcuckoo_record *record = el->value.record;
	const char *comment = ipcuckoo_record_comment(record);
	u32 options = ipcuckoo_record_options(record);

	if (!nested || put_addr(skb, &el->entry) || (s->nets && put_prefix(skb, el)))
		return true;
	if (snap->expires &&
	    nla_put_net32(skb, IPSET_ATTR_TIMEOUT,
			  htonl(ipcuckoo_seconds_left(el->value.expires, ipcuckoo_now()))))
		return true;
	if (put_hits(skb, ipcuckoo_record_hits(record, options)) ||
	    (comment && nla_put_string(skb, IPSET_ATTR_COMMENT, comment)) ||
	    put_info(skb, ipcuckoo_record_info(record, options)))
		return true;
	nla_nest_end(skb, nested);
	return false;
}

/**
 * ipcuckoo_ipset_list() - put elements into a message
 * @set:	set
 * @skb:	message
 * @cb:		dump; IPSET_CB_ARG0 is the number of the next element, 0 if there are no more
 *
 * Context: process context.
 * Return: 0 or an error.
 */
int ipcuckoo_ipset_list(const struct ip_set *set, struct sk_buff *skb,
			struct netlink_callback *cb)
{
	const struct snapshot *snap = (void *)cb->args[IPSET_CB_PRIVATE];
	const struct ipcuckoo_ipset *s = set->data;
	u32 first = cb->args[IPSET_CB_ARG0], n = first;
	struct nlattr *adt;
	struct element el;
	void *end;

	/* ip_set puts this error into the message that ends the dump, where libmnl does not look.
	 * To ipset, the set would be empty. So set the flag for which libmnl fails.
	 */
	if (IS_ERR(snap)) {
		cb->args[IPSET_CB_ARG0] = 0;
		nlmsg_hdr(skb)->nlmsg_flags |= NLM_F_DUMP_INTR;
		return PTR_ERR(snap);
	}
	adt = nla_nest_start(skb, IPSET_ATTR_ADT);
	if (!adt)
		return -EMSGSIZE;
	for (; n < snap->count; n++) {
		el = unpack_element(s, snap, n);
		if (ipcuckoo_expired(el.value.expires, ipcuckoo_now()))
			continue;
		end = skb_tail_pointer(skb);
		if (put_element(skb, s, snap, &el)) {
			nlmsg_trim(skb, end);
			break;
		}
	}
	cb->args[IPSET_CB_ARG0] = n < snap->count ? n : 0;
	if (n < snap->count && n == first) {
		nla_nest_cancel(skb, adt);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, adt);
	return 0;
}

/* --- header --- */

static bool put_mask(struct sk_buff *skb, const struct ipcuckoo_ipset *s)
{
	const struct ipcuckoo_set *set = s->set;
	struct in6_addr in6;

	if (!set->mask.present)
		return false;
	if (set->netmask)
		return nla_put_u8(skb, IPSET_ATTR_NETMASK, set->netmask);
	if (!s->v6)
		return nla_put_ipaddr4(skb, IPCUCKOO_IPSET_ATTR_BITMASK, htonl(set->mask.bits.lo));
	in6 = ipcuckoo_key_in6(&set->mask.bits);
	return nla_put_ipaddr6(skb, IPCUCKOO_IPSET_ATTR_BITMASK, &in6);
}

static bool put_head(struct sk_buff *skb, struct ip_set *set, u32 elements, size_t memory)
{
	const struct ipcuckoo_ipset *s = set->data;

	if (nla_put_net32(skb, IPSET_ATTR_HASHSIZE, htonl(s->hashsize)) ||
	    nla_put_net32(skb, IPSET_ATTR_MAXELEM, htonl(ipcuckoo_ipset_maxelem(s))) ||
	    put_mask(skb, s))
		return true;
	if (set->flags & IPSET_CREATE_FLAG_BUCKETSIZE &&
	    (nla_put_u8(skb, IPSET_ATTR_BUCKETSIZE, s->bucketsize) ||
	     nla_put_net32(skb, IPSET_ATTR_INITVAL, htonl(s->initval))))
		return true;
	return nla_put_net32(skb, IPSET_ATTR_REFERENCES, htonl(READ_ONCE(set->ref))) ||
	       nla_put_net32(skb, IPSET_ATTR_MEMSIZE, htonl(min_t(u64, memory, U32_MAX))) ||
	       nla_put_net32(skb, IPSET_ATTR_ELEMENTS, htonl(elements)) ||
	       ip_set_put_flags(skb, set);
}

/**
 * ipcuckoo_ipset_head() - put the header of a set into a message
 * @set:	set
 * @skb:	message
 *
 * Context: process context.
 * Return: 0 or an error.
 */
int ipcuckoo_ipset_head(struct ip_set *set, struct sk_buff *skb)
{
	struct ipcuckoo_ipset *s = set->data;
	struct nlattr *nested;
	size_t memory;
	u32 elements;
	int err;

	err = ipcuckoo_set_lock(s->set, IPCUCKOO_FOREVER);
	if (err)
		return err;
	ipcuckoo_ipset_apply_all(s);
	elements = ipcuckoo_usage_live(&s->set->entries);
	memory = ipcuckoo_ipset_size() + ipcuckoo_set_memory(s->set);
	ipcuckoo_set_unlock(s->set);
	nested = nla_nest_start(skb, IPSET_ATTR_DATA);
	if (!nested || put_head(skb, set, elements, memory))
		return -EMSGSIZE;
	nla_nest_end(skb, nested);
	return 0;
}
