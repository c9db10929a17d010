// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters, workqueues, and the memory limit of a network namespace: see net.h. */
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/netfilter_ipv4.h>
#include <linux/srcu.h>

#include "net.h"
#include "release.h"

unsigned int ipcuckoo_net_id;

struct workqueue_struct *ipcuckoo_wq;

/* How many work items of a namespace run at the same time. Each that waits for a lock keeps a
 * thread of the kernel.
 */
#define WORKERS		16

/**
 * ipcuckoo_net_init() - create the workqueue of what belongs to no namespace
 *
 * Context: before the first namespace is initialised.
 * Return: 0 or -ENOMEM.
 */
int __init ipcuckoo_net_init(void)
{
	/* Unbound: work items wait for modprobe for seconds. */
	ipcuckoo_wq = alloc_workqueue("ipcuckoo", WQ_UNBOUND, 0);
	return ipcuckoo_wq ? 0 : -ENOMEM;
}

/* Tables that a work item allocates are charged to the cgroup of the process that created the
 * namespace's first set: otherwise a container could fill tables, let them be trimmed, and so get
 * memory outside its limit. The namespace's reference keeps the cgroup in memory after the cgroup
 * was removed. So the first namespace of the machine takes no reference: scripts that run once,
 * each in a cgroup of its own, create sets there, and no container has to be limited.
 */
static void need_memcg(struct ipcuckoo_net *pernet)
{
	struct mem_cgroup *memcg;

	if (net_eq(pernet->net, &init_net))
		return;
	memcg = get_mem_cgroup_from_mm(current->mm);
	if (cmpxchg(&pernet->memcg, NULL, memcg))
		mem_cgroup_put(memcg);
}

/**
 * ipcuckoo_net_need_wq() - create the workqueue of a namespace, unless it has one
 * @pernet:	namespace, which is about to get a set
 *
 * A workqueue runs a limited number of work items at the same time. If namespaces shared one, the
 * items of a namespace, which wait for the locks of busy sets, could keep those of another waiting.
 * Most namespaces never have a set, and need none.
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_net_need_wq(struct ipcuckoo_net *pernet)
{
	struct workqueue_struct *wq;

	if (READ_ONCE(pernet->wq))
		return 0;
	/* Unbound: work items hold mutexes, or wait for RTNL, for seconds. */
	wq = alloc_workqueue("ipcuckoo", WQ_UNBOUND, WORKERS);
	if (!wq)
		return -ENOMEM;
	need_memcg(pernet);
	if (cmpxchg(&pernet->wq, NULL, wq))
		destroy_workqueue(wq);
	return 0;
}

/**
 * ipcuckoo_net_exit() - undo ipcuckoo_net_init()
 *
 * Context: process context, after the last namespace and the last set were freed.
 */
void ipcuckoo_net_exit(void)
{
	destroy_workqueue(ipcuckoo_wq);
}

/**
 * ipcuckoo_check_abi() - may another module of this tree use this one?
 * @module:	name of the other module
 * @version:	its IPCUCKOO_VERSION
 * @abi:	its IPCUCKOO_ABI
 *
 * Modules that use our exported symbols also read our structures. A package that is upgraded
 * replaces the files of all modules, but not the one that is loaded; then those that are loaded
 * later are of another version, and may use this one if both were compiled with the same
 * declarations (abi.sh).
 *
 * Context: any.
 * Return: 0; or -ENOEXEC if the declarations differ, after a message in the kernel's log.
 */
int ipcuckoo_check_abi(const char *module, const char *version, const char *abi)
{
	if (!strcmp(abi, IPCUCKOO_ABI))
		return 0;
	pr_err("ipcuckoo: %s has version %s (ABI %s), and cannot use this module, which has version %s (ABI %s): run ipcuckoo-upgrade, or restart the machine\n",
	       module, version, abi, IPCUCKOO_VERSION, IPCUCKOO_ABI);
	return -ENOEXEC;
}
MODULE_INFO(abi, IPCUCKOO_ABI);

