// SPDX-License-Identifier: GPL-2.0-only
/* Applies pending changes: see apply.h and pending.h. */
#include <linux/net.h>

#include "../change.h"
#include "../entries.h"
#include "apply.h"

struct workqueue_struct *ipcuckoo_ipset_wq;

/* How many changes are applied before the mutex of the contents is given to others. */
#define BATCH	64

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

/* A packet sets no comment: an entry that exists keeps its own. */
static void keep_comment(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry,
			 struct ipcuckoo_entry_attrs *attrs)
{
	struct ipcuckoo_value value;

	if (!(s->set->entries.options & IPCUCKOO_O_COMMENT) ||
	    !ipcuckoo_entries_get(&s->set->entries, entry, &value))
		return;
	attrs->comment = ipcuckoo_record_comment(value.record);
	attrs->comment_len = attrs->comment ? strlen(attrs->comment) : 0;
}

static int apply_add(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c, u32 now)
{
	struct ipcuckoo_entry_attrs attrs = {
		.timeout = c->expires ? ipcuckoo_seconds_left(c->expires, now) : 0,
		.packets = atomic64_read(&c->hits.packets),
		.bytes = atomic64_read(&c->hits.bytes),
	};

	keep_comment(s, &c->entry, &attrs);
	return ipcuckoo_change_add_live(s->set, &c->entry, &attrs, true);
}

/* The caller has locked the contents. */
static void apply(struct ipcuckoo_ipset *s, struct ipcuckoo_change *c)
{
	u32 now = ipcuckoo_now();
	int err = 0;

	if (c->add && !ipcuckoo_expired(c->expires, now))
		err = apply_add(s, c, now);
	else
		ipcuckoo_change_del_live(s->set, &c->entry);
	if (err)
		ipcuckoo_ipset_log_refusal(s, err);
	ipcuckoo_pending_done(&s->pending, c);
}

/**
 * ipcuckoo_ipset_apply_one() - apply the change of an entry, if there is one
 * @s:		set, whose contents are locked
 * @entry:	entry
 *
 * User space calls this before it changes the entry. So it need not wait until all changes are
 * applied, which packets could prevent.
 */
void ipcuckoo_ipset_apply_one(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry)
{
	struct ipcuckoo_change c;

	if (ipcuckoo_pending_take(&s->pending, entry, &c))
		apply(s, &c);
}

/**
 * ipcuckoo_ipset_apply_all() - apply all changes that were made before
 * @s:		set, whose contents are locked
 */
void ipcuckoo_ipset_apply_all(struct ipcuckoo_ipset *s)
{
	struct ipcuckoo_change c;
	u64 before;

	spin_lock_bh(&s->pending.lock);
	before = s->pending.next;
	spin_unlock_bh(&s->pending.lock);
	while (ipcuckoo_pending_first(&s->pending, &c) && c.number < before) {
		apply(s, &c);
		cond_resched();
	}
}

/**
 * ipcuckoo_ipset_apply_soon() - apply changes after a packet has made one
 * @s:		set
 *
 * Context: any.
 */
void ipcuckoo_ipset_apply_soon(struct ipcuckoo_ipset *s)
{
	queue_work(ipcuckoo_ipset_wq, &s->apply);
}

/**
 * ipcuckoo_ipset_apply_work() - apply changes as long as there are any
 * @work:	ipcuckoo_ipset.apply
 *
 * Context: work item.
 */
void ipcuckoo_ipset_apply_work(struct work_struct *work)
{
	struct ipcuckoo_ipset *s = container_of(work, struct ipcuckoo_ipset, apply);
	struct ipcuckoo_change c;
	bool more = true;
	unsigned int n;

	while (more && !ipcuckoo_set_lock(s->set)) {
		for (n = 0; more && n < BATCH; n++) {
			more = ipcuckoo_pending_first(&s->pending, &c);
			if (more)
				apply(s, &c);
		}
		ipcuckoo_set_unlock(s->set);
		cond_resched();
	}
}
