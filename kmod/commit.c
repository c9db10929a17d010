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
 *   2. Lock the contents of all sets that the changes name, and the shadows. Check the
 *	shadows.
 *   3. Under ipcuckoo_net.mutex, apply the changes of names and attachments one after the
 *	other, each to what the ones before it have left. Nobody sees this: code that looks
 *	for a set by name takes the mutex, and packets read chains only. If a change cannot
 *	be made, undo those before it in reverse order. Then prepare the chains, which is
 *	the last step that can fail.
 *   4. Let shadows and empty contents become the contents of their sets, publish the
 *	chains, notify listeners, and release the mutexes. From here on nothing fails.
 *
 * A packet sees each set with its old or its new contents, and at each hook the chain from
 * before or after the commit. Contents come before chains, so that a set is never seen
 * empty under a name that it gets with its contents. There is one exception: a set that
 * loses its attachments by a swap keeps its contents until no packet looks into it any more,
 * a grace period after the chains have changed. Contents of several sets change one after
 * the other.
 */
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "attach.h"
#include "commit.h"
#include "event.h"
#include "names.h"
#include "net.h"
#include "options.h"
#include "point.h"
#include "procfs.h"
#include "rebuild.h"
#include "set.h"
#include "shadow.h"
#include "slot.h"
#include "version.h"

/**
 * struct commit - a commit under way
 * @pernet:	namespace
 * @changes:	its changes
 * @count:	how many
 * @check:	make none of them
 * @slots:	the sets whose contents are locked
 * @chains:	attachments change
 * @swapped:	sets that are attached were swapped
 * @rtnl:	attachments at ingress are added
 */
struct commit {
	struct ipcuckoo_net *pernet;
	struct ipcuckoo_commit_change *changes;
	unsigned int count;
	bool check;
	struct ipcuckoo_slots slots;
	bool chains;
	bool swapped;
	bool rtnl;
};

/* Step 1: what takes memory. */
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
		if (ipcuckoo_entries_approximate(&set->entries) && !change->shadow)
			err = ipcuckoo_set_reserve_filter(set);
		return err ?: ipcuckoo_proc_add(c->pernet, change->name);
	case IPCUCKOO_COMMIT_RENAME:
		return ipcuckoo_proc_add(c->pernet, change->to);
	case IPCUCKOO_COMMIT_ATTACH:
		c->chains = true;
		c->rtnl |= change->at->rule.place == IPCUCKOO_PLACE_INGRESS;
		return 0;
	default:
		return 0;
	}
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
		if (set)
			err = ipcuckoo_options_same(&set->options, &change->set->options,
						    change->same_maxelem) ?
			      -EEXIST : -ENOTUNIQ;
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		err = !set ? -ENOENT : READ_ONCE(set->attachments) ? -EBUSY : 0;
		break;
	case IPCUCKOO_COMMIT_RENAME:
		err = !set ? -ENOENT : other ? -EEXIST : 0;
		break;
	default:
		err = set ? 0 : -ENOENT;
		break;
	}
	return err;
}

/* Lock a shadow, and see whether it can become the contents of its set. */
static int lock_shadow(struct commit *c, struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_shadow *shadow = change->shadow;
	int err;

	if (!shadow)
		return 0;
	/* Only a request of the same socket can be at work on it. */
	if (!ipcuckoo_slots_hold(&c->slots, &shadow->entries))
		return -EBUSY;
	if (change->kind == IPCUCKOO_COMMIT_CREATE)
		err = !ipcuckoo_set_is_new(shadow->set) ? -EINVAL :
		      ipcuckoo_shadow_check(shadow, true);
	else if (shadow->set->dead || ipcuckoo_set_is_new(shadow->set))
		err = -ENOENT;
	else
		err = ipcuckoo_shadow_check(shadow, change->override);
	if (err)
		ipcuckoo_slots_drop(&c->slots, &shadow->entries);
	return err;
}

/* Step 3: apply a change of names or attachments. */

static int create(struct commit *c, struct ipcuckoo_commit_change *change)
{
	const struct ipcuckoo_set *other = ipcuckoo_set_find(c->pernet, change->name);

	if (other)
		return ipcuckoo_options_same(&other->options, &change->set->options,
					     change->same_maxelem) ? -EEXIST : -ENOTUNIQ;
	if (c->pernet->sets_count >= IPCUCKOO_SETS_MAX)
		return -E2BIG;
	ipcuckoo_names_change(change->set, change->name);
	ipcuckoo_set_insert(c->pernet, change->set);
	return 0;
}

