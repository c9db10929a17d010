// SPDX-License-Identifier: GPL-2.0-only
/* Changes by packets: see pending.h. */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "pending.h"

#define CHAINS	1024

static size_t change_size(void)
{
	return kmalloc_size_roundup(sizeof(struct ipcuckoo_change));
}

static size_t chains_size(void)
{
	return kmalloc_size_roundup(CHAINS * sizeof(struct hlist_head));
}

/**
 * ipcuckoo_pending_init() - begin without changes
 * @p:		zeroed memory
 * @e:		contents of the set
 */
void ipcuckoo_pending_init(struct ipcuckoo_pending *p, struct ipcuckoo_entries *e)
{
	p->mem = e->mem;
	p->lock = &e->packets;
	p->next = 1;
	INIT_LIST_HEAD(&p->list);
	p->seed = get_random_u32();
}

static struct hlist_head *chain(struct ipcuckoo_pending *p, struct hlist_head *chains,
				const struct ipcuckoo_entry *entry)
{
	u32 words[4] = {
		entry->addr.hi >> 32, entry->addr.hi, entry->addr.lo >> 32, entry->addr.lo,
	};

	return &chains[jhash2(words, ARRAY_SIZE(words), p->seed ^ entry->len) % CHAINS];
}

static bool same(const struct ipcuckoo_entry *a, const struct ipcuckoo_entry *b)
{
	return a->addr.hi == b->addr.hi && a->addr.lo == b->addr.lo && a->len == b->len;
}

static struct ipcuckoo_change *find(struct ipcuckoo_pending *p, struct hlist_head *chains,
				    const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_change *c;

	hlist_for_each_entry_rcu(c, chain(p, chains, entry), node, lockdep_is_held(p->lock))
		if (same(&c->entry, entry))
			return c;
	return NULL;
}

/**
 * ipcuckoo_pending_find() - find the change of an entry
 * @p:		changes of a set
 * @entry:	entry
 *
 * If there is none, the caller reads the contents afterwards, and finds there what was applied.
 *
 * Context: any but hard interrupts, under rcu_read_lock().
 * Return: the change, valid until rcu_read_unlock(), or NULL.
 */
struct ipcuckoo_change *ipcuckoo_pending_find(struct ipcuckoo_pending *p,
					      const struct ipcuckoo_entry *entry)
{
	/* pairs with smp_store_release() in grow() */
	struct hlist_head *chains = smp_load_acquire(&p->chains);
	struct ipcuckoo_change *c = chains ? find(p, chains, entry) : NULL;

	if (!c)
		smp_rmb();	/* pairs with smp_wmb() in ipcuckoo_pending_done() */
	return c;
}

/* Allocate zeroed memory, charged to the account; packets cannot wait. */
static void *alloc(struct ipcuckoo_mem *mem, size_t size)
{
	void *object;

	if (!ipcuckoo_mem_charge_as(mem, size, IPCUCKOO_CHARGE_TRY))
		return ERR_PTR(-EDQUOT);
	object = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	if (object)
		return object;
	ipcuckoo_mem_uncharge(mem, size);
	return ERR_PTR(-ENOMEM);
}

/**
 * ipcuckoo_pending_alloc() - allocate a change
 * @p:		changes of a set
 *
 * Context: any but hard interrupts.
 * Return: zeroed memory, to be passed to ipcuckoo_pending_put() or ipcuckoo_pending_free(), or
 * ERR_PTR(-EDQUOT or -ENOMEM).
 */
struct ipcuckoo_change *ipcuckoo_pending_alloc(struct ipcuckoo_pending *p)
{
	struct ipcuckoo_change *change = alloc(p->mem, change_size());

	if (!IS_ERR(change))
		change->mem = p->mem;
	return change;
}

/**
 * ipcuckoo_pending_free() - free a change that no reader has seen
 * @change:	change
 */
void ipcuckoo_pending_free(struct ipcuckoo_change *change)
{
	struct ipcuckoo_mem *mem = change->mem;

	kfree(change);
	ipcuckoo_mem_uncharge(mem, change_size());
}

static void free_retired(struct rcu_head *rcu)
{
	struct ipcuckoo_change *c = container_of(rcu, struct ipcuckoo_change, rcu);
	struct ipcuckoo_mem *mem = c->mem;

	ipcuckoo_pending_free(c);
	ipcuckoo_mem_release(mem, change_size());
}

