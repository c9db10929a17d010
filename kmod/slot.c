// SPDX-License-Identifier: GPL-2.0-only
/* The sets whose contents a commit locks: see slot.h. */
#include <linux/bsearch.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sort.h>

#include "net.h"
#include "shadow.h"
#include "slot.h"

static int compare(const void *a, const void *b)
{
	const struct ipcuckoo_slot *x = a, *y = b;

	return x->set < y->set ? -1 : x->set > y->set;
}

/**
 * ipcuckoo_slots_find() - find the slot of a set
 * @slots:	slots
 * @set:	set, one of those that were collected
 */
struct ipcuckoo_slot *ipcuckoo_slots_find(struct ipcuckoo_slots *slots,
					  struct ipcuckoo_set *set)
{
	const struct ipcuckoo_slot key = { .set = set };

	return bsearch(&key, slots->slot, slots->count, sizeof(key), compare);
}

static void add(struct ipcuckoo_slots *slots, struct ipcuckoo_set *set)
{
	if (set)
		slots->slot[slots->count++] = (struct ipcuckoo_slot){ .set = set };
}

/* Add the sets that a change names, by the names that sets have before the commit. If the name
 * is one that an earlier change gives to a set, nothing is missed: that change names the set
 * by its first name.
 */
static void add_change(struct ipcuckoo_slots *slots,
		       const struct ipcuckoo_commit_change *change)
{
	if (change->kind == IPCUCKOO_COMMIT_CREATE)
		add(slots, change->set);
	if (change->kind == IPCUCKOO_COMMIT_REPLACE)
		add(slots, change->shadow->set);
	if (change->name)
		add(slots, ipcuckoo_set_find(slots->pernet, change->name));
	if (change->to)
		add(slots, ipcuckoo_set_find(slots->pernet, change->to));
}

/**
 * ipcuckoo_slots_collect() - find the sets that changes are about
 * @slots:	set; to be given to ipcuckoo_slots_free()
 * @pernet:	namespace, whose names are locked
 * @changes:	changes
 * @count:	how many
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_slots_collect(struct ipcuckoo_slots *slots, struct ipcuckoo_net *pernet,
			   const struct ipcuckoo_commit_change *changes, unsigned int count)
{
	unsigned int i, n = 0;

	slots->pernet = pernet;
	slots->slot = kvmalloc_array(3 * count, sizeof(*slots->slot), GFP_KERNEL_ACCOUNT);
	if (!slots->slot)
		return -ENOMEM;
	mutex_lock(&pernet->mutex);
	for (i = 0; i < count; i++)
		add_change(slots, &changes[i]);
	mutex_unlock(&pernet->mutex);
	sort(slots->slot, slots->count, sizeof(*slots->slot), compare, NULL);
	for (i = 0; i < slots->count; i++)
		if (!n || slots->slot[n - 1].set != slots->slot[i].set)
			slots->slot[n++] = slots->slot[i];
	slots->count = n;
	return 0;
}

/**
 * ipcuckoo_slots_note_attached() - note which sets are attached
 * @slots:	slots
 *
 * Not earlier: before the commit takes the namespace's mutex, sets can be attached.
 *
 * Context: the namespace's mutex is held, and stays so until the commit is made.
 */
void ipcuckoo_slots_note_attached(struct ipcuckoo_slots *slots)
{
	unsigned int i;

	lockdep_assert_held(&slots->pernet->mutex);
	for (i = 0; i < slots->count; i++)
		slots->slot[i].attached = slots->slot[i].set->attachments;
}

/**
 * ipcuckoo_slots_free() - free the list of sets
 * @slots:	slots, or zeros
 */
void ipcuckoo_slots_free(struct ipcuckoo_slots *slots)
{
	kvfree(slots->slot);
}

/* How many of the mutexes that a commit holds are reported to lockdep.
 *
 * Under ipcuckoo_net.names a commit locks the contents of any number of sets and shadows.
 * Lockdep keeps one record for all locks of one class that are nested in the same lock, and
 * counts them in 11 bits, which overflow at 2048: 1024 sets and their shadows. The record does
 * not say which locks it counts. As soon as it counts two, every lock of the class passes for
 * held (match_held_lock()), and every one may be unlocked. So two are enough, and lockdep
 * checks what it would check with all of them: the order of this class and others, and
 * lockdep_assert_held().
 */
#define LOCKDEP_HELD	2

/* Called after contents were locked: count them, and take them out of lockdep's record again
 * if it counts enough of them.
 */
static void hold(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e)
{
	mutex_release(&e->mutex.dep_map, _RET_IP_);
	if (slots->held++ < LOCKDEP_HELD)
		mutex_acquire_nest(&e->mutex.dep_map, 0, 1, &slots->pernet->names.dep_map,
				   _RET_IP_);
}

/* Called before contents are unlocked, which takes one lock out of lockdep's record: put one
 * in if the record does not count these contents.
 */
static void drop(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e)
{
	if (slots->held-- > LOCKDEP_HELD)
		mutex_acquire_nest(&e->mutex.dep_map, 0, 1, &slots->pernet->names.dep_map,
				   _RET_IP_);
}

/**
 * ipcuckoo_slots_hold() - lock the contents of a set or of a shadow, beside the others
 * @slots:	slots
 * @e:		contents
 *
 * Return: false if somebody else has locked them; to be unlocked by ipcuckoo_slots_drop().
 */
bool ipcuckoo_slots_hold(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e)
{
	if (!mutex_trylock(&e->mutex))
		return false;
	hold(slots, e);
	return true;
}

/**
 * ipcuckoo_slots_drop() - unlock contents that ipcuckoo_slots_hold() has locked
 * @slots:	slots
 * @e:		contents
 */
void ipcuckoo_slots_drop(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e)
{
	drop(slots, e);
	mutex_unlock(&e->mutex);
}

/* Lock the contents of all sets but @first, which is locked or NULL. Return: a set that
 * has another writer, and then none is locked; or NULL.
 */
static struct ipcuckoo_set *try_lock(struct ipcuckoo_slots *slots, struct ipcuckoo_set *first)
{
	struct ipcuckoo_set *set = NULL;
	unsigned int i;

	for (i = 0; i < slots->count; i++) {
		set = slots->slot[i].set;
		if (set != first && !ipcuckoo_slots_hold(slots, &set->entries))
			break;
	}
	if (i == slots->count)
		return NULL;
	while (i--)
		if (slots->slot[i].set != first)
			ipcuckoo_slots_drop(slots, &slots->slot[i].set->entries);
	if (first)
		ipcuckoo_slots_drop(slots, &first->entries);
	return set;
}

/**
 * ipcuckoo_slots_lock() - lock the contents of all sets
 * @slots:	slots
 *
 * Waits for the writer of one set at a time, and holds no other set's lock meanwhile: so a
 * fatal signal ends it, and no writer waits for two.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int ipcuckoo_slots_lock(struct ipcuckoo_slots *slots)
{
	struct ipcuckoo_set *busy = NULL;

	while ((busy = try_lock(slots, busy))) {
		if (mutex_lock_killable(&busy->entries.mutex))
			return -EINTR;
		hold(slots, &busy->entries);
	}
	return 0;
}

/**
 * ipcuckoo_slots_unlock() - unlock the contents of all sets
 * @slots:	slots
 */
void ipcuckoo_slots_unlock(struct ipcuckoo_slots *slots)
{
	unsigned int i;

	for (i = 0; i < slots->count; i++) {
		drop(slots, &slots->slot[i].set->entries);
		ipcuckoo_set_unlock(slots->slot[i].set);
	}
}
