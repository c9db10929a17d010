// SPDX-License-Identifier: GPL-2.0-only
/* Names of sets: see names.h. */
#include <linux/bottom_half.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "attach.h"
#include "event.h"
#include "names.h"
#include "net.h"
#include "procfs.h"
#include "set.h"

/* What uapi/ipcuckoo.h promises of filters. */
static_assert(IPCUCKOO_FILTER_LOAD == IPCUCKOO_LOAD_TARGET);
static_assert((u64)IPCUCKOO_CAPACITY_MAX * 1000 / IPCUCKOO_LOAD_TARGET <
	      (u64)IPCUCKOO_BUCKETS_MAX * IPCUCKOO_SLOTS - 4096);

/**
 * ipcuckoo_names_valid() - may a set have this name?
 * @name:	name, shorter than IPCUCKOO_NAME_SIZE
 *
 * ipset takes any bytes. Names of ours are also file names in /proc, which '/'
 * cannot be in, nor be "." or ".."; and words of a line of restore, which a '"'
 * or white space would end. They are printed, so that they have no control
 * characters, and nothing that depends on an encoding.
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

/* The caller holds the three mutexes that protect a name (set.h), so there is one
 * writer. A reader that interrupted the writer on the same CPU would retry for ever:
 * disabling softirqs keeps packets out, and disabling preemption keeps out the
 * threads that process packets with PREEMPT_RT. A seqlock would not do: with
 * PREEMPT_RT its spinlock sleeps, and a tracepoint must not.
 */
static void change_name(struct ipcuckoo_set *set, const char *name)
{
	local_bh_disable();
	preempt_disable();
	write_seqcount_begin(&set->name_seq);
	strscpy_pad(set->name, name, sizeof(set->name));
	write_seqcount_end(&set->name_seq);
	preempt_enable();
	local_bh_enable();
}

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

/* A filter has its size from the beginning: if that is too much, better to be
 * told now.
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

/* Whether a set can be added to those there are: 0, or an error of
 * ipcuckoo_names_create().
 */
static int check_new(struct ipcuckoo_net *pernet, const struct ipcuckoo_set *set,
		     bool same_maxelem)
{
	const struct ipcuckoo_set *other;
	int err = 0;

	mutex_lock(&pernet->mutex);
	other = ipcuckoo_set_find(pernet, set->name);
	if (other)
		err = same_options(other, set, same_maxelem) ? -EEXIST : -ENOTUNIQ;
	else if (pernet->sets_count >= IPCUCKOO_SETS_MAX)
		err = -E2BIG;
	mutex_unlock(&pernet->mutex);
	return err;
}

/**
 * ipcuckoo_names_create() - make an empty set
 * @pernet:	namespace
 * @name:	a valid name
 * @options:	what it is made with
 *
 * Context: process context; takes the namespace's mutexes.
 * Return: 0, -ENOMEM, -EDQUOT, -EINTR for a fatal signal, -EEXIST if there is a set
 * of that name that was made with the same but forceadd and, unless it was asked
 * for, maxelem; -ENOTUNIQ if there is another; -E2BIG if there are
 * IPCUCKOO_SETS_MAX.
 */
int ipcuckoo_names_create(struct ipcuckoo_net *pernet, const char *name,
			  const struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_set *set = ipcuckoo_set_alloc(pernet, name, options);
	int err;

	if (IS_ERR(set))
		return PTR_ERR(set);
	if (mutex_lock_killable(&pernet->names)) {
		ipcuckoo_set_put(set);
		return -EINTR;
	}
	err = check_new(pernet, set, options->has_maxelem);
	if (err)
		goto err_unlock;
	if (ipcuckoo_entries_approximate(&set->entries)) {
		err = reserve_filter(set);
		if (err)
			goto err_unlock;
	}
	err = ipcuckoo_proc_add(pernet, name);
	if (err)
		goto err_unlock;
	mutex_lock(&set->entries.mutex);
	mutex_lock(&pernet->mutex);
	ipcuckoo_set_insert(pernet, set);
	WRITE_ONCE(pernet->sets_count, pernet->sets_count + 1);
	ipcuckoo_event_set(set, IPCUCKOO_EVENT_SET_NEW);
	mutex_unlock(&pernet->mutex);
	mutex_unlock(&set->entries.mutex);
	mutex_unlock(&pernet->names);
	return 0;

err_unlock:
	mutex_unlock(&pernet->names);
	ipcuckoo_set_put(set);
	return err;
}

/* Take a set out of the tree, unless it is attached. */
static int set_remove(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	int err = 0;

	mutex_lock(&pernet->mutex);
	if (set->attachments) {
		err = -EBUSY;
	} else {
		rb_erase(&set->node, &pernet->sets);
		WRITE_ONCE(pernet->sets_count, pernet->sets_count - 1);
		pernet->sets_seq++;
	}
	mutex_unlock(&pernet->mutex);
	return err;
}

/* Destroy a set, whose contents are locked; unlocks them. Its entries go at once,
 * even if somebody still holds it.
 */
