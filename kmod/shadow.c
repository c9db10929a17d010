// SPDX-License-Identifier: GPL-2.0-only
/* Shadows: see shadow.h. */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "event.h"
#include "lock.h"
#include "net.h"
#include "rebuild.h"
#include "shadow.h"
#include "usage.h"

/* The largest capacity, by kind, for which a table is allocated in advance. Allocating
 * that much takes a fraction of a second, which no signal can interrupt. Larger shadows
 * grow while entries are added.
 */
static const u32 capacity_max[IPCUCKOO_KINDS] = {
	[IPCUCKOO_HOSTS4] = 16777216,
	[IPCUCKOO_HOSTS6] = 4194304,
	[IPCUCKOO_NETS4] = 4194304,
	[IPCUCKOO_NETS6] = 4194304,
};

static void shadow_free(struct kref *ref)
{
	struct ipcuckoo_shadow *shadow = container_of(ref, struct ipcuckoo_shadow,
						      ref);
	struct ipcuckoo_mem *mem = shadow->entries.mem;

	ipcuckoo_entries_exit(&shadow->entries);
	ipcuckoo_set_put(shadow->set);
	ipcuckoo_object_free(shadow, mem, sizeof(*shadow));
}

/**
 * ipcuckoo_shadow_put() - drop a reference to a shadow
 * @shadow:	shadow
 */
void ipcuckoo_shadow_put(struct ipcuckoo_shadow *shadow)
{
	kref_put(&shadow->ref, shadow_free);
}

/* The generation of the set's contents, as far as it concerns the shadow. Packets may change a
 * set of ip_set without end. A shadow that replaces all entries replaces theirs, too; but one
 * that began with the entries of the set must not lose what packets have added since.
 */
static u64 generation(const struct ipcuckoo_shadow *shadow)
{
	const struct ipcuckoo_entries *live = &shadow->set->entries;

	return shadow->append ? live->generation : live->generation - live->by_packets;
}

/* Initialise a shadow: options, capacity, and with @append a copy of the set's entries. The
 * caller holds the mutexes of the set and of the shadow.
 */
static int shadow_begin(struct ipcuckoo_shadow *shadow, bool append,
			const u32 capacity[IPCUCKOO_KINDS])
{
	struct ipcuckoo_entries *live = &shadow->set->entries;
	u32 more[IPCUCKOO_KINDS];
	int kind;

	shadow->entries.shape = live->shape;
	shadow->entries.options = live->options;
	shadow->append = append;
	shadow->generation = generation(shadow);
	shadow->swaps = shadow->set->swaps;
	for (kind = 0; kind < IPCUCKOO_KINDS; kind++) {
		u32 count = append ? ipcuckoo_usage_count(live, kind) : 0;

		more[kind] = min_t(u64, (u64)min(capacity[kind], capacity_max[kind]) + count,
				   U32_MAX);
	}
	/* Ignore errors: the capacity is only a hint, and tables can grow later. */
	ipcuckoo_entries_reserve(&shadow->entries, more);
	return append ? ipcuckoo_entries_copy(&shadow->entries, live) : 0;
}

/* The order of shadows in the tree: by port, then by id. */
static int compare(const struct ipcuckoo_shadow *shadow, u32 portid, u32 id)
{
	if (shadow->portid != portid)
		return shadow->portid < portid ? -1 : 1;
	if (shadow->id != id)
		return shadow->id < id ? -1 : 1;
	return 0;
}

/* Find the shadow with this port and id, or else the next one in the order of the tree.
 * Return: NULL if there is none.
 */
static struct ipcuckoo_shadow *find_from(struct ipcuckoo_net *pernet, u32 portid, u32 id)
{
	struct rb_node *node = pernet->shadows.rb_node;
	struct ipcuckoo_shadow *shadow, *found = NULL;

	lockdep_assert_held(&pernet->mutex);
	while (node) {
		shadow = rb_entry(node, struct ipcuckoo_shadow, node);
		if (compare(shadow, portid, id) < 0) {
			node = node->rb_right;
		} else {
			found = shadow;
			node = node->rb_left;
		}
	}
	return found;
}

static bool id_taken(struct ipcuckoo_net *pernet, u32 portid, u32 id)
{
	struct ipcuckoo_shadow *shadow = find_from(pernet, portid, id);

	return shadow && !compare(shadow, portid, id);
}

