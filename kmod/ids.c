// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Ids
 *
 * A BPF program names a set by a number, so that a packet costs no search for a name. A set gets
 * its id when it is created:
 *
 *  - rename: the set keeps its id;
 *  - swap: the two names keep their ids, as they keep their attachments and their rules of
 *    iptables. So who fills a second set and swaps it in need not change any program;
 *  - destroy: the id names no set any more. No set gets it again until two thousand million others
 *    were created, so a program never looks into a set that it was not meant for. A set that is
 *    created again under the same name has another id.
 *
 * Sets of ip_set have no id: ip_set renames, swaps and destroys them, and tells nobody.
 *
 * Nobody knows which ids programs have in their maps and constants, so an id does not keep its set
 * from being destroyed. A look-up is under rcu_read_lock(), and finds the set that has the id now,
 * or had it a moment ago. Then the set, and the tables that it reads, stay until
 * rcu_read_unlock().
 *
 * Look-ups that began before a swap may still be at work in a set that has lost its id. Look-ups
 * that began before a set was destroyed may still be at work in that set. So
 *
 *  - a commit which changes the contents of a set after it has swapped it does that a grace period
 *    after it has published the ids (commit.c);
 *  - who destroys a set takes its id away, and clears it a grace period later: a program is told
 *    what the set has, or that there is no set;
 *  - a commit which has swapped sets waits for a grace period before it returns, so that the next
 *    request can change or destroy the old set.
 *
 * Without programs the last two waits would be in vain. ipcuckoo_ids_used() says whether there can
 * be programs. It is asked after the ids were published or freed.
 *
 * That order matters. ipcuckoo_ids_used() reads @used after a full barrier, LMM(ids:A).
 * ipcuckoo_ids_use() writes it when ipcuckoo_bpf is loaded, before another full barrier,
 * LMM(ids:B); a program that calls ipcuckoo_ids_find() can be loaded only after that. So if the
 * answer is false, all look-ups begin after LMM(ids:A), and find what was published before.
 */
#include <linux/cache.h>

#include "ids.h"
#include "net.h"
#include "set.h"

/* Has ipcuckoo_bpf ever been loaded? */
static bool used __read_mostly;

/**
 * ipcuckoo_ids_init_net() - initialise the ids of a new namespace
 * @pernet:	namespace
 */
void ipcuckoo_ids_init_net(struct ipcuckoo_net *pernet)
{
	xa_init_flags(&pernet->ids.sets, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
}

/**
 * ipcuckoo_ids_exit_net() - free the ids of a namespace that ends
 * @pernet:	namespace without sets
 */
void ipcuckoo_ids_exit_net(struct ipcuckoo_net *pernet)
{
	WARN_ON(!xa_empty(&pernet->ids.sets));
	xa_destroy(&pernet->ids.sets);
}

/**
 * ipcuckoo_ids_reserve() - give a set an id, by which it is not found yet
 * @set:	set that is to be created; ipcuckoo_net.names of its namespace is held. Does nothing
 *		if it has an id
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int ipcuckoo_ids_reserve(struct ipcuckoo_set *set)
{
	struct ipcuckoo_ids *ids = &set->pernet->ids;
	u32 id;
	int err;

	lockdep_assert_held(&set->pernet->names);
	if (set->id)
		return 0;
	/* 1 says that the search has begun with the first id again. */
	err = xa_alloc_cyclic(&ids->sets, &id, NULL, XA_LIMIT(1, INT_MAX), &ids->next, GFP_KERNEL);
	if (err < 0)
		return -ENOMEM;
	set->id = id;
	return 0;
}

/**
 * ipcuckoo_ids_free() - take the id of a set away
 * @set:	set that is destroyed, or was not created; ipcuckoo_net.names is held. Does nothing
 *		if it has no id
 */
void ipcuckoo_ids_free(struct ipcuckoo_set *set)
{
	if (!set->id)
		return;
	lockdep_assert_held(&set->pernet->names);
	xa_erase(&set->pernet->ids.sets, set->id);
	set->id = 0;
}

/**
 * ipcuckoo_ids_publish() - let look-ups by a set's id find the set
 * @set:	set that was created or swapped; ipcuckoo_net.names is held. Does nothing if it has
 *		no id, or is found already
 */
void ipcuckoo_ids_publish(struct ipcuckoo_set *set)
{
	if (!set->id || xa_load(&set->pernet->ids.sets, set->id) == set)
		return;
	lockdep_assert_held(&set->pernet->names);
	/* Needs no memory, as the id is reserved or names another set. */
	WARN_ON(xa_is_err(xa_store(&set->pernet->ids.sets, set->id, set, GFP_KERNEL)));
}

/**
 * ipcuckoo_ids_used() - can any program look sets up by their ids?
 *
 * Context: after ipcuckoo_ids_publish() or ipcuckoo_ids_free().
 */
bool ipcuckoo_ids_used(void)
{
	smp_mb(); /* LMM(ids:A), pairs with LMM(ids:B): the comment at the top */
	return READ_ONCE(used);
}

/**
 * ipcuckoo_ids_use() - say that programs can look sets up by their ids from now on
 *
 * Context: before any program can be loaded that does.
 */
void ipcuckoo_ids_use(void)
{
	WRITE_ONCE(used, true);
	smp_mb(); /* LMM(ids:B), pairs with LMM(ids:A) */
}

/**
 * ipcuckoo_ids_find() - find a set by its id
 * @pernet:	namespace
 * @id:		the id
 *
 * Context: any, under rcu_read_lock().
 * Return: a set, which stays until rcu_read_unlock(), or NULL.
 */
struct ipcuckoo_set *ipcuckoo_ids_find(struct ipcuckoo_net *pernet, u32 id)
{
	return xa_load(&pernet->ids.sets, id);
}
