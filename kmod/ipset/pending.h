/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes that packets have made to a set, and that are not in its contents yet: because a process
 * was changing or reading the contents, because the tables had no room, or because other changes
 * were here before (packet.c).
 *
 * A packet looks here first, and then in the contents. A change counts from the moment it is put
 * here. Whoever applies it changes the contents first, and removes it from here afterwards, with a
 * barrier between (ipcuckoo_pending_done()). A reader that does not find it here any more therefore
 * finds its effect in the contents: it reads the contents behind another barrier
 * (ipcuckoo_pending_find()).
 *
 * There is one change at most for each entry. A later one takes its place: before anybody applied
 * the earlier one, or meanwhile. So whoever has applied a change removes it only if it is still the
 * same one, which its number tells.
 *
 * The memory of changes is charged to the account of the namespace, as that of entries is.
 */
#ifndef _IPCUCKOO_PENDING_H
#define _IPCUCKOO_PENDING_H

#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>

#include "../contents.h"

/* How many changes may be pending in a set: what packets of a flood add in some milliseconds.
 * They take 2 MB. More are refused.
 */
#define IPCUCKOO_PENDING_MAX	16384

/**
 * struct ipcuckoo_change - an entry that a packet has added or deleted
 * @node:	in the chain of its hash
 * @list:	in ipcuckoo_pending.list
 * @number:	no two changes of a set have the same; above 0
 * @entry:	the entry
 * @add:	it was added; else it was deleted
 * @delta:	by how much this changes the number of entries in the contents: -1, 0 or 1. Whoever
 *		puts the change sets it as if earlier changes were applied
 * @exist:	an entry that exists gets the value of the change; if not, it keeps its own
 * @deleted:	if it was added: the number of the change by which it had left the set before. The
 *		contents may still have the old entry then, of which nothing stays. 0: it had not
 *		left the set, or the contents do not have it any more
 * @stored:	the contents have the entry, and count these packets
 * @expires:	the second since boot in which it expires; 0: never
 * @hits:	packets that have matched it since, in a set with counters. Nothing is subtracted
 *		from them, because rules compare them
 * @taken:	if @stored: how many of @hits the entry in the contents has, or has in a moment
 * @mem:	the account to which it is charged
 * @rcu:	to free it
 */
struct ipcuckoo_change {
	struct hlist_node node;
	struct list_head list;
	u64 number;
	u64 deleted;
	struct ipcuckoo_entry entry;
	bool add;
	bool exist;
	s8 delta;
	bool stored;
	u32 expires;
	struct ipcuckoo_hits hits;
	struct ipcuckoo_hits taken;
	struct ipcuckoo_mem *mem;
	struct rcu_head rcu;
};

/**
 * struct ipcuckoo_pending - the pending changes of a set
 * @count:	number of changes; packets look no further if it is 0
 * @chains:	changes by their hash; allocated with the first change
 * @seed:	seed of the hash
 * @lock:	protects all of this: ipcuckoo_entries.packets
 * @seq:	incremented before a change is put or removed, and afterwards: odd meanwhile.
 *		Readers look again if it was odd, or has changed
 * @delta:	the sum of that of all changes
 * @delta_len:	for each prefix length, the sum of that of the changes that have this length
 * @applying:	a change is being applied: it may be in the contents and here, and count twice
 * @before:	then: the number of entries in the contents before
 * @len:	then: the prefix length of that change
 * @before_len:	then: the number of entries with this prefix length in the contents before
 * @lens:	how many changes have each prefix length; read by readers, too
 * @next:	number of the next change
 * @list:	changes in the order in which they are to be applied
 * @closed:	the set is being destroyed: nothing can be put
 * @mem:	the account to which changes and @chains are charged
 */
struct ipcuckoo_pending {
	u32 count;
	u32 seed;
	u32 seq;
	struct hlist_head *chains;

	spinlock_t *lock;	/* see above */
	s32 delta;
	s16 delta_len[129];
	bool applying;
	u8 len;
	u32 before;
	u32 before_len;
	u16 lens[129];
	u64 next;
	struct list_head list;
	bool closed;
	struct ipcuckoo_mem *mem;
};

void ipcuckoo_pending_init(struct ipcuckoo_pending *p, struct ipcuckoo_entries *e);
void ipcuckoo_pending_close(struct ipcuckoo_pending *p);
void ipcuckoo_pending_exit(struct ipcuckoo_pending *p);

struct ipcuckoo_change *ipcuckoo_pending_find(struct ipcuckoo_pending *p,
					      const struct ipcuckoo_entry *entry);
struct ipcuckoo_change *ipcuckoo_pending_alloc(struct ipcuckoo_pending *p);
void ipcuckoo_pending_free(struct ipcuckoo_change *change);
int ipcuckoo_pending_put(struct ipcuckoo_pending *p, struct ipcuckoo_change *change);
u64 ipcuckoo_pending_next(struct ipcuckoo_pending *p);
bool ipcuckoo_pending_take(struct ipcuckoo_pending *p, const struct ipcuckoo_entry *entry,
			   struct ipcuckoo_change *copy);
bool ipcuckoo_pending_first(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy);
bool ipcuckoo_pending_first_locked(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy);
void ipcuckoo_pending_begin(struct ipcuckoo_pending *p, u32 total, u8 len, u32 with_len);
s64 ipcuckoo_pending_with_len(const struct ipcuckoo_pending *p, u8 len, u32 with_len);
void ipcuckoo_pending_undone(struct ipcuckoo_pending *p);
bool ipcuckoo_pending_done(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy);
bool ipcuckoo_pending_done_locked(struct ipcuckoo_pending *p, struct ipcuckoo_change *copy);
void ipcuckoo_pending_take_hits(struct ipcuckoo_change *c, u64 *packets, u64 *bytes);
void ipcuckoo_pending_forget(struct ipcuckoo_pending *p, u64 before);

/* Are there changes? If not, the caller finds in the contents what was applied before: this pairs
 * with smp_wmb() in ipcuckoo_pending_done().
 */
static inline bool ipcuckoo_pending_any(const struct ipcuckoo_pending *p)
{
	return unlikely(smp_load_acquire(&p->count));	/* see above */
}

/* Is there no change, so that the contents alone can decide about a packet? The decision counts
 * only if ipcuckoo_pending_same() says so afterwards. Meanwhile a packet may have added an entry,
 * and user space may have deleted the prefix that covered it, or the entry's old timeout may have
 * passed: the address has been in the set all the time, but only the changes have it in the end.
 */
static inline bool ipcuckoo_pending_none(const struct ipcuckoo_pending *p, u32 *seq)
{
	*seq = smp_load_acquire(&p->seq);	/* pairs with bump() in pending.c */
	return likely(!(*seq & 1)) && !ipcuckoo_pending_any(p);
}

/* Has no change come or gone since @seq was read? It was even: none was being put or removed. */
static inline bool ipcuckoo_pending_same(const struct ipcuckoo_pending *p, u32 seq)
{
	smp_rmb();	/* pairs with bump() in pending.c */
	return likely(READ_ONCE(p->seq) == seq);
}

/* Is there a change of this prefix length? A caller that finds none, and reads the contents
 * afterwards, finds there what was applied, as with ipcuckoo_pending_any().
 */
static inline bool ipcuckoo_pending_has_len(const struct ipcuckoo_pending *p, u8 len)
{
	return smp_load_acquire(&p->lens[len]);	/* see above */
}

#endif /* _IPCUCKOO_PENDING_H */
