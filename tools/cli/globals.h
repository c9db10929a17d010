/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that every command takes, before or after its name. */
#ifndef IPCUCKOO_TOOL_GLOBALS_H
#define IPCUCKOO_TOOL_GLOBALS_H

#include "cli/tool.h"

int take_globals(struct tool *tool, struct words *words);

/* Whether the name of a set is also an option of the tool. The user must write "--"
 * before such a name.
 */
bool needs_dashes(const char *name);

/* Print the options: for help, one a line; for help --words, all in one line. */
void print_globals(FILE *to);
void print_global_words(FILE *to);

#endif /* IPCUCKOO_TOOL_GLOBALS_H */
