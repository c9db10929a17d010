// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Commits
 *
 * A commit is a list of changes of sets and their names, which take effect together or
 * not at all. It goes through these steps:
 *
 *   1. Take ipcuckoo_net.names, so that no other commit is under way. Allocate what takes
 *	memory: filters of new sets, empty contents for sets that are flushed, procfs files
 *	for new names.
 *   2. Claim all sets that the changes name, so that nobody else begins to change them, and
 *	lock their contents (lock.h), and the shadows. Check the shadows.
 *   3. Under ipcuckoo_net.mutex, apply the changes of names and attachments one after the
 *	other, each to what the ones before it have left. Code that looks for a set by name
 *	takes the mutex, and packets read chains only, so that nobody sees this; but for
 *	log messages and tracepoints, which read the name of a set without a lock. If a
 *	change cannot be made, undo those before it in reverse order. Then prepare the
 *	chains, which is the last step that can fail.
 *   4. Let shadows and empty contents become the contents of their sets, publish the
 *	chains, redirect rules of iptables, notify listeners, and release the mutexes. From
 *	here on nothing fails.
 *
 * A packet sees each set with its old or its new contents, and at each hook the chain from
 * before or after the commit. Contents come before chains, so that a set is never seen
 * empty under a name that it gets with its contents. There are two exceptions. A set that
 * loses its attachments by a swap keeps its contents until no packet looks into it any more,
 * a grace period after the chains have changed; so does a set that is destroyed, in which
 * BPF programs may look until then. Contents of several sets change one after
 * the other. What is said here of attachments also holds for rules of iptables that refer to
 * sets (referral.c), and for BPF programs that look sets up by their ids (ids.c), except that
 * these change one after the other.
 */
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "attach.h"
#include "commit.h"
#include "commit_sets.h"
#include "compat.h"
#include "event.h"
#include "ids.h"
#include "lock.h"
#include "names.h"
#include "net.h"
#include "options.h"
#include "point.h"
#include "procfs.h"
#include "rebuild.h"
#include "referral.h"
#include "set.h"
#include "shadow.h"
#include "version.h"

/**
 * struct commit - a commit under way
 * @pernet:	namespace
 * @changes:	its changes
 * @count:	how many
 * @check:	make none of them
 * @until:	until when the commit waits for names and sets
 * @sets:	the sets whose contents are locked
 * @chains:	attachments change
 * @used:	sets that are attached, or to which rules of iptables refer, were swapped
 * @swapped:	sets were swapped
 * @rtnl:	attachments at ingress or XDP are added
 */
struct commit {
	struct ipcuckoo_net *pernet;
	struct ipcuckoo_commit_change *changes;
	unsigned int count;
	bool check;
	unsigned long until;
	struct ipcuckoo_commit_sets sets;
	bool chains;
	bool used;
	bool swapped;
	bool rtnl;
};

/* Step 1: allocate the memory that a change needs. */
static int prepare(struct commit *c, struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_set *set = change->set;
	int err = 0;

	switch (change->kind) {
	case IPCUCKOO_COMMIT_DESTROY:
	case IPCUCKOO_COMMIT_FLUSH:
		change->empty = ipcuckoo_version_create(&c->pernet->mem, NULL,
							IPCUCKOO_CHARGE_ANYWAY);
		err = PTR_ERR_OR_ZERO(change->empty);
		if (err)
			change->empty = NULL;
		return err;
	case IPCUCKOO_COMMIT_CREATE:
		/* The set of a shadow may be destroyed by now: lock_shadow() refuses it. */
		if (!ipcuckoo_set_is_new(set))
			return 0;
		if (ipcuckoo_entries_approximate(&set->entries) && !change->shadow)
			err = ipcuckoo_set_reserve_filter(set);
		return err ?: ipcuckoo_ids_reserve(set) ?:
		       ipcuckoo_proc_add(c->pernet, change->name);
	case IPCUCKOO_COMMIT_RENAME:
		return ipcuckoo_proc_add(c->pernet, change->to);
	case IPCUCKOO_COMMIT_ATTACH:
		c->chains = true;
		c->rtnl |= !c->check && ipcuckoo_rule_on_device(&change->at->rule);
		return 0;
	default:
		return 0;
	}
}

