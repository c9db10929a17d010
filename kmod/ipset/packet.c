// SPDX-License-Identifier: GPL-2.0-only
/* What packets do with sets: see packet.h. */
#include <uapi/linux/netfilter/ipset/ip_set_hash.h>

#include "../change.h"
#include "../entries.h"
#include "../in6.h"
#include "../usage.h"
#include "apply.h"
#include "match.h"
#include "packet.h"

static struct ipcuckoo_key packet_addr(const struct ipcuckoo_ipset *s,
				       const struct sk_buff *skb, bool src)
{
	struct ipcuckoo_key addr = {};
	struct in6_addr in6;

	if (s->v6) {
		ip6addrptr(skb, src, &in6);
		addr = ipcuckoo_in6_key(&in6);
	} else {
		addr.lo = ntohl(ip4addr(skb, src));
	}
	ipcuckoo_ipset_mask(s, &addr);
	return addr;
}

/* The longest of all prefix lengths in a set, 0 if it is empty. */
static u8 longest(struct ipcuckoo_ipset *s)
{
	const struct ipcuckoo_entries *e = &s->set->entries;
	u8 len = ipcuckoo_ipset_host_len(s);

	if (!ipcuckoo_pending_any(&s->pending))
		return ipcuckoo_usage_longest(e);
	spin_lock_bh(s->pending.lock);
	while (len && ipcuckoo_pending_with_len(&s->pending, len,
						ipcuckoo_usage_with_len(e, len)) <= 0)
		len--;
	spin_unlock_bh(s->pending.lock);
	return len;
}

/* A packet adds to hash:net, and deletes from it, the prefix of its address that has the longest of
 * all lengths in the set.
 */
static void cut_longest(struct ipcuckoo_ipset *s, struct ipcuckoo_entry *entry)
{
	u8 len = s->nets ? longest(s) : 0;

	if (len)
		ipcuckoo_ipset_cut(entry, len);
}

/* Is there certainly no room for one more entry? Without forceadd, and unless entries may have
 * expired, which only the work item can remove. While a change is being applied, nobody knows
 * whether the contents have it, so the number of entries that they had before counts.
 */
static bool is_full(struct ipcuckoo_ipset *s)
{
	const struct ipcuckoo_pending *p = &s->pending;
	u32 limit = READ_ONCE(s->set->maxelem);

	return !s->set->forceadd &&
	       ipcuckoo_usage_crowded(&s->set->entries, limit, p->applying ? S32_MAX : p->delta) &&
	       (!p->applying || (s64)p->before + p->delta >= limit);
}

/* For how long a packet adds an entry, in seconds; 0: for ever. */
static u32 timeout(const struct ipcuckoo_ipset *s, const struct ip_set_ext *ext)
{
	return s->set->entries.options & IPCUCKOO_O_TIMEOUT ? ext->timeout : 0;
}

static struct ipcuckoo_change *make_change(struct ipcuckoo_ipset *s,
					   const struct ipcuckoo_entry *entry, bool add,
					   bool exist, const struct ip_set_ext *ext)
{
	struct ipcuckoo_change *c = ipcuckoo_pending_alloc(&s->pending);

	if (IS_ERR(c))
		return c;
	c->entry = *entry;
	c->add = add;
	c->exist = exist;
	c->expires = ipcuckoo_deadline(timeout(s, ext));
	atomic64_set(&c->hits.packets, ext->packets);
	atomic64_set(&c->hits.bytes, ext->bytes);
	return c;
}

/* Is there nothing to add, or to delete? @there: the entry is in the set. */
static bool is_idle(bool add, bool exist, bool there)
{
	return add ? there && !exist : !there;
}

/* Is the entry there as the packet would add it? The packets of a flood refresh their entry many
 * times in a second, of which all but the first change nothing.
 */
