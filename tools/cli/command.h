/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands, and how to find a command by its name. */
#ifndef IPCUCKOO_TOOL_COMMAND_H
#define IPCUCKOO_TOOL_COMMAND_H

#include "cli/tool.h"

enum {
	COMMAND_IPSET	= 1 << 0,	/* ipset has this command */
	COMMAND_TYPED	= 1 << 1,	/* its options depend on the type of the set */
	COMMAND_CREATE	= 1 << 2,	/* it has the options of sets (nl/option.h) */
};

#define COMMAND_ALIASES	3

typedef int command_fn(struct tool *tool, struct words *words);

/**
 * struct command - a command
 * @name:	the name
 * @run:	runs the command; returns a status
 * @flags:	COMMAND_*
 * @aliases:	other names
 * @usage:	the grammar, without the name and without options of sets
 * @summary:	half a line for the list of commands
 * @help:	the rest of the help: explanations, examples; options of sets follow
 */
struct command {
	const char *name;
	command_fn *run;
	int flags;
	const char *aliases[COMMAND_ALIASES];
	const char *usage;
	const char *summary;
	const char *help;
};

/* All commands (cmd/commands.c). A command without a name ends the table. */
extern const struct command commands[];

const struct command *find_command(const char *word);
/* The grammar, without the name. Valid until the next call. */
const char *command_usage(const struct command *command);
/* "; did you mean ...?" with the command that is spelt most like @name; "" if none is. */
const char *command_hint(const char *name);
int fail_command(const struct tool *tool, const char *name);

#endif /* IPCUCKOO_TOOL_COMMAND_H */
