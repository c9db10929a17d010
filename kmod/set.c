// SPDX-License-Identifier: GPL-2.0-only
/* Sets: see set.h. */
#include <linux/bottom_half.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "event.h"
#include "gc.h"
#include "lookup.h"
#include "usage.h"
#include "net.h"
#include "procfs.h"
#include "set.h"

/* What uapi/ipcuckoo.h promises of filters. */
static_assert(IPCUCKOO_FILTER_LOAD == IPCUCKOO_LOAD_TARGET);
static_assert((u64)IPCUCKOO_CAPACITY_MAX * 1000 / IPCUCKOO_LOAD_TARGET <
	      (u64)IPCUCKOO_BUCKETS_MAX * IPCUCKOO_SLOTS - 4096);

/**
 * ipcuckoo_set_name_valid() - may a set have this name?
 * @name:	name, shorter than IPCUCKOO_NAME_SIZE
 *
 * ipset takes any bytes. Names of ours are also file names in /proc, which '/'
 * cannot be in, nor be "." or ".."; and words of a line of restore, which a '"'
 * or white space would end. They are printed, so that they have no control
 * characters, and nothing that depends on an encoding.
 */
bool ipcuckoo_set_name_valid(const char *name)
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
 * ipcuckoo_set_name() - the name of a set, whoever may be changing it
 * @set:	set, held or under rcu_read_lock()
 * @name:	set to the name it had at one moment, with zeros behind it
 *
 * Context: any but hard interrupts. Waits for change_name() at most, on another
 * processor, which is no longer than a copy.
 */
void ipcuckoo_set_name(const struct ipcuckoo_set *set, char name[IPCUCKOO_NAME_SIZE])
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&set->name_seq);
		memcpy(name, set->name, IPCUCKOO_NAME_SIZE);
	} while (read_seqcount_retry(&set->name_seq, seq));
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

/**
 * ipcuckoo_set_find() - find a set by name
 * @pernet:	namespace, whose mutex is held
 * @name:	name
 */
struct ipcuckoo_set *ipcuckoo_set_find(struct ipcuckoo_net *pernet,
				       const char *name)
{
	struct rb_node *node = pernet->sets.rb_node;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		struct ipcuckoo_set *set = rb_entry(node, struct ipcuckoo_set,
						    node);
		int order = strcmp(name, set->name);

		if (!order)
			return set;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return NULL;
}

static struct ipcuckoo_set *after(struct ipcuckoo_net *pernet, const char *name)
{
	struct rb_node *node = pernet->sets.rb_node;
	struct ipcuckoo_set *found = NULL;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		struct ipcuckoo_set *set = rb_entry(node, struct ipcuckoo_set,
						    node);

