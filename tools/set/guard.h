/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Not to lock oneself out: what would drop the packets of the SSH session that
 * the tool is run from is refused, unless --force is given.
 */
#ifndef IPCUCKOO_TOOL_GUARD_H
#define IPCUCKOO_TOOL_GUARD_H

#include "cli/tool.h"
#include "nl/attachment.h"

/* Whether a set has an address, or will have it. */
typedef bool guard_has(struct tool *tool, const void *set,
		       const struct address_range *address);

/**
 * struct guard_change - what becomes of entries
 * @entries:	these
 * @add:	they are added; else deleted
 * @nomatch:	as exceptions
 * @replace:	nothing else will be there
 * @blocked:	as sources they are about to be dropped, whatever is attached now
 */
struct guard_change {
	const struct packed *entries;
	bool add;
	bool nomatch;
	bool replace;
	bool blocked;
};

/* All return STATUS_OK, or STATUS_REFUSED after a message. */
/* With no @has the kernel is asked, about @set, a name. */
int guard_attach(struct tool *tool, const struct nl_attachment *attachment,
		 guard_has *has, const void *set);
int guard_entries(struct tool *tool, const char *name,
		  const struct guard_change *change);
/* What is attached comes to work on other sets, or on sets that change in many ways.
 * @becomes: what @has is to be asked about for a name, NULL if that is not concerned
 */
int guard_names(struct tool *tool, const void *(*becomes)(const void *data, const char *name),
		const void *data, guard_has *has);

#endif /* IPCUCKOO_TOOL_GUARD_H */
