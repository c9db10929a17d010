// SPDX-License-Identifier: GPL-2.0-only
/* Initialises and exits the module and its network namespaces, in the right order. */
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <net/genetlink.h>

#include "attach.h"
#include "ids.h"
#include "lock.h"
#include "names.h"
#include "net.h"
#include "netlink.h"
#include "procfs.h"
#include "referral.h"
#include "release.h"
#include "set.h"
#include "shadow.h"
#include "table.h"
#include "tap.h"
#include "trim.h"
#include "value.h"

static int __net_init net_begin(struct net *net)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(net);

	pernet->net = net;
	ipcuckoo_lock_init(pernet);
	ipcuckoo_mem_open(&pernet->mem, ipcuckoo_net_memory_limit(net), ipcuckoo_record_reap);
	pernet->sets = RB_ROOT;
	pernet->shadows = RB_ROOT;
	ipcuckoo_ids_init_net(pernet);
	ipcuckoo_trim_init_net(pernet);
	ipcuckoo_attach_init_net(pernet);
	return ipcuckoo_proc_init_net(pernet);
}

/* The core waits for a grace period between this and net_end_batch(). */
static void __net_exit net_pre_end(struct net *net)
{
	ipcuckoo_attach_exit_net(ipcuckoo_net(net));
}

static void __net_exit net_end(struct net *net)
{
	struct ipcuckoo_net *pernet = ipcuckoo_net(net);

	ipcuckoo_shadow_exit_net(pernet);
	ipcuckoo_referral_exit_net(pernet);
	ipcuckoo_names_exit_net(pernet);
	ipcuckoo_ids_exit_net(pernet);
	ipcuckoo_trim_exit_net(pernet);
	ipcuckoo_proc_exit_net(pernet);
	ipcuckoo_tap_exit_net(pernet);
	if (pernet->wq)
		destroy_workqueue(pernet->wq);
	mem_cgroup_put(pernet->memcg);
}

/* Retiring memory is charged to the account in struct ipcuckoo_net, which the core frees
 * after this function returns. So this waits until all of it is freed. net_end() is called
 * for all namespaces before the first wait, so that they share grace periods.
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

	err = ipcuckoo_value_init();
	if (err)
		return err;
	err = ipcuckoo_mem_init();
	if (err)
		goto err_value;
	err = ipcuckoo_set_init();
	if (err)
		goto err_mem;
	err = ipcuckoo_net_init();
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
	ipcuckoo_net_exit();
err_set:
	ipcuckoo_set_exit();
err_mem:
	ipcuckoo_mem_exit();
err_value:
	ipcuckoo_value_exit();
	return err;
}

static void __exit ipcuckoo_exit(void)
{
	ipcuckoo_nl_exit();
	ipcuckoo_attach_exit();
	unregister_pernet_subsys(&net_ops);
	/* call_rcu() callbacks of this module may still be queued. */
	rcu_barrier();
	ipcuckoo_net_exit();
	ipcuckoo_set_exit();
	ipcuckoo_mem_exit();
	ipcuckoo_value_exit();
	ipcuckoo_search_exit();
}

module_init(ipcuckoo_init);
module_exit(ipcuckoo_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("IP blocklists in cuckoo hash tables and filters");
MODULE_VERSION(IPCUCKOO_VERSION);
MODULE_ALIAS_GENL_FAMILY(IPCUCKOO_NAME);
