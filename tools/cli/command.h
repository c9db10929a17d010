/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command is, and how its name is found. */
#ifndef IPCUCKOO_TOOL_COMMAND_H
#define IPCUCKOO_TOOL_COMMAND_H

#include "cli/tool.h"

enum {
	COMMAND_IPSET	= 1 << 0,	/* one of ipset's */
	COMMAND_TYPED	= 1 << 1,	/* its words depend on the type of the set */
};

#define COMMAND_ALIASES	3

typedef int command_fn(struct tool *tool, struct words *words);

/**
 * struct command - a verb
 * @name:	the verb
 * @run:	does it; returns a status
 * @flags:	COMMAND_*
 * @aliases:	ipset's other names for it
 * @usage:	its grammar, without the verb
 * @summary:	half a line for the list of commands
 * @help:	the rest of its help: explanations, examples
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

/* All of them (cmd/commands.c); one without a name ends them. */
extern const struct command commands[];

const struct command *find_command(const char *word);
/* " (did you mean ...?)" for a word that is none of their names. */
const char *command_hint(const char *name);
int fail_command(const struct tool *tool, const char *name);

#endif /* IPCUCKOO_TOOL_COMMAND_H */
