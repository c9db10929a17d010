// SPDX-License-Identifier: GPL-2.0-only
/*
 * The beginning and the end of sets: see create.h.
 *
 * ip_set destroys a set from a callback of RCU, which must not sleep, and frees struct ip_set right
 * afterwards. So ours is freed by a work item.
 */
#include <linux/log2.h>
#include <linux/net.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/netfilter/ipset/pfxlen.h>
#include <uapi/linux/netfilter/ipset/ip_set_hash.h>

#include "../in6.h"
#include "../net.h"
#include "apply.h"
#include "compat.h"
#include "create.h"
#include "names.h"

/* Values of ip_set, which are in headers that only its own types can use. */
#define HASHSIZE_DEFAULT	1024
#define HASHSIZE_MIN		64
#define MAXELEM_DEFAULT		65536
#define BUCKETSIZE_DEFAULT	12
#define BUCKETSIZE_MIN		2

/* --- options --- */

static int check_byte_order(struct nlattr *tb[])
{
	static const int attrs[] = {
		IPSET_ATTR_HASHSIZE, IPSET_ATTR_MAXELEM, IPSET_ATTR_TIMEOUT, IPSET_ATTR_CADT_FLAGS,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (!ip_set_optattr_netorder(tb, attrs[i]))
			return -IPSET_ERR_PROTOCOL;
	return 0;
}

static int get_netmask(struct nlattr *nla, bool v6, struct ipcuckoo_set_options *options)
{
	u8 len = nla_get_u8(nla), host = v6 ? 128 : 32;

	if (!len || len > host)
		return -IPSET_ERR_INVALID_NETMASK;
	if (len == host)
		return 0;
	options->netmask = len;
	options->mask = (struct ipcuckoo_mask){
		.bits = ipcuckoo_prefix_mask(len, v6), .present = true,
	};
	return 0;
}

static int get_bitmask(struct nlattr *nla, bool v6, struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_key bits = {};
	union nf_inet_addr in;
	__be32 in4;
	int err;

	if (v6) {
		err = ip_set_get_ipaddr6(nla, &in);
		if (!err)
			bits = ipcuckoo_in6_key(&in.in6);
	} else {
		err = ip_set_get_ipaddr4(nla, &in4);
		if (!err)
			bits.lo = ntohl(in4);
	}
	if (err || ipcuckoo_ipset_is_zero(&bits))
		return -IPSET_ERR_INVALID_NETMASK;
	/* A mask with all bits is as good as none. */
	if (bits.lo == (v6 ? ~0ULL : U32_MAX) && (!v6 || bits.hi == ~0ULL))
		return 0;
	options->mask = (struct ipcuckoo_mask){ .bits = bits, .present = true };
	return 0;
}

static int get_masks(struct nlattr *tb[], bool v6, struct ipcuckoo_set_options *options)
{
	struct nlattr *netmask = tb[IPSET_ATTR_NETMASK];
	struct nlattr *bitmask = tb[IPCUCKOO_IPSET_ATTR_BITMASK];
	int err = 0;

	if (netmask)
		err = get_netmask(netmask, v6, options);
	if (!err && bitmask)
		err = netmask ? -IPCUCKOO_IPSET_ERR_TWO_MASKS : get_bitmask(bitmask, v6, options);
	return err;
}

static u32 get_u32(struct nlattr *nla, u32 none)
{
	return nla ? ip_set_get_h32(nla) : none;
}

static u8 get_bucketsize(struct nlattr *nla)
{
	u8 size = nla ? nla_get_u8(nla) : BUCKETSIZE_DEFAULT;

	return round_up(clamp_t(u8, size, BUCKETSIZE_MIN, BUCKETSIZE_DEFAULT), 2);
}

/* What ip_set would make of the size of its hash table. Return: 0 if it could not allocate that. */
static u32 get_hashsize(struct nlattr *nla)
{
	u32 size = max_t(u32, get_u32(nla, HASHSIZE_DEFAULT), HASHSIZE_MIN);

	return size > INT_MAX / sizeof(void *) / 2 ? 0 : roundup_pow_of_two(size);
}

static u32 exts_of(const struct ip_set *set)
{
	return (SET_WITH_TIMEOUT(set) ? IPCUCKOO_O_TIMEOUT : 0) |
	       (SET_WITH_COUNTER(set) ? IPCUCKOO_O_COUNTERS : 0) |
	       (SET_WITH_COMMENT(set) ? IPCUCKOO_O_COMMENT : 0) |
	       (SET_WITH_SKBINFO(set) ? IPCUCKOO_O_SKBINFO : 0);
}

/* --- the beginning --- */

/* Requests take the mutex of a set under that of ip_set. Its holders never wait for RTNL, unlike
 * those of other sets.
 */
static struct lock_class_key mutex_key;

static struct ipcuckoo_set *make_contents(struct net *net, const struct ip_set *set,
					  const struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_set *contents;
	struct ipcuckoo_lens *lens;

	contents = ipcuckoo_set_alloc(ipcuckoo_net(net), set->name, options);
	if (IS_ERR(contents))
		return contents;
	lockdep_set_class(&contents->entries.mutex, &mutex_key);
	contents->hidden = true;
	if (options->type != IPCUCKOO_TYPE_HASH_NET)
		return contents;
	lens = ipcuckoo_object_alloc(&ipcuckoo_net(net)->mem, sizeof(*lens),
				     IPCUCKOO_CHARGE_WAIT);
	if (IS_ERR(lens)) {
		ipcuckoo_set_put(contents);
		return ERR_CAST(lens);
	}
	contents->entries.lens = lens;
	return contents;
}

/* See struct ipcuckoo_set. */
static void settle(void *ipset)
{
	ipcuckoo_ipset_apply_all(ipset);
}

static struct ipcuckoo_ipset *make_set(struct net *net, struct nlattr *tb[],
				       const struct ip_set *set,
				       const struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_ipset *s = ipcuckoo_object_alloc(&ipcuckoo_net(net)->mem, sizeof(*s),
							 IPCUCKOO_CHARGE_WAIT);

	if (IS_ERR(s))
		return s;
	s->nets = options->type == IPCUCKOO_TYPE_HASH_NET;
	s->v6 = set->family == NFPROTO_IPV6;
	s->records = options->exts & IPCUCKOO_RECORD_OPTIONS;
	s->hashsize = get_hashsize(tb[IPSET_ATTR_HASHSIZE]);
	s->initval = get_u32(tb[IPSET_ATTR_INITVAL], get_random_u32());
	s->bucketsize = get_bucketsize(tb[IPSET_ATTR_BUCKETSIZE]);
	INIT_WORK(&s->apply, ipcuckoo_ipset_apply_work);
	INIT_WORK(&s->free, ipcuckoo_ipset_free_work);
	/* One reference is that of ip_set, the other one that of the list of sets. */
	refcount_set(&s->ref, 2);
	return s;
}

/* Log why a set is refused if ipset's message does not say it: "Disk quota exceeded", or "Operation
 * not permitted".
 */
static int refuse(const struct ip_set *set, int err)
{
	if (err == -EDQUOT && net_ratelimit())
		pr_warn("Set %s is not created: the memory limit of its network namespace is reached\n",
			set->name);
	if (err == -EPERM && net_ratelimit())
		pr_warn("Set %s is not created: only root of the machine may create sets of this type, unless the module ipcuckoo is loaded with userns=1\n",
			set->name);
	return err;
}

/**
 * ipcuckoo_ipset_create() - begin a set
 * @net:	its network namespace
 * @set:	filled in
 * @nets:	the type is hash:net, else hash:ip
 * @tb:		attributes of the request
 * @variant:	functions of the set
 *
 * Context: process context, under the mutex of ip_set.
 * Return: 0 or an error of ip_set.
 */
int ipcuckoo_ipset_create(struct net *net, struct ip_set *set, bool nets, struct nlattr *tb[],
			  const struct ip_set_type_variant *variant)
{
	struct ipcuckoo_set_options options = {
		.type = nets ? IPCUCKOO_TYPE_HASH_NET : IPCUCKOO_TYPE_HASH_IP,
	};
	struct ipcuckoo_set *contents;
	struct ipcuckoo_ipset *s;
	int err;

	if (set->family != NFPROTO_IPV4 && set->family != NFPROTO_IPV6)
		return -IPSET_ERR_INVALID_FAMILY;
	/* While there is such a set, the module cannot be replaced. Every user can be root of a
	 * user namespace, and ip_set lets him create sets.
	 */
	if (!ns_capable(ipcuckoo_net_owner(net), CAP_NET_ADMIN))
		return refuse(set, -EPERM);
	err = check_byte_order(tb);
	if (!err && !nets)
		err = get_masks(tb, set->family == NFPROTO_IPV6, &options);
	if (err)
		return err;
	if (!get_hashsize(tb[IPSET_ATTR_HASHSIZE]))
		return -ENOMEM;
	/* Sets extensions and forceadd. We need no room for them in elements. */
	set->dsize = ip_set_elem_len(set, tb, 0, 0);
	set->timeout = tb[IPSET_ATTR_TIMEOUT] ? ip_set_timeout_uget(tb[IPSET_ATTR_TIMEOUT]) :
						IPSET_NO_TIMEOUT;
	options.family = set->family == NFPROTO_IPV6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET;
	options.forceadd = SET_WITH_FORCEADD(set);
	options.maxelem = get_u32(tb[IPSET_ATTR_MAXELEM], MAXELEM_DEFAULT);
	options.timeout = SET_WITH_TIMEOUT(set) ? set->timeout : 0;
	options.exts = exts_of(set);

	s = make_set(net, tb, set, &options);
	if (IS_ERR(s))
		return refuse(set, PTR_ERR(s));
	contents = make_contents(net, set, &options);
	if (IS_ERR(contents)) {
		ipcuckoo_object_free(s, &ipcuckoo_net(net)->mem, sizeof(*s));
		return refuse(set, PTR_ERR(contents));
	}
	ipcuckoo_pending_init(&s->pending, &contents->entries);
	contents->ipset = s;
	contents->settle = settle;
	s->set = contents;
	s->owner = set;
	set->data = s;
	set->variant = variant;
	ipcuckoo_ipset_names_add(s);
	return 0;
}

/**
 * ipcuckoo_ipset_same() - were two sets created with the same options?
 * @a:		set
 * @b:		set of the same type
 *
 * Context: process context, under the mutex of ip_set.
 */
bool ipcuckoo_ipset_same(const struct ip_set *a, const struct ip_set *b)
{
	const struct ipcuckoo_ipset *x = a->data, *y = b->data;
	const struct ipcuckoo_mask *m = &x->set->mask, *n = &y->set->mask;

	if (IPCUCKOO_IPSET_FAMILY_COUNTS && !x->nets && x->v6 != y->v6)
		return false;
	return ipcuckoo_ipset_maxelem(x) == ipcuckoo_ipset_maxelem(y) && a->timeout == b->timeout &&
	       a->extensions == b->extensions && x->set->netmask == y->set->netmask &&
	       m->present == n->present && m->bits.hi == n->bits.hi && m->bits.lo == n->bits.lo;
}

/* --- the end --- */

/**
 * ipcuckoo_ipset_cancel() - prepare for the end of a set that is about to be destroyed
 * @set:	set; packets may still be using it
 *
 * Does not wait for those who have locked the contents: every request to ip_set, in any namespace,
 * waits for the mutex of ip_set.
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_cancel(struct ip_set *set)
{
	struct ipcuckoo_ipset *s = set->data;

	ipcuckoo_pending_close(&s->pending);
	ipcuckoo_ipset_names_forget(s);
}

/**
 * ipcuckoo_ipset_destroy() - end a set
 * @set:	set that nobody uses any more; freed by the caller
 *
 * Context: any; must not sleep.
 */
void ipcuckoo_ipset_destroy(struct ip_set *set)
{
	struct ipcuckoo_ipset *s = set->data;

	set->data = NULL;
	ipcuckoo_ipset_names_remove(s);
	ipcuckoo_ipset_put(s);
}
