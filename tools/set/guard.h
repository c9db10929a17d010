/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protects users from locking themselves out, and from blocking the internet. A change is refused,
 * unless --force is given, if after it the attachments, in the order in which they run, would drop
 * what they did not drop before:
 *
 *   - packets of the SSH session that the tool runs in,
 *   - packets from or to an address that this machine needs (nl/machine.h),
 *   - more of the internet than one change may add (lib/exposure.h).
 */
#ifndef IPCUCKOO_TOOL_GUARD_H
#define IPCUCKOO_TOOL_GUARD_H

#include "set/chain.h"

/* Room for what struct guard_set.where writes */
#define GUARD_TEXT_SIZE	320

/**
 * struct guard_attach - an attachment that a change makes
 * @attachment:	the attachment
 * @line:	the command, or line of restore, that attaches it; NULL if the change is about
 *		entries, and attaches the set for them
 * @set:	what it will look addresses up in
 */
struct guard_attach {
	const struct nl_attachment *attachment;
	const struct tool *line;
	struct guard_set set;
};

/**
 * struct guard_change - a change that guard() checks
 * @becomes:	for each attachment that there is: changes @set, which is the set that it looks up
 *		now, into what it will look up; NULL: all stay the same
 * @data:	for @becomes
 * @detach:	the attachments that match are removed, as by nl_detach(); or NULL
 * @attach:	attachments that are made
 * @count:	number of @attach
 */
struct guard_change {
	void (*becomes)(const void *data, const char *name, struct guard_set *set);
	const void *data;
	const struct nl_attachment *detach;
	const struct guard_attach *attach;
	size_t count;
};

/* Return: STATUS_OK, or another status after a message. */
int guard(struct tool *tool, const struct guard_change *change);

/* Take the widest out of the entries that are to be added to a set, until the others cover no more of the
 * internet than one change may add. @entries: as bulk_sort() makes them. @refuse: called with a message
 * about each that is taken out; or about all, if they are hosts or it cannot be found out.
 */
void guard_narrow(struct tool *tool, const struct nl_set *set, struct packed *entries,
		  void (*refuse)(void *to, size_t count, const char *message), void *to);

#endif /* IPCUCKOO_TOOL_GUARD_H */