static void tree_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_shadow *shadow)
{
	struct rb_node **link = &pernet->shadows.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (compare(rb_entry(parent, struct ipcuckoo_shadow, node),
			    shadow->portid, shadow->id) < 0)
			link = &parent->rb_right;
		else
			link = &parent->rb_left;
	}
	rb_link_node(&shadow->node, parent, link);
	rb_insert_color(&shadow->node, &pernet->shadows);
}

/* Choose an id for a shadow and insert it into the tree, which takes over the reference
 * of the caller: from then on another request of the socket can delete the shadow.
 */
static int shadow_insert(struct ipcuckoo_net *pernet, struct ipcuckoo_shadow *shadow, u32 *id)
{
	int err = 0;

	mutex_lock(&pernet->mutex);
	if (pernet->shadows_count >= IPCUCKOO_SHADOWS_MAX) {
		err = -E2BIG;
	} else {
		do
			shadow->id = ++pernet->shadow_id;
		while (!shadow->id || id_taken(pernet, shadow->portid, shadow->id));
		*id = shadow->id;
		sock_hold(shadow->sk);
		tree_insert(pernet, shadow);
		WRITE_ONCE(pernet->shadows_count, pernet->shadows_count + 1);
	}
	mutex_unlock(&pernet->mutex);
	return err;
}

/* Remove a shadow from the tree. Return: true if it was there; then the caller must drop
 * the tree's references, with drop().
 */
static bool tree_remove(struct ipcuckoo_net *pernet, struct ipcuckoo_shadow *shadow)
{
	lockdep_assert_held(&pernet->mutex);
	if (RB_EMPTY_NODE(&shadow->node))
		return false;
	rb_erase(&shadow->node, &pernet->shadows);
	RB_CLEAR_NODE(&shadow->node);
	WRITE_ONCE(pernet->shadows_count, pernet->shadows_count - 1);
	return true;
}

/* Drop the tree's references to the shadow and its socket. A shadow that is not in the tree has
 * none to the socket: a dump of its entries belongs to the socket, and has one to the shadow.
 */
static void drop(struct ipcuckoo_shadow *shadow)
{
	sock_put(shadow->sk);
	ipcuckoo_shadow_put(shadow);
}

static struct ipcuckoo_shadow *shadow_alloc(struct ipcuckoo_net *pernet,
					    struct ipcuckoo_set *set,
					    struct sock *sk, u32 portid)
{
	struct ipcuckoo_shadow *shadow;
	int err;

	shadow = ipcuckoo_object_alloc(&pernet->mem, sizeof(*shadow), IPCUCKOO_CHARGE_WAIT);
	if (IS_ERR(shadow))
		return shadow;
	err = ipcuckoo_entries_init(&shadow->entries, &pernet->mem, false);
	if (err) {
		ipcuckoo_object_free(shadow, &pernet->mem, sizeof(*shadow));
		return ERR_PTR(err);
	}
	sema_init(&shadow->turn, 1);
	kref_init(&shadow->ref);
	RB_CLEAR_NODE(&shadow->node);
	kref_get(&set->ref);
	shadow->set = set;
	shadow->sk = sk;
	shadow->portid = portid;
	return shadow;
}

/**
 * ipcuckoo_shadow_create() - create a shadow of a set
 * @pernet:	namespace
 * @set:	set, locked
 * @sk:		the socket that will own the shadow
 * @portid:	the port of @sk
 * @append:	start with a copy of the set's entries, not empty
 * @capacity:	for each kind, how many entries will be added; a hint, limited to
 *		capacity_max
 * @id:		set to the shadow's id
 *
 * Context: process context; takes the namespace's mutex.
 * Return: 0, -E2BIG if the namespace has IPCUCKOO_SHADOWS_MAX shadows, -ENOMEM, -EDQUOT,
 * -ENOSPC, or -EINTR for a fatal signal.
 */
int ipcuckoo_shadow_create(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set,
			   struct sock *sk, u32 portid, bool append,
			   const u32 capacity[IPCUCKOO_KINDS], u32 *id)
{
	struct ipcuckoo_shadow *shadow = shadow_alloc(pernet, set, sk, portid);
	int err;

	if (IS_ERR(shadow))
		return PTR_ERR(shadow);
	mutex_lock_nested(&shadow->entries.mutex, SINGLE_DEPTH_NESTING);
	err = shadow_begin(shadow, append, capacity);
	ipcuckoo_rebuild_free_queue(&shadow->entries);
	mutex_unlock(&shadow->entries.mutex);
	if (!err)
		err = shadow_insert(pernet, shadow, id);
	if (err)
		ipcuckoo_shadow_put(shadow);
	return err;
}