static bool is_fresh(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry,
		     const struct ip_set_ext *ext)
{
	u32 seq, now;

	if (s->records || !ipcuckoo_pending_none(&s->pending, &seq))
		return false;
	now = ipcuckoo_now();
	return ipcuckoo_entries_expires(&s->set->entries, entry, now,
					ipcuckoo_deadline_from(now, timeout(s, ext))) &&
	       ipcuckoo_pending_same(&s->pending, seq);
}

/* Count what packets have changed since the contents had this generation. */
static void count_changes(struct ipcuckoo_ipset *s, u64 generation)
{
	s->set->entries.by_packets += s->set->entries.generation - generation;
}

static int add_in_place(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry, bool exist,
			const struct ip_set_ext *ext)
{
	const struct ipcuckoo_entry_attrs attrs = {
		.timeout = timeout(s, ext),
		.packets = ext->packets,
		.bytes = ext->bytes,
	};
	u64 generation = s->set->entries.generation;
	int err = ipcuckoo_change_add_in_place(s->set, entry, &attrs, exist, true);

	count_changes(s, generation);
	return err == -EEXIST ? -IPSET_ERR_EXIST : err;
}

static int del_in_place(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry)
{
	u64 generation = s->set->entries.generation;
	int err = ipcuckoo_change_del_in_place(s->set, entry);

	count_changes(s, generation);
	return err == -ENOENT ? -IPSET_ERR_EXIST : err;
}

/* Change the contents. Return: 0 or an error; -EAGAIN: the change has to be pending, because a
 * process has locked the contents, others are pending, or it cannot be made without sleeping.
 */
static int change_in_place(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry, bool add,
			   bool exist, const struct ip_set_ext *ext)
{
	struct ipcuckoo_entries *e = &s->set->entries;
	int err = -EAGAIN;

	spin_lock_bh(&e->packets);
	if (s->pending.closed)
		err = -ENOENT;
	else if (!e->locked && !s->pending.count)
		err = add ? add_in_place(s, entry, exist, ext) : del_in_place(s, entry);
	if (err > 0)
		ipcuckoo_ipset_apply_soon(s);
	spin_unlock_bh(&e->packets);
	return min(err, 0);
}

/* The caller holds the lock of the changes: so no other packet changes the entry meanwhile. */
static int put_change(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	bool there = ipcuckoo_ipset_has(s, &c->entry);

	if (is_idle(c->add, c->exist, there))
		return -IPSET_ERR_EXIST;
	if (c->add && (!ipcuckoo_ipset_maxelem(s) || (!there && is_full(s))))
		return -ENOSPC;
	c->delta = c->add - there;
	return ipcuckoo_pending_put(&s->pending, c);
}

/* Put a change, or free it. */
static int take_change(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	int err;

	spin_lock_bh(s->pending.lock);
	err = put_change(s, c);
	if (!err)
		ipcuckoo_ipset_apply_soon(s);
	spin_unlock_bh(s->pending.lock);
	if (err)
		ipcuckoo_pending_free(c);
	return err;
}

static int change_later(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry, bool add,
			bool exist, const struct ip_set_ext *ext)
{
	struct ipcuckoo_change *c = make_change(s, entry, add, exist, ext);

	return IS_ERR(c) ? PTR_ERR(c) : take_change(s, c);
}

static int change(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry, bool add,
		  const struct ip_set_ext *ext, u32 flags)
{
	bool exist = flags & IPSET_FLAG_EXIST;
	int err;

	/* Most packets change nothing. They take no lock. */
	if (add && exist) {
		if (is_fresh(s, entry, ext))
			return 0;
	} else if (is_idle(add, exist, ipcuckoo_ipset_has(s, entry))) {
		return -IPSET_ERR_EXIST;
	}
	err = change_in_place(s, entry, add, exist, ext);
	if (err == -EAGAIN)
		err = change_later(s, entry, add, exist, ext);
	if (err && err != -IPSET_ERR_EXIST && err != -ENOENT) {
		ipcuckoo_change_failed(s->set, err);
		ipcuckoo_ipset_log_refusal(s, err);
	}
	return err == -ENOSPC ? -IPSET_ERR_HASH_FULL : err;
}