/* ip_set tells nobody that it has renamed or swapped sets. So before somebody looks for a set by
 * name, the module ipcuckoo_ipset compares all names, if it is loaded. Its function is called under
 * SRCU, because it sleeps: nobody who calls it waits for another one.
 */

DEFINE_STATIC_SRCU(sync_srcu);

static ipcuckoo_sync_fn sync_names;

/**
 * ipcuckoo_net_set_sync() - say which function brings the names of sets of ip_set up to date
 * @sync:	the function, or NULL
 *
 * Context: process context; waits for the previous function to return.
 */
void ipcuckoo_net_set_sync(ipcuckoo_sync_fn sync)
{
	WRITE_ONCE(sync_names, sync);
	synchronize_srcu(&sync_srcu);
}

/**
 * ipcuckoo_net_sync() - bring the names of sets of ip_set up to date
 * @pernet:	namespace
 * @until:	from ipcuckoo_lock_limit(), or IPCUCKOO_FOREVER
 *
 * Context: process context, without locks.
 * Return: 0, -EINTR or -EAGAIN.
 */
int ipcuckoo_net_sync(struct ipcuckoo_net *pernet, unsigned long until)
{
	ipcuckoo_sync_fn sync;
	int idx, err = 0;

	if (!READ_ONCE(pernet->ipsets))
		return 0;
	idx = srcu_read_lock(&sync_srcu);
	sync = READ_ONCE(sync_names);
	if (sync)
		err = sync(pernet, until);
	srcu_read_unlock(&sync_srcu, idx);
	return err;
}

/* In MiB. A larger limit in bytes would overflow an unsigned long. */
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
		pr_err("ipcuckoo: %s=%s is not valid: give a number of MiB from 0 to %lu\n",
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
		 "memory limit of each network namespace for its sets and attachments, in MiB (default 0: no limit)");

module_param_cb(userns_memory_limit, &mib_ops, &userns_memory_limit, 0444);
MODULE_PARM_DESC(userns_memory_limit,
		 "like memory_limit, but for network namespaces of user namespaces other than the initial one; the lower limit counts (default 64; 0: memory_limit alone)");

/**
 * ipcuckoo_net_memory_limit() - the memory limit of a network namespace
 * @net:	namespace
 *
 * Any user can create a user namespace, and network namespaces in it. So there is a
 * second limit for network namespaces that the initial user namespace does not own.
 *
 * Return: bytes, 0 for no limit.
 */
unsigned long ipcuckoo_net_memory_limit(const struct net *net)
{
	unsigned long other = net->user_ns == &init_user_ns ? 0 : userns_memory_limit;

	return min_not_zero(memory_limit, other) << 20;
}

unsigned int ipcuckoo_maxelem;

static int set_maxelem(const char *val, const struct kernel_param *kp)
{
	int err = kstrtouint(val, 0, &ipcuckoo_maxelem);

	if (err)
		pr_err("ipcuckoo: maxelem=%s is not valid: give a number of entries from 0 to %u\n",
		       val, U32_MAX);
	return err;
}

static const struct kernel_param_ops maxelem_ops = {
	.set = set_maxelem,
	.get = param_get_uint,
};

module_param_cb(maxelem, &maxelem_ops, &ipcuckoo_maxelem, 0444);
MODULE_PARM_DESC(maxelem,
		 "limit of entries of a set that is created without one (default 0: no limit)");

bool ipcuckoo_userns;

module_param_named(userns, ipcuckoo_userns, bool, 0444);
MODULE_PARM_DESC(userns,
		 "whether user namespaces other than the initial one may use the module (default N: only root of the machine)");

int ipcuckoo_hook_priority = NF_IP_PRI_RAW_BEFORE_DEFRAG;

static int set_priority(const char *val, const struct kernel_param *kp)
{
	int priority;
	int err = kstrtoint(val, 0, &priority);

	if (!err && (priority < -IPCUCKOO_PRIORITY_MAX || priority > IPCUCKOO_PRIORITY_MAX))
		err = -ERANGE;
	if (err)
		pr_err("ipcuckoo: priority=%s is not valid: give a number from %d to %d\n",
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
