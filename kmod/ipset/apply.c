// SPDX-License-Identifier: GPL-2.0-only
/* Applies pending changes: see apply.h and pending.h. */
#include <linux/net.h>
#include <linux/sched/mm.h>

#include "../change.h"
#include "../entries.h"
#include "../lock.h"
#include "../net.h"
#include "../usage.h"
#include "apply.h"

/* How many changes are applied at most before the mutex of the contents is given to others, and how
 * many times that before other sets have their turn.
 */
#define BATCH	64
#define BATCHES	64

/* How many changes are applied at most while packets of other processors wait. */
#define IN_PLACE	16

/**
 * ipcuckoo_ipset_log_refusal() - log why an element was not added
 * @s:		set
 * @err:	error of ipcuckoo_change_add_live() or ipcuckoo_pending_put()
 *
 * Context: any but hard interrupts.
 */
void ipcuckoo_ipset_log_refusal(struct ipcuckoo_ipset *s, int err)
{
	char name[IPCUCKOO_NAME_SIZE];

	if (!net_ratelimit())
		return;
	ipcuckoo_set_name(s->set, name);
	if (err == -ENOSPC)
		pr_warn("Set %s is full, maxelem %u reached\n", name, s->set->maxelem);
	else if (err == -ENOBUFS)
		pr_warn("Set %s: packets add or delete elements faster than they can be stored, some are lost\n",
			name);
	else if (err == -EDQUOT)
		pr_warn("Set %s: the memory limit of its network namespace is reached\n", name);
	else
		pr_warn("Set %s: an element was not added: error %d\n", name, err);
}

/**
 * ipcuckoo_ipset_apply_soon() - apply changes after a packet has made one
 * @s:		set
 *
 * Context: any.
 */
void ipcuckoo_ipset_apply_soon(struct ipcuckoo_ipset *s)
{
	queue_work(s->set->pernet->wq, &s->apply);
}

/* A packet sets no comment: an entry that exists keeps its own, but not one that packets have
 * deleted before. It is copied, because garbage collection may remove the entry before it is added
 * again.
 */
static void keep_comment(struct ipcuckoo_ipset *s, const struct ipcuckoo_change *c,
			 struct ipcuckoo_entry_attrs *attrs, char copy[IPSET_MAX_COMMENT_SIZE + 1])
{
	const char *comment = NULL;
	struct ipcuckoo_value value;

	if (s->set->entries.options & IPCUCKOO_O_COMMENT && !c->deleted &&
	    ipcuckoo_entries_get(&s->set->entries, &c->entry, &value))
		comment = ipcuckoo_record_comment(value.record);
	if (!comment)
		return;
	attrs->comment_len = strscpy(copy, comment, IPSET_MAX_COMMENT_SIZE + 1);
	attrs->comment = copy;
}

static struct ipcuckoo_entry_attrs attrs_of(const struct ipcuckoo_change *c, u32 now)
{
	return (struct ipcuckoo_entry_attrs){
		.timeout = c->expires ? ipcuckoo_seconds_left(c->expires, now) : 0,
		.packets = atomic64_read(&c->hits.packets),
		.bytes = atomic64_read(&c->hits.bytes),
	};
}

static int apply_add(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c, u32 now)
{
	char comment[IPSET_MAX_COMMENT_SIZE + 1];
	struct ipcuckoo_entry_attrs attrs = attrs_of(c, now);
	int err;

	keep_comment(s, c, &attrs, comment);
	err = ipcuckoo_change_add_live(s->set, &c->entry, &attrs, c->exist);
	/* User space was first. */
	return err == -EEXIST ? 0 : err;
}

/* Count packets for an entry that have matched its change while that was stored. */
static void add_hits(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	u64 packets = atomic64_read(&c->hits.packets);
	u64 bytes = atomic64_read(&c->hits.bytes);
	struct ipcuckoo_value value;

	if ((packets || bytes) && ipcuckoo_entries_get(&s->set->entries, &c->entry, &value))
		ipcuckoo_record_count(value.record, s->set->entries.options, packets,
				      bytes);
}

/* The caller has locked the contents. Return: 0; or -EINTR for a fatal signal, and then the change
 * is still pending.
 */
static int apply(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	struct ipcuckoo_entries *e = &s->set->entries;
	u64 generation = e->generation;
	u32 now = ipcuckoo_now();
	int err;

	ipcuckoo_pending_begin(&s->pending, ipcuckoo_usage_total(e), c->entry.len,
			       ipcuckoo_usage_with_len(e, c->entry.len));
	if (c->add && !ipcuckoo_expired(c->expires, now))
		err = apply_add(s, c, now);
	else
		err = ipcuckoo_change_del_live(s->set, &c->entry);
	e->by_packets += e->generation - generation;
	if (err == -EINTR) {
		ipcuckoo_pending_undone(&s->pending);
		ipcuckoo_ipset_apply_soon(s);
		return err;
	}
	if (err && err != -ENOENT)
		ipcuckoo_ipset_log_refusal(s, err);
	if (ipcuckoo_pending_done(&s->pending, c) && c->add)
		add_hits(s, c);
	return 0;
}

