// SPDX-License-Identifier: GPL-2.0-only
/* The sets whose contents a commit locks: see commit_sets.h. */
#include <linux/bsearch.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sort.h>

#include "commit_sets.h"
#include "ids.h"
#include "lock.h"
#include "net.h"
#include "shadow.h"

static int compare(const void *a, const void *b)
{
	const struct ipcuckoo_commit_set *x = a, *y = b;

	return x->set < y->set ? -1 : x->set > y->set;
}

/**
 * ipcuckoo_commit_sets_find() - find a set among those of a commit
 * @sets:	the sets of the commit
 * @set:	one of them
 */
struct ipcuckoo_commit_set *ipcuckoo_commit_sets_find(struct ipcuckoo_commit_sets *sets,
						      struct ipcuckoo_set *set)
{
	const struct ipcuckoo_commit_set key = { .set = set };

	return bsearch(&key, sets->list, sets->count, sizeof(key), compare);
}

static void add(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_set *set)
{
	if (set)
		sets->list[sets->count++] = (struct ipcuckoo_commit_set){ .set = set };
}

/* Add the sets that a change names, by the names that sets have before the commit. If the name
 * is one that an earlier change gives to a set, nothing is missed: that change names the set
 * by its first name.
 */
static void add_change(struct ipcuckoo_commit_sets *sets,
		       const struct ipcuckoo_commit_change *change)
{
	if (change->kind == IPCUCKOO_COMMIT_CREATE)
		add(sets, change->set);
	if (change->kind == IPCUCKOO_COMMIT_REPLACE)
		add(sets, change->shadow->set);
	if (change->name)
		add(sets, ipcuckoo_set_find(sets->pernet, change->name));
	if (change->to)
		add(sets, ipcuckoo_set_find(sets->pernet, change->to));
}

/**
 * ipcuckoo_commit_sets_collect() - find the sets that changes are about
 * @sets:	filled in; to be given to ipcuckoo_commit_sets_free()
 * @pernet:	namespace, whose names are locked
 * @changes:	changes
 * @count:	how many
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_commit_sets_collect(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_net *pernet,
				 const struct ipcuckoo_commit_change *changes, unsigned int count)
{
	unsigned int i, n = 0;

	sets->pernet = pernet;
	sets->list = kvmalloc_array(3 * count, sizeof(*sets->list), GFP_KERNEL_ACCOUNT);
	if (!sets->list)
		return -ENOMEM;
	mutex_lock(&pernet->mutex);
	for (i = 0; i < count; i++)
		add_change(sets, &changes[i]);
	mutex_unlock(&pernet->mutex);
	sort(sets->list, sets->count, sizeof(*sets->list), compare, NULL);
	for (i = 0; i < sets->count; i++)
		if (!n || sets->list[n - 1].set != sets->list[i].set)
			sets->list[n++] = sets->list[i];
	sets->count = n;
	return 0;
}

/**
 * ipcuckoo_commit_sets_note_used() - note which sets packets may look into
 * @sets:	the sets of a commit
 *
 * Not earlier: before the commit takes the namespace's mutex, sets can be attached, and rules of
 * iptables can be added.
 *
 * Context: the namespace's mutex is held, and stays so until the commit is made.
 */
void ipcuckoo_commit_sets_note_used(struct ipcuckoo_commit_sets *sets)
{
	unsigned int i;

	lockdep_assert_held(&sets->pernet->mutex);
	for (i = 0; i < sets->count; i++)
		sets->list[i].used = ipcuckoo_set_unused(sets->list[i].set);
}

/**
 * ipcuckoo_commit_set_late() - must a set keep its contents until no packet runs the old chains?
 * @set:	set
 *
 * It must if it was in use before the commit, which swaps it: packets that run the old chains still
 * look into it. It also must if it was swapped before its contents change, or is destroyed, and is
 * not in use: programs that have looked its id up may still look into it. A set that comes into use
 * by a swap has its new contents before.
 */
bool ipcuckoo_commit_set_late(const struct ipcuckoo_commit_set *set)
{
	return set->last && ((set->used && set->swapped) ||
			     ((set->changed_late || set->destroyed) &&
			      !ipcuckoo_set_unused(set->set)));
}

/**
 * ipcuckoo_commit_set_refused() - is a commit refused because of a set?
 * @set:	set, after the commit's changes of names
 *
 * It is if such a set is in use, as it was before: packets that run the new chains would find the
 * old contents in it. Programs that use the id which the set has got are told to expect that
 * (uapi/ipcuckoo_bpf.h), as nobody knows whether there are any.
 */
bool ipcuckoo_commit_set_refused(const struct ipcuckoo_commit_set *set)
{
	return ipcuckoo_commit_set_late(set) && set->used && ipcuckoo_set_unused(set->set);
}

/**
 * ipcuckoo_commit_sets_any_read() - may anybody still look into a set that is late?
 * @sets:	the sets of a commit
 *
 * Only programs look into a set that is destroyed and was not swapped.
 *
 * Context: after ipcuckoo_ids_free() and ipcuckoo_ids_publish() of all of them.
 */
bool ipcuckoo_commit_sets_any_read(const struct ipcuckoo_commit_sets *sets)
{
	const bool programs = ipcuckoo_ids_used();
	unsigned int i;

	for (i = 0; i < sets->count; i++)
		if (ipcuckoo_commit_set_late(&sets->list[i]) &&
		    (programs || sets->list[i].swapped))
			return true;
	return false;
}

