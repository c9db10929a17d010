/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands, and how to find a command by its name. */
#ifndef IPCUCKOO_TOOL_COMMAND_H
#define IPCUCKOO_TOOL_COMMAND_H

#include "cli/tool.h"

enum {
	COMMAND_IPSET	= 1 << 0,	/* ipset has this command */
	COMMAND_TYPED	= 1 << 1,	/* its options depend on the type of the set */
	COMMAND_CREATE	= 1 << 2,	/* it has the options of sets (nl/option.h) */
	COMMAND_LOSES	= 1 << 3,	/* entries or sets may be lost: no hint to it but for a slip */
	COMMAND_FILE	= 1 << 4,	/* it reads or writes what -file names */
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
/* An example of how to use a command, from its help. */
const char *command_example(const struct command *command, char *text, size_t size);
int fail_command(const struct tool *tool, const char *name, const struct words *words);

#endif /* IPCUCKOO_TOOL_COMMAND_H */