/* Free a change that readers may still use. */
static void retire(struct ipcuckoo_change *c)
{
	ipcuckoo_mem_retire(c->mem, change_size());
	call_rcu(&c->rcu, free_retired);
}

static int grow(struct ipcuckoo_pending *p)
{
	struct hlist_head *chains;

	if (p->chains)
		return 0;
	chains = alloc(p->mem, chains_size());
	if (IS_ERR(chains))
		return PTR_ERR(chains);
	/* pairs with smp_load_acquire() in ipcuckoo_pending_find() */
	smp_store_release(&p->chains, chains);
	return 0;
}

/* Let readers notice that changes come or go. Called before and after. */
static void bump(struct ipcuckoo_pending *p)
{
	smp_wmb();	/* pairs with smp_load_acquire() of readers, as in guard.h */
	WRITE_ONCE(p->seq, p->seq + 1);
	smp_wmb();	/* pairs with smp_rmb() in ipcuckoo_pending_same() */
}

/* Add the delta of a change with this prefix length to the sums. */
static void count_delta(struct ipcuckoo_pending *p, u8 len, s8 delta)
{
	p->delta += delta;
	p->delta_len[len] += delta;
}

/* Return: ipcuckoo_change.deleted of a change that takes the place of @old. Its delta still says
 * whether the packet has found the entry in the set.
 */
static u64 deleted_by(const struct ipcuckoo_change *change, const struct ipcuckoo_change *old)
{
	if (change->delta <= 0)
		return old->deleted;
	/* If nobody has deleted it, it has expired, which the contents learn from this change. */
	return old->add ? change->number : old->number;
}

static void remove(struct ipcuckoo_pending *p, struct ipcuckoo_change *c)
{
	bump(p);
	hlist_del_rcu(&c->node);
	list_del(&c->list);
	WRITE_ONCE(p->count, p->count - 1);
	WRITE_ONCE(p->lens[c->entry.len], p->lens[c->entry.len] - 1);
	count_delta(p, c->entry.len, -c->delta);
	bump(p);
	retire(c);
}

/**
 * ipcuckoo_pending_put() - put a change, in the place of the earlier one of the same entry
 * @p:		changes of a set, whose lock is held
 * @change:	change, which belongs to @p on success
 *
 * Context: any but hard interrupts.
 * Return: 0, -ENOMEM, -EDQUOT, -ENOBUFS if there are too many, or -ENOENT if the set is being
 * destroyed.
 */
int ipcuckoo_pending_put(struct ipcuckoo_pending *p, struct ipcuckoo_change *change)
{
	struct ipcuckoo_change *old;
	int err;

	lockdep_assert_held(p->lock);
	if (p->closed)
		return -ENOENT;
	err = grow(p);
	if (err)
		return err;
	old = find(p, p->chains, &change->entry);
	if (!old && p->count >= IPCUCKOO_PENDING_MAX)
		return -ENOBUFS;
	change->number = p->next++;
	count_delta(p, change->entry.len, change->delta);
	bump(p);
	if (old) {
		change->deleted = deleted_by(change, old);
		change->delta += old->delta;
		/* The entry need not be in the contents as the packet has found it. */
		change->exist = true;
		hlist_replace_rcu(&old->node, &change->node);
		list_del(&old->list);
		retire(old);
	} else {
		WRITE_ONCE(p->lens[change->entry.len], p->lens[change->entry.len] + 1);
		hlist_add_head_rcu(&change->node, chain(p, p->chains, &change->entry));
		WRITE_ONCE(p->count, p->count + 1);
	}
	list_add_tail(&change->list, &p->list);
	bump(p);
	return 0;
}

/* Packets may be counting in the original. */
static void copy_change(struct ipcuckoo_change *copy, struct ipcuckoo_change *c)
{
	copy->number = c->number;
	copy->deleted = c->deleted;
	copy->entry = c->entry;
	copy->add = c->add;
	copy->exist = c->exist;
	copy->delta = c->delta;
	copy->expires = c->expires;
	atomic64_set(&copy->hits.packets, atomic64_read(&c->hits.packets));
	atomic64_set(&copy->hits.bytes, atomic64_read(&c->hits.bytes));
}

/**
 * ipcuckoo_pending_next() - the number of the next change
 * @p:		changes of a set
 *
 * Context: process context.
 * Return: a number that is greater than that of each change that was put before.
 */