		if (strcmp(name, set->name) < 0) {
			found = set;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static struct ipcuckoo_set *hold(struct ipcuckoo_set *set)
{
	if (set)
		kref_get(&set->ref);
	return set;
}

/**
 * ipcuckoo_set_get() - find a set by name, and hold it
 * @pernet:	namespace
 * @name:	name
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set to be given back with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_get(struct ipcuckoo_net *pernet,
				      const char *name)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = hold(ipcuckoo_set_find(pernet, name));
	mutex_unlock(&pernet->mutex);
	return set;
}

/**
 * ipcuckoo_set_next() - find the next set by name, and hold it
 * @pernet:	namespace
 * @name:	name that comes before it; "" for the first set
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set to be given back with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_next(struct ipcuckoo_net *pernet,
				       const char *name)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->mutex);
	set = hold(after(pernet, name));
	mutex_unlock(&pernet->mutex);
	return set;
}

/**
 * ipcuckoo_set_after() - find the set behind another one by name, and hold it
 * @pernet:	namespace
 * @set:	the other one, which the caller holds; destroyed ones have a place too
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a set to be given back with ipcuckoo_set_put(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_set_after(struct ipcuckoo_net *pernet,
					const struct ipcuckoo_set *set)
{
	struct ipcuckoo_set *next;

	mutex_lock(&pernet->mutex);
	next = hold(after(pernet, set->name));
	mutex_unlock(&pernet->mutex);
	return next;
}

/* What a set takes without its entries. */
static size_t set_size(void)
{
	return kmalloc_size_roundup(sizeof(struct ipcuckoo_set));
}

static void set_free_rcu(struct rcu_head *rcu)
{
	struct ipcuckoo_set *set = container_of(rcu, struct ipcuckoo_set, rcu);
	struct ipcuckoo_mem *mem = set->entries.mem;

	kfree(set);
	ipcuckoo_mem_uncharge(mem, set_size());
	ipcuckoo_mem_release(mem, set_size());
}

static void set_free(struct kref *ref)
{
	struct ipcuckoo_set *set = container_of(ref, struct ipcuckoo_set, ref);

	ipcuckoo_entries_exit(&set->entries);
	ipcuckoo_mem_retire(set->entries.mem, set_size());
	call_rcu(&set->rcu, set_free_rcu);
}

/**
 * ipcuckoo_set_put() - give a set back
 * @set:	set
 *
 * The last one frees it, after the last reader has left.
 */
void ipcuckoo_set_put(struct ipcuckoo_set *set)
{
	kref_put(&set->ref, set_free);
}

static void tree_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
{
	struct rb_node **link = &pernet->sets.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (strcmp(set->name, rb_entry(parent, struct ipcuckoo_set,
					       node)->name) < 0)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&set->node, parent, link);
	rb_insert_color(&set->node, &pernet->sets);
	pernet->sets_seq++;
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
	       p->multi == q->multi && a->mask.given == b->mask.given &&
	       a->mask.bits.hi == b->mask.bits.hi &&
	       a->mask.bits.lo == b->mask.bits.lo;
}

/* Seconds between two passes of garbage collection (gc) over a set, at least. */
#define GC_PERIOD	5

/* Seconds that gc sleeps, at most. The timer stands still while the machine is
 * suspended, and deadlines do not: so gc is an hour late at most after that.
 */
#define GC_SLEEP_MAX	3600

/* Runs gc, which takes ipcuckoo_entries.mutex: do not flush this queue, or cancel
 * its work synchronously, while holding that mutex.
 */
static struct workqueue_struct *gc_wq;

/**
 * ipcuckoo_set_init() - be able to make sets
 *
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_set_init(void)
{
	gc_wq = alloc_workqueue("ipcuckoo", WQ_UNBOUND, 0);
	return gc_wq ? 0 : -ENOMEM;
}

/**
 * ipcuckoo_set_exit() - undo ipcuckoo_set_init()
 *
 * Context: when there are no sets any more.
 */
void ipcuckoo_set_exit(void)
{
	destroy_workqueue(gc_wq);
}

static bool has_gc(const struct ipcuckoo_set *set)
{
	return set->entries.options & IPCUCKOO_O_TIMEOUT;
}

/* Have gc wake for the nearest deadline, unless it will before. */
static void gc_schedule(struct ipcuckoo_set *set)
{
	u32 at = ipcuckoo_gc_nearest(&set->entries), now = ipcuckoo_now();

	lockdep_assert_held(&set->entries.mutex);
	if (!at || set->dead)
		return;
	at = clamp_t(u32, at, max(set->gc_last + GC_PERIOD, now), now + GC_SLEEP_MAX);
	if (set->gc_at && set->gc_at <= at)
		return;
	set->gc_at = at;
	mod_delayed_work(gc_wq, &set->gc, HZ * (at - now));
}

static void gc_notify(void *event, const struct ipcuckoo_entry *entry)
{
	ipcuckoo_event_entries_put(event, entry);
}

/* Run one part of a pass, and notify listeners of the entries that it removed. */
static bool gc_part(struct ipcuckoo_set *set, u64 *pos)
{
	struct ipcuckoo_event_entries event;
	bool more;

	ipcuckoo_event_entries_begin(&event, set, IPCUCKOO_EVENT_ENTRIES_EXPIRED,
				     DIV_ROUND_UP(IPCUCKOO_GC_SLOTS, IPCUCKOO_GC_REMOVAL));
	more = ipcuckoo_gc_part(&set->entries, pos, IPCUCKOO_GC_SLOTS,
				   gc_notify, &event);
	ipcuckoo_event_entries_end(&event);
	return more;
}

static void gc_work(struct work_struct *work)
{
	struct ipcuckoo_set *set = container_of(to_delayed_work(work),
						struct ipcuckoo_set, gc);
	bool due = false, more = true;
	u64 pos = 0;

	while (more) {
		mutex_lock(&set->entries.mutex);
		due |= ipcuckoo_expired(ipcuckoo_gc_nearest(&set->entries),
					ipcuckoo_now());
		more = !set->dead && gc_part(set, &pos);
		if (!more) {
			if (due)
				set->gc_last = ipcuckoo_now();
			set->gc_at = 0;
			gc_schedule(set);
		}
		ipcuckoo_entries_free_queue(&set->entries);
		mutex_unlock(&set->entries.mutex);
		cond_resched();
	}
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

static struct ipcuckoo_set *set_alloc(struct ipcuckoo_net *pernet, const char *name,
				      const struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_set *set;
	int err;

	if (!ipcuckoo_mem_charge(&pernet->mem, set_size()))
		return ERR_PTR(ipcuckoo_mem_refusal());
	err = -ENOMEM;
	set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		goto err_uncharge;
	seqcount_init(&set->name_seq);
	strscpy_pad(set->name, name, sizeof(set->name));
	set->type = options->type;
	set->family = options->family;
	set->pernet = pernet;
	set->maxelem = options->maxelem;
	set->forceadd = options->forceadd;
	set->timeout = options->timeout;
	INIT_DELAYED_WORK(&set->gc, gc_work);
	set->notes = options->notes;
	set->mask = options->mask;
	kref_init(&set->ref);
	err = ipcuckoo_entries_init(&set->entries, &pernet->mem, true);
	if (err)
		goto err_uncharge;
	set->entries.shape = options->shape;
	set->entries.options = options->keeps;
	return set;

err_uncharge:
	kfree(set);
	ipcuckoo_mem_uncharge(&pernet->mem, set_size());
	return ERR_PTR(err);
}

/* Whether a set can be added to those there are: 0, or an error of
 * ipcuckoo_set_create().
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
 * ipcuckoo_set_create() - make an empty set
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
int ipcuckoo_set_create(struct ipcuckoo_net *pernet, const char *name,
			const struct ipcuckoo_set_options *options)
{
	struct ipcuckoo_set *set = set_alloc(pernet, name, options);
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
	tree_insert(pernet, set);
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

/**
 * ipcuckoo_set_gc() - remove all expired entries now
 * @set:	set, locked
 *
 * Stops early if the process has a fatal signal. Costs nothing if no entry can have
 * expired.
 */
void ipcuckoo_set_gc(struct ipcuckoo_set *set)
{
	u64 pos = 0;

	if (!has_gc(set))
		return;
	while (!fatal_signal_pending(current) && gc_part(set, &pos))
		cond_resched();
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
static int set_end(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set)
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
 * ipcuckoo_set_destroy() - destroy a set
 * @pernet:	namespace
 * @name:	its name
 *
 * Context: process context; takes the namespace's mutexes, and the set's.
 * Return: 0, -ENOENT, -EBUSY if it is attached, or -EINTR for a fatal signal; then
 * it is as it was.
 */
int ipcuckoo_set_destroy(struct ipcuckoo_net *pernet, const char *name)
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
		err = mutex_lock_killable(&set->entries.mutex) ?: set_end(pernet, set);
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
 * ipcuckoo_set_destroy_all() - destroy every set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, or -EBUSY if any is attached; then none is destroyed. -EINTR for a
 * fatal signal; then some may have been.
 */
int ipcuckoo_set_destroy_all(struct ipcuckoo_net *pernet)
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
		err = err ?: set_end(pernet, set);
		cond_resched();
	}
	stop_attaching(pernet, false);
out:
	mutex_unlock(&pernet->names);
	return err;
}

/**
 * ipcuckoo_set_exit_net() - a namespace ends: destroy every set
 * @pernet:	namespace, in which nothing is attached and that no process uses
 *
 * Signals are not for this: a process that removes the module may have one.
 */
void ipcuckoo_set_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_set *set;

