// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sets of each network namespace, and their names: see names.h.
 *
 * The contents of a set belong to the namespace's data of the module ipcuckoo, whose end waits for
 * their memory. What modules have registered for a namespace ends in the reverse order: ours before
 * that of ipcuckoo and that of ip_set. So the sets of the namespace lose their contents first, and
 * ip_set destroys what is left. No packet and no request can come in between.
 */
#include <linux/netfilter/nfnetlink.h>
#include <linux/slab.h>
#include <net/netns/generic.h>

#include "../names.h"
#include "../net.h"
#include "apply.h"
#include "names.h"

static unsigned int net_id;

/* Protects the lists of sets of all namespaces, and ipcuckoo_ipset.set when a namespace ends. */
static DEFINE_MUTEX(sets_lock);

/**
 * struct ipset_net - the sets of a network namespace
 * @sets:	list of struct ipcuckoo_ipset
 * @pernet:	the namespace's data of the module ipcuckoo
 * @sync:	work item that brings names up to date
 */
struct ipset_net {
	struct list_head sets;
	struct ipcuckoo_net *pernet;
	struct work_struct sync;
};

static struct ipset_net *ipset_net(const struct net *net)
{
	return net_generic(net, net_id);
}

static struct ipset_net *net_of(const struct ipcuckoo_ipset *s)
{
	return ipset_net(s->set->pernet->net);
}

static bool is_shown(const struct ipcuckoo_ipset *s)
{
	return !RB_EMPTY_NODE(&s->set->node);
}

/* Does ipcuckoo show a set under the name that it has in ip_set? The mutex of ip_set is held. */
static bool has_name(const struct ipcuckoo_ipset *s)
{
	return is_shown(s) && !strcmp(s->set->name, s->owner->name);
}

/* Show all sets of a namespace under the names that they have in ip_set. First, those with other
 * names are hidden, so that two of them can have exchanged theirs.
 */
static void sync_all(struct ipset_net *in)
{
	struct ipcuckoo_ipset *s;

	list_for_each_entry(s, &in->sets, node)
		if (s->owner && !has_name(s))
			ipcuckoo_names_hide(s->set);
	list_for_each_entry(s, &in->sets, node)
		if (s->owner && !is_shown(s))
			ipcuckoo_names_show(s->set, s->owner->name);
}

static void sync_names(struct ipcuckoo_net *pernet)
{
	nfnl_lock(NFNL_SUBSYS_IPSET);
	mutex_lock(&sets_lock);
	mutex_lock(&pernet->names);
	sync_all(ipset_net(pernet->net));
	mutex_unlock(&pernet->names);
	mutex_unlock(&sets_lock);
	nfnl_unlock(NFNL_SUBSYS_IPSET);
}

static void sync_work(struct work_struct *work)
{
	sync_names(container_of(work, struct ipset_net, sync)->pernet);
}

/**
 * ipcuckoo_ipset_names_add() - add a set to those of its namespace
 * @s:		set, whose name may still be refused by ip_set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_names_add(struct ipcuckoo_ipset *s)
{
	struct ipset_net *in = net_of(s);

	mutex_lock(&sets_lock);
	list_add_tail(&s->node, &in->sets);
	WRITE_ONCE(in->pernet->ipsets, in->pernet->ipsets + 1);
	mutex_unlock(&sets_lock);
	queue_work(ipcuckoo_ipset_wq, &in->sync);
}

static void hide(struct ipcuckoo_set *set)
{
	mutex_lock(&set->pernet->names);
	ipcuckoo_names_hide(set);
	mutex_unlock(&set->pernet->names);
}

/* The caller holds sets_lock. */
static void remove_set(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_net *pernet = s->set->pernet;

	hide(s->set);
	list_del(&s->node);
	WRITE_ONCE(pernet->ipsets, pernet->ipsets - 1);
}