static int destroy_locked(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	int err = set_remove(pernet, set);

	if (!err) {
		set->dead = true;
		ipcuckoo_entries_flush(&set->entries);
		ipcuckoo_event_set(set, IPCUCKOO_EVENT_SET_DESTROYED);
	}
	mutex_unlock(&set->entries.mutex);
	if (err)
		return err;
	ipcuckoo_proc_del(pernet, set->name);
	cancel_delayed_work_sync(&set->gc);
	ipcuckoo_set_put(set);
	return 0;
}

/**
 * ipcuckoo_names_destroy() - destroy a set
 * @pernet:	namespace
 * @name:	its name
 *
 * Context: process context; takes the namespace's mutexes, and the set's.
 * Return: 0, -ENOENT, -EBUSY if it is attached, or -EINTR for a fatal signal; then
 * it is as it was.
 */
int ipcuckoo_names_destroy(struct ipcuckoo_net *pernet, const char *name)
{
	struct ipcuckoo_set *set;
	int err = -ENOENT;

	if (mutex_lock_killable(&pernet->names))
		return -EINTR;
	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, name);
	mutex_unlock(&pernet->mutex);
	/* No need to wait for the set's writer to say so. */
	if (set && READ_ONCE(set->attachments))
		err = -EBUSY;
	else if (set)
		err = mutex_lock_killable(&set->entries.mutex) ?: destroy_locked(pernet, set);
	mutex_unlock(&pernet->names);
	return err;
}

/* Under ipcuckoo_net.names. */
static struct ipcuckoo_set *first_set(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = rb_entry_safe(rb_first(&pernet->sets), struct ipcuckoo_set, node);
	mutex_unlock(&pernet->mutex);
	return set;
}

/* From now on, or no longer, nothing is attached: sets are being destroyed. */
static int stop_attaching(struct ipcuckoo_net *pernet, bool stop)
{
	int err = 0;

	mutex_lock(&pernet->mutex);
	if (stop && pernet->attached.count)
		err = -EBUSY;
	else
		pernet->destroying = stop;
	mutex_unlock(&pernet->mutex);
	return err;
}

/**
 * ipcuckoo_names_destroy_all() - destroy every set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, or -EBUSY if any is attached; then none is destroyed. -EINTR for a
 * fatal signal; then some may have been.
 */
int ipcuckoo_names_destroy_all(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;
	int err;

	if (mutex_lock_killable(&pernet->names))
		return -EINTR;
	err = stop_attaching(pernet, true);
	if (err)
		goto out;
	while (!err && (set = first_set(pernet))) {
		err = fatal_signal_pending(current) ? -EINTR :
		      mutex_lock_killable(&set->entries.mutex);
		err = err ?: destroy_locked(pernet, set);
		cond_resched();
	}
	stop_attaching(pernet, false);
out:
	mutex_unlock(&pernet->names);
	return err;
}

/**
 * ipcuckoo_names_exit_net() - a namespace ends: destroy every set
 * @pernet:	namespace, in which nothing is attached and that no process uses
 *
 * Signals are not for this: a process that removes the module may have one.
 */
void ipcuckoo_names_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->names);
	while ((set = first_set(pernet))) {
		mutex_lock(&set->entries.mutex);
		WARN_ON(destroy_locked(pernet, set));
		cond_resched();
	}
	mutex_unlock(&pernet->names);
}

/**
 * ipcuckoo_names_rename() - give a set another name
 * @pernet:	namespace
 * @from:	its name
 * @to:		a valid name
 *
 * What is attached stays attached, shadows of the set stay its shadows.
 *
 * Context: process context; takes the namespace's mutexes, and the set's.
 * Return: 0, -ENOENT, -EEXIST if there is a set called @to, -ENOMEM, -EDQUOT, or
 * -EINTR for a fatal signal.
 */
int ipcuckoo_names_rename(struct ipcuckoo_net *pernet, const char *from, const char *to)
{
	struct ipcuckoo_set *set, *other;
	int err;

	if (mutex_lock_killable(&pernet->names))
		return -EINTR;
	mutex_lock(&pernet->mutex);
	set = ipcuckoo_set_find(pernet, from);
	other = ipcuckoo_set_find(pernet, to);
	mutex_unlock(&pernet->mutex);
	if (!set)
		err = -ENOENT;
	else if (other)
		err = -EEXIST;
	else
		err = ipcuckoo_proc_add(pernet, to);
	if (err)
		goto out;
	err = mutex_lock_killable(&set->entries.mutex);
	if (err) {
		ipcuckoo_proc_del(pernet, to);
		goto out;
	}
	mutex_lock(&pernet->mutex);
	rb_erase(&set->node, &pernet->sets);
	change_name(set, to);
	ipcuckoo_set_insert(pernet, set);
	pernet->attached.seq++;
	mutex_unlock(&pernet->mutex);
	ipcuckoo_event_names(pernet, IPCUCKOO_EVENT_SET_RENAMED, from, to);
	mutex_unlock(&set->entries.mutex);
	ipcuckoo_proc_del(pernet, from);
out:
	mutex_unlock(&pernet->names);
	return err;
}

