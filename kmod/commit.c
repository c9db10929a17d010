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
 * empty under a name that it gets with its contents. Contents of several sets change one
 * after the other.
 */
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "attach.h"
#include "commit.h"
#include "event.h"
#include "names.h"
#include "net.h"
#include "point.h"
#include "procfs.h"
#include "rebuild.h"
#include "set.h"
#include "shadow.h"
#include "version.h"

/**
 * struct commit - a commit under way
 * @pernet:	namespace
 * @changes:	its changes
 * @count:	how many
 * @sets:	the sets whose contents are locked, each once
 * @nsets:	how many
 * @chains:	attachments change
 * @swapped:	sets that are attached were swapped
 * @rtnl:	attachments at ingress are added
 */
struct commit {
	struct ipcuckoo_net *pernet;
	struct ipcuckoo_commit_change *changes;
	unsigned int count;
	struct ipcuckoo_set **sets;
	unsigned int nsets;
	bool chains;
	bool swapped;
	bool rtnl;
};

static bool same_options(const struct ipcuckoo_set *a,
			 const struct ipcuckoo_set *b, bool same_maxelem)
{
	const struct ipcuckoo_filter_shape *p = &a->entries.shape;
	const struct ipcuckoo_filter_shape *q = &b->entries.shape;

	return a->type == b->type && a->family == b->family &&
	       (!same_maxelem || READ_ONCE(a->maxelem) == b->maxelem) &&
	       a->entries.options == b->entries.options && a->timeout == b->timeout &&
	       p->bits == q->bits && p->capacity == q->capacity &&
	       p->multi == q->multi && a->mask.present == b->mask.present &&
	       a->mask.bits.hi == b->mask.bits.hi &&
	       a->mask.bits.lo == b->mask.bits.lo;
}

/* A filter never grows, so allocate it when the set is created: if there is not enough
 * memory, the request to create the set fails, and not the first addition.
 */
static int reserve_filter(struct ipcuckoo_set *set)
{
	static const u32 none[IPCUCKOO_KINDS];
	int err;

	mutex_lock(&set->entries.mutex);
	err = ipcuckoo_entries_reserve(&set->entries, none);
	ipcuckoo_set_unlock(set);
	return err;
}

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
			err = reserve_filter(set);
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
			err = same_options(set, change->set, change->same_maxelem) ?
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

static int compare_sets(const void *a, const void *b)
{
	const struct ipcuckoo_set *x = *(struct ipcuckoo_set **)a;
	const struct ipcuckoo_set *y = *(struct ipcuckoo_set **)b;

	return x < y ? -1 : x > y;
}

static void collect(struct commit *c, struct ipcuckoo_set *set)
{
	if (set)
		c->sets[c->nsets++] = set;
}

/* Find the sets whose contents have to be locked. A set that a later change names by a
 * name which an earlier one gives is named by its first name as well.
 */
static int collect_sets(struct commit *c)
{
	struct ipcuckoo_commit_change *change;
	unsigned int i, n;

	c->sets = kvmalloc_array(3 * c->count, sizeof(*c->sets), GFP_KERNEL_ACCOUNT);
	if (!c->sets)
		return -ENOMEM;
	mutex_lock(&c->pernet->mutex);
	for (i = 0; i < c->count; i++) {
		change = &c->changes[i];
		if (change->kind == IPCUCKOO_COMMIT_CREATE)
			collect(c, change->set);
		if (change->kind == IPCUCKOO_COMMIT_REPLACE)
			collect(c, change->shadow->set);
		if (change->name)
			collect(c, ipcuckoo_set_find(c->pernet, change->name));
		if (change->to)
			collect(c, ipcuckoo_set_find(c->pernet, change->to));
	}
	mutex_unlock(&c->pernet->mutex);
	sort(c->sets, c->nsets, sizeof(*c->sets), compare_sets, NULL);
	for (i = 0, n = 0; i < c->nsets; i++)
		if (!n || c->sets[n - 1] != c->sets[i])
			c->sets[n++] = c->sets[i];
	c->nsets = n;
	return 0;
}