/* The error of a change that creates a set whose name @other has. */
static int refuse_create(const struct ipcuckoo_commit_change *change,
			 const struct ipcuckoo_set *other)
{
	return ipcuckoo_options_same(&other->options, &change->set->options,
				     change->same_maxelem) ? -EEXIST : -ENOTUNIQ;
}

/* A change that will fail need not wait for the writers of sets, and takes no memory.
 * Return: an error, or 0 if this has to be found out in step 3.
 */
static int check_early(struct ipcuckoo_net *pernet,
		       const struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_set *set, *other = NULL;
	int err = 0;

	if (change->kind == IPCUCKOO_COMMIT_REPLACE)
		return 0;
	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, change->name);
	if (change->to)
		other = ipcuckoo_set_find(pernet, change->to);
	mutex_unlock(&pernet->mutex);
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		err = set ? refuse_create(change, set) : 0;
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		err = !set ? -ENOENT : set->ipset ? -EREMOTE : ipcuckoo_set_unused(set);
		break;
	case IPCUCKOO_COMMIT_RENAME:
		err = !set ? -ENOENT : set->ipset ? -EREMOTE : other ? -EEXIST :
		      READ_ONCE(set->referral) ? -EUSERS : 0;
		break;
	default:
		err = set ? 0 : -ENOENT;
		break;
	}
	return err;
}

/* Lock the shadow of a change, if it has one, and check that it can become the contents of
 * its set. Return: 0, and then the shadow stays locked; -EBUSY if another request is using
 * it, or the commit names it twice; or another error, and then it is not locked.
 */
static int lock_shadow(struct commit *c, struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_shadow *shadow = change->shadow;
	int err;

	if (!shadow)
		return 0;
	/* Do not wait: only another request of the same socket can hold this lock. */
	if (!ipcuckoo_commit_sets_hold(&c->sets, shadow))
		return -EBUSY;
	if (change->kind == IPCUCKOO_COMMIT_CREATE)
		err = !ipcuckoo_set_is_new(shadow->set) ? -EINVAL :
		      ipcuckoo_shadow_check(shadow, true);
	else if (shadow->set->dead || ipcuckoo_set_is_new(shadow->set))
		err = -ENOENT;
	else
		err = ipcuckoo_shadow_check(shadow, change->override);
	if (err)
		ipcuckoo_commit_sets_drop(&c->sets, shadow);
	return err;
}

/* Step 3: apply a change of names or attachments. */

static int create(struct commit *c, struct ipcuckoo_commit_change *change)
{
	const struct ipcuckoo_set *other = ipcuckoo_set_find(c->pernet, change->name);

	if (other)
		return refuse_create(change, other);
	if (c->pernet->sets_count >= IPCUCKOO_SETS_MAX)
		return -E2BIG;
	ipcuckoo_names_change(change->set, change->name);
	ipcuckoo_set_insert(c->pernet, change->set);
	return 0;
}

static int destroy(struct commit *c, struct ipcuckoo_commit_change *change)
{
	int err;

	change->set = ipcuckoo_set_find(c->pernet, change->name);
	if (!change->set)
		return -ENOENT;
	if (change->set->ipset)
		return -EREMOTE;
	err = ipcuckoo_set_unused(change->set);
	if (!err)
		ipcuckoo_set_erase(c->pernet, change->set);
	return err;
}

static void move(struct commit *c, struct ipcuckoo_set *set, const char *name)
{
	ipcuckoo_set_erase(c->pernet, set);
	ipcuckoo_names_change(set, name);
	ipcuckoo_set_insert(c->pernet, set);
}

static int rename(struct commit *c, struct ipcuckoo_commit_change *change)
{
	change->set = ipcuckoo_set_find(c->pernet, change->name);
	if (!change->set)
		return -ENOENT;
	if (change->set->ipset)
		return -EREMOTE;
	if (ipcuckoo_set_find(c->pernet, change->to))
		return -EEXIST;
	/* The rules would still have the old name, which is the one that users see and save. */
	if (change->set->referral)
		return -EUSERS;
	move(c, change->set, change->to);
	c->pernet->attached.seq++;
	return 0;
}