	mutex_lock(&pernet->names);
	while ((set = first_set(pernet))) {
		mutex_lock(&set->entries.mutex);
		WARN_ON(set_end(pernet, set));
		cond_resched();
	}
	mutex_unlock(&pernet->names);
}

/**
 * ipcuckoo_set_rename() - give a set another name
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
int ipcuckoo_set_rename(struct ipcuckoo_net *pernet, const char *from,
			const char *to)
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
	tree_insert(pernet, set);
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
	tree_insert(pernet, a);
	tree_insert(pernet, b);
	/* A dump of either is not of one moment any more. */
	a->entries.generation++;
	b->entries.generation++;
	a->swaps++;
	b->swaps++;
	return 0;
}

/**
 * ipcuckoo_set_swap() - let two sets take each other's place
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
int ipcuckoo_set_swap(struct ipcuckoo_net *pernet, const char *name,
		      const char *other)
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
 * ipcuckoo_set_flush_all() - delete the entries of every set
 * @pernet:	namespace
 *
 * Context: process context; takes the namespace's mutexes, and the sets'.
 * Return: 0, -ENOMEM, or -EINTR for a fatal signal; then some may have been flushed.
 */
int ipcuckoo_set_flush_all(struct ipcuckoo_net *pernet)
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

/**
 * ipcuckoo_set_lock() - become the writer of a set
 * @set:	set
 *
 * Context: process context.
 * Return: 0, -ENOENT if it was destroyed meanwhile, or -EINTR if a fatal signal
 * came while another writer was waited for.
 */
