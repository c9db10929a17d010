/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes the sets in the kernel. The functions return NULL, or what went wrong and what to do
 * about it, allocated. Nothing has changed then, unless the text says so.
 */
#ifndef IPCUCKOOD_KERNEL_H
#define IPCUCKOOD_KERNEL_H

#include "daemon/set/target.h"
#include "lib/extended.h"

#define KERNEL_CHANGE_SIZE	160

/* Open the connection if there is none, and look for the set. If it does not exist, create it; in
 * a dry run, only say that it would be created. Sets target->options and target->lacking.
 */
char *kernel_open(struct target *target);
/* Whether ipcuckoo-upgrade is replacing the module: sets come and go, and it wants to make them itself. */
bool kernel_is_upgraded(void);
/* Whether the module is loaded; opens the connection. */
bool kernel_is_there(struct daemon *daemon);
/**
 * kernel_find_change - look whether somebody else has changed the set
 * @target:	the set, which the daemon has made what it shall be; reads entries and rules, too
 * @what:	room for a sentence that says what was found
 *
 * Return: whether that is so, or the set is not there.
 */
bool kernel_find_change(struct target *target, char what[KERNEL_CHANGE_SIZE]);
/* Close the connection; the next call opens it again. */
void kernel_close(struct daemon *daemon);

/* Get the entry after the last one in *@cursor, and go on. Return: false at the end. */
typedef bool kernel_next_fn(void *cursor, struct extended_entry *entry);

/* Get arrays of entries that have nothing but an address. They are valid until the next call.
 * Return: 1; 0 at the end; or -ENOMEM.
 */
typedef int kernel_plain_fn(void *cursor, const struct packed **entries);

/**
 * struct kernel_entries - the entries that a set shall have
 * @plain:	gives arrays of them. An entry may be in several, if it has no other values in @next
 * @next:	gives the others one by one, behind all arrays; their comments stay theirs
 * @cursor:	argument of both
 * @coming:	how many entries of each kind come, at least roughly; only the counts matter
 */
struct kernel_entries {
	kernel_plain_fn *plain;
	kernel_next_fn *next;
	void *cursor;
	struct packed coming;
};

/* Replace all entries of the set in one step, and the set if it lacks extensions. @append: keep the
 * entries of the set, too.
 */
char *kernel_replace(struct target *target, const struct kernel_entries *entries, bool append);

/**
 * kernel_change - add and delete entries; those to add may exist, those to delete may not
 * @target:	the set
 * @add:	entries to add, with their extensions
 * @del:	entries to delete
 * @atomic:	do all of it in one step
 */
char *kernel_change(struct target *target, const struct extended *add, const struct packed *del,
		    bool atomic);

/* Read all entries of the set, sorted. None if the set does not exist. */
char *kernel_read(struct target *target, struct packed *entries);

#endif /* IPCUCKOOD_KERNEL_H */