/**
 * ipcuckoo_commit_sets_any_ipset() - is any of the sets one of ip_set?
 * @sets:	the sets of a commit
 */
bool ipcuckoo_commit_sets_any_ipset(const struct ipcuckoo_commit_sets *sets)
{
	unsigned int i;

	for (i = 0; i < sets->count; i++)
		if (sets->list[i].set->ipset)
			return true;
	return false;
}

/**
 * ipcuckoo_commit_sets_free() - free the list of sets
 * @sets:	the sets of a commit, or zeros
 */
void ipcuckoo_commit_sets_free(struct ipcuckoo_commit_sets *sets)
{
	kvfree(sets->list);
}

/* How many of the mutexes that a commit holds are reported to lockdep.
 *
 * Under ipcuckoo_net.names a commit locks the contents of any number of sets and shadows.
 * Lockdep keeps one record for all locks of one class that are nested in the same lock, and
 * counts them in 11 bits, which overflow at 2048: 1024 sets and their shadows. The record does
 * not say which locks it counts. As soon as it counts two, every lock of the class passes for
 * held (match_held_lock()), and every one may be unlocked. So two are enough, and lockdep
 * checks what it would check with all of them: the order of this class and others, and
 * lockdep_assert_held(). The contents of sets of ip_set have a class of their own, so they are
 * counted apart from the others: @ipset in the functions below.
 */
#define LOCKDEP_HELD	2

/* Called after contents were locked: count them, and take them out of lockdep's record again
 * if it counts enough of them.
 */
static void hold(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_entries *e, bool ipset)
{
	mutex_release(&e->mutex.dep_map, _RET_IP_);
	if (sets->held[ipset]++ < LOCKDEP_HELD)
		mutex_acquire_nest(&e->mutex.dep_map, 0, 1, &sets->pernet->names.dep_map,
				   _RET_IP_);
}

/* Called before contents are unlocked, which takes one lock out of lockdep's record: put one
 * in if the record does not count these contents.
 */
static void drop(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_entries *e, bool ipset)
{
	if (sets->held[ipset]-- > LOCKDEP_HELD)
		mutex_acquire_nest(&e->mutex.dep_map, 0, 1, &sets->pernet->names.dep_map,
				   _RET_IP_);
}

/**
 * ipcuckoo_commit_sets_hold() - lock the contents of a shadow, beside those of the sets
 * @sets:	the sets of a commit
 * @shadow:	shadow
 *
 * Return: false if somebody else has locked them; to be unlocked by ipcuckoo_commit_sets_drop().
 */
bool ipcuckoo_commit_sets_hold(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_shadow *shadow)
{
	if (down_trylock(&shadow->turn))
		return false;
	WARN_ON(!mutex_trylock(&shadow->entries.mutex));
	hold(sets, &shadow->entries, false);
	return true;
}

/**
 * ipcuckoo_commit_sets_drop() - unlock contents that ipcuckoo_commit_sets_hold() has locked
 * @sets:	the sets of a commit
 * @shadow:	shadow
 */
void ipcuckoo_commit_sets_drop(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_shadow *shadow)
{
	drop(sets, &shadow->entries, false);
	mutex_unlock(&shadow->entries.mutex);
	up(&shadow->turn);
}

static void unlock_first(struct ipcuckoo_commit_sets *sets, unsigned int count)
{
	struct ipcuckoo_set *set;

	while (count--) {
		set = sets->list[count].set;
		drop(sets, &set->entries, set->ipset);
		ipcuckoo_set_unlock(set);
	}
}

static void disclaim_all(struct ipcuckoo_commit_sets *sets)
{
	unsigned int i;

	for (i = 0; i < sets->count; i++)
		ipcuckoo_disclaim(sets->list[i].set);
}

/**
 * ipcuckoo_commit_sets_lock() - lock the contents of all sets
 * @sets:	the sets of a commit
 * @until:	from ipcuckoo_lock_limit()
 *
 * Claims them first, so that this waits only for writers that have begun (lock.h). Waiting for one
 * set while others are locked cannot deadlock: who has locked the contents of a set waits neither
 * for those of another one, nor for the names, which let one commit do this at a time.
 *
 * Return: 0, -EINTR for a fatal signal, or -EAGAIN; with -EAGAIN the sets stay claimed.
 */
int ipcuckoo_commit_sets_lock(struct ipcuckoo_commit_sets *sets, unsigned long until)
{
	struct ipcuckoo_set *set;
	unsigned int i;
	int err;

	for (i = 0; i < sets->count; i++)
		ipcuckoo_claim(sets->list[i].set);
	for (i = 0; i < sets->count; i++) {
		set = sets->list[i].set;
		err = ipcuckoo_lock_claimed(set, until);
		if (err)
			goto err_unlock;
		hold(sets, &set->entries, set->ipset);
	}
	for (i = 0; i < sets->count; i++)
		if (!sets->list[i].set->dead)
			ipcuckoo_set_settle(sets->list[i].set);
	return 0;

err_unlock:
	unlock_first(sets, i);
	if (err != -EAGAIN)
		disclaim_all(sets);
	return err;
}

/**
 * ipcuckoo_commit_sets_unlock() - unlock the contents of all sets
 * @sets:	the sets of a commit
 */
void ipcuckoo_commit_sets_unlock(struct ipcuckoo_commit_sets *sets)
{
	unlock_first(sets, sets->count);
	disclaim_all(sets);
}