/**
 * ipcuckoo_ipset_apply_one() - apply the change of an entry, if there is one
 * @s:		set, whose contents are locked
 * @entry:	entry
 *
 * User space calls this before it changes the entry. So it need not wait until all changes are
 * applied, which packets could prevent.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int ipcuckoo_ipset_apply_one(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_change c;

	return ipcuckoo_pending_take(&s->pending, entry, &c) ? apply(s, &c) : 0;
}

/**
 * ipcuckoo_ipset_apply_all() - apply all changes that were made before
 * @s:		set, whose contents are locked
 *
 * A fatal signal ends this early.
 */
void ipcuckoo_ipset_apply_all(struct ipcuckoo_ipset *s)
{
	u64 before = ipcuckoo_pending_next(&s->pending);
	struct ipcuckoo_change c;

	while (ipcuckoo_pending_first(&s->pending, &c) && c.number < before && !apply(s, &c))
		cond_resched();
}

static int change_in_place(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	u32 now = ipcuckoo_now();
	struct ipcuckoo_entry_attrs attrs = attrs_of(c, now);

	if (!c->add || ipcuckoo_expired(c->expires, now))
		return ipcuckoo_change_del_in_place(s->set, &c->entry);
	return ipcuckoo_change_add_in_place(s->set, &c->entry, &attrs, c->exist, !c->deleted);
}

/* Apply the oldest change; the lock of the changes is held. Return: false if there is none, or if
 * only apply() can apply it.
 */
static bool apply_in_place(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_entries *e = &s->set->entries;
	u64 generation = e->generation;
	struct ipcuckoo_change c;
	int err;

	if (!ipcuckoo_pending_first_locked(&s->pending, &c))
		return false;
	err = change_in_place(s, &c);
	if (err == -EAGAIN)
		return false;
	if (err > 0)
		ipcuckoo_ipset_apply_soon(s);
	e->by_packets += e->generation - generation;
	ipcuckoo_change_failed(s->set, err);
	if (err < 0 && err != -ENOENT && err != -EEXIST)
		ipcuckoo_ipset_log_refusal(s, err);
	if (ipcuckoo_pending_done_locked(&s->pending, &c) && c.add)
		add_hits(s, &c);
	return true;
}

/* Apply some changes in place, and one that cannot be. Packets of other processors that make
 * changes wait meanwhile. Otherwise a flood would make as many as this applies, so that there would
 * always be changes that wait, and later ones would have to wait, too. Return: false if there are
 * no more.
 */
static bool apply_lot(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_change c;
	unsigned int n = 0;

	spin_lock_bh(s->pending.lock);
	while (n < IN_PLACE && apply_in_place(s))
		n++;
	spin_unlock_bh(s->pending.lock);
	if (n == IN_PLACE)
		return true;
	if (!ipcuckoo_pending_first(&s->pending, &c))
		return false;
	if (c.add)
		ipcuckoo_entries_expect(&s->set->entries, &c.entry, READ_ONCE(s->pending.count),
					ipcuckoo_ipset_maxelem(s));
	apply(s, &c);
	return true;
}

/* Apply some changes. Return: false if there are no more, or the set is being destroyed. */
static bool apply_some(struct ipcuckoo_ipset *s)
{
	bool more = true;
	unsigned int n;

	if (ipcuckoo_set_lock(s->set, IPCUCKOO_FOREVER))
		return false;
	ipcuckoo_entries_tidy(&s->set->entries, ipcuckoo_ipset_maxelem(s));
	for (n = 0; more && n < BATCH; n++) {
		/* A kernel that checks itself needs longer for a batch than a request waits. */
		if (n && ipcuckoo_lock_wanted(s->set))
			break;
		more = !READ_ONCE(s->pending.closed) && apply_lot(s);
	}
	ipcuckoo_set_unlock(s->set);
	return more;
}

/**
 * ipcuckoo_ipset_apply_work() - apply changes
 * @work:	ipcuckoo_ipset.apply
 *
 * Packets may make changes without end. So this queues itself again after some time, and lets other
 * work items run.
 *
 * Context: work item.
 */
void ipcuckoo_ipset_apply_work(struct work_struct *work)
{
	struct ipcuckoo_ipset *s = container_of(work, struct ipcuckoo_ipset, apply);
	struct mem_cgroup *memcg = set_active_memcg(s->set->pernet->memcg);
	bool more = true;
	unsigned int n;

	for (n = 0; more && n < BATCHES; n++) {
		more = apply_some(s);
		cond_resched();
	}
	set_active_memcg(memcg);
	if (more)
		ipcuckoo_ipset_apply_soon(s);
}
