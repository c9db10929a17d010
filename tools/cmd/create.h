/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of create, which restore reads as well. */
#ifndef IPCUCKOO_TOOL_CREATE_H
#define IPCUCKOO_TOOL_CREATE_H

#include "cmd/commands.h"

int parse_create(const struct tool *tool, struct words *words,
		 struct nl_set *set, bool *has_maxelem);

/* Say that there is a set of that name: another one, if the run has -exist. Return:
 * STATUS_REFUSED.
 */
int fail_created_already(const struct tool *tool, const char *name);

#endif /* IPCUCKOO_TOOL_CREATE_H */
