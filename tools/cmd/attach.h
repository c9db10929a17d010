/* SPDX-License-Identifier: GPL-2.0-only */
/* Parsing of attach, for the commands attach and restore. */
#ifndef IPCUCKOO_TOOL_ATTACH_H
#define IPCUCKOO_TOOL_ATTACH_H

#include "cmd/commands.h"
#include "nl/attachment.h"

/* Parse NAME src|dst|both VERDICT and the options after it. */
int parse_attach(const struct tool *tool, struct words *words,
		 struct nl_attachment *attachment);
/* Refuse to drop or accept with an approximate set, unless --approximate was given. */
int check_approximate(const struct tool *tool, const struct nl_set *set,
		      const struct nl_attachment *attachment);

#endif /* IPCUCKOO_TOOL_ATTACH_H */
