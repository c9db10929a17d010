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
#include <linux/wait_bit.h>
#include <net/netns/generic.h>

#include "../lock.h"
#include "../names.h"
#include "../net.h"
#include "apply.h"
#include "names.h"

static unsigned int net_id;

/* Protects the lists of sets of all namespaces, and ipcuckoo_ipset.gone. May be taken under the
 * mutex of ip_set. So its holders do not wait for ipcuckoo_net.names: a commit may hold that while
 * it waits for RTNL, and tc may hold RTNL while it waits for the mutex of ip_set.
 */
static DEFINE_MUTEX(sets_lock);

/**
 * struct ipset_net - the sets of a network namespace
 * @sets:	list of struct ipcuckoo_ipset
 * @freeing:	number of sets that are not in the list any more, and whose contents are being freed
 * @pernet:	the namespace's data of the module ipcuckoo
 * @sync:	work item that brings names up to date
 */
struct ipset_net {
	struct list_head sets;
	atomic_t freeing;
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

/**
 * struct wanted - a set of which ipcuckoo does not have the name that ip_set has
 * @set:	set, with a reference
 * @name:	the name in ip_set
 */
struct wanted {
	struct ipcuckoo_set *set;
	char name[IPCUCKOO_NAME_SIZE];
};

/* Does ipcuckoo show a set under the name that it has in ip_set? The mutex of ip_set is held. */
static bool has_name(const struct ipcuckoo_ipset *s)
{
	char name[IPCUCKOO_NAME_SIZE];

	/* Another thread may be about to show the set. It will be found then. */
	if (data_race(RB_EMPTY_NODE(&s->set->node)))
		return false;
	ipcuckoo_set_name(s->set, name);
	return !strcmp(name, s->owner->name);
}

/* List the sets of a namespace that do not have their names. The mutex of ip_set is held. Return:
 * how many; 0 also if there is no memory, and then the next request tries again.
 */
static unsigned int collect(struct ipset_net *in, struct wanted **list)
{
	struct ipcuckoo_ipset *s;
	unsigned int n = 0;

	*list = NULL;
	mutex_lock(&sets_lock);
	list_for_each_entry(s, &in->sets, node) {
		if (!s->owner || has_name(s))
			continue;
		if (!*list)
			*list = kvmalloc_array(in->pernet->ipsets, sizeof(**list), GFP_KERNEL);
		if (!*list)
			break;
		kref_get(&s->set->ref);
		(*list)[n].set = s->set;
		strscpy((*list)[n++].name, s->owner->name, sizeof((*list)->name));
	}
	mutex_unlock(&sets_lock);
	return n;
}

/* Can an event tell listeners that set @i was renamed? Not if another set has its new name, or will
 * have its old one: ip_set has swapped sets then, or renamed several, and in between listeners
 * would know two sets of one name.
 */
static bool moves(const struct wanted *list, unsigned int n, unsigned int i)
{
	unsigned int j;

	if (!strcmp(list[i].set->name, list[i].name))
		return true;
	for (j = 0; j < n; j++)
		if (j != i && (!strcmp(list[j].set->name, list[i].name) ||
			       !strcmp(list[j].name, list[i].set->name)))
			return false;
	return true;
}

/* Show sets under the names that they have in ip_set. First, all of them are hidden, so that two of
 * them can have exchanged their names.
 */
static void sync_names(struct ipcuckoo_net *pernet)
{
	struct wanted *list;
	unsigned int n, i;

	nfnl_lock(NFNL_SUBSYS_IPSET);
	n = collect(ipset_net(pernet->net), &list);
	nfnl_unlock(NFNL_SUBSYS_IPSET);
	ipcuckoo_lock_names_anyway(pernet);
	for (i = 0; i < n; i++)
		ipcuckoo_names_hide(list[i].set, moves(list, n, i));
	for (i = 0; i < n; i++)
		ipcuckoo_names_show(list[i].set, list[i].name);
	ipcuckoo_unlock_names(pernet);
	for (i = 0; i < n; i++)
		ipcuckoo_set_put(list[i].set);
	kvfree(list);
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

/**
 * ipcuckoo_ipset_names_hide() - take the name away from a set that is about to be destroyed
 * @s:		set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_names_hide(struct ipcuckoo_ipset *s)
{
	if (!s->gone)
		ipcuckoo_names_hide(s->set, false);
}

/* Let no request bring changes into the contents any more. One that has found the set by its name,
 * before that was hidden, may be doing so: it holds the mutex of the contents meanwhile. If a fatal
 * signal ends it early, it queues the work item again.
 */
static void end_settling(struct ipcuckoo_ipset *s)
{
	ipcuckoo_lock_contents_anyway(s->set);
	s->set->settle = NULL;
	ipcuckoo_unlock_contents(s->set);
	cancel_work_sync(&s->apply);
}

/* Take a set out of the list, and free its pending changes, which no packet sees any more. The
 * caller holds sets_lock, and calls free_contents() without it.
 */
static struct ipcuckoo_set *take_contents(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_set *contents = s->set;
	struct ipset_net *in = net_of(s);

	list_del(&s->node);
	WRITE_ONCE(in->pernet->ipsets, in->pernet->ipsets - 1);
	atomic_inc(&in->freeing);
	s->gone = true;
	end_settling(s);
	ipcuckoo_pending_exit(&s->pending);
	/* The account may end before ip_set destroys the set. */
	ipcuckoo_mem_uncharge(&contents->pernet->mem, ipcuckoo_ipset_size());
	return contents;
}

/* No packet and no request can begin to use the contents. */
static void free_contents(struct ipcuckoo_set *contents)
{
	struct ipset_net *in = ipset_net(contents->pernet->net);
	struct ipcuckoo_lens *lens = contents->entries.lens;

	ipcuckoo_names_discard(contents);
	if (lens)
		ipcuckoo_object_free(lens, &in->pernet->mem, sizeof(*lens));
	if (atomic_dec_and_test(&in->freeing))
		wake_up_var(&in->freeing);
}

/**
 * ipcuckoo_ipset_names_remove() - free the contents of a set, unless its namespace has ended
 * @s:		set that nobody uses any more
 *
 * Context: process context.
 */
void ipcuckoo_ipset_names_remove(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_set *contents = NULL;

	mutex_lock(&sets_lock);
	if (!s->gone)
		contents = take_contents(s);
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

/* Take the contents of a set of a namespace that ends. Return: NULL if there are no more. */
static struct ipcuckoo_set *take_next(struct ipset_net *in)
{
	struct ipcuckoo_set *contents = NULL;
	struct ipcuckoo_ipset *s;

	mutex_lock(&sets_lock);
	s = list_first_entry_or_null(&in->sets, struct ipcuckoo_ipset, node);
	if (s) {
		ipcuckoo_pending_close(&s->pending);
		contents = take_contents(s);
	}
	mutex_unlock(&sets_lock);
	return contents;
}

static void __net_exit net_end(struct net *net)
{
	struct ipset_net *in = ipset_net(net);
	struct ipcuckoo_set *contents;

	cancel_work_sync(&in->sync);
	while ((contents = take_next(in)))
		free_contents(contents);
	/* Work items may still be freeing the contents of sets that were destroyed before. */
	wait_var_event(&in->freeing, !atomic_read(&in->freeing));
}

static void __net_exit net_end_batch(struct list_head *nets)
{
	struct net *net;

	list_for_each_entry(net, nets, exit_list)
		net_end(net);
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
	/* RCU may still be going to free changes. */
	rcu_barrier();
}