static int destroy(struct commit *c, struct ipcuckoo_commit_change *change)
{
	change->set = ipcuckoo_set_find(c->pernet, change->name);
	if (!change->set)
		return -ENOENT;
	if (change->set->attachments)
		return -EBUSY;
	ipcuckoo_set_erase(c->pernet, change->set);
	return 0;
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
	if (ipcuckoo_set_find(c->pernet, change->to))
		return -EEXIST;
	move(c, change->set, change->to);
	c->pernet->attached.seq++;
	return 0;
}

/* All that belongs to a name: its place in the tree and what is attached. */
static void exchange(struct commit *c, struct ipcuckoo_set *a, struct ipcuckoo_set *b)
{
	char name[IPCUCKOO_NAME_SIZE];

	if (a->attachments || b->attachments) {
		ipcuckoo_attach_exchange(c->pernet, a, b);
		c->chains = true;
		c->swapped = true;
	}
	ipcuckoo_slots_find(&c->slots, a)->swapped = true;
	ipcuckoo_slots_find(&c->slots, b)->swapped = true;
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

/* As after requests of their own: a shadow is that of contents, and of a name, which the
 * changes before this one may have changed.
 */
static int replace(struct commit *c, struct ipcuckoo_commit_change *change)
{
	const struct ipcuckoo_slot *slot;

	change->set = change->shadow->set;
	if (ipcuckoo_set_is_new(change->set))
		return -ENOENT;
	slot = ipcuckoo_slots_find(&c->slots, change->set);
	strscpy(change->set_name, change->set->name, sizeof(change->set_name));
	return slot->swapped || (slot->last && !change->override) ? -ESTALE : 0;
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
		return replace(c, change);
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

/* With @exist some errors mean that there is nothing to do. */
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
	int err = apply(c, change);

	change->done = !err && !swaps_nothing(change);
	if (change->done && changes_contents(change))
		ipcuckoo_slots_find(&c->slots, change->set)->last = at + 1;
	return err && is_accepted(change, err) ? 0 : err;
}

/* A set that was attached and is swapped has its old contents until packets do not look
 * into it any more. It cannot be attached then: whose packets would see which contents?
 */
static bool is_late(const struct ipcuckoo_slot *slot)
{
	return slot->last && slot->attached && slot->swapped;
}

static int apply_all(struct commit *c, unsigned int *at)
{
	unsigned int i;
	int err = 0;

	for (*at = 0; *at < c->count && !err; ++*at)
		err = apply_one(c, *at);
	if (err)
		--*at;
	for (i = 0; i < c->slots.count && !err; i++) {
		if (!is_late(&c->slots.slot[i]) || !c->slots.slot[i].set->attachments)
			continue;
		*at = c->slots.slot[i].last - 1;
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

/* Of several changes of the contents of a set only the last is made: packets never see what
 * is between. @late: of sets that packets do not look into any more; or of the others.
 */
static void change_all_contents(struct commit *c, bool late)
{
	unsigned int i;

	for (i = 0; i < c->slots.count; i++)
		if (c->slots.slot[i].last && is_late(&c->slots.slot[i]) == late)
			change_contents(&c->changes[c->slots.slot[i].last - 1]);
}

static bool any_late(const struct commit *c)
{
	unsigned int i;

	for (i = 0; i < c->slots.count; i++)
		if (is_late(&c->slots.slot[i]))
			return true;
	return false;
}

/* What does not depend on contents. */
static void settle_change(struct ipcuckoo_commit_change *change)
{
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		/* For the tree. */
		kref_get(&change->set->ref);
		break;
	case IPCUCKOO_COMMIT_SWAP:
		/* A dump of either is not of one moment any more. */
		change->set->entries.generation++;
		change->other->entries.generation++;
		change->set->swaps++;
		change->other->swaps++;
		break;
	default:
		break;
	}
	/* Its entries, if a later change has superseded it, are freed with it. */
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

static void finish(struct commit *c)
{
	unsigned int i;

	change_all_contents(c, false);
	if (c->chains)
		ipcuckoo_points_publish(c->pernet);
	if (any_late(c)) {
		/* Packets that run the old chains. */
		synchronize_rcu_expedited();
		change_all_contents(c, true);
	}
	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			settle_change(&c->changes[i]);
	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			notify(c, &c->changes[i]);
}

/* Steps 3 and 4. */
static int run(struct commit *c, unsigned int *at)
{
	bool prepared;
	int err;

	if (c->rtnl && rtnl_lock_killable())
		return -EINTR;
	mutex_lock(&c->pernet->mutex);
	ipcuckoo_slots_note_attached(&c->slots);
	err = apply_all(c, at);
	prepared = !err && c->chains && !c->check;
	if (prepared)
		err = ipcuckoo_points_prepare(c->pernet, c->rtnl);
	if (err || c->check)
		undo_all(c);
	else
		finish(c);
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
			ipcuckoo_slots_drop(&c->slots, &c->changes[count].shadow->entries);
}

static int lock_and_run(struct commit *c, unsigned int *at)
{
	unsigned int i;
	int err;

	err = ipcuckoo_slots_lock(&c->slots);
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
	ipcuckoo_slots_unlock(&c->slots);
	return err;
}

/* Remove the procfs file of a name that no set has. */
static void settle_file(struct ipcuckoo_net *pernet, const char *name)
{
	const struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, name);
	mutex_unlock(&pernet->mutex);
	if (!set)
		ipcuckoo_proc_del(pernet, name);
}

static void clean_up(struct commit *c)
{
	struct ipcuckoo_commit_change *change;
	unsigned int i;

	for (i = 0; i < c->count; i++) {
		change = &c->changes[i];
		if (change->name)
			settle_file(c->pernet, change->name);
		if (change->to)
			settle_file(c->pernet, change->to);
		if (change->done && change->kind == IPCUCKOO_COMMIT_DESTROY)
			ipcuckoo_names_release(change->set);
		if (change->empty)
			ipcuckoo_version_retire(change->empty, 0, 0, false);
		change->empty = NULL;
	}
	ipcuckoo_slots_free(&c->slots);
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
		err = ipcuckoo_slots_collect(&c->slots, c->pernet, c->changes, c->count);
	if (!err)
		err = lock_and_run(c, at);
	clean_up(c);
	return err;
}

/* If there is no memory to save memory with, it can wait. */
static int trim_shadow(struct ipcuckoo_shadow *shadow)
{
	if (mutex_lock_killable(&shadow->entries.mutex))
		return -EINTR;
	/* An empty filter would be freed, which a new set is created with. */
	if (!shadow->spent && !ipcuckoo_entries_approximate(&shadow->entries))
		ipcuckoo_entries_trim(&shadow->entries);
	ipcuckoo_rebuild_free_queue(&shadow->entries);
	mutex_unlock(&shadow->entries.mutex);
	return 0;
}

/**
 * ipcuckoo_commit() - make changes of sets and names, all or none
 * @pernet:	namespace
 * @changes:	changes, in the order in which they take effect
 * @count:	how many
 * @check:	only find out whether they could be made, and make none. Netfilter hooks that
 *		they need are not registered, so errors of these are not found out
 * @at:		on error: which of them is at fault
 *
 * Sets keep their contents, sequence and lock when their names change, so that a look-up
 * that is under way has one consistent answer, from the set it began in. When this returns
 * no packet looks into a set that was swapped out: it can be changed and destroyed.
 *
 * Context: process context; takes all mutexes of set.h, and RTNL if something is attached
 * at ingress.
 * Return: 0, or an error; then nothing has changed. -ENOMEM, -EDQUOT, -EINTR for a fatal
 * signal. -ENOENT if there is no set called @name (or @exist). CREATE: -EEXIST if there is a
 * set of that name with the same options (or @exist), -ENOTUNIQ if there is another one,
 * -E2BIG if there are IPCUCKOO_SETS_MAX. DESTROY: -EBUSY if it is attached. RENAME: -EEXIST
 * if there is a set called @to. SWAP: -ESRCH if there is none called @to, -ENOTUNIQ if
 * types or families differ. -EXDEV if a set that is attached would change its contents in the
 * commit that swaps it. REPLACE, and CREATE with a shadow: -EBUSY if another request is
 * at work on the shadow, or an error of ipcuckoo_shadow_check(); CREATE: -EINVAL if the set
 * of the shadow exists already. ATTACH: an error of
 * ipcuckoo_attach().
 */
int ipcuckoo_commit(struct ipcuckoo_net *pernet, struct ipcuckoo_commit_change *changes,
		    unsigned int count, bool check, unsigned int *at)
{
	struct commit c = {
		.pernet = pernet, .changes = changes, .count = count, .check = check,
	};
	int err = 0;

	for (*at = 0; *at < count && !err; ++*at)
		if (changes[*at].shadow)
			err = trim_shadow(changes[*at].shadow);
	if (err || mutex_lock_killable(&pernet->names))
		return -EINTR;
	err = commit_locked(&c, at);
	mutex_unlock(&pernet->names);
	if (c.swapped && !err && !check)
		synchronize_rcu();
	return err;
}
