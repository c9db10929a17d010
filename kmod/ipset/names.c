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

/* Protects ipcuckoo_ipset.gone of all namespaces. */
static DEFINE_SPINLOCK(gone_lock);

/**
 * struct ipset_net - the sets of a network namespace
 * @lock:	protects @sets and, with the mutex of ip_set, ipcuckoo_ipset.owner. May be taken
 *		under the mutex of ip_set. So its holders do not wait for ipcuckoo_net.names: a
 *		commit may hold that while it waits for RTNL, and tc may hold RTNL while it waits
 *		for the mutex of ip_set
 * @sets:	list of struct ipcuckoo_ipset
 * @pernet:	the namespace's data of the module ipcuckoo
 * @sync:	work item that brings names up to date
 * @asked:	how many requests have asked for that
 * @done:	how many of these had asked before @sync began to run for the last time
 */
struct ipset_net {
	struct mutex lock;	/* see above */
	struct list_head sets;
	struct ipcuckoo_net *pernet;
	struct work_struct sync;
	atomic_t asked;
	int done;
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
 * @name:	the name in ip_set; "" if ip_set is destroying the set
 */
struct wanted {
	struct ipcuckoo_set *set;
	char name[IPCUCKOO_NAME_SIZE];
};

static bool is_shown(const struct ipcuckoo_set *set)
{
	return !RB_EMPTY_NODE(&set->node);
}

/* Is there something to do about a set of ip_set that is not shown under its name? Yes, if no other
 * set has the name, or only one that ip_set is destroying; or if the log has to say that a set of
 * ours has it. ipcuckoo_names_show() changes ipcuckoo_set.taken under ipcuckoo_net.mutex, too.
 */
static bool waits_for(const struct ipcuckoo_set *set, const char *name)
{
	const struct ipcuckoo_set *other = ipcuckoo_set_find(set->pernet, name);
	const struct ipcuckoo_ipset *s = other ? other->ipset : NULL;

	if (!other)
		return true;
	return s ? !s->owner : !set->taken;
}

/* Is a set to be shown under another name, not any more, or again? ip_set may be changing the name
 * meanwhile. Both mutexes are held.
 */
static bool differs(const struct ipcuckoo_ipset *s)
{
	char name[IPCUCKOO_NAME_SIZE];

	if (!s->owner)
		return is_shown(s->set);
	/* Whatever this reads while ip_set writes, sync_work() reads the name again. */
	data_race(memcpy(name, s->owner->name, sizeof(name)));
	name[sizeof(name) - 1] = '\0';
	return strcmp(s->set->name, name) || (!is_shown(s->set) && waits_for(s->set, name));
}

static bool any_differs(struct ipset_net *in)
{
	struct ipcuckoo_ipset *s;
	bool found = false;

	mutex_lock(&in->lock);
	mutex_lock(&in->pernet->mutex);
	list_for_each_entry(s, &in->sets, node) {
		found = differs(s);
		if (found)
			break;
	}
	mutex_unlock(&in->pernet->mutex);
	mutex_unlock(&in->lock);
	return found;
}

/* List the sets of a namespace that do not have their names. The mutex of ip_set is held. Return:
 * how many; 0 also if there is no memory, and then the next request tries again.
 */
static unsigned int collect(struct ipset_net *in, struct wanted **list)
{
	struct ipcuckoo_net *pernet = in->pernet;
	struct ipcuckoo_ipset *s;
	unsigned int n = 0;

	mutex_lock(&in->lock);
	*list = kvmalloc_array(pernet->ipsets, sizeof(**list), GFP_KERNEL);
	mutex_lock(&pernet->mutex);
	list_for_each_entry(s, &in->sets, node) {
		if (!*list || !differs(s))
			continue;
		kref_get(&s->set->ref);
		(*list)[n].set = s->set;
		strscpy((*list)[n++].name, s->owner ? s->owner->name : "", sizeof((*list)->name));
	}
	mutex_unlock(&pernet->mutex);
	mutex_unlock(&in->lock);
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
 * them can have exchanged their names, and one can have that of a set that is being destroyed.
 */
static void sync_work(struct work_struct *work)
{
	struct ipset_net *in = container_of(work, struct ipset_net, sync);
	int asked = atomic_read(&in->asked);
	struct wanted *list;
	unsigned int n, i;

	nfnl_lock(NFNL_SUBSYS_IPSET);
	n = collect(in, &list);
	nfnl_unlock(NFNL_SUBSYS_IPSET);
	ipcuckoo_lock_names_anyway(in->pernet);
	for (i = 0; i < n; i++)
		ipcuckoo_names_hide(list[i].set, *list[i].name && moves(list, n, i));
	for (i = 0; i < n; i++)
		if (*list[i].name)
			ipcuckoo_names_show(list[i].set, list[i].name);
	ipcuckoo_unlock_names(in->pernet);
	for (i = 0; i < n; i++)
		ipcuckoo_set_put(list[i].set);
	kvfree(list);
	smp_store_release(&in->done, asked);	/* pairs with is_done() */
	wake_up_var(&in->done);
}

static bool is_done(struct ipset_net *in, int asked)
{
	return smp_load_acquire(&in->done) - asked >= 0;	/* pairs with sync_work() */
}

/* Bring the names up to date, if there is anything to do. That takes the mutex of ip_set, which is
 * one for all namespaces. So the work item does it, and a request waits only for a limited time.
 */
static int sync_names(struct ipcuckoo_net *pernet, unsigned long until)
{
	struct ipset_net *in = ipset_net(pernet->net);
	int asked;

	if (!any_differs(in))
		return 0;
	asked = atomic_inc_return(&in->asked);
	queue_work(pernet->wq, &in->sync);
	if (until == IPCUCKOO_FOREVER)
		return wait_var_event_killable(&in->done, is_done(in, asked)) ? -EINTR : 0;
	if (wait_var_event_timeout(&in->done, is_done(in, asked), ipcuckoo_lock_left(until)))
		return 0;
	return fatal_signal_pending(current) ? -EINTR : -EAGAIN;
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

	mutex_lock(&in->lock);
	list_add_tail(&s->node, &in->sets);
	WRITE_ONCE(in->pernet->ipsets, in->pernet->ipsets + 1);
	mutex_unlock(&in->lock);
	queue_work(in->pernet->wq, &in->sync);
}

/**
 * ipcuckoo_ipset_names_forget() - take the name away from a set that is about to be destroyed
 * @s:		set
 *
 * Context: process context, under the mutex of ip_set.
 */
void ipcuckoo_ipset_names_forget(struct ipcuckoo_ipset *s)
{
	struct ipset_net *in;

	/* The namespace ends before ip_set destroys its sets, and not meanwhile. */
	if (s->gone)
		return;
	in = net_of(s);
	mutex_lock(&in->lock);
	s->owner = NULL;
	mutex_unlock(&in->lock);
	queue_work(in->pernet->wq, &in->sync);
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

/* Take a set out of the list; ipset_net.lock is held. */
static void take(struct ipset_net *in, struct ipcuckoo_ipset *s)
{
	list_del(&s->node);
	WRITE_ONCE(in->pernet->ipsets, in->pernet->ipsets - 1);
	spin_lock_bh(&gone_lock);
	s->gone = true;
	spin_unlock_bh(&gone_lock);
}

/* Free the contents of a set that take() has taken, and its pending changes, which no packet sees
 * any more. No packet and no request can begin to use them.
 */
static void free_contents(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_set *contents = s->set;
	struct ipcuckoo_lens *lens = contents->entries.lens;
	struct ipcuckoo_mem *mem = &contents->pernet->mem;

	end_settling(s);
	ipcuckoo_pending_exit(&s->pending);
	ipcuckoo_names_discard(contents);
	if (lens)
		ipcuckoo_object_free(lens, mem, sizeof(*lens));
	/* ip_set may destroy the set after the account has ended. */
	ipcuckoo_mem_uncharge(mem, ipcuckoo_ipset_size());
	ipcuckoo_ipset_put(s);
}

/**
 * ipcuckoo_ipset_free_work() - free the contents of a set, unless its namespace does
 * @work:	ipcuckoo_ipset.free of a set that nobody uses any more
 */
void ipcuckoo_ipset_free_work(struct work_struct *work)
{
	struct ipcuckoo_ipset *s = container_of(work, struct ipcuckoo_ipset, free);
	struct ipset_net *in = net_of(s);
	bool ours;

	mutex_lock(&in->lock);
	ours = !s->gone;
	if (ours)
		take(in, s);
	mutex_unlock(&in->lock);
	if (ours)
		free_contents(s);
}

/**
 * ipcuckoo_ipset_names_remove() - free the contents of a set soon, unless its namespace has ended
 * @s:		set that nobody uses any more
 *
 * Context: any but hard interrupts.
 */
void ipcuckoo_ipset_names_remove(struct ipcuckoo_ipset *s)
{
	spin_lock_bh(&gone_lock);
	if (!s->gone)
		queue_work(s->set->pernet->wq, &s->free);
	spin_unlock_bh(&gone_lock);
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
		queue_work(s->set->pernet->wq, &net_of(s)->sync);
}

static int __net_init net_begin(struct net *net)
{
	struct ipset_net *in = ipset_net(net);

	mutex_init(&in->lock);
	INIT_LIST_HEAD(&in->sets);
	in->pernet = ipcuckoo_net(net);
	INIT_WORK(&in->sync, sync_work);
	return 0;
}

/* Take a set of a namespace that ends. Return: NULL if there are no more. */
static struct ipcuckoo_ipset *take_next(struct ipset_net *in)
{
	struct ipcuckoo_ipset *s;

	mutex_lock(&in->lock);
	s = list_first_entry_or_null(&in->sets, struct ipcuckoo_ipset, node);
	if (s)
		take(in, s);
	mutex_unlock(&in->lock);
	return s;
}

static void __net_exit net_end(struct net *net)
{
	struct ipset_net *in = ipset_net(net);
	struct ipcuckoo_ipset *s;

	cancel_work_sync(&in->sync);
	while ((s = take_next(in))) {
		ipcuckoo_pending_close(&s->pending);
		/* It finds that the set is gone, if it runs. */
		cancel_work_sync(&s->free);
		free_contents(s);
	}
	/* Work items may still be freeing the contents of sets that were destroyed before. */
	if (in->pernet->wq)
		flush_workqueue(in->pernet->wq);
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
	int err = register_pernet_subsys(&net_ops);

	if (!err)
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
	unregister_pernet_subsys(&net_ops);
	/* RCU may still be going to free changes. */
	rcu_barrier();
}
