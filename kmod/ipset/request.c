// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space does with the elements of sets: see request.h.
 *
 * The errors are those of ip_set, in the order in which it checks, so that the tool ipset says the
 * same.
 */
#include <linux/net.h>
#include <uapi/linux/netfilter/ipset/ip_set_hash.h>
#include <linux/netfilter/ipset/pfxlen.h>

#include "../change.h"
#include "../entries.h"
#include "../in6.h"
#include "../lock.h"
#include "apply.h"
#include "match.h"
#include "names.h"
#include "request.h"

/**
 * struct request - what user space wants
 * @set:	set
 * @s:		the same
 * @adt:	add, delete or test
 * @flags:	IPSET_FLAG_EXIST; IPSET_FLAG_NOMATCH in the high half
 * @ext:	timeout, counters, comment, skbinfo
 */
struct request {
	struct ip_set *set;
	struct ipcuckoo_ipset *s;
	enum ipset_adt adt;
	u32 flags;
	struct ip_set_ext ext;
};

static bool is_nomatch(const struct request *r)
{
	return r->flags >> 16 & IPSET_FLAG_NOMATCH;
}

/* The address in an attribute, in a form that is checked as ip_set does it. */
static int get_addr(const struct ipcuckoo_ipset *s, struct nlattr *nla, struct ipcuckoo_key *addr)
{
	union nf_inet_addr in;
	u32 host = 0;
	int err;

	if (s->v6) {
		err = ip_set_get_ipaddr6(nla, &in);
		if (!err)
			*addr = ipcuckoo_in6_key(&in.in6);
		return err;
	}
	err = ip_set_get_hostipaddr4(nla, &host);
	*addr = (struct ipcuckoo_key){ .lo = host };
	return err;
}

/* Begin a request: what all of them have in common. */
static int begin(struct request *r, struct nlattr *tb[], u32 *lineno, struct ipcuckoo_key *addr)
{
	int err;

	if (tb[IPSET_ATTR_LINENO])
		*lineno = nla_get_u32(tb[IPSET_ATTR_LINENO]);
	if (!tb[IPSET_ATTR_IP] ||
	    (r->s->nets && !ip_set_optattr_netorder(tb, IPSET_ATTR_CADT_FLAGS)))
		return -IPSET_ERR_PROTOCOL;
	if (r->s->v6 && tb[IPSET_ATTR_IP_TO])
		return -IPSET_ERR_HASH_RANGE_UNSUPPORTED;
	if (r->s->v6 && !r->s->nets && tb[IPSET_ATTR_CIDR] &&
	    nla_get_u8(tb[IPSET_ATTR_CIDR]) != 128)
		return -IPSET_ERR_INVALID_CIDR;
	err = get_addr(r->s, tb[IPSET_ATTR_IP], addr);
	return err ?: ip_set_get_extensions(r->set, tb, &r->ext);
}

/* --- one element --- */

static struct ipcuckoo_entry_attrs attrs_of(const struct request *r)
{
	const struct ip_set_ext *ext = &r->ext;
	struct ipcuckoo_entry_attrs attrs = {
		.nomatch = is_nomatch(r),
		.packets = ext->packets,
		.bytes = ext->bytes,
		.info = {
			.mark = (u64)ext->skbinfo.skbmarkmask << 32 | ext->skbinfo.skbmark,
			.prio = ext->skbinfo.skbprio,
			.queue = ext->skbinfo.skbqueue,
		},
		.comment = ext->comment,
		.comment_len = ext->comment ? strlen(ext->comment) : 0,
	};

	BUILD_BUG_ON(IPCUCKOO_COUNTER_KEEP != ULLONG_MAX);
	if (SET_WITH_TIMEOUT(r->set))
		attrs.timeout = ext->timeout;
	return attrs;
}

static int add(struct request *r, struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_entry_attrs attrs = attrs_of(r);
	bool exist = r->flags & IPSET_FLAG_EXIST;
	int err;

	err = ipcuckoo_change_add_live(r->s->set, entry, &attrs, exist);
	if (err == -EEXIST)
		return -IPSET_ERR_EXIST;
	if (err && err != -EINTR)
		ipcuckoo_ipset_log_refusal(r->s, err);
	return err == -ENOSPC ? -IPSET_ERR_HASH_FULL : err;
}

static int del(struct request *r, struct ipcuckoo_entry *entry)
{
	int err = ipcuckoo_change_del_live(r->s->set, entry);

	return err == -ENOENT ? -IPSET_ERR_EXIST : err;
}

/* Add or delete an element; the contents are locked. */
static int change(struct request *r, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_entry e = *entry;
	int ret;

	ipcuckoo_ipset_mask(r->s, &e.addr);
	ret = ipcuckoo_ipset_apply_one(r->s, &e);
	if (ret)
		return ret;
	ret = r->adt == IPSET_ADD ? add(r, &e) : del(r, &e);
	/* Several elements of a range are the same one, if a mask says so. */
	if (ret == -IPSET_ERR_EXIST && e.addr.lo != entry->addr.lo)
		return 0;
	return ip_set_eexist(ret, r->flags) ? 0 : ret;
}