u64 ipcuckoo_pending_next(struct ipcuckoo_pending *p)
{
	u64 next;

	spin_lock_bh(p->lock);
	next = p->next;
	spin_unlock_bh(p->lock);
	return next;
}

/**
 * ipcuckoo_pending_take() - copy the change of an entry, to apply it
 * @p:		changes of a set
 * @entry:	entry
 * @copy:	set to a copy, to be given to ipcuckoo_pending_done()
 *
 * Context: process context.
 * Return: false if there is none.
 */
bool ipcuckoo_pending_take(struct ipcuckoo_pending *p, const struct ipcuckoo_entry *entry,
			   struct ipcuckoo_change *copy)
{
	struct ipcuckoo_change *c;

	if (!ipcuckoo_pending_any(p))
		return false;
	spin_lock_bh(p->lock);
	c = p->chains ? find(p, p->chains, entry) : NULL;
	if (c)
		copy_change(copy, c);
	spin_unlock_bh(p->lock);
	return c;
}

/**
 * ipcuckoo_pending_first_locked() - ipcuckoo_pending_first() for a caller that holds the lock
 * @p:		changes of a set
 * @copy:	likewise
 *
 * Context: any but hard interrupts.
 */
bool ipcuckoo_pending_first_locked(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy)
{
	struct ipcuckoo_change *c = list_first_entry_or_null(&p->list, struct ipcuckoo_change,
							     list);

	lockdep_assert_held(p->lock);
	if (c)
		copy_change(copy, c);
	return c;
}

/**
 * ipcuckoo_pending_first() - copy the oldest change, to apply it
 * @p:		changes of a set
 * @copy:	set to a copy, to be given to ipcuckoo_pending_done()
 *
 * Context: process context.
 * Return: false if there is none.
 */
bool ipcuckoo_pending_first(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy)
{
	bool found;

	spin_lock_bh(p->lock);
	found = ipcuckoo_pending_first_locked(p, copy);
	spin_unlock_bh(p->lock);
	return found;
}

/**
 * ipcuckoo_pending_begin() - begin to apply a change
 * @p:		changes of a set
 * @total:	number of entries in the contents
 * @len:	prefix length of the change
 * @with_len:	number of entries in the contents that have this length
 *
 * Until ipcuckoo_pending_done() or ipcuckoo_pending_undone(), @total and the sum of all changes are
 * the number of entries that the set has. Likewise, @with_len and the sum of the changes of length
 * @len are the number of its entries of that length.
 *
 * Context: process context, as the writer of the contents.
 */
void ipcuckoo_pending_begin(struct ipcuckoo_pending *p, u32 total, u8 len, u32 with_len)
{
	spin_lock_bh(p->lock);
	p->applying = true;
	p->before = total;
	p->len = len;
	p->before_len = with_len;
	spin_unlock_bh(p->lock);
}

/**
 * ipcuckoo_pending_with_len() - how many entries of a prefix length does the set have?
 * @p:		changes of a set, whose lock is held
 * @len:	the length
 * @with_len:	number of entries in the contents that have this length
 *
 * Context: any but hard interrupts.
 * Return: the number of entries, as if all changes were in the contents.
 */
s64 ipcuckoo_pending_with_len(const struct ipcuckoo_pending *p, u8 len, u32 with_len)
{
	lockdep_assert_held(p->lock);
	if (p->applying && p->len == len)
		with_len = p->before_len;
	return (s64)with_len + p->delta_len[len];
}

/**
 * ipcuckoo_pending_undone() - the change was not applied, and is still pending
 * @p:		changes of a set
 *
 * Context: process context.
 */
void ipcuckoo_pending_undone(struct ipcuckoo_pending *p)
{
	spin_lock_bh(p->lock);
	p->applying = false;
	spin_unlock_bh(p->lock);
}

/* Take what was added to @hits and not yet taken. Each unit is taken once: of two callers that read
 * the same @taken, one changes it, and the other one looks again.
 */
static u64 take(atomic64_t *taken, const atomic64_t *hits)
{
	s64 before = atomic64_read(taken), now;

	do {
		now = atomic64_read(hits);
		/* Another caller has read @hits later than this one. */
		if (now - before <= 0)
			return 0;
	} while (!atomic64_try_cmpxchg(taken, &before, now));
	return now - before;
}