int ipcuckoo_set_lock(struct ipcuckoo_set *set)
{
	if (mutex_lock_killable(&set->entries.mutex))
		return -EINTR;
	if (!set->dead)
		return 0;
	mutex_unlock(&set->entries.mutex);
	return -ENOENT;
}

/**
 * ipcuckoo_set_unlock() - be the writer no longer
 * @set:	set
 */
void ipcuckoo_set_unlock(struct ipcuckoo_set *set)
{
	if (has_gc(set))
		gc_schedule(set);
	ipcuckoo_entries_free_queue(&set->entries);
	mutex_unlock(&set->entries.mutex);
}

/* ::ffff:0:0/96, or an address or prefix in it. */
static bool mapped(const struct ipcuckoo_entry *entry)
{
	return entry->v6 && entry->len >= 96 && ipcuckoo_key_mapped(&entry->addr);
}

static bool host_bits_zero(const struct ipcuckoo_entry *entry)
{
	unsigned int len = entry->len + (entry->v6 ? 0 : 96);

	if (len >= 64)
		return len == 128 || !(entry->addr.lo & ~0ULL >> (len - 64));
	return !entry->addr.lo && !(entry->addr.hi & ~0ULL >> len);
}

/**
 * ipcuckoo_set_normalize() - check an entry and bring it to the form the set stores
 * @set:	set
 * @entry:	entry; in family any an IPv4-mapped IPv6 entry becomes IPv4, and in a
 *		set with a mask the bits outside the mask become zero
 *
 * The result depends only on the entry and on what never changes in a set. So code that
 * walks a batch whose entries all passed this check before calls it again for their
 * form, and need not look at what it returns.
 *
 * Return: 0 if the set can hold the entry; -EINVAL, -EAFNOSUPPORT or -EOPNOTSUPP as
 * uapi/ipcuckoo.h describes them.
 */
int ipcuckoo_set_normalize(const struct ipcuckoo_set *set,
			   struct ipcuckoo_entry *entry)
{
	if (entry->len > (entry->v6 ? 128 : 32) || !host_bits_zero(entry))
		return -EINVAL;
	if (mapped(entry)) {
		if (set->family != IPCUCKOO_FAMILY_ANY)
			return set->family & IPCUCKOO_FAMILY_INET6 ?
			       -EINVAL : -EAFNOSUPPORT;
		/* Lists of IPv6 bogons have that, and mean not all of IPv4. */
		if (entry->len == 96)
			return -EINVAL;
		entry->v6 = false;
		entry->len -= 96;
		entry->addr.lo = (u32)entry->addr.lo;
	}
	if (!(set->family & (entry->v6 ? IPCUCKOO_FAMILY_INET6 :
					 IPCUCKOO_FAMILY_INET)))
		return -EAFNOSUPPORT;
	if (set->type != IPCUCKOO_TYPE_HASH_NET &&
	    entry->len != (entry->v6 ? 128 : 32))
		return -EOPNOTSUPP;
	if (set->mask.given)
		entry->addr = ipcuckoo_mask_key(&set->mask, &entry->addr);
	return 0;
}

/**
 * ipcuckoo_set_deletes() - can entries be deleted from a set?
 * @set:	set
 *
 * A filter knows only of its copies that they are alike (filter.c).
 */
bool ipcuckoo_set_deletes(const struct ipcuckoo_set *set)
{
	return !ipcuckoo_entries_approximate(&set->entries) ||
	       set->entries.shape.multi;
}