/**
 * ipcuckoo_shadow_get() - find a socket's shadow, and take a reference
 * @pernet:	namespace
 * @sk:		the socket
 * @portid:	its port
 * @id:		the shadow's id
 *
 * When a socket is closed, another socket can get its port before
 * ipcuckoo_shadow_release() runs. So this function compares the socket as well as the
 * port. The shadow has a reference to its socket, so no other socket has the same address.
 *
 * Context: process context; takes the namespace's mutex.
 * Return: a shadow, to be released with ipcuckoo_shadow_put(), or NULL.
 */
struct ipcuckoo_shadow *ipcuckoo_shadow_get(struct ipcuckoo_net *pernet,
					    const struct sock *sk, u32 portid, u32 id)
{
	struct ipcuckoo_shadow *shadow;

	mutex_lock(&pernet->mutex);
	shadow = find_from(pernet, portid, id);
	if (shadow && (compare(shadow, portid, id) || shadow->sk != sk))
		shadow = NULL;
	if (shadow)
		kref_get(&shadow->ref);
	mutex_unlock(&pernet->mutex);
	return shadow;
}

/**
 * ipcuckoo_shadow_remove() - remove a shadow from the tree, and drop the tree's reference
 * @pernet:	namespace
 * @shadow:	shadow, to which the caller has a reference of its own
 *
 * Context: process context; takes the namespace's mutex.
 */
void ipcuckoo_shadow_remove(struct ipcuckoo_net *pernet,
			    struct ipcuckoo_shadow *shadow)
{
	bool listed;

	mutex_lock(&pernet->mutex);
	listed = tree_remove(pernet, shadow);
	mutex_unlock(&pernet->mutex);
	if (listed)
		drop(shadow);
}

/* Remove from the tree, and return, the first shadow of a port with an id of at least *@id
 * whose socket was closed; NULL if there is none. Sets *@id to its id.
 */
static struct ipcuckoo_shadow *take_orphan(struct ipcuckoo_net *pernet, u32 portid,
					   u32 *id)
{
	struct ipcuckoo_shadow *shadow;
	struct rb_node *next;

	mutex_lock(&pernet->mutex);
	shadow = find_from(pernet, portid, *id);
	while (shadow && shadow->portid == portid && !sock_flag(shadow->sk, SOCK_DEAD)) {
		next = rb_next(&shadow->node);
		shadow = rb_entry_safe(next, struct ipcuckoo_shadow, node);
	}
	if (shadow && shadow->portid == portid) {
		*id = shadow->id;
		tree_remove(pernet, shadow);
	} else {
		shadow = NULL;
	}
	mutex_unlock(&pernet->mutex);
	return shadow;
}

/**
 * ipcuckoo_shadow_release() - free the shadows of a socket that was closed
 * @pernet:	namespace
 * @portid:	the socket's port, which another socket may have by now
 *
 * Netlink sets SOCK_DEAD on a socket before it calls the notifier.
 *
 * Context: process context; takes the namespace's mutex.
 */
void ipcuckoo_shadow_release(struct ipcuckoo_net *pernet, u32 portid)
{
	struct ipcuckoo_shadow *shadow;
	u32 id = 0;

	/* No lock is needed: shadows of this socket were counted while it sent requests. */
	if (!READ_ONCE(pernet->shadows_count))
		return;
	while ((shadow = take_orphan(pernet, portid, &id))) {
		drop(shadow);
		cond_resched();
	}
}

/**
 * ipcuckoo_shadow_exit_net() - free all shadows of a namespace that ends
 * @pernet:	namespace; no more requests can come
 */
void ipcuckoo_shadow_exit_net(struct ipcuckoo_net *pernet)
{
	struct ipcuckoo_shadow *shadow;

	for (;;) {
		mutex_lock(&pernet->mutex);
		shadow = rb_entry_safe(rb_first(&pernet->shadows), struct ipcuckoo_shadow,
				       node);
		if (shadow)
			tree_remove(pernet, shadow);
		mutex_unlock(&pernet->mutex);
		if (!shadow)
			break;
		drop(shadow);
		cond_resched();
	}
}

