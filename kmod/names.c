// SPDX-License-Identifier: GPL-2.0-only
/* Names of sets, and what is done to all sets: see names.h. */
#include <linux/bottom_half.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "event.h"
#include "ids.h"
#include "lock.h"
#include "names.h"
#include "net.h"
#include "procfs.h"
#include "set.h"

/* uapi/ipcuckoo.h promises these bounds of filters. */
static_assert(IPCUCKOO_FILTER_LOAD == IPCUCKOO_LOAD_TARGET);
static_assert((u64)IPCUCKOO_CAPACITY_MAX * 1000 / IPCUCKOO_LOAD_TARGET <
	      (u64)IPCUCKOO_BUCKETS_MAX * IPCUCKOO_SLOTS - 4096);

/**
 * ipcuckoo_names_valid() - may a set have this name?
 * @name:	name, shorter than IPCUCKOO_NAME_SIZE
 *
 * ipset allows any bytes. Here a name is also
 *
 *  - the name of a file in /proc: so it has no '/', and is not "." or "..";
 *  - a word in the input of restore: so it has no white space and no '"';
 *  - printed: so it has printable ASCII characters only.
 */
bool ipcuckoo_names_valid(const char *name)
{
	const char *c;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (c = name; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '/' || *c == '"')
			return false;
	return true;
}

/**
 * ipcuckoo_names_change() - give a set another name
 * @set:	set, out of the tree; the caller holds the three mutexes that protect a name (set.h)
 * @name:	a valid name
 *
 * The caller is the only writer. A reader that interrupts the writer on the same CPU would
 * retry for ever. So softirqs are disabled, in which packets are processed, and preemption,
 * because with PREEMPT_RT threads process packets. A seqlock is not an option: with PREEMPT_RT
 * its spinlock sleeps, and the tracepoint that reads the name must not sleep.
 */
void ipcuckoo_names_change(struct ipcuckoo_set *set, const char *name)
{
	local_bh_disable();
	preempt_disable();
	write_seqcount_begin(&set->name_seq);
	strscpy_pad(set->name, name, sizeof(set->name));
	write_seqcount_end(&set->name_seq);
	preempt_enable();
	local_bh_enable();
}

/**
 * ipcuckoo_names_prune() - remove the procfs file of a name, unless a set with a file has the name
 * @pernet:	namespace; the caller holds @pernet->names
 * @name:	name
 *
 * Sets of ip_set have no files.
 *
 * Context: process context; takes the namespace's mutex.
 */
void ipcuckoo_names_prune(struct ipcuckoo_net *pernet, const char *name)
{
	const struct ipcuckoo_set *set;
	bool of_ours;

	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, name);
	of_ours = set && !set->ipset;
	mutex_unlock(&pernet->mutex);
	if (!of_ours)
		ipcuckoo_proc_del(pernet, name);
}

/**
 * ipcuckoo_names_release() - drop the tree's reference to a set that was destroyed
 * @set:	set, dead and not locked
 *
 * Context: process context; waits for garbage collection of the set.
 */
void ipcuckoo_names_release(struct ipcuckoo_set *set)
{
	cancel_delayed_work_sync(&set->gc);
	ipcuckoo_set_put(set);
}

/* Tell listeners that a set of ip_set, which is locked, is gone. They hear no more of it. */
static void conceal(struct ipcuckoo_set *set)
{
	ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_DESTROYED);
	set->hidden = true;
}

/**
 * ipcuckoo_names_hide() - take a set of ip_set out of the tree
 * @set:	set. A commit may have found it before, but the set is not freed until that has
 *		unlocked ipcuckoo_net.names
 * @moves:	it will be shown again, under a name that no other set has now. Otherwise listeners
 *		are told that it is gone
 *
 * Context: process context; takes the set's mutex and ipcuckoo_net.mutex.
 */
void ipcuckoo_names_hide(struct ipcuckoo_set *set, bool moves)
{
	struct ipcuckoo_net *pernet = set->pernet;

	if (!moves) {
		ipcuckoo_lock_contents_anyway(set);
		conceal(set);
		ipcuckoo_unlock_contents(set);
	}
	mutex_lock(&pernet->mutex);
	if (!RB_EMPTY_NODE(&set->node))
		ipcuckoo_set_erase(pernet, set);
	mutex_unlock(&pernet->mutex);
}

