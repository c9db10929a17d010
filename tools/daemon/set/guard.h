/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps sources from blocking what must not be blocked: an address that this machine needs
 * (nl/machine.h), or more of the internet than the set allows, in one change or in all (lib/exposure.h).
 * "protect = no" in [set] turns it off, for sets that do not drop; what "except" has, no source can
 * block anyway.
 *
 * A feed is refused as a whole, until somebody agrees: see guard_doubt(). What CrowdSec and Redis
 * say is taken without such entries: struct source.kept_out has them. They stay in the contents of
 * the source, since those are what it says, and what is told to others. Routes have limits of their
 * own. In all, the sources are judged where they are put together: guard_total().
 */
#ifndef IPCUCKOOD_GUARD_H
#define IPCUCKOOD_GUARD_H

#include "daemon/set/source.h"

/* The note of a source with what is left out */
#define GUARD_NOTE	"kept-out"

/* Before contents replace those of the source, or change them: find what has to be left out. */
void guard_deliver(struct source *source, const struct contents *next);
void guard_change(struct source *source, const struct source_change *changes, size_t count);
/* What is left out as text, to be stored with the contents; NULL if nothing is. Allocated. */
char *guard_note(const struct source *source);
/* When the source starts: what was left out, as guard_note() wrote it, or NULL. Addresses and the
 * configuration may be others now.
 */
void guard_start(struct source *source, const char *text);
void guard_free(struct source *source);

/* Look which addresses the machine needs now. Return: whether they are others than at the last
 * time, also in an earlier run; false at the first one. Then guard_follow() finds out what that
 * means for what is left out, and returns whether the set has to change.
 */
bool guard_look(const struct daemon *daemon);
bool guard_follow(struct source *source);

/* Why entries, sorted, none repeated, must not be added to those of the source that are in force;
 * NULL if they may. Allocated. *@named: gets the entry that it names.
 */
char *guard_doubt(const struct source *source, const struct packed *entries, struct member *named);

/* Before the set is changed: find the sources that it must not get, as all of them together would
 * drop more of the internet than it allows: the largest ones, until the others fit. Return: whether
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
