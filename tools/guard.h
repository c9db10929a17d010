/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Not to lock oneself out: what would drop the packets of the SSH session that
 * the tool is run from is refused, unless --force is given.
 */
#ifndef IPCUCKOO_TOOL_GUARD_H
#define IPCUCKOO_TOOL_GUARD_H

#include "tool.h"

/* All return STATUS_OK, or STATUS_REFUSED after a message. */
/* @has: whether the set has an address, or will have it; NULL to ask the kernel. */
int guard_attach(struct tool *tool, const struct nl_attachment *attachment,
		 bool (*has)(struct tool *tool, const void *set,
			     const struct address_range *address),
		 const void *set);
/* @blocked: they are about to be dropped as sources, whatever is attached now. */
int guard_entries(struct tool *tool, const char *name,
		  const struct packed *entries, bool blocked);

#endif /* IPCUCKOO_TOOL_GUARD_H */