/**
 * ipcuckoo_names_show() - put a set of ip_set into the tree, if its name is free there
 * @set:	set that is not in the tree
 * @name:	the name that it has in ip_set now
 *
 * Context: process context; ipcuckoo_net.names is held. Takes the set's mutex.
 */
void ipcuckoo_names_show(struct ipcuckoo_set *set, const char *name)
{
	struct ipcuckoo_net *pernet = set->pernet;
	const struct ipcuckoo_set *other;
	char old[IPCUCKOO_NAME_SIZE];
	bool known, taken;

	ipcuckoo_lock_contents_anyway(set);
	if (set->dead) {
		ipcuckoo_unlock_contents(set);
		return;
	}
	mutex_lock(&pernet->mutex);
	/* If the other set is one of ip_set as well, it is being destroyed. */
	other = ipcuckoo_set_find(pernet, name);
	if (other)
		conceal(set);
	known = !set->hidden;
	set->hidden = other;
	strscpy(old, set->name, sizeof(old));
	taken = other && !other->ipset && (!set->taken || strcmp(old, name));
	set->taken = other && !other->ipset;
	ipcuckoo_names_change(set, name);
	if (!other)
		ipcuckoo_set_insert(pernet, set);
	mutex_unlock(&pernet->mutex);
	if (taken)
		pr_warn_ratelimited("ipcuckoo: the set %s of ip_set is not shown, because ipcuckoo has a set of that name: rename one of them\n",
				    name);
	if (!set->hidden && !known)
		ipcuckoo_event_set(set, name, IPCUCKOO_EVENT_SET_NEW);
	else if (known && strcmp(old, name))
		ipcuckoo_event_names(pernet, IPCUCKOO_EVENT_SET_RENAMED, old, name);
	ipcuckoo_unlock_contents(set);
}

/**
 * ipcuckoo_names_discard() - free a set of ip_set
 * @set:	set that nobody uses any more, except through ipcuckoo
 *
 * Context: process context, but no request: takes ipcuckoo_net.names, and waits for garbage
 * collection of the set.
 */
void ipcuckoo_names_discard(struct ipcuckoo_set *set)
{
	struct ipcuckoo_net *pernet = set->pernet;

	ipcuckoo_lock_names_anyway(pernet);
	ipcuckoo_lock_contents_anyway(set);
	set->dead = true;
	ipcuckoo_unlock_contents(set);
	ipcuckoo_names_hide(set, false);
	ipcuckoo_unlock_names(pernet);
	ipcuckoo_names_release(set);
}

/* Destroy a set, whose contents are locked; unlocks them. @ending: so does the namespace, and no
 * program looks sets up in it any more.
 */
static int destroy_locked(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set, bool ending)
{
	int err;

	mutex_lock(&pernet->mutex);
	err = ipcuckoo_set_unused(set);
	if (!err)
		ipcuckoo_set_erase(pernet, set);
	mutex_unlock(&pernet->mutex);
	if (!err) {
		set->dead = true;
		ipcuckoo_ids_free(set);
		/* A program that has found the set must not see it empty. */
		if (!ending && ipcuckoo_ids_used())
			synchronize_rcu_expedited();
		ipcuckoo_entries_flush(&set->entries);
		ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_DESTROYED);
	}
	ipcuckoo_unlock_contents(set);
	if (err)
		return err;
	ipcuckoo_proc_del(pernet, set->name);
	ipcuckoo_names_release(set);
	return 0;
}

/* Find the first set that is not one of ip_set, without a reference; NULL if there is none. The
 * caller holds ipcuckoo_net.names, which keeps the set from being destroyed.
 */
static struct ipcuckoo_set *first_set(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;
	struct rb_node *node;

	mutex_lock(&pernet->mutex);
	node = rb_first(&pernet->sets);
	while ((set = rb_entry_safe(node, struct ipcuckoo_set, node)) && set->ipset)
		node = rb_next(node);
	mutex_unlock(&pernet->mutex);
	return set;
}

/* Refuse new attachments and rules while all sets are being destroyed (@stop), or allow them again.
 * Return: 0, -EBUSY if a set is attached already, or -EUSERS if rules of iptables refer to one.
 */