/* The sets of a swap, which names keeps alive: 0 if they can be swapped. */
static int find_both(struct ipcuckoo_net *pernet, const char *names[2],
		     struct ipcuckoo_set *sets[2])
{
	mutex_lock(&pernet->mutex);
	sets[0] = ipcuckoo_set_find(pernet, names[0]);
	sets[1] = ipcuckoo_set_find(pernet, names[1]);
	mutex_unlock(&pernet->mutex);
	if (!sets[0])
		return -ENOENT;
	if (!sets[1])
		return -ESRCH;
	return sets[0]->type == sets[1]->type &&
	       sets[0]->family == sets[1]->family ? 0 : -ENOTUNIQ;
}

/* The contents of two sets, under names. */
static int lock_both(struct ipcuckoo_set *sets[2])
{
	if (mutex_lock_killable(&sets[0]->entries.mutex))
		return -EINTR;
	if (!mutex_lock_killable_nested(&sets[1]->entries.mutex, SINGLE_DEPTH_NESTING))
		return 0;
	mutex_unlock(&sets[0]->entries.mutex);
	return -EINTR;
}

/* All that goes by a name: its place in the tree and what is attached.
 * Under all three mutexes, that of contents for both.
 */
static int exchange(struct ipcuckoo_net *pernet, struct ipcuckoo_set *a,
		    struct ipcuckoo_set *b)
{
	char name[IPCUCKOO_NAME_SIZE];
	int err = 0;

	if (a->attachments || b->attachments)
		err = ipcuckoo_attach_exchange(pernet, a, b);
	if (err)
		return err;
	rb_erase(&a->node, &pernet->sets);
	rb_erase(&b->node, &pernet->sets);
	strscpy(name, a->name, sizeof(name));
	change_name(a, b->name);
	change_name(b, name);
	ipcuckoo_set_insert(pernet, a);
	ipcuckoo_set_insert(pernet, b);
	/* A dump of either is not of one moment any more. */
	a->entries.generation++;
	b->entries.generation++;
	a->swaps++;
	b->swaps++;
	return 0;
}

/**
 * ipcuckoo_names_swap() - let two sets take each other's place
 * @pernet:	namespace
 * @name:	name of one
 * @other:	name of the other
 *
 * As ipset does it: contents and limits move, what is attached stays with the
 * name. Each set keeps its contents, sequence and lock, so that a look-up that
 * is under way has one consistent answer, out of the set it began in. The chain
 * that a packet runs decides, once for all attachments, which set that is. When
 * this returns no packet looks in the wrong one any more: what was swapped out
 * can be changed and destroyed, and none that both had in it slips through.
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, -ENOENT if there is no set called @name, -ESRCH if there is none
 * called @other, -ENOTUNIQ if their types or families differ, -ENOMEM, or -EINTR
 * for a fatal signal.
 */
int ipcuckoo_names_swap(struct ipcuckoo_net *pernet, const char *name, const char *other)
{
	const char *names[2] = { name, other };
	struct ipcuckoo_set *sets[2];
	bool attached = false;
	int err;

	if (mutex_lock_killable(&pernet->names))
		return -EINTR;
	err = find_both(pernet, names, sets);
	if (err || sets[0] == sets[1])
		goto out;
	err = lock_both(sets);
	if (err)
		goto out;
	mutex_lock(&pernet->mutex);
	err = exchange(pernet, sets[0], sets[1]);
	attached = !err && (sets[0]->attachments || sets[1]->attachments);
	mutex_unlock(&pernet->mutex);
	if (!err)
		ipcuckoo_event_names(pernet, IPCUCKOO_EVENT_SET_SWAPPED, name, other);
	mutex_unlock(&sets[1]->entries.mutex);
	mutex_unlock(&sets[0]->entries.mutex);
out:
	mutex_unlock(&pernet->names);
	if (attached)
		synchronize_rcu();
	return err;
}

/* Flush one of all sets. */
static int flush_next(struct ipcuckoo_set *set)
{
	int err;

	if (fatal_signal_pending(current) || mutex_lock_killable(&set->entries.mutex))
		return -EINTR;
	err = ipcuckoo_set_flush(set);
	mutex_unlock(&set->entries.mutex);
	cond_resched();
	return err;
}

/**
 * ipcuckoo_names_flush_all() - delete the entries of every set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, -ENOMEM, or -EINTR for a fatal signal; then some may have been flushed.
 */
int ipcuckoo_names_flush_all(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set, *next;
	int err = 0;

	/* Or one that changes its name would be met twice, and another never. */
	if (mutex_lock_killable(&pernet->names))
		return -EINTR;
	for (set = ipcuckoo_set_next(pernet, ""); set; set = next) {
		err = err ?: flush_next(set);
		next = err == -EINTR ? NULL : ipcuckoo_set_after(pernet, set);
		ipcuckoo_set_put(set);
	}
	mutex_unlock(&pernet->names);
	return err;
}