/* Look an address up in a set without records, if no change is pending meanwhile. */
static bool match_plain(struct ipcuckoo_ipset *s, const struct ipcuckoo_key *addr, int *ret)
{
	u32 seq;

	if (!ipcuckoo_pending_none(&s->pending, &seq))
		return false;
	*ret = ipcuckoo_ipset_match_plain(s, addr);
	return ipcuckoo_pending_same(&s->pending, seq);
}

/* Look an address up in a set without skbinfo, and count the packet, if no change is pending
 * meanwhile and the rule does not compare counters.
 */
static bool match_counted(struct ipcuckoo_ipset *s, const struct ipcuckoo_key *addr,
			  const struct sk_buff *skb, const struct ip_set_adt_opt *opt, int *ret)
{
	struct ipcuckoo_record *record = NULL;
	enum ipcuckoo_decision decision;
	u32 seq;

	if (s->set->entries.options & IPCUCKOO_O_SKBINFO ||
	    opt->cmdflags & IPSET_FLAG_MATCH_COUNTERS || !ipcuckoo_pending_none(&s->pending, &seq))
		return false;
	decision = ipcuckoo_entries_decide(&s->set->entries, addr, s->v6, false, &record);
	if (!ipcuckoo_pending_same(&s->pending, seq))
		return false;
	*ret = decision == IPCUCKOO_MATCH ? 1 : decision == IPCUCKOO_EXCEPTION ? -ENOTEMPTY : 0;
	if (decision != IPCUCKOO_UNDECIDED && !(opt->cmdflags & IPSET_FLAG_SKIP_COUNTER_UPDATE))
		ipcuckoo_record_count(record, s->set->entries.options, 1, skb->len);
	return true;
}

/* A function of its own, so that the common test needs no more of the stack than it uses. */
static noinline int packet_entry(struct ip_set *set, const struct sk_buff *skb,
				 const struct ipcuckoo_key *addr, enum ipset_adt adt,
				 struct ip_set_adt_opt *opt)
{
	struct ip_set_ext ext = IP_SET_INIT_KEXT(skb, opt, set);
	struct ipcuckoo_ipset *s = set->data;
	struct ipcuckoo_entry entry = {
		.addr = *addr,
		.len = ipcuckoo_ipset_host_len(s),
		.v6 = s->v6,
	};

	if (adt == IPSET_TEST)
		return ipcuckoo_ipset_match(s, &entry, &ext, &opt->ext, opt->cmdflags);
	cut_longest(s, &entry);
	return change(s, &entry, adt == IPSET_ADD, &ext, opt->cmdflags);
}

/**
 * ipcuckoo_ipset_packet() - test, add or delete an address of a packet
 * @set:	set
 * @skb:	packet
 * @par:	not used
 * @adt:	what to do
 * @opt:	of the rule: direction, flags, counters to compare, timeout; its skbinfo is set
 *
 * Context: softirq or process context; linux 6.1 has disabled softirqs.
 * Return: test: 1, 0, or -ENOTEMPTY for an exception. Add and delete: 0 or an error, which iptables
 * ignores.
 */
int ipcuckoo_ipset_packet(struct ip_set *set, const struct sk_buff *skb,
			  const struct xt_action_param *par, enum ipset_adt adt,
			  struct ip_set_adt_opt *opt)
{
	struct ipcuckoo_ipset *s = set->data;
	struct ipcuckoo_key addr = packet_addr(s, skb, opt->flags & IPSET_DIM_ONE_SRC);
	int ret;

	/* As in ip_set, hash:ip cannot have the address 0. */
	if (!s->nets && ipcuckoo_ipset_is_zero(&addr))
		return -EINVAL;
	rcu_read_lock();
	if (adt != IPSET_TEST || !(s->records ? match_counted(s, &addr, skb, opt, &ret) :
				   match_plain(s, &addr, &ret)))
		ret = packet_entry(set, skb, &addr, adt, opt);
	rcu_read_unlock();
	return ret;
}