/**
 * ipcuckoo_ipset_names_hide() - take the name away from a set that is about to be destroyed
 * @s:		set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_names_hide(struct ipcuckoo_ipset *s)
{
	if (s->set)
		hide(s->set);
}

/* No packet and no request can begin to use the contents. */
static void free_contents(struct ipcuckoo_set *contents)
{
	struct ipcuckoo_lens *lens = contents->entries.lens;

	ipcuckoo_names_discard(contents);
	kfree(lens);
}

/**
 * ipcuckoo_ipset_names_remove() - free the contents of a set, unless its namespace has ended
 * @s:		set that nobody uses any more
 *
 * Context: process context.
 */
void ipcuckoo_ipset_names_remove(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_set *contents;

	mutex_lock(&sets_lock);
	contents = s->set;
	if (contents)
		remove_set(s);
	mutex_unlock(&sets_lock);
	if (contents)
		free_contents(contents);
}

/**
 * ipcuckoo_ipset_names_check() - bring names up to date soon, if ip_set has renamed a set
 * @s:		set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_names_check(struct ipcuckoo_ipset *s)
{
	if (unlikely(strcmp(s->set->name, s->owner->name)))
		queue_work(ipcuckoo_ipset_wq, &net_of(s)->sync);
}

static int __net_init net_begin(struct net *net)
{
	struct ipset_net *in = ipset_net(net);

	INIT_LIST_HEAD(&in->sets);
	in->pernet = ipcuckoo_net(net);
	INIT_WORK(&in->sync, sync_work);
	return 0;
}

/* Take their contents away from the sets of a namespace. Work items free those of sets that were
 * destroyed.
 */
static void __net_exit net_end(struct net *net)
{
	struct ipset_net *in = ipset_net(net);
	struct ipcuckoo_set *contents;
	struct ipcuckoo_ipset *s;

	cancel_work_sync(&in->sync);
	mutex_lock(&sets_lock);
	while (!list_empty(&in->sets)) {
		s = list_first_entry(&in->sets, struct ipcuckoo_ipset, node);
		ipcuckoo_pending_close(&s->pending);
		cancel_work_sync(&s->apply);
		remove_set(s);
		contents = s->set;
		s->set = NULL;
		free_contents(contents);
	}
	mutex_unlock(&sets_lock);
}

static void __net_exit net_end_batch(struct list_head *nets)
{
	struct net *net;

	list_for_each_entry(net, nets, exit_list)
		net_end(net);
	/* Of sets that were destroyed before, work items may still be freeing the contents. */
	flush_workqueue(ipcuckoo_ipset_wq);
}

static struct pernet_operations net_ops = {
	.init = net_begin,
	.exit_batch = net_end_batch,
	.id = &net_id,
	.size = sizeof(struct ipset_net),
};

/**
 * ipcuckoo_ipset_names_init() - prepare for sets
 *
 * Return: 0 or an error.
 */
int __init ipcuckoo_ipset_names_init(void)
{
	int err;

	ipcuckoo_ipset_wq = alloc_workqueue("ipcuckoo_ipset", WQ_UNBOUND, 0);
	if (!ipcuckoo_ipset_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&net_ops);
	if (err)
		destroy_workqueue(ipcuckoo_ipset_wq);
	else
		ipcuckoo_net_set_sync(sync_names);
	return err;
}

/**
 * ipcuckoo_ipset_names_exit() - undo ipcuckoo_ipset_names_init()
 *
 * Context: process context, after the types were unregistered: there are no sets any more.
 */
void ipcuckoo_ipset_names_exit(void)
{
	ipcuckoo_net_set_sync(NULL);
	/* ip_set may still be going to call ipcuckoo_ipset_destroy() from RCU. */
	rcu_barrier();
	drain_workqueue(ipcuckoo_ipset_wq);
	unregister_pernet_subsys(&net_ops);
	destroy_workqueue(ipcuckoo_ipset_wq);
}