/**
 * ipcuckoo_pending_take_hits() - take the packets that a change has counted since it was stored
 * @c:		change that is stored
 * @packets:	set to their number
 * @bytes:	set to that of their bytes
 *
 * Each packet is taken once, however many callers there are.
 */
void ipcuckoo_pending_take_hits(struct ipcuckoo_change *c, u64 *packets, u64 *bytes)
{
	*packets = take(&c->taken.packets, &c->hits.packets);
	*bytes = take(&c->taken.bytes, &c->hits.bytes);
}

/* Take the packets that have matched a change since it was copied. One that matches it later, or at
 * the same time, finds that it is stored, and passes its count on to the contents (match.c).
 */
static void take_late_hits(struct ipcuckoo_change *c, struct ipcuckoo_change *copy)
{
	u64 packets, bytes;

	atomic64_set(&c->taken.packets, atomic64_read(&copy->hits.packets));
	atomic64_set(&c->taken.bytes, atomic64_read(&copy->hits.bytes));
	/* pairs with try_cmpxchg() in take(): pass_on() has read @stored before that */
	smp_store_release(&c->stored, true);
	smp_mb();	/* pairs with smp_mb() in pass_on() */
	ipcuckoo_pending_take_hits(c, &packets, &bytes);
	atomic64_set(&copy->hits.packets, packets);
	atomic64_set(&copy->hits.bytes, bytes);
}

/**
 * ipcuckoo_pending_done() - remove a change that was applied, unless another one took its place
 * @p:		changes of a set
 * @copy:	the copy that was applied. If the change was removed, the counters become those of
 *		the packets that have matched it since it was copied
 *
 * Context: process context.
 * Return: whether the change was removed, so that the caller adds @copy->hits to the entry's.
 */
bool ipcuckoo_pending_done(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy)
{
	bool applied;

	spin_lock_bh(p->lock);
	applied = ipcuckoo_pending_done_locked(p, copy);
	spin_unlock_bh(p->lock);
	return applied;
}

/**
 * ipcuckoo_pending_done_locked() - ipcuckoo_pending_done() for a caller that holds the lock
 * @p:		changes of a set
 * @copy:	likewise
 *
 * Context: any but hard interrupts.
 */
bool ipcuckoo_pending_done_locked(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy)
{
	struct ipcuckoo_change *c;
	bool applied;

	lockdep_assert_held(p->lock);
	smp_wmb();	/* pairs with smp_rmb() in ipcuckoo_pending_find() */
	p->applying = false;
	c = find(p, p->chains, &copy->entry);
	applied = c && c->number == copy->number;
	if (applied) {
		take_late_hits(c, copy);
		remove(p, c);
	} else if (c) {
		/* The contents have what the earlier change did. */
		if (c->deleted <= copy->number)
			c->deleted = 0;
		c->delta -= copy->delta;
		count_delta(p, copy->entry.len, -copy->delta);
	}
	return applied;
}

/**
 * ipcuckoo_pending_forget() - remove changes that do not count any more
 * @p:		changes of a set
 * @before:	those with a lower number
 *
 * Context: process context; takes the lock for a change at a time.
 */
void ipcuckoo_pending_forget(struct ipcuckoo_pending *p, u64 before)
{
	struct ipcuckoo_change *c;
	bool more = true;

	while (more) {
		spin_lock_bh(p->lock);
		c = list_first_entry_or_null(&p->list, struct ipcuckoo_change, list);
		more = c && c->number < before;
		if (more)
			remove(p, c);
		spin_unlock_bh(p->lock);
	}
}

/**
 * ipcuckoo_pending_close() - refuse all further changes
 * @p:		changes of a set
 *
 * Context: process context.
 */
void ipcuckoo_pending_close(struct ipcuckoo_pending *p)
{
	spin_lock_bh(p->lock);
	WRITE_ONCE(p->closed, true);
	spin_unlock_bh(p->lock);
}

/**
 * ipcuckoo_pending_exit() - free all changes
 * @p:		changes of a set that no packet sees any more
 */
void ipcuckoo_pending_exit(struct ipcuckoo_pending *p)
{
	ipcuckoo_pending_forget(p, U64_MAX);
	if (!p->chains)
		return;
	kfree(p->chains);
	p->chains = NULL;
	ipcuckoo_mem_uncharge(p->mem, chains_size());
}