static int stop_use(struct ipcuckoo_net *pernet, bool stop)
{
	int err = 0;

	mutex_lock(&pernet->mutex);
	if (stop && pernet->attached.count)
		err = -EBUSY;
	else if (stop && pernet->referrals)
		err = -EUSERS;
	else
		pernet->destroying = stop;
	mutex_unlock(&pernet->mutex);
	return err;
}

/* Claim all sets, or give up these claims. The names are locked. */
static void claim_all(struct ipcuckoo_net *pernet, void (*claim)(struct ipcuckoo_set *set))
{
	struct rb_node *node;

	mutex_lock(&pernet->mutex);
	for (node = rb_first(&pernet->sets); node; node = rb_next(node))
		claim(rb_entry(node, struct ipcuckoo_set, node));
	mutex_unlock(&pernet->mutex);
}

/* Lock a set that is claimed, for ipcuckoo_names_destroy_all() and _flush_all(). */
static int lock_next(struct ipcuckoo_set *set, unsigned long until)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : ipcuckoo_lock_claimed(set, until);
}

/**
 * ipcuckoo_names_destroy_all() - destroy every set but those of ip_set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0; -EBUSY if any set is attached, -EUSERS if rules of iptables refer to any set, and then
 * none was destroyed; -EINTR for a fatal signal, or -EAGAIN if it takes longer than a request may,
 * and then some sets may have been destroyed.
 */
int ipcuckoo_names_destroy_all(struct ipcuckoo_net *pernet)
{
	unsigned long until = ipcuckoo_lock_limit();
	struct ipcuckoo_set *set;
	int err;

	err = ipcuckoo_lock_names(pernet, until);
	if (err)
		return err;
	err = stop_use(pernet, true);
	if (err)
		goto out;
	claim_all(pernet, ipcuckoo_claim);
	while (!err && (set = first_set(pernet))) {
		err = ipcuckoo_lock_expired(until) ? -EAGAIN : lock_next(set, until);
		err = err ?: destroy_locked(pernet, set, false);
	}
	if (err != -EAGAIN)
		claim_all(pernet, ipcuckoo_disclaim);
	stop_use(pernet, false);
out:
	ipcuckoo_unlock_names(pernet);
	return err;
}

/**
 * ipcuckoo_names_exit_net() - destroy every set of a namespace that ends
 * @pernet:	namespace; it has no attachments and no referrals, and no process uses it
 *
 * Ignores fatal signals: the process that unloads the module may have one, and the sets
 * must be destroyed nevertheless.
 */
void ipcuckoo_names_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;

	ipcuckoo_lock_names_anyway(pernet);
	while ((set = first_set(pernet))) {
		ipcuckoo_lock_contents_anyway(set);
		WARN_ON(destroy_locked(pernet, set, true));
		cond_resched();
	}
	ipcuckoo_unlock_names(pernet);
}

/* Flush one set, for ipcuckoo_names_flush_all(). */
static int flush_next(struct ipcuckoo_set *set, unsigned long until)
{
	int err = lock_next(set, until);

	if (err)
		return err;
	err = ipcuckoo_set_flush(set);
	ipcuckoo_unlock_contents(set);
	return err;
}

/**
 * ipcuckoo_names_flush_all() - delete the entries of every set but those of ip_set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, -ENOMEM, -EINTR for a fatal signal, or -EAGAIN if writers keep a set for longer than a
 * request may wait; on error some sets may have been flushed.
 */
int ipcuckoo_names_flush_all(struct ipcuckoo_net *pernet)
{
	unsigned long until = ipcuckoo_lock_limit();
	struct ipcuckoo_set *set, *next;
	int err;

	/* Sets are walked by name. Without this lock the walk could visit a set twice, or
	 * miss one, because it was renamed.
	 */
	err = ipcuckoo_lock_names(pernet, until);
	if (err)
		return err;
	claim_all(pernet, ipcuckoo_claim);
	for (set = ipcuckoo_set_next(pernet, ""); set; set = next) {
		if (!set->ipset)
			err = flush_next(set, until);
		next = err ? NULL : ipcuckoo_set_after(pernet, set);
		ipcuckoo_set_put(set);
	}
	if (err != -EAGAIN)
		claim_all(pernet, ipcuckoo_disclaim);
	ipcuckoo_unlock_names(pernet);
	return err;
}
