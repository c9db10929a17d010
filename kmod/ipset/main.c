// SPDX-License-Identifier: GPL-2.0-only
/* The module ipcuckoo_ipset: registers the types hash:ip and hash:net. */
#include <linux/module.h>
#include <linux/netfilter/nfnetlink.h>

#include "../net.h"
#include "../release.h"
#include "compat.h"
#include "create.h"
#include "dump.h"
#include "names.h"
#include "packet.h"
#include "request.h"

/* What each revision has added:
 *
 *		hash:ip		hash:net
 *	1	counters	ranges of IPv4
 *	2	comments	nomatch
 *	3	forceadd	counters
 *	4	skbinfo		comments
 *	5	bucketsize	forceadd
 *	6	bitmask		skbinfo
 *	7			bucketsize
 */
#define HASH_IP_REVISION	6
#define HASH_NET_REVISION	7

static const struct ip_set_type_variant variant = {
	.kadt = ipcuckoo_ipset_packet,
	.uadt = ipcuckoo_ipset_request,
	.destroy = ipcuckoo_ipset_destroy,
	.flush = ipcuckoo_ipset_flush,
	.head = ipcuckoo_ipset_head,
	.list = ipcuckoo_ipset_list,
	.uref = ipcuckoo_ipset_hold,
	.same_set = ipcuckoo_ipset_same,
	IPCUCKOO_IPSET_CANCEL(ipcuckoo_ipset_cancel)
	/* The core is to take no spinlock, under which requests could not sleep. */
	.region_lock = true,
};

/* Both types are registered. Before, no set may be created: it would outlive a module whose
 * initialisation fails.
 */
static bool ready;

static int hash_ip_create(struct net *net, struct ip_set *set, struct nlattr *tb[], u32 flags)
{
	return READ_ONCE(ready) ? ipcuckoo_ipset_create(net, set, false, tb, &variant) : -EAGAIN;
}

static int hash_net_create(struct net *net, struct ip_set *set, struct nlattr *tb[], u32 flags)
{
	return READ_ONCE(ready) ? ipcuckoo_ipset_create(net, set, true, tb, &variant) : -EAGAIN;
}

/* The attributes that both types have. Old tools send RESIZE, which has no effect. */
#define CREATE_POLICY						\
	[IPSET_ATTR_HASHSIZE]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_MAXELEM]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_INITVAL]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_BUCKETSIZE]	= { .type = NLA_U8 },		\
	[IPSET_ATTR_RESIZE]	= { .type = NLA_U8 },		\
	[IPSET_ATTR_TIMEOUT]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_CADT_FLAGS]	= { .type = NLA_U32 }

#define ADT_POLICY						\
	[IPSET_ATTR_IP]		= { .type = NLA_NESTED },	\
	[IPSET_ATTR_IP_TO]	= { .type = NLA_NESTED },	\
	[IPSET_ATTR_CIDR]	= { .type = NLA_U8 },		\
	[IPSET_ATTR_TIMEOUT]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_LINENO]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_BYTES]	= { .type = NLA_U64 },		\
	[IPSET_ATTR_PACKETS]	= { .type = NLA_U64 },		\
	[IPSET_ATTR_COMMENT]	= { .type = NLA_NUL_STRING,	\
				    .len = IPSET_MAX_COMMENT_SIZE },	\
	[IPSET_ATTR_SKBMARK]	= { .type = NLA_U64 },		\
	[IPSET_ATTR_SKBPRIO]	= { .type = NLA_U32 },		\
	[IPSET_ATTR_SKBQUEUE]	= { .type = NLA_U16 }

static struct ip_set_type hash_ip = {
	.name = "hash:ip",
	.protocol = IPSET_PROTOCOL,
	.features = IPSET_TYPE_IP,
	.dimension = IPSET_DIM_ONE,
	.family = NFPROTO_UNSPEC,
	.revision_max = HASH_IP_REVISION,
	.create_flags = {
		[HASH_IP_REVISION - 1] = IPSET_CREATE_FLAG_BUCKETSIZE,
		[HASH_IP_REVISION] = IPSET_CREATE_FLAG_BUCKETSIZE,
	},
	.create = hash_ip_create,
	.create_policy = {
		CREATE_POLICY,
		[IPSET_ATTR_NETMASK] = { .type = NLA_U8 },
		[IPCUCKOO_IPSET_ATTR_BITMASK] = { .type = NLA_NESTED },
	},
	.adt_policy = { ADT_POLICY },
	.me = THIS_MODULE,
};

static struct ip_set_type hash_net = {
	.name = "hash:net",
	.protocol = IPSET_PROTOCOL,
	.features = IPSET_TYPE_IP | IPSET_TYPE_NOMATCH,
	.dimension = IPSET_DIM_ONE,
	.family = NFPROTO_UNSPEC,
	.revision_max = HASH_NET_REVISION,
	.create_flags = { [HASH_NET_REVISION] = IPSET_CREATE_FLAG_BUCKETSIZE },
	.create = hash_net_create,
	.create_policy = { CREATE_POLICY },
	.adt_policy = {
		ADT_POLICY,
		[IPSET_ATTR_CADT_FLAGS] = { .type = NLA_U32 },
	},
	.me = THIS_MODULE,
};

/* ip_set has a type only once: if it has this one already, the kernel's own module is loaded. */
static int __init register_type(struct ip_set_type *type, const char *stock)
{
	int err = ip_set_type_register(type);

	if (err == -EINVAL)
		pr_err("ipcuckoo_ipset: %s is loaded already: destroy all sets of the type %s, then run \"modprobe -r %s\"\n",
		       stock, type->name, stock);
	return err;
}

static int __init ipcuckoo_ipset_init(void)
{
	int err;

	if (IPCUCKOO_IPSET_TOO_OLD) {
		pr_err("ipcuckoo_ipset: the ip_set of this kernel frees sets that packets may be using: boot Linux 6.1.79, 6.8 or later, or use sets of ipcuckoo\n");
		return -EOPNOTSUPP;
	}
	err = ipcuckoo_check_abi(THIS_MODULE->name, IPCUCKOO_VERSION, IPCUCKOO_ABI);
	err = err ?: ipcuckoo_ipset_names_init();
	if (err)
		return err;
	err = register_type(&hash_ip, "ip_set_hash_ip");
	if (err)
		goto err_names;
	err = register_type(&hash_net, "ip_set_hash_net");
	if (err)
		goto err_ip;
	WRITE_ONCE(ready, true);
	return 0;

err_ip:
	ip_set_type_unregister(&hash_ip);
	/* Wait for requests that have found the type already. */
	nfnl_lock(NFNL_SUBSYS_IPSET);
	nfnl_unlock(NFNL_SUBSYS_IPSET);
err_names:
	ipcuckoo_ipset_names_exit();
	return err;
}

static void __exit ipcuckoo_ipset_exit(void)
{
	ip_set_type_unregister(&hash_net);
	ip_set_type_unregister(&hash_ip);
	ipcuckoo_ipset_names_exit();
}

module_init(ipcuckoo_ipset_init);
module_exit(ipcuckoo_ipset_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The types hash:ip and hash:net of ip_set, in the tables of ipcuckoo");
MODULE_VERSION(IPCUCKOO_VERSION);
MODULE_INFO(abi, IPCUCKOO_ABI);