/* Lock a shadow that other requests of its socket may be using. */
static int lock(struct ipcuckoo_shadow *shadow, unsigned long until)
{
	int err = ipcuckoo_lock_turn(&shadow->turn, until);

	/* ipcuckoo_shadow_commit() has locked the set. */
	if (!err)
		mutex_lock_nested(&shadow->entries.mutex, SINGLE_DEPTH_NESTING);
	return err;
}

/**
 * ipcuckoo_shadow_unlock() - unlock a shadow
 * @shadow:	shadow, locked
 */
void ipcuckoo_shadow_unlock(struct ipcuckoo_shadow *shadow)
{
	ipcuckoo_rebuild_free_queue(&shadow->entries);
	mutex_unlock(&shadow->entries.mutex);
	up(&shadow->turn);
}

/**
 * ipcuckoo_shadow_lock() - lock a shadow that was not committed
 * @shadow:	shadow
 * @until:	from ipcuckoo_lock_limit(), or IPCUCKOO_FOREVER
 *
 * Context: process context; takes the shadow's mutex.
 * Return: 0; -ESTALE if the shadow was committed; -EINTR for a fatal signal; -EAGAIN if another
 * request uses the shadow for too long.
 */
int ipcuckoo_shadow_lock(struct ipcuckoo_shadow *shadow, unsigned long until)
{
	int err = lock(shadow, until);

	if (!err && shadow->spent) {
		ipcuckoo_shadow_unlock(shadow);
		err = -ESTALE;
	}
	return err;
}

/**
 * ipcuckoo_shadow_add() - add entries to a shadow
 * @shadow:	shadow
 * @batch:	entries
 * @result:	filled in
 *
 * Context: process context; takes the shadow's mutex.
 * Return: 0, -ESTALE if the shadow was committed, -EINTR for a fatal signal, -EAGAIN if another
 * request uses the shadow for too long, or another error of uapi/ipcuckoo.h. On error the entries
 * before the one at fault have been added.
 */
int ipcuckoo_shadow_add(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch,
			struct ipcuckoo_change_result *result)
{
	struct ipcuckoo_entry_attrs attrs;
	struct ipcuckoo_entry entry;
	int err;

	*result = (struct ipcuckoo_change_result){ .at.kind = IPCUCKOO_KINDS };
	err = ipcuckoo_shadow_lock(shadow, ipcuckoo_lock_limit());
	if (err)
		return err;
	result->at = (struct ipcuckoo_batch_cursor)IPCUCKOO_BATCH_BEGIN;
	while (ipcuckoo_batch_next(batch, &result->at, &entry)) {
		attrs = ipcuckoo_batch_attrs(batch, &result->at, shadow->set->timeout);
		err = ipcuckoo_change_add_one(shadow->set, &shadow->entries, &entry,
					      &attrs);
		if (err && err != -EEXIST)
			goto out;
		if (err)
			result->unchanged++;
		else
			result->changed++;
	}
	err = 0;
out:
	shadow->changed += result->changed;
	shadow->unchanged += result->unchanged;
	ipcuckoo_shadow_unlock(shadow);
	return err;
}

/**
 * ipcuckoo_shadow_del() - delete entries from a shadow
 * @shadow:	shadow
 * @batch:	entries
 * @exist:	an entry that does not exist is not an error
 * @result:	filled in
 *
 * Context: process context; takes the shadow's mutex.
 * Return: as ipcuckoo_shadow_add(). On error the entries before the one at fault have been deleted.
 */
int ipcuckoo_shadow_del(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result)
{
	struct ipcuckoo_entry entry;
	int err;

	*result = (struct ipcuckoo_change_result){ .at.kind = IPCUCKOO_KINDS };
	err = ipcuckoo_shadow_lock(shadow, ipcuckoo_lock_limit());
	if (err)
		return err;
	result->at = (struct ipcuckoo_batch_cursor)IPCUCKOO_BATCH_BEGIN;
	while (!err && ipcuckoo_batch_next(batch, &result->at, &entry)) {
		err = ipcuckoo_change_del_one(shadow->set, &shadow->entries, &entry);
		if (!err) {
			result->changed++;
		} else if (err == -ENOENT && exist) {
			result->unchanged++;
			err = 0;
		}
	}
	ipcuckoo_shadow_unlock(shadow);
	return err;
}