/* Any number of contents is locked under ipcuckoo_net.names: lockdep counts them as one. */
static void nest_lock(struct commit *c, struct ipcuckoo_entries *e)
{
	mutex_release(&e->mutex.dep_map, _RET_IP_);
	mutex_acquire_nest(&e->mutex.dep_map, 0, 1, &c->pernet->names.dep_map, _RET_IP_);
}

/* Lock the contents of all sets but @first, which is locked or NULL. Return: a set that
 * has another writer, and then none is locked; or NULL.
 */
static struct ipcuckoo_set *try_sets(struct commit *c, struct ipcuckoo_set *first)
{
	struct ipcuckoo_set *busy;
	unsigned int i;

	for (i = 0; i < c->nsets; i++) {
		if (c->sets[i] == first)
			continue;
		if (!mutex_trylock(&c->sets[i]->entries.mutex))
			break;
		nest_lock(c, &c->sets[i]->entries);
	}
	if (i == c->nsets)
		return NULL;
	busy = c->sets[i];
	while (i--)
		if (c->sets[i] != first)
			mutex_unlock(&c->sets[i]->entries.mutex);
	if (first)
		mutex_unlock(&first->entries.mutex);
	return busy;
}

/* Step 2. Waits for the writer of one set at a time, and holds no other set's lock
 * meanwhile: so a fatal signal ends it, and no writer waits for two.
 */
static int lock_sets(struct commit *c)
{
	struct ipcuckoo_set *busy = NULL;

	while ((busy = try_sets(c, busy))) {
		if (mutex_lock_killable(&busy->entries.mutex))
			return -EINTR;
		nest_lock(c, &busy->entries);
	}
	return 0;
}

static void unlock_sets(struct commit *c)
{
	unsigned int i;

	for (i = 0; i < c->nsets; i++)
		ipcuckoo_set_unlock(c->sets[i]);
}

/* Lock a shadow, and see whether it can become the contents of its set. */
static int lock_shadow(struct commit *c, struct ipcuckoo_commit_change *change)
{
	struct ipcuckoo_shadow *shadow = change->shadow;
	int err;

	if (!shadow)
		return 0;
	/* Only a request of the same socket can be at work on it. */
	if (!mutex_trylock(&shadow->entries.mutex))
		return -EBUSY;
	nest_lock(c, &shadow->entries);
	if (change->kind == IPCUCKOO_COMMIT_CREATE)
		err = !ipcuckoo_set_is_new(shadow->set) ? -EINVAL :
		      ipcuckoo_shadow_check(shadow, true);
	else if (shadow->set->dead || ipcuckoo_set_is_new(shadow->set))
		err = -ENOENT;
	else
		err = ipcuckoo_shadow_check(shadow, change->override);
	if (err)
		mutex_unlock(&shadow->entries.mutex);
	return err;
}

/* Step 3: apply a change of names or attachments. */

static int create(struct commit *c, struct ipcuckoo_commit_change *change)
{
	const struct ipcuckoo_set *other = ipcuckoo_set_find(c->pernet, change->name);

	if (other)
		return same_options(other, change->set, change->same_maxelem) ?
		       -EEXIST : -ENOTUNIQ;
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
		/* Destroyed by a change before this one. */
		return ipcuckoo_set_is_new(change->shadow->set) ? -ENOENT : 0;
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

static int apply_all(struct commit *c, unsigned int *at)
{
	int err = 0;

	for (*at = 0; *at < c->count && !err; ++*at) {
		err = apply(c, &c->changes[*at]);
		c->changes[*at].done = !err && !swaps_nothing(&c->changes[*at]);
		if (err && is_accepted(&c->changes[*at], err))
			err = 0;
	}
	if (err)
		--*at;
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
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		/* For the tree. */
		kref_get(&change->set->ref);
		fallthrough;
	case IPCUCKOO_COMMIT_REPLACE:
		if (change->shadow)
			ipcuckoo_shadow_swap_in(change->shadow);
		break;
	case IPCUCKOO_COMMIT_SWAP:
		/* A dump of either is not of one moment any more. */
		change->set->entries.generation++;
		change->other->entries.generation++;
		change->set->swaps++;
		change->other->swaps++;
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		/* Its entries are freed now, though somebody may still hold the set. */
		change->set->dead = true;
		fallthrough;
	case IPCUCKOO_COMMIT_FLUSH:
		ipcuckoo_entries_clear(&change->set->entries, change->empty);
		change->empty = NULL;
		break;
	default:
		break;
	}
}