/* Lock the contents, but wait for other writers for a limited time only. Return: 0; an error; or
 * -ERANGE, and then the core calls again after it has let others have the mutex of ip_set.
 */
static int lock(struct request *r)
{
	int err = ipcuckoo_set_lock(r->s->set, ipcuckoo_lock_limit());

	return err == -EAGAIN ? -ERANGE : err;
}

static int change_one(struct request *r, const struct ipcuckoo_entry *entry)
{
	int ret = lock(r);

	if (ret)
		return ret;
	ret = change(r, entry);
	ipcuckoo_set_unlock(r->s->set);
	return ret;
}

static int test(struct request *r, const struct ipcuckoo_entry *entry)
{
	int ret;

	rcu_read_lock();
	ret = ipcuckoo_ipset_match(r->s, entry, &r->ext, &r->ext, r->flags & 0xffff);
	rcu_read_unlock();
	return ip_set_enomatch(ret, r->flags, r->adt, r->set) ? -ret : ret;
}

/* --- ranges of IPv4 --- */

/* Replace the IPv4 address in an attribute that get_addr() has accepted. There may be several, of
 * which the last one counts.
 */
static void set_addr(struct nlattr *nla, u32 addr)
{
	const __be32 in = htonl(addr);
	struct nlattr *inner;
	int rem;

	nla_for_each_nested(inner, nla, rem)
		if (nla_type(inner) == IPSET_ATTR_IPADDR_IPV4 && nla_len(inner) >= sizeof(in))
			memcpy(nla_data(inner), &in, sizeof(in));
}

/* The request has more elements than are changed in one step: the core calls again. The attributes
 * in the message become the rest of the range. The kernel's own types keep the position in the set,
 * where two requests overwrite each other's.
 */
static int continue_at(struct nlattr *tb[], u32 from, u32 to)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	set_addr(tb[IPSET_ATTR_IP], from);
	if (tb[IPSET_ATTR_IP_TO])
		set_addr(tb[IPSET_ATTR_IP_TO], to);
	return -ERANGE;
}

/* Get the end of the range that begins at *@from. If the range runs backwards, turn it round. */
static int get_range(struct request *r, struct nlattr *tb[], u32 *from, u32 *to)
{
	struct ipcuckoo_key addr;
	int err = get_addr(r->s, tb[IPSET_ATTR_IP_TO], &addr);

	if (err)
		return err;
	*to = addr.lo;
	if (*from > *to)
		swap(*from, *to);
	return 0;
}

/* Set the range that a prefix means in hash:ip, or its rest. */
static int get_prefix(struct nlattr *tb[], u32 *from, u32 *to, bool retried)
{
	u8 len = nla_get_u8(tb[IPSET_ATTR_CIDR]);

	if (!len || len > 32)
		return -IPSET_ERR_INVALID_CIDR;
	if (!retried)
		*from &= ip_set_hostmask(len);
	*to = *from | ~ip_set_hostmask(len);
	return 0;
}

/* Change each host from @from to @to, or with a netmask one in each of its prefixes. */
static int change_hosts(struct request *r, struct nlattr *tb[], u32 from, u32 to)
{
	struct ipcuckoo_entry entry = { .len = 32 };
	u8 netmask = r->s->set->netmask ?: 32;
	u64 step = 1ULL << (32 - netmask), at;
	u32 n = 0;
	int ret;

	for (at = from; at <= to; at += step) {
		if (n++ > IPSET_MAX_RANGE)
			return continue_at(tb, at, to);
		entry.addr.lo = at;
		ret = change(r, &entry);
		if (ret)
			return ret;
	}
	return 0;
}

/* The length of the longest of the prefixes that begin at @from, and end at @to or before. */
static u8 cover(u32 from, u32 to)
{
	u8 len = 32;

	while (len > 1 && !(from & (1U << (32 - len))) &&
	       from + ((2ULL << (32 - len)) - 1) <= to)
		len--;
	return len;
}

/* Change each of the prefixes that a range consists of. */
static int change_prefixes(struct request *r, struct nlattr *tb[], u32 from, u32 to)
{
	struct ipcuckoo_entry entry = {};
	u64 at = from;
	u32 n = 0;
	int ret;

	while (at <= to) {
		if (n++ > IPSET_MAX_RANGE)
			return continue_at(tb, at, to);
		entry.addr.lo = at;
		entry.len = cover(at, to);
		ret = change(r, &entry);
		if (ret)
			return ret;
		at += 1ULL << (32 - entry.len);
	}
	return 0;
}

