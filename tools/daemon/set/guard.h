/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps sources from blocking what must not be blocked: an address that this machine needs
 * (nl/machine.h), or more of the internet than the set allows, in one change or in all (lib/exposure.h).
 * "protect = no" in [set] turns it off, for sets that do not drop; what "except" has, no source can
 * block anyway.
 *
 * A feed is refused as a whole, until somebody agrees: see guard_doubt(). What CrowdSec, Redis and
 * routing tables say is taken without such entries: struct source.kept_out has them. They stay in the
 * contents of the source, since those are what it says, and what is told to others. Routes have limits
 * of their own for how much they block. If the sources have too much together all the same, since the
 * configuration is another one or somebody agreed to it, guard_total() leaves sources out.
 */
#ifndef IPCUCKOOD_GUARD_H
#define IPCUCKOOD_GUARD_H

#include "daemon/set/source.h"

/* Before contents replace those of the source, or change them: find what has to be left out. */
void guard_deliver(struct source *source, const struct contents *next);
void guard_change(struct source *source, const struct source_change *changes, size_t count);
/* Somebody agreed to these entries of the next contents: what they cover of the addresses that the
 * machine needs, they may cover from now on, as long as the source has them.
 */
void guard_agree(struct source *source, const struct packed *entries);
/* Write what is kept out, and what was agreed to, into the notes of the source. */
void guard_note(struct source *source);
/* When the source starts: read these notes. When all sources of the set have theirs, and their contents,
 * behind guard_look(): judge what the source has, as addresses and the configuration may be others now.
 */
void guard_load(struct source *source);
void guard_start(struct source *source);
void guard_free(struct source *source);

/* Look which addresses the machine needs now. Return: whether they are others than at the last time.
 * Then guard_follow() finds out what that means for what a source has, and returns whether the set has
 * to change.
 */
bool guard_look(void);
bool guard_follow(struct source *source);

/* Why entries, sorted, none repeated, must not be added to those of the source that are in force, or,
 * with @whole, come instead of them; NULL if they may. Allocated. *@named: gets the entry that it names.
 */
char *guard_doubt(const struct source *source, const struct packed *entries, bool whole,
		  struct member *named);

/* Before the set is changed: find the sources that it must not get, as all of them together would
 * drop more of the internet than it allows: the largest ones, as few as possible. Return: whether
 * these are others than at the last time, so that the set has to be replaced. Until changes of more
 * than target->spare, the answer stays the same.
 */
bool guard_total(struct target *target);

/* What is left out, and why, for people; NULL if nothing is. Allocated. */
char *guard_text(const struct source *source);

/* Whether the set does not get an entry of the source. */
static inline bool guard_keeps_out(const struct source *source, enum entry_kind kind,
				    const uint8_t *entry)
{
	return source->left_out || packed_has(&source->kept_out, kind, entry);
}

#endif /* IPCUCKOOD_GUARD_H */
