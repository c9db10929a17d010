/* SPDX-License-Identifier: GPL-2.0-only */
/* Shadows: the next contents of a set, which no packet sees until they are committed. */
#ifndef _IPCUCKOO_SHADOW_H
#define _IPCUCKOO_SHADOW_H

#include "change.h"
#include "set.h"

struct sock;

/**
 * struct ipcuckoo_shadow - the next contents of a set
 * @entries:	the contents; entries.mutex protects @changed, @unchanged and @spent too
 * @turn:	comes before entries.mutex (lock.h)
 * @set:	the set, with a reference
 * @append:	it began with the entries of the set
 * @generation:	the generation of the set's contents when the shadow was created; without
 *		@append, packets' changes do not count (ipcuckoo_shadow_check())
 * @swaps:	ipcuckoo_set.swaps at that time
 * @changed:	number of entries that SHADOW_ADD added
 * @unchanged:	number of entries of SHADOW_ADD that existed in the shadow already
 * @spent:	a commit has used up the shadow: further requests on it fail with -ESTALE
 * @id:		identifies the shadow among those of its socket
 * @portid:	the socket's port
 * @sk:		the socket, with a reference while the shadow is in the tree
 * @node:	in ipcuckoo_net.shadows, by port and id; under ipcuckoo_net.mutex
 * @ref:	references: of the tree and of running requests
 */
struct ipcuckoo_shadow {
	struct ipcuckoo_entries entries;
	struct semaphore turn;
	struct ipcuckoo_set *set;
	bool append;
	u64 generation;
	u32 swaps;
	u32 changed;
	u32 unchanged;
	bool spent;
	u32 id;
	u32 portid;
	struct sock *sk;
	struct rb_node node;
	struct kref ref;
};

int ipcuckoo_shadow_create(struct ipcuckoo_net *pernet, struct ipcuckoo_set *set,
			   struct sock *sk, u32 portid, bool append,
			   const u32 capacity[IPCUCKOO_KINDS], u32 *id);
struct ipcuckoo_shadow *ipcuckoo_shadow_get(struct ipcuckoo_net *pernet,
					    const struct sock *sk, u32 portid, u32 id);
void ipcuckoo_shadow_put(struct ipcuckoo_shadow *shadow);
void ipcuckoo_shadow_remove(struct ipcuckoo_net *pernet,
			    struct ipcuckoo_shadow *shadow);
void ipcuckoo_shadow_release(struct ipcuckoo_net *pernet, u32 portid);
void ipcuckoo_shadow_exit_net(struct ipcuckoo_net *pernet);

int ipcuckoo_shadow_lock(struct ipcuckoo_shadow *shadow, unsigned long until);
void ipcuckoo_shadow_unlock(struct ipcuckoo_shadow *shadow);

int ipcuckoo_shadow_add(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch,
			struct ipcuckoo_change_result *result);
int ipcuckoo_shadow_del(struct ipcuckoo_shadow *shadow,
			const struct ipcuckoo_batch *batch, bool exist,
			struct ipcuckoo_change_result *result);
int ipcuckoo_shadow_check(struct ipcuckoo_shadow *shadow, bool override);
int ipcuckoo_shadow_trim(struct ipcuckoo_shadow *shadow, unsigned long until);
void ipcuckoo_shadow_swap_in(struct ipcuckoo_shadow *shadow);
int ipcuckoo_shadow_commit(struct ipcuckoo_shadow *shadow, bool override,
			   u32 *entries);

#endif /* _IPCUCKOO_SHADOW_H */