static int change_range(struct request *r, struct nlattr *tb[], u32 from, u32 to,
			int (*each)(struct request *r, struct nlattr *tb[], u32 from, u32 to))
{
	int ret = lock(r);

	if (ret)
		return ret == -ERANGE ? continue_at(tb, from, to) : ret;
	ret = each(r, tb, from, to);
	ipcuckoo_set_unlock(r->s->set);
	return ret;
}

/* --- requests --- */

static int request_host(struct request *r, struct nlattr *tb[], struct ipcuckoo_key *addr,
			bool retried)
{
	struct ipcuckoo_entry entry = { .len = ipcuckoo_ipset_host_len(r->s), .v6 = r->s->v6 };
	u32 from, to;
	int err;

	entry.addr = *addr;
	ipcuckoo_ipset_mask(r->s, &entry.addr);
	if (ipcuckoo_ipset_is_zero(&entry.addr) && !retried)
		return -IPSET_ERR_HASH_ELEM;
	if (r->adt == IPSET_TEST)
		return test(r, &entry);
	/* A range is continued where it was left, whatever the mask. */
	from = retried ? addr->lo : entry.addr.lo;
	if (r->s->v6 || !(tb[IPSET_ATTR_IP_TO] || tb[IPSET_ATTR_CIDR]))
		return change_one(r, &entry);
	err = tb[IPSET_ATTR_IP_TO] ? get_range(r, tb, &from, &to) :
				     get_prefix(tb, &from, &to, retried);
	if (!err && tb[IPSET_ATTR_IP_TO] && !from)
		err = -IPSET_ERR_HASH_ELEM;
	if (err)
		return err;
	return change_range(r, tb, from, to, change_hosts);
}

static int request_net(struct request *r, struct nlattr *tb[], struct ipcuckoo_key *addr)
{
	struct ipcuckoo_entry entry = { .len = ipcuckoo_ipset_host_len(r->s), .v6 = r->s->v6 };
	u8 len = entry.len;
	u32 from = addr->lo, to;
	int err;

	if (tb[IPSET_ATTR_CIDR]) {
		len = nla_get_u8(tb[IPSET_ATTR_CIDR]);
		if (!len || len > entry.len)
			return -IPSET_ERR_INVALID_CIDR;
	}
	if (tb[IPSET_ATTR_CADT_FLAGS] &&
	    ip_set_get_h32(tb[IPSET_ATTR_CADT_FLAGS]) & IPSET_FLAG_NOMATCH)
		r->flags |= IPSET_FLAG_NOMATCH << 16;
	if (r->adt != IPSET_TEST && tb[IPSET_ATTR_IP_TO]) {
		err = get_range(r, tb, &from, &to);
		if (err)
			return err;
		if (!from && to == U32_MAX)
			return -IPSET_ERR_HASH_RANGE;
		return change_range(r, tb, from, to, change_prefixes);
	}
	entry.addr = *addr;
	ipcuckoo_ipset_cut(&entry, len);
	return r->adt == IPSET_TEST ? test(r, &entry) : change_one(r, &entry);
}

/**
 * ipcuckoo_ipset_request() - add, delete or test elements
 * @set:	set
 * @tb:		attributes of the request; if it is to be continued, the range in them is shortened
 * @adt:	what to do
 * @lineno:	set to the line in a file, if the request has one
 * @flags:	IPSET_FLAG_EXIST
 * @retried:	the request is continued
 *
 * Context: process context, under the mutex of ip_set. A test is made under rcu_read_lock_bh().
 * Return: 0, for a test 1 if the element matches; an error of ip_set; or -ERANGE, if the core is to
 * call again.
 */
int ipcuckoo_ipset_request(struct ip_set *set, struct nlattr *tb[], enum ipset_adt adt,
			   u32 *lineno, u32 flags, bool retried)
{
	struct request r = {
		.set = set,
		.s = set->data,
		.adt = adt,
		.flags = flags,
		.ext = IP_SET_INIT_UEXT(set),
	};
	struct ipcuckoo_key addr;
	int err;

	if (adt != IPSET_TEST)
		ipcuckoo_ipset_names_check(r.s);
	err = begin(&r, tb, lineno, &addr);
	if (err)
		return err;
	return r.s->nets ? request_net(&r, tb, &addr) :
			   request_host(&r, tb, &addr, retried);
}

/**
 * ipcuckoo_ipset_flush() - delete all elements, in one step
 * @set:	set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_flush(struct ip_set *set)
{
	struct ipcuckoo_ipset *s = set->data;
	u64 before;
	int err;

	if (ipcuckoo_set_lock(s->set, IPCUCKOO_FOREVER))
		return;
	before = ipcuckoo_pending_next(&s->pending);
	err = ipcuckoo_set_flush(s->set);
	if (!err)
		ipcuckoo_pending_forget(&s->pending, before);
	else if (net_ratelimit())
		/* ip_set cannot be told. */
		pr_warn("Set %s was not flushed: error %d\n", set->name, err);
	ipcuckoo_set_unlock(s->set);
}
