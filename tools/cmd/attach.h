/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of attach, which restore reads as well. */
#ifndef IPCUCKOO_TOOL_ATTACH_H
#define IPCUCKOO_TOOL_ATTACH_H

#include "cmd/commands.h"
#include "nl/attachment.h"

/* NAME src|dst|both VERDICT, and what may stand behind it. */
int parse_attach(const struct tool *tool, struct words *words,
		 struct nl_attachment *attachment);
/* Whether strangers are to meet that, too. */
int check_approximate(const struct tool *tool, const struct nl_set *set,
		      const struct nl_attachment *attachment);

#endif /* IPCUCKOO_TOOL_ATTACH_H */