/* Swap two sets: their names, places in the tree, attachments, rules and ids. */
static void exchange(struct commit *c, struct ipcuckoo_set *a, struct ipcuckoo_set *b)
{
	char name[IPCUCKOO_NAME_SIZE];

	if (a->attachments || b->attachments) {
		ipcuckoo_attach_exchange(c->pernet, a, b);
		c->chains = true;
		c->used = true;
	}
	if (a->referral || b->referral) {
		ipcuckoo_referral_exchange(a, b);
		c->used = true;
	}
	c->swapped = true;
	swap(a->id, b->id);
	ipcuckoo_commit_sets_find(&c->sets, a)->swapped = true;
	ipcuckoo_commit_sets_find(&c->sets, b)->swapped = true;
	ipcuckoo_set_erase(c->pernet, a);
	ipcuckoo_set_erase(c->pernet, b);
	strscpy(name, a->name, sizeof(name));
	ipcuckoo_names_change(a, b->name);
	ipcuckoo_names_change(b, name);
	ipcuckoo_set_insert(c->pernet, a);
	ipcuckoo_set_insert(c->pernet, b);
}

static bool swaps_nothing(const struct ipcuckoo_commit_change *change)
{
	return change->kind == IPCUCKOO_COMMIT_SWAP && change->set == change->other;
}

static int swap_sets(struct commit *c, struct ipcuckoo_commit_change *change)
{
	change->set = ipcuckoo_set_find(c->pernet, change->name);
	change->other = ipcuckoo_set_find(c->pernet, change->to);
	if (!change->set)
		return -ENOENT;
	if (!change->other)
		return -ESRCH;
	if (change->set->ipset || change->other->ipset)
		return -EREMOTE;
	if (change->set->type != change->other->type ||
	    change->set->family != change->other->family)
		return -ENOTUNIQ;
	if (!swaps_nothing(change))
		exchange(c, change->set, change->other);
	return 0;
}

static int flush(struct commit *c, struct ipcuckoo_commit_change *change)
{
	change->set = ipcuckoo_set_find(c->pernet, change->name);
	return change->set ? 0 : -ENOENT;
}

/* Note the set of the shadow, and the name that the set has now, for step 4. Changes before
 * this one in the commit count as if they had been requests of their own: the shadow is stale
 * if one of them swapped the set; or if one of them changed its contents, unless @override is
 * set. Return: 0, -ENOENT if the set does not exist yet, or -ESTALE.
 */
static int check_replace(struct commit *c, struct ipcuckoo_commit_change *change)
{
	const struct ipcuckoo_commit_set *set;

	change->set = change->shadow->set;
	if (ipcuckoo_set_is_new(change->set))
		return -ENOENT;
	set = ipcuckoo_commit_sets_find(&c->sets, change->set);
	strscpy(change->set_name, change->set->name, sizeof(change->set_name));
	return set->swapped || (set->last && !change->override) ? -ESTALE : 0;
}

static int apply(struct commit *c, struct ipcuckoo_commit_change *change)
{
	int err;

	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		return create(c, change);
	case IPCUCKOO_COMMIT_DESTROY:
		return destroy(c, change);
	case IPCUCKOO_COMMIT_RENAME:
		return rename(c, change);
	case IPCUCKOO_COMMIT_SWAP:
		return swap_sets(c, change);
	case IPCUCKOO_COMMIT_FLUSH:
		return flush(c, change);
	case IPCUCKOO_COMMIT_REPLACE:
		return check_replace(c, change);
	case IPCUCKOO_COMMIT_ATTACH:
		err = ipcuckoo_attach_add(c->pernet, change->name, change->at);
		change->id = change->at->id;
		return err == -ENOTUNIQ && !change->same_order ? -EEXIST : err;
	}
	return -EINVAL;
}

static void undo(struct commit *c, struct ipcuckoo_commit_change *change)
{
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		ipcuckoo_set_erase(c->pernet, change->set);
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		ipcuckoo_set_insert(c->pernet, change->set);
		break;
	case IPCUCKOO_COMMIT_RENAME:
		move(c, change->set, change->name);
		break;
	case IPCUCKOO_COMMIT_SWAP:
		exchange(c, change->set, change->other);
		break;
	case IPCUCKOO_COMMIT_ATTACH:
		ipcuckoo_attach_remove(c->pernet, change->at);
		break;
	default:
		break;
	}
}

