/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets whose contents a commit locks. */
#ifndef _IPCUCKOO_COMMIT_SETS_H
#define _IPCUCKOO_COMMIT_SETS_H

#include "commit.h"
#include "set.h"

/**
 * struct ipcuckoo_commit_set - a set whose contents a commit has locked
 * @set:	the set
 * @used:	before the commit it was attached, or rules of iptables referred to it
 * @swapped:	the commit swaps it
 * @last:	number of the last change of its contents, from 1; 0: there is none
 * @changed_late: that change comes after a swap of the set
 * @destroyed:	that change destroys the set
 */
struct ipcuckoo_commit_set {
	struct ipcuckoo_set *set;
	bool used;
	bool swapped;
	unsigned int last;
	bool changed_late;
	bool destroyed;
};

/**
 * struct ipcuckoo_commit_sets - all of them, each set once
 * @pernet:	their namespace, whose names are locked
 * @list:	the sets, sorted by address
 * @count:	how many
 * @held:	how many contents are locked now: [1] of sets of ip_set, [0] of other sets and of
 *		shadows
 */
struct ipcuckoo_commit_sets {
	struct ipcuckoo_net *pernet;
	struct ipcuckoo_commit_set *list;
	unsigned int count;
	unsigned int held[2];
};

int ipcuckoo_commit_sets_collect(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_net *pernet,
				 const struct ipcuckoo_commit_change *changes, unsigned int count);
void ipcuckoo_commit_sets_note_used(struct ipcuckoo_commit_sets *sets);
bool ipcuckoo_commit_set_late(const struct ipcuckoo_commit_set *set);
bool ipcuckoo_commit_set_refused(const struct ipcuckoo_commit_set *set);
bool ipcuckoo_commit_sets_any_read(const struct ipcuckoo_commit_sets *sets);
bool ipcuckoo_commit_sets_any_ipset(const struct ipcuckoo_commit_sets *sets);
void ipcuckoo_commit_sets_free(struct ipcuckoo_commit_sets *sets);
struct ipcuckoo_commit_set *ipcuckoo_commit_sets_find(struct ipcuckoo_commit_sets *sets,
						      struct ipcuckoo_set *set);
int ipcuckoo_commit_sets_lock(struct ipcuckoo_commit_sets *sets, unsigned long until);
void ipcuckoo_commit_sets_unlock(struct ipcuckoo_commit_sets *sets);
bool ipcuckoo_commit_sets_hold(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_shadow *shadow);
void ipcuckoo_commit_sets_drop(struct ipcuckoo_commit_sets *sets, struct ipcuckoo_shadow *shadow);

#endif /* _IPCUCKOO_COMMIT_SETS_H */
