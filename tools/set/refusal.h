/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages for changes of sets that the kernel refused: in ipset's words where ipset has
 * the same. All are called right after the request that failed, and return the exit
 * status.
 */
#ifndef IPCUCKOO_TOOL_REFUSAL_H
#define IPCUCKOO_TOOL_REFUSAL_H

#include "cli/tool.h"

int fail_created(const struct tool *tool, const char *name);
int fail_destroyed(const struct tool *tool, const char *name);
int fail_renamed(const struct tool *tool, const char *from, const char *to);
int fail_swapped(const struct tool *tool, const char *name, const char *other);
int fail_attach(const struct tool *tool, const char *name);

/* The same where restore knows it before it asks the kernel. */
int fail_created_already(const struct tool *tool, const char *name);
int fail_renamed_already(const struct tool *tool, const char *to);
int fail_swapped_missing(const struct tool *tool, const char *other);

/* A command has changed a set, or all sets if @set is NULL: if ipcuckood keeps it, print a warning that
 * says that the change will not last.
 */
void warn_kept(const struct tool *tool, const char *set);

#endif /* IPCUCKOO_TOOL_REFUSAL_H */
