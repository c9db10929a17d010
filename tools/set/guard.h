/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protects users from locking themselves out: a change that would drop packets of the
 * SSH session that the tool runs in is refused, unless --force is given.
 */
#ifndef IPCUCKOO_TOOL_GUARD_H
#define IPCUCKOO_TOOL_GUARD_H

#include "cli/tool.h"
#include "nl/attachment.h"

/* A function that says whether a set contains an address, or will contain it. Return: 1, 0,
 * or a negative errno if the kernel could not be asked.
 */
typedef int guard_has(struct tool *tool, const void *set,
		       const struct address_range *address);

/**
 * struct guard_change - a change of entries that guard_entries() checks
 * @entries:	the entries
 * @add:	they are added; otherwise deleted
 * @nomatch:	they are added as exceptions
 * @replace:	they replace all entries of the set
 * @blocked:	the set will be attached as "src drop", whatever is attached now
 */
struct guard_change {
	const struct packed *entries;
	bool add;
	bool nomatch;
	bool replace;
	bool blocked;
};

/* Whether an error of a test means that the set does not contain the address: there is no
 * such set, or it cannot hold the address.
 */
bool guard_is_no(int err);

/* All return STATUS_OK, or another status after a message. */
/* Without @has, ask the kernel, whatever @set is: the name is attachment->set. */
int guard_attach(struct tool *tool, const struct nl_attachment *attachment,
		 guard_has *has, const void *set);
int guard_entries(struct tool *tool, const char *name,
		  const struct guard_change *change);
/* Check a change of what attachments look up: other sets, or changed sets. @becomes
 * returns what stands behind a name after the change, as an argument for @has; NULL if
 * the name is not concerned. Without @has, it is the name of a set in the kernel.
 */
int guard_names(struct tool *tool, const void *(*becomes)(const void *data, const char *name),
		const void *data, guard_has *has);

#endif /* IPCUCKOO_TOOL_GUARD_H */