static void notify(struct commit *c, struct ipcuckoo_commit_change *change)
{
	switch (change->kind) {
	case IPCUCKOO_COMMIT_CREATE:
		ipcuckoo_event_set(change->set, IPCUCKOO_EVENT_SET_NEW);
		break;
	case IPCUCKOO_COMMIT_DESTROY:
		ipcuckoo_event_set(change->set, IPCUCKOO_EVENT_SET_DESTROYED);
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
		ipcuckoo_event_set(change->set, IPCUCKOO_EVENT_SET_FLUSHED);
		break;
	case IPCUCKOO_COMMIT_REPLACE:
		ipcuckoo_event_set(change->shadow->set, IPCUCKOO_EVENT_SET_REPLACED);
		break;
	case IPCUCKOO_COMMIT_ATTACH:
		ipcuckoo_attach_announce(c->pernet, change->at);
		change->id = change->at->id;
		change->at = NULL;
		break;
	}
}

static void finish(struct commit *c)
{
	unsigned int i;

	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			change_contents(&c->changes[i]);
	if (c->chains)
		ipcuckoo_points_publish(c->pernet);
	for (i = 0; i < c->count; i++)
		if (c->changes[i].done)
			notify(c, &c->changes[i]);
}

/* Steps 3 and 4. */
static int run(struct commit *c, unsigned int *at)
{
	int err = 0;

	if (c->rtnl && rtnl_lock_killable())
		return -EINTR;
	mutex_lock(&c->pernet->mutex);
	err = apply_all(c, at);
	if (!err && c->chains)
		err = ipcuckoo_points_prepare(c->pernet, NULL, c->rtnl);
	if (err)
		undo_all(c);
	else
		finish(c);
	mutex_unlock(&c->pernet->mutex);
	if (c->rtnl)
		rtnl_unlock();
	return err;
}

static void unlock_shadows(struct commit *c, unsigned int count)
{
	while (count--)
		if (c->changes[count].shadow)
			mutex_unlock(&c->changes[count].shadow->entries.mutex);
}

static int lock_and_run(struct commit *c, unsigned int *at)
{
	unsigned int i;
	int err;

	err = lock_sets(c);
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
	unlock_sets(c);
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
	kvfree(c->sets);
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
		err = collect_sets(c);
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
	if (!shadow->spent)
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
 * types or families differ. REPLACE, and CREATE with a shadow: -EBUSY if another request is
 * at work on the shadow, or an error of ipcuckoo_shadow_check(); CREATE: -EINVAL if the set
 * of the shadow exists already. ATTACH: an error of
 * ipcuckoo_attach().
 */
int ipcuckoo_commit(struct ipcuckoo_net *pernet, struct ipcuckoo_commit_change *changes,
		    unsigned int count, unsigned int *at)
{
	struct commit c = { .pernet = pernet, .changes = changes, .count = count };
	int err = 0;

	for (*at = 0; *at < count && !err; ++*at)
		if (changes[*at].shadow)
			err = trim_shadow(changes[*at].shadow);
	if (err || mutex_lock_killable(&pernet->names))
		return -EINTR;
	err = commit_locked(&c, at);
	mutex_unlock(&pernet->names);
	if (c.swapped && !err)
		synchronize_rcu();
	return err;
}
