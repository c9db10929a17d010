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

/* The caller holds the three mutexes that protect a name (set.h), so there is one writer.
 * A reader that interrupts the writer on the same CPU would retry for ever. So softirqs
 * are disabled, in which packets are processed, and preemption, because with PREEMPT_RT
 * threads process packets. A seqlock is not an option: with PREEMPT_RT its spinlock
 * sleeps, and the tracepoint that reads the name must not sleep.
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

/* Can a new set be added to the tree? Return: 0, -EEXIST, -ENOTUNIQ or -E2BIG, see
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
 * ipcuckoo_names_create() - create an empty set
 * @pernet:	namespace
 * @name:	a valid name
 * @options:	options of the set
 *
 * Context: process context; takes the namespace's mutexes.
 * Return: 0; -EEXIST if a set of that name exists with the same options; -ENOTUNIQ if
 * one exists with other options; -E2BIG if there are IPCUCKOO_SETS_MAX sets; -ENOMEM,
 * -EDQUOT, or -EINTR for a fatal signal. The comparison ignores forceadd and the notes,
 * and maxelem unless @options->has_maxelem.
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

/* Remove a set from the tree, unless it has attachments. */
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

/* Destroy a set. The caller holds its entries.mutex; this function releases it. Frees the
 * entries now, even if others still have references to the set.
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
 * Return: 0, or an error, and then nothing has changed: -ENOENT, -EBUSY if the set is
 * attached, -EINTR for a fatal signal.
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
	/* Do not wait for the set's writer only to return -EBUSY. */
	if (set && READ_ONCE(set->attachments))
		err = -EBUSY;
	else if (set)
		err = mutex_lock_killable(&set->entries.mutex) ?: destroy_locked(pernet, set);
	mutex_unlock(&pernet->names);
	return err;
}

/* The caller holds ipcuckoo_net.names, which keeps the set from being destroyed. */
static struct ipcuckoo_set *first_set(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = rb_entry_safe(rb_first(&pernet->sets), struct ipcuckoo_set, node);
	mutex_unlock(&pernet->mutex);
	return set;
}

/* Refuse new attachments while all sets are being destroyed (@stop), or allow them again.
 * Return: 0, or -EBUSY if a set is attached already.
 */
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
 * Return: 0; -EBUSY if any set is attached, and then none was destroyed; -EINTR for a
 * fatal signal, and then some sets may have been destroyed.
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
 * ipcuckoo_names_exit_net() - destroy every set of a namespace that ends
 * @pernet:	namespace; it has no attachments, and no process uses it
 *
 * Ignores fatal signals: the process that unloads the module may have one, and the sets
 * must be destroyed nevertheless.
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
 * ipcuckoo_names_rename() - rename a set
 * @pernet:	namespace
 * @from:	its name
 * @to:		its new name, which is valid
 *
 * The set keeps its attachments and its shadows.
 *
 * Context: process context; takes the namespace's mutexes, and the set's.
 * Return: 0, -ENOENT, -EEXIST if there is a set named @to, -ENOMEM, -EDQUOT, or
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

/* Find the two sets of a swap. The caller holds ipcuckoo_net.names, which keeps them from
 * being destroyed. Return: 0 if they can be swapped.
 */
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

/* Lock the contents of two sets. The caller holds ipcuckoo_net.names, so no other task
 * locks two sets in the opposite order.
 */
static int lock_both(struct ipcuckoo_set *sets[2])
{
	if (mutex_lock_killable(&sets[0]->entries.mutex))
		return -EINTR;
	if (!mutex_lock_killable_nested(&sets[1]->entries.mutex, SINGLE_DEPTH_NESTING))
		return 0;
	mutex_unlock(&sets[0]->entries.mutex);
	return -EINTR;
}

/* Exchange the names of two sets, and with the names their positions in the tree and
 * their attachments. The caller holds ipcuckoo_net.names, ipcuckoo_net.mutex, and the
 * entries.mutex of both sets.
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
	/* A dump in progress of either set is now inconsistent, and will say so. */
	a->entries.generation++;
	b->entries.generation++;
	a->swaps++;
	b->swaps++;
	return 0;
}

/**
 * ipcuckoo_names_swap() - exchange the names of two sets
 * @pernet:	namespace
 * @name:	name of one
 * @other:	name of the other
 *
 * As in ipset, contents and limits move to the other name, and attachments stay with
 * the name. Each struct ipcuckoo_set keeps its contents, sequence number and lock, so a
 * look-up in progress has one consistent answer, from the set in which it began. The
 * chain that a packet runs says which set that is, for all attachments of the chain at
 * once. This function waits for a grace period: when it returns, no packet looks up in
 * the set that was attached before. So the caller can change or destroy that set, and
 * an address that was in both sets matches at all times.
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, -ENOENT if there is no set named @name, -ESRCH if there is none named
 * @other, -ENOTUNIQ if their types or families differ, -ENOMEM, or -EINTR for a fatal
 * signal.
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

/* Flush one set, for ipcuckoo_names_flush_all(). */
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
 * Return: 0, -ENOMEM, or -EINTR for a fatal signal; on error some sets may have been
 * flushed.
 */
int ipcuckoo_names_flush_all(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set, *next;
	int err = 0;

	/* Sets are walked by name. Without this lock the walk could visit a set twice, or
	 * miss one, because it was renamed.
	 */
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