/**
 * ipcuckoo_set_flush() - delete all entries of a set
 * @set:	set, locked
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_set_flush(struct ipcuckoo_set *set)
{
	int err = ipcuckoo_entries_flush(&set->entries);

	if (!err)
		ipcuckoo_event_set(set, IPCUCKOO_EVENT_SET_FLUSHED);
	return err;
}

/**
 * ipcuckoo_set_replace() - swap the next contents of a set in
 * @set:	set, locked
 * @shadow:	its next contents, locked; only good for ipcuckoo_entries_exit() after
 *
 * Context: process context.
 */
void ipcuckoo_set_replace(struct ipcuckoo_set *set, struct ipcuckoo_entries *shadow)
{
	ipcuckoo_entries_replace(&set->entries, shadow);
	ipcuckoo_event_set(set, IPCUCKOO_EVENT_SET_REPLACED);
}

/**
 * ipcuckoo_set_count() - entries in a set that have not expired
 * @set:	set, locked
 *
 * Context: process context; may let others run.
 */
u32 ipcuckoo_set_count(struct ipcuckoo_set *set)
{
	return ipcuckoo_usage_live(&set->entries);
}

/**
 * ipcuckoo_set_limit() - entries that a set may hold
 * @set:	set; unless it is locked the limit may be another one a moment later
 *
 * Return: 0 for any number.
 */
u32 ipcuckoo_set_limit(const struct ipcuckoo_set *set)
{
	return min_not_zero(READ_ONCE(set->maxelem), set->entries.shape.capacity);
}

/**
 * ipcuckoo_set_change() - give a set another limit
 * @set:	set, locked
 * @maxelem:	entries it may hold; 0: no limit
 *
 * Return: 0, or -ERANGE if it has more entries than that.
 */
int ipcuckoo_set_change(struct ipcuckoo_set *set, u32 maxelem)
{
	if (maxelem && ipcuckoo_set_count(set) > maxelem)
		return -ERANGE;
	WRITE_ONCE(set->maxelem, maxelem);
	ipcuckoo_event_set(set, IPCUCKOO_EVENT_SET_CHANGED);
	return 0;
}

/**
 * ipcuckoo_set_memory() - what a set takes
 * @set:	set, locked
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_set_memory(struct ipcuckoo_set *set)
{
	return set_size() + ipcuckoo_usage_memory(&set->entries);
}

/**
 * ipcuckoo_set_match4() - is an IPv4 address in a set?
 * @set:	set
 * @addr:	address, host byte order
 *
 * Context: a packet's, under rcu_read_lock().
 */
bool ipcuckoo_set_match4(struct ipcuckoo_set *set, u32 addr)
{
	return ipcuckoo_entries_match4(&set->entries, addr);
}

/**
 * ipcuckoo_set_match6() - is an IPv6 address in a set?
 * @set:	set
 * @addr:	address
 *
 * Context: a packet's, under rcu_read_lock().
 */
bool ipcuckoo_set_match6(struct ipcuckoo_set *set,
			 const struct ipcuckoo_key *addr)
{
	if (unlikely(ipcuckoo_key_mapped(addr)) &&
	    set->family == IPCUCKOO_FAMILY_ANY)
		return ipcuckoo_entries_match_mapped(&set->entries, addr);
	return ipcuckoo_entries_match6(&set->entries, addr);
}

/**
 * ipcuckoo_set_hit() - count a packet for the entry that it matches
 * @set:	set that keeps records
 * @addr:	address
 * @v6:		it is of IPv6
 * @bytes:	of the packet
 * @mark:	set to the mark of the entry, see struct ipcuckoo_skbinfo
 *
 * Context: a packet's, under rcu_read_lock().
 * Return: false if nothing matches any more.
 */
bool ipcuckoo_set_hit(struct ipcuckoo_set *set, const struct ipcuckoo_key *addr,
		      bool v6, unsigned int bytes, u64 *mark)
{
	bool mapped = v6 && ipcuckoo_key_mapped(addr) &&
		      set->family == IPCUCKOO_FAMILY_ANY;
	struct ipcuckoo_skbinfo *info;
	struct ipcuckoo_record *record;
	struct ipcuckoo_hits *hits;

	if (!ipcuckoo_entries_record(&set->entries, addr, v6, mapped, &record))
		return false;
	hits = ipcuckoo_record_hits(record);
	if (hits) {
		atomic64_inc(&hits->packets);
		atomic64_add(bytes, &hits->bytes);
	}
	info = ipcuckoo_record_info(record);
	*mark = info ? READ_ONCE(info->mark) : 0;
	return true;
}