/* Does the flag EXIST turn this error into success? It does if the error says that there is
 * nothing to do: the set to create or attach exists, or the one to destroy or flush does not.
 */
static bool is_accepted(const struct ipcuckoo_commit_change *change, int err)
{
	if (!change->exist)
		return false;
	return err == (change->kind == IPCUCKOO_COMMIT_DESTROY ||
		       change->kind == IPCUCKOO_COMMIT_FLUSH ? -ENOENT : -EEXIST);
}

static bool changes_contents(const struct ipcuckoo_commit_change *change)
{
	return change->shadow || change->kind == IPCUCKOO_COMMIT_DESTROY ||
	       change->kind == IPCUCKOO_COMMIT_FLUSH;
}

static int apply_one(struct commit *c, unsigned int at)
{
	struct ipcuckoo_commit_change *change = &c->changes[at];
	struct ipcuckoo_commit_set *set;
	int err = apply(c, change);

	change->done = !err && !swaps_nothing(change);
	if (change->done && changes_contents(change)) {
		set = ipcuckoo_commit_sets_find(&c->sets, change->set);
		set->last = at + 1;
		set->changed_late = set->swapped;
		set->destroyed = change->kind == IPCUCKOO_COMMIT_DESTROY;
	}
	return err && is_accepted(change, err) ? 0 : err;
}

static int apply_all(struct commit *c, unsigned int *at)
{
	unsigned int i;
	int err = 0;

	for (*at = 0; *at < c->count && !err; ++*at)
		err = apply_one(c, *at);
	if (err)
		--*at;
	for (i = 0; i < c->sets.count && !err; i++) {
		if (!ipcuckoo_commit_set_refused(&c->sets.list[i]))
			continue;
		*at = c->sets.list[i].last - 1;
		err = -EXDEV;
	}
	return err;
}

static void undo_all(struct commit *c)
{
	unsigned int i = c->count;

	while (i--) {
		if (c->changes[i].done)
			undo(c, &c->changes[i]);
		c->changes[i].done = false;
	}
}

/* Step 4: nothing fails any more. */

static void change_contents(struct ipcuckoo_commit_change *change)
{
	if (change->kind == IPCUCKOO_COMMIT_DESTROY)
		change->set->dead = true;
	if (change->shadow) {
		ipcuckoo_shadow_swap_in(change->shadow);
	} else {
		ipcuckoo_entries_clear(&change->set->entries, change->empty);
		change->empty = NULL;
	}
}

/* Step 4: change the contents of sets. Of several changes of a set's contents only the last is
 * made, so packets never see what is between them. @late: do this for the sets for which
 * ipcuckoo_commit_set_late() is true; or else for the others.
 */
static void change_all_contents(struct commit *c, bool late)
{
	unsigned int i;

	for (i = 0; i < c->sets.count; i++)
		if (c->sets.list[i].last && ipcuckoo_commit_set_late(&c->sets.list[i]) == late)
			change_contents(&c->changes[c->sets.list[i].last - 1]);
}

/* Do what is left of a change after contents and chains: references, generations, and the end
 * of its shadow.
 */
static void settle_change(struct ipcuckoo_commit_change *change)
{
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		/* The tree has a reference to each set. */
		kref_get(&change->set->ref);
		break;
	case IPCUCKOO_COMMIT_SWAP:
		/* Tell dumps that are under way to start again: the names have other entries. */
		change->set->entries.generation++;
		change->other->entries.generation++;
		/* Make shadows stale: each was made for a set of another name. */
		change->set->swaps++;
		change->other->swaps++;
		break;
	default:
		break;
	}
	/* If a later change has superseded this one, the shadow still has its entries. They are
	 * freed with the shadow.
	 */
	if (change->shadow)
		change->shadow->spent = true;
}

