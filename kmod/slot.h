/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets whose contents a commit locks. */
#ifndef _IPCUCKOO_SLOT_H
#define _IPCUCKOO_SLOT_H

#include "commit.h"
#include "set.h"

/**
 * struct ipcuckoo_slot - a set whose contents a commit has locked
 * @set:	the set
 * @attached:	it was attached before the commit
 * @swapped:	the commit swaps it
 * @last:	number of the last change of its contents, from 1; 0: there is none
 */
struct ipcuckoo_slot {
	struct ipcuckoo_set *set;
	bool attached;
	bool swapped;
	unsigned int last;
};

/**
 * struct ipcuckoo_slots - all of them, each set once
 * @pernet:	their namespace, whose names are locked
 * @slot:	sorted by address
 * @count:	how many
 * @held:	number of contents that are locked now, of sets and of shadows
 */
struct ipcuckoo_slots {
	struct ipcuckoo_net *pernet;
	struct ipcuckoo_slot *slot;
	unsigned int count;
	unsigned int held;
};

int ipcuckoo_slots_collect(struct ipcuckoo_slots *slots, struct ipcuckoo_net *pernet,
			   const struct ipcuckoo_commit_change *changes, unsigned int count);
void ipcuckoo_slots_note_attached(struct ipcuckoo_slots *slots);
void ipcuckoo_slots_free(struct ipcuckoo_slots *slots);
struct ipcuckoo_slot *ipcuckoo_slots_find(struct ipcuckoo_slots *slots,
					  struct ipcuckoo_set *set);
int ipcuckoo_slots_lock(struct ipcuckoo_slots *slots);
void ipcuckoo_slots_unlock(struct ipcuckoo_slots *slots);
bool ipcuckoo_slots_hold(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e);
void ipcuckoo_slots_drop(struct ipcuckoo_slots *slots, struct ipcuckoo_entries *e);

#endif /* _IPCUCKOO_SLOT_H */
