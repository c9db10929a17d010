/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of create, for the commands create and restore. */
#ifndef IPCUCKOO_TOOL_CREATE_H
#define IPCUCKOO_TOOL_CREATE_H

#include "cmd/commands.h"

int parse_create(const struct tool *tool, struct words *words,
		 struct nl_set *set, bool *has_maxelem);

/* Print that a set of this name exists; with -exist: that it has other options. Return:
 * STATUS_REFUSED.
 */
int fail_created_already(const struct tool *tool, const char *name);

#endif /* IPCUCKOO_TOOL_CREATE_H */
