// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module xt_ipcuckoo: the match "ipcuckoo" of iptables, by which rules look addresses up in
 * sets of the module ipcuckoo. uapi/xt_ipcuckoo.h describes a rule, ../referral.c how a rule finds
 * its set while sets are swapped, and what is in force when a namespace ends.
 *
 * Packets run a rule under rcu_read_lock(), and a rule is released only when none runs it any more.
 * So the referral stays as long as the rule, and the set at least until rcu_read_unlock(). One
 * look-up decides all about a packet, as of one moment, while the set changes: whether its address
 * matches, whether an exception decided, and whose counters count.
 *
 * Whoever may add rules in a namespace may refer to its sets, also where user namespaces may not
 * use the module (module parameter userns): only root of the machine has made these sets. To
 * refuse would break iptables in a container, which adds all rules again for each change.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netfilter/x_tables.h>
#include <linux/skbuff.h>

#include "../in6.h"
#include "../lookup.h"
#include "../names.h"
#include "../net.h"
#include "../referral.h"
#include "../release.h"
#include "../set.h"
#include "xt_ipcuckoo.h"

/* The same for programs of 32 bits. */
static_assert(sizeof(struct xt_ipcuckoo_info) == IPCUCKOO_NAME_SIZE + 16);
static_assert(offsetof(struct xt_ipcuckoo_info, referral) == IPCUCKOO_NAME_SIZE + 8);

/* Look an address up in an exact set. If @count, count the packet for the entry that decides. */
static enum ipcuckoo_decision decide(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
				     bool v6, unsigned int bytes, bool count)
{
	struct ipcuckoo_record *record = NULL;
	enum ipcuckoo_decision decision;

	decision = ipcuckoo_entries_decide(&set->entries, addr, v6,
					   ipcuckoo_set_mapped(set, addr, v6),
					   count ? &record : NULL);
	ipcuckoo_record_count(record, set->entries.options, 1, bytes);
	return decision;
}

/* Does an address match the set, as the flags of a rule want it? */
static bool matches(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr, bool v6,
		    unsigned int bytes, u32 flags)
{
	bool exceptions = flags & XT_IPCUCKOO_RETURN_NOMATCH &&
			  set->type == IPCUCKOO_TYPE_HASH_NET;
	bool count = set->entries.options & IPCUCKOO_O_COUNTERS &&
		     !(flags & XT_IPCUCKOO_NO_UPDATE);

	if (!exceptions && !count)
		return ipcuckoo_set_match(set, addr, v6);
	return decide(set, addr, v6, bytes, count) ==
	       (exceptions ? IPCUCKOO_EXCEPTION : IPCUCKOO_MATCH);
}

static bool match(const struct sk_buff *skb, const struct xt_ipcuckoo_info *info,
		  struct ipcuckoo_key addr, bool v6)
{
	struct ipcuckoo_set *set = rcu_dereference(info->referral->set);
	bool found = false;

	/* No set: the namespace ends, and packets do not come this far any more. */
	if (likely(set)) {
		if (set->mask.present)
			addr = ipcuckoo_mask_key(&set->mask, &addr);
		found = matches(set, &addr, v6, skb->len, info->flags);
	}
	return found != !!(info->flags & XT_IPCUCKOO_INVERT);
}

static bool match4(const struct sk_buff *skb, struct xt_action_param *par)
{
	const struct xt_ipcuckoo_info *info = par->matchinfo;
	const struct iphdr *ip = ip_hdr(skb);
	struct ipcuckoo_key addr = {
		.lo = ntohl(info->flags & XT_IPCUCKOO_DST ? ip->daddr : ip->saddr),
	};

	return match(skb, info, addr, false);
}

static bool match6(const struct sk_buff *skb, struct xt_action_param *par)
{
	const struct xt_ipcuckoo_info *info = par->matchinfo;
	const struct ipv6hdr *ip = ipv6_hdr(skb);

	return match(skb, info, ipcuckoo_in6_key(info->flags & XT_IPCUCKOO_DST ? &ip->daddr :
										 &ip->saddr), true);
}