static void notify(struct commit *c, struct ipcuckoo_commit_change *change)
{
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		ipcuckoo_event_set(change->set, change->name, IPCUCKOO_EVENT_SET_NEW);
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		ipcuckoo_event_set(change->set, change->name, IPCUCKOO_EVENT_SET_DESTROYED);
		break;
	case IPCUCKOO_COMMIT_RENAME:
		ipcuckoo_event_names(c->pernet, IPCUCKOO_EVENT_SET_RENAMED, change->name,
				     change->to);
		break;
	case IPCUCKOO_COMMIT_SWAP:
		ipcuckoo_event_names(c->pernet, IPCUCKOO_EVENT_SET_SWAPPED, change->name,
				     change->to);
		break;
	case IPCUCKOO_COMMIT_FLUSH:
		ipcuckoo_event_set(change->set, change->name, IPCUCKOO_EVENT_SET_FLUSHED);
		break;
	case IPCUCKOO_COMMIT_REPLACE:
		ipcuckoo_event_set(change->set, change->set_name,
				   IPCUCKOO_EVENT_SET_REPLACED);
		break;
	case IPCUCKOO_COMMIT_ATTACH:
		ipcuckoo_attach_announce(c->pernet, change->at, change->name);
		change->id = change->at->id;
		change->at = NULL;
		break;
	}
}

/* Redirect rules of iptables, and look-ups by id. */
static void publish_sets(struct commit *c)
{
	struct ipcuckoo_commit_change *change;
	unsigned int i;

	for (i = 0; i < c->count; i++) {
		change = &c->changes[i];
		if (change->done && change->kind == IPCUCKOO_COMMIT_DESTROY)
			ipcuckoo_ids_free(change->set);
	}
	for (i = 0; i < c->sets.count; i++) {
		ipcuckoo_referral_publish(c->sets.list[i].set);
		if (!RB_EMPTY_NODE(&c->sets.list[i].set->node))
			ipcuckoo_ids_publish(c->sets.list[i].set);
	}
}

static void finish(struct commit *c)
{
	unsigned int i;

	change_all_contents(c, false);
	if (c->chains)
		ipcuckoo_points_publish(c->pernet);
	publish_sets(c);
	/* Wait for packets that still look into the sets that are late. */
	if (ipcuckoo_commit_sets_any_read(&c->sets))
		synchronize_rcu_expedited();
	change_all_contents(c, true);
	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			settle_change(&c->changes[i]);
	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			notify(c, &c->changes[i]);
}

/* Do step 3, apply all changes and prepare the chains, and then step 4; if step 3 fails, undo
 * the changes instead. On error @at is the change at fault; c->count if it is none of them.
 * Return: 0, -EINTR, or an error of step 3, and then nothing has changed.
 */
static int run(struct commit *c, unsigned int *at)
{
	u32 sets_seq, attached_seq;
	bool prepared;
	int err;

	/* Programs that hold RTNL may wait for ip_set, which may wait for such a set. */
	if (c->rtnl && ipcuckoo_commit_sets_any_ipset(&c->sets))
		return -EREMOTE;
	if (c->rtnl && ipcuckoo_rtnl_lock_killable())
		return -EINTR;
	mutex_lock(&c->pernet->mutex);
	sets_seq = c->pernet->sets_seq;
	attached_seq = c->pernet->attached.seq;
	ipcuckoo_commit_sets_note_used(&c->sets);
	err = apply_all(c, at);
	prepared = !err && c->chains && !c->check;
	if (prepared)
		err = ipcuckoo_points_prepare(c->pernet, c->rtnl);
	if (err || c->check) {
		undo_all(c);
		/* For a dump that is under way, nothing has changed. */
		c->pernet->sets_seq = sets_seq;
		c->pernet->attached.seq = attached_seq;
	} else {
		finish(c);
	}
	if (prepared)
		ipcuckoo_points_finish(c->pernet);
	mutex_unlock(&c->pernet->mutex);
	if (c->rtnl)
		rtnl_unlock();
	return err;
}

static void unlock_shadows(struct commit *c, unsigned int count)
{
	while (count--)
		if (c->changes[count].shadow)
			ipcuckoo_commit_sets_drop(&c->sets, c->changes[count].shadow);
}

static int lock_and_run(struct commit *c, unsigned int *at)
{
	unsigned int i;
	int err;

	err = ipcuckoo_commit_sets_lock(&c->sets, c->until);
	if (err)
		return err;
	for (i = 0; i < c->count && !err; i++) {
		err = lock_shadow(c, &c->changes[i]);
		if (err)
			break;
	}
	if (err)
		*at = i;
	else
		err = run(c, at);
	unlock_shadows(c, i);
	ipcuckoo_commit_sets_unlock(&c->sets);
	return err;
}