/* Does a shadow have more entries than its set may hold? Additions to the shadow are checked
 * against the limit, but the limit may have been lowered after them.
 */
static bool over_limit(struct ipcuckoo_shadow *shadow)
{
	u32 limit = ipcuckoo_set_limit(shadow->set);

	return limit && ipcuckoo_usage_live(&shadow->entries) > limit;
}

/**
 * ipcuckoo_shadow_check() - can a shadow become the contents of its set?
 * @shadow:	shadow, locked, and its set
 * @override:	it can even if the set has changed since the shadow was created
 *
 * What packets have changed in a set of ip_set is no change here, unless the shadow began with the
 * entries of the set.
 *
 * Return: 0; -ESTALE if the set has changed, or the shadow was committed before; -ESTALE
 * also with @override if the set was swapped, because it has another name now than its
 * shadow was created for; -ENOSPC if the shadow has more entries than the set's limit.
 */
int ipcuckoo_shadow_check(struct ipcuckoo_shadow *shadow, bool override)
{
	const struct ipcuckoo_set *set = shadow->set;

	if (shadow->spent || shadow->swaps != set->swaps ||
	    (!override && shadow->generation != generation(shadow)))
		return -ESTALE;
	return over_limit(shadow) ? -ENOSPC : 0;
}

/**
 * ipcuckoo_shadow_swap_in() - make a shadow the contents of its set
 * @shadow:	shadow, locked, and its set; afterwards @spent is set
 *
 * The caller notifies listeners.
 */
void ipcuckoo_shadow_swap_in(struct ipcuckoo_shadow *shadow)
{
	ipcuckoo_entries_replace(&shadow->set->entries, &shadow->entries);
	shadow->spent = true;
}

/**
 * ipcuckoo_shadow_commit() - replace the contents of a set by those of its shadow
 * @shadow:	shadow; on success @spent is set
 * @override:	commit even if the set has changed since the shadow was created
 * @entries:	set to the number of entries that the set has then
 *
 * Context: process context; takes the mutexes of the set and of the shadow.
 * Return: 0, or an error, and then nothing has changed: -ENOENT if the set was destroyed, or
 * does not exist yet; -EINTR for a fatal signal; -EAGAIN if others use the set or the shadow for
 * too long; or an error of ipcuckoo_shadow_check().
 */
int ipcuckoo_shadow_commit(struct ipcuckoo_shadow *shadow, bool override,
			   u32 *entries)
{
	unsigned long until = ipcuckoo_lock_limit();
	struct ipcuckoo_set *set = shadow->set;
	int err;

	err = ipcuckoo_set_lock(set, until);
	if (err)
		return err;
	err = lock(shadow, until);
	if (err)
		goto out;
	err = ipcuckoo_set_is_new(set) ? -ENOENT : ipcuckoo_shadow_check(shadow, override);
	if (!err) {
		/* Trimming is optional: it can fail if memory is short. */
		ipcuckoo_entries_trim(&shadow->entries);
		ipcuckoo_shadow_swap_in(shadow);
		ipcuckoo_event_set(set, set->name, IPCUCKOO_EVENT_SET_REPLACED);
		*entries = ipcuckoo_usage_live(&set->entries);
	}
	ipcuckoo_shadow_unlock(shadow);
out:
	ipcuckoo_set_unlock(set);
	return err;
}

/**
 * ipcuckoo_shadow_trim() - trim the tables of a shadow that is to be committed
 * @shadow:	shadow, not locked
 * @until:	from ipcuckoo_lock_limit()
 *
 * Trimming is optional, and may fail without memory.
 *
 * Context: process context, before any lock of the commit is taken.
 * Return: 0, -EINTR or -EAGAIN.
 */
int ipcuckoo_shadow_trim(struct ipcuckoo_shadow *shadow, unsigned long until)
{
	int err = lock(shadow, until);

	if (err)
		return err;
	/* Do not trim a filter: an empty one would be freed, but a new set must have one. */
	if (!shadow->spent && !ipcuckoo_entries_approximate(&shadow->entries))
		ipcuckoo_entries_trim(&shadow->entries);
	ipcuckoo_shadow_unlock(shadow);
	return 0;
}
