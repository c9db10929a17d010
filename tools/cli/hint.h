/* SPDX-License-Identifier: GPL-2.0-only */
/* Says what to type instead of a wrong word. */
#ifndef IPCUCKOO_TOOL_HINT_H
#define IPCUCKOO_TOOL_HINT_H

#include "cli/tool.h"

/* All return a text that begins with "; ", or "" if nobody knows. It is valid until the next call. */

/* Instead of an unknown command. @words: those behind it, or NULL */
const char *command_hint(const struct tool *tool, const char *name, const struct words *words);

/* About an argument that is missing behind @words */
const char *missing_hint(const struct command *command, const struct words *words);

/* Instead of a word that is no entry */
const char *entry_hint(const struct command *command, const char *word);

/* Before a word that is the value of a keyword of the command */
const char *value_hint(const struct command *command, const char *word);

/* Instead of a word that the grammar of a command does not have */
const char *word_hint(const struct command *command, const char *word);

#endif /* IPCUCKOO_TOOL_HINT_H */