static void clean_up(struct commit *c)
{
	struct ipcuckoo_commit_change *change;
	unsigned int i;

	for (i = 0; i < c->count; i++) {
		change = &c->changes[i];
		if (change->name)
			ipcuckoo_names_prune(c->pernet, change->name);
		if (change->to)
			ipcuckoo_names_prune(c->pernet, change->to);
		if (change->kind == IPCUCKOO_COMMIT_CREATE && ipcuckoo_set_is_new(change->set))
			ipcuckoo_ids_free(change->set);
		if (change->done && change->kind == IPCUCKOO_COMMIT_DESTROY)
			ipcuckoo_names_release(change->set);
		if (change->empty)
			ipcuckoo_version_retire(change->empty, 0, 0, false);
		change->empty = NULL;
	}
	ipcuckoo_commit_sets_free(&c->sets);
}

static int commit_locked(struct commit *c, unsigned int *at)
{
	int err = 0;

	*at = 0;
	if (c->count == 1) {
		err = check_early(c->pernet, &c->changes[0]);
		if (err)
			return is_accepted(&c->changes[0], err) ? 0 : err;
	}
	for (; *at < c->count && !err; ++*at)
		err = fatal_signal_pending(current) ? -EINTR : prepare(c, &c->changes[*at]);
	if (err)
		--*at;
	if (!err)
		err = ipcuckoo_commit_sets_collect(&c->sets, c->pernet, c->changes, c->count);
	if (!err)
		err = lock_and_run(c, at);
	clean_up(c);
	return err;
}

/**
 * ipcuckoo_commit() - make changes of sets and names, all or none
 * @pernet:	namespace
 * @changes:	changes, in the order in which they take effect
 * @count:	how many
 * @check:	only find out whether they could be made, and make none. Netfilter hooks that
 *		they need are not registered, so errors of these are not found out
 * @at:		on error: the index of the change at fault; @count if it is none of them
 *
 * Sets keep their contents, sequence and lock when their names change, so that a look-up
 * that is under way has one consistent answer, from the set it began in. When this returns
 * no packet looks into a set that was swapped out: it can be changed and destroyed.
 *
 * Context: process context; takes all mutexes of set.h, and RTNL if something is attached
 * at ingress.
 * Return: 0, or an error; then nothing has changed. -ENOMEM, -EDQUOT, -EINTR for a fatal
 * signal, -EAGAIN if other writers keep the names or a set for longer than a request may wait.
 * -ENOENT if there is no set called @name (or @exist). CREATE: -EEXIST if there is a
 * set of that name with the same options (or @exist), -ENOTUNIQ if there is another one,
 * -E2BIG if there are IPCUCKOO_SETS_MAX. DESTROY: -EBUSY if it is attached. RENAME: -EEXIST
 * if there is a set called @to. DESTROY, RENAME: -EUSERS if rules of iptables refer to it. SWAP:
 * -ESRCH if there is none called @to, -ENOTUNIQ if types or families differ. DESTROY, RENAME,
 * SWAP, ATTACH: -EREMOTE if the set is one of ip_set. -EXDEV if a set that is in use would change
 * its contents in the commit that swaps it. REPLACE, and CREATE with a shadow: -EBUSY if another
 * request is at work on the shadow, or an error of ipcuckoo_shadow_check(); CREATE: -EINVAL if the
 * set of the shadow exists already. ATTACH: an error of ipcuckoo_attach().
 */
int ipcuckoo_commit(struct ipcuckoo_net *pernet, struct ipcuckoo_commit_change *changes,
		    unsigned int count, bool check, unsigned int *at)
{
	struct commit c = {
		.pernet = pernet, .changes = changes, .count = count, .check = check,
		.until = ipcuckoo_lock_limit(),
	};
	int err = 0;

	for (*at = 0; *at < count && !err; ++*at)
		if (changes[*at].shadow && !check)
			err = ipcuckoo_shadow_trim(changes[*at].shadow, c.until);
	err = err ?: ipcuckoo_lock_names(pernet, c.until);
	if (err) {
		*at = count;
		return err;
	}
	err = commit_locked(&c, at);
	ipcuckoo_unlock_names(pernet);
	if (!err && !check && (c.used || (c.swapped && ipcuckoo_ids_used())))
		synchronize_rcu();
	return err;
}
