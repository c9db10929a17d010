// SPDX-License-Identifier: GPL-2.0-only
/* The module: parameters, namespaces, and what is begun and ended in which
 * order.
 */
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/netfilter_ipv4.h>
#include <net/genetlink.h>

#include "attach.h"
#include "net.h"
#include "netlink.h"
#include "procfs.h"
#include "set.h"
#include "shadow.h"

unsigned int ipcuckoo_net_id;

/* MiB; anything larger would not fit in an unsigned long of bytes. */
#define MEMORY_LIMIT_MAX	(ULONG_MAX >> 20)

static unsigned long memory_limit;
static unsigned long userns_memory_limit = 64;

static int set_mib(const char *val, const struct kernel_param *kp)
{
	unsigned long mib;
	int err = kstrtoul(val, 0, &mib);

	if (!err && mib > MEMORY_LIMIT_MAX)
		err = -ERANGE;
	if (err)
		pr_err("ipcuckoo: %s=%s: give MiB, 0 to %lu\n",
		       kp->name, val, MEMORY_LIMIT_MAX);
	else
		*(unsigned long *)kp->arg = mib;
	return err;
}

static const struct kernel_param_ops mib_ops = {
	.set = set_mib,
	.get = param_get_ulong,
};

module_param_cb(memory_limit, &mib_ops, &memory_limit, 0444);
MODULE_PARM_DESC(memory_limit,
		 "MiB that a network namespace may have of sets and all that belongs to them (default 0: no limit)");

module_param_cb(userns_memory_limit, &mib_ops, &userns_memory_limit, 0444);
MODULE_PARM_DESC(userns_memory_limit,
		 "MiB likewise for a network namespace of another user namespace than the first, if memory_limit is not less (default 64: see userns; 0: memory_limit alone)");

/* Anybody can make a user namespace, and network namespaces in it. */
static unsigned long limit_of(const struct net *net)
{
	unsigned long other = net->user_ns == &init_user_ns ? 0 : userns_memory_limit;

	return min_not_zero(memory_limit, other) << 20;
}

unsigned int ipcuckoo_maxelem;

static int set_maxelem(const char *val, const struct kernel_param *kp)
{
	int err = kstrtouint(val, 0, &ipcuckoo_maxelem);

	if (err)
		pr_err("ipcuckoo: maxelem=%s: give a number of entries, 0 to %u\n",
		       val, U32_MAX);
	return err;
}

static const struct kernel_param_ops maxelem_ops = {
	.set = set_maxelem,
	.get = param_get_uint,
};

module_param_cb(maxelem, &maxelem_ops, &ipcuckoo_maxelem, 0444);
MODULE_PARM_DESC(maxelem,
		 "entries a set may hold unless it is made with another limit (default 0: no limit)");

bool ipcuckoo_userns;

module_param_named(userns, ipcuckoo_userns, bool, 0444);
MODULE_PARM_DESC(userns,
		 "whether user namespaces other than the first may use the module (default N: only root of the machine)");

int ipcuckoo_hook_priority = NF_IP_PRI_RAW_BEFORE_DEFRAG;

static int set_priority(const char *val, const struct kernel_param *kp)
{
	int priority;
	int err = kstrtoint(val, 0, &priority);

	if (!err && (priority < -IPCUCKOO_PRIORITY_MAX || priority > IPCUCKOO_PRIORITY_MAX))
		err = -ERANGE;
	if (err)
		pr_err("ipcuckoo: priority=%s: give a number from %d to %d\n",
		       val, -IPCUCKOO_PRIORITY_MAX, IPCUCKOO_PRIORITY_MAX);
	else
		ipcuckoo_hook_priority = priority;
	return err;
}

static const struct kernel_param_ops priority_ops = {
	.set = set_priority,
	.get = param_get_int,
};

module_param_cb(priority, &priority_ops, &ipcuckoo_hook_priority, 0444);
MODULE_PARM_DESC(priority,
		 "netfilter priority of the hooks (default -450: before defragmentation)");

static int __net_init net_begin(struct net *net)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(net);

	pernet->net = net;
	mutex_init(&pernet->names);
	mutex_init(&pernet->mutex);
	ipcuckoo_mem_open(&pernet->mem, limit_of(net), ipcuckoo_record_reap);
	pernet->sets = RB_ROOT;
	pernet->shadows = RB_ROOT;
	ipcuckoo_attach_init_net(pernet);
	return ipcuckoo_proc_init_net(pernet);
}

/* The core waits for readers after this and before net_end(). */
static void __net_exit net_pre_end(struct net *net)
{
	ipcuckoo_attach_exit_net(ipcuckoo_net(net));
}

static void __net_exit net_end(struct net *net)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(net);

	ipcuckoo_shadow_exit_net(pernet);
	ipcuckoo_set_exit_net(pernet);
	ipcuckoo_proc_exit_net(pernet);
}

/* What retires is charged to an account in struct ipcuckoo_net, which the core
 * frees after this. All namespaces of a batch wait for the same grace periods.
 */
static void __net_exit net_end_batch(struct list_head *nets)
{
	struct net *net;

	list_for_each_entry(net, nets, exit_list)
		net_end(net);
	list_for_each_entry(net, nets, exit_list) {
		ipcuckoo_mem_close(&ipcuckoo_net(net)->mem);
		WARN_ON(atomic_long_read(&ipcuckoo_net(net)->mem.used));
	}
}

static struct pernet_operations net_ops = {
	.init = net_begin,
	.pre_exit = net_pre_end,
	.exit_batch = net_end_batch,
	.id = &ipcuckoo_net_id,
	.size = sizeof(struct ipcuckoo_net),
};

static int __init ipcuckoo_init(void)
{
	int err;

	err = ipcuckoo_mem_init();
	if (err)
		return err;
	err = ipcuckoo_set_init();
	if (err)
		goto err_set;
	err = register_pernet_subsys(&net_ops);
	if (err)
		goto err_net;
	err = ipcuckoo_attach_init();
	if (err)
		goto err_attach;
	err = ipcuckoo_nl_init();
	if (err)
		goto err_netlink;
	return 0;

err_netlink:
	ipcuckoo_attach_exit();
err_attach:
	unregister_pernet_subsys(&net_ops);
	rcu_barrier();
err_net:
	ipcuckoo_set_exit();
err_set:
	ipcuckoo_mem_exit();
	return err;
}

static void __exit ipcuckoo_exit(void)
{
	ipcuckoo_nl_exit();
	ipcuckoo_attach_exit();
	unregister_pernet_subsys(&net_ops);
	/* Callbacks of ours may still be queued. */
	rcu_barrier();
	ipcuckoo_set_exit();
	ipcuckoo_mem_exit();
}

module_init(ipcuckoo_init);
module_exit(ipcuckoo_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("IP blocklists in cuckoo filters");
MODULE_VERSION(IPCUCKOO_VERSION);
MODULE_ALIAS_GENL_FAMILY(IPCUCKOO_FAMILY_NAME);