/* iptables shows the error only as a number, or as "No such file or directory". */
static int explain(const char *name, bool v6, int err)
{
	switch (err) {
	case -ENOENT:
		pr_info_ratelimited("xt_ipcuckoo: there is no set %s in this network namespace: make it with \"ipcuckoo create %s hash:net family any\"; for sets of ipset, use \"-m set\"\n",
				    name, name);
		break;
	case -EREMOTE:
		pr_info_ratelimited("xt_ipcuckoo: %s is a set of ipset: use \"-m set --match-set %s\"\n",
				    name, name);
		break;
	case -EAFNOSUPPORT:
		pr_info_ratelimited("xt_ipcuckoo: %s has no IPv%d addresses: use a set that was created with \"family any\", or with \"family %s\"\n",
				    name, v6 ? 6 : 4, v6 ? "inet6" : "inet");
		break;
	case -EOPNOTSUPP:
		pr_info_ratelimited("xt_ipcuckoo: %s is approximate, so addresses that are not in it match, too: accept that with \"--approximate\", or use a set of the type hash:ip\n",
				    name);
		break;
	}
	return err;
}

static int check(const struct xt_mtchk_param *par)
{
	struct xt_ipcuckoo_info *info = par->matchinfo;
	bool v6 = par->match->family == NFPROTO_IPV6;
	struct ipcuckoo_referral *referral;

	if (strnlen(info->set, sizeof(info->set)) == sizeof(info->set) ||
	    !ipcuckoo_names_valid(info->set)) {
		pr_info_ratelimited("xt_ipcuckoo: the name of the set is not valid: give one that \"ipcuckoo list -name\" prints\n");
		return -EINVAL;
	}
	if (info->flags & ~XT_IPCUCKOO_FLAGS || info->reserved) {
		pr_info_ratelimited("xt_ipcuckoo: this kernel module does not know all options of the rule: update it to the version of libxt_ipcuckoo.so\n");
		return -EINVAL;
	}
	referral = ipcuckoo_referral_get(ipcuckoo_net(par->net), info->set,
					 v6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET,
					 info->flags & XT_IPCUCKOO_APPROXIMATE);
	if (IS_ERR(referral))
		return explain(info->set, v6, PTR_ERR(referral));
	info->referral = referral;
	return 0;
}

static void destroy(const struct xt_mtdtor_param *par)
{
	const struct xt_ipcuckoo_info *info = par->matchinfo;

	ipcuckoo_referral_put(info->referral);
}

/* Not NFPROTO_UNSPEC: rules of bridges and ARP would look for IP headers where none are. */
static struct xt_match xt_matches[] __read_mostly = {
	{
		.name = "ipcuckoo",
		.family = NFPROTO_IPV4,
		.match = match4,
		.checkentry = check,
		.destroy = destroy,
		.matchsize = sizeof(struct xt_ipcuckoo_info),
		.usersize = offsetof(struct xt_ipcuckoo_info, referral),
		.me = THIS_MODULE,
	},
	{
		.name = "ipcuckoo",
		.family = NFPROTO_IPV6,
		.match = match6,
		.checkentry = check,
		.destroy = destroy,
		.matchsize = sizeof(struct xt_ipcuckoo_info),
		.usersize = offsetof(struct xt_ipcuckoo_info, referral),
		.me = THIS_MODULE,
	},
};

static int __init xt_ipcuckoo_init(void)
{
	return ipcuckoo_check_abi(THIS_MODULE->name, IPCUCKOO_VERSION, IPCUCKOO_ABI) ?:
	       xt_register_matches(xt_matches, ARRAY_SIZE(xt_matches));
}

static void __exit xt_ipcuckoo_exit(void)
{
	xt_unregister_matches(xt_matches, ARRAY_SIZE(xt_matches));
}

module_init(xt_ipcuckoo_init);
module_exit(xt_ipcuckoo_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Rules of iptables that look addresses up in sets of ipcuckoo");
MODULE_VERSION(IPCUCKOO_VERSION);
MODULE_INFO(abi, IPCUCKOO_ABI);
MODULE_ALIAS("ipt_ipcuckoo");
MODULE_ALIAS("ip6t_ipcuckoo");
