/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that go with every command, and may stand anywhere. */
#ifndef IPCUCKOO_TOOL_GLOBALS_H
#define IPCUCKOO_TOOL_GLOBALS_H

#include "cli/tool.h"

int take_globals(struct tool *tool, struct words *words);

/* Whether a set's name is an option of the tool too, so that "--" has to stand
 * before it.
 */
bool needs_dashes(const char *name);

/* For help: a line for each, and for who completes words, all in one line. */
void print_globals(FILE *to);
void print_global_words(void);

#endif /* IPCUCKOO_TOOL_GLOBALS_H */
