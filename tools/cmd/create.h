/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of create, for the commands create and restore. */
#ifndef IPCUCKOO_TOOL_CREATE_H
#define IPCUCKOO_TOOL_CREATE_H

#include "cmd/commands.h"

int parse_create(const struct tool *tool, struct words *words,
		 struct nl_set *set, bool *has_maxelem);

#endif /* IPCUCKOO_TOOL_CREATE_H */
