/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that run commands. */
#ifndef IPCUCKOO_TOOL_COMMANDS_H
#define IPCUCKOO_TOOL_COMMANDS_H

#include "cli/command.h"

/* The set that block and unblock work on. */
#define BLOCK_SET	"blocked"

/* The first and the last line of save --all, by which restore sees whether a file is whole */
#define SAVE_BEGIN	"# ipcuckoo save --all: the last line is \"# end\""
#define SAVE_END	"# end"

/* Return: the exit status. */
int run_words(struct tool *tool, struct words *words);
/* The exit status of a command whose run function returned @status. */
int exit_status(const struct command *command, int status);

/* The functions in the table of commands. */
command_fn run_create, run_destroy, run_flush, run_rename, run_swap,
	   run_change, run_list, run_restore, run_save, run_interactive,
	   run_quit, run_add, run_del, run_test, run_count, run_load,
	   run_attach, run_detach, run_block, run_unblock, run_monitor,
	   run_publish, run_fleet, run_why, run_stats, run_top, run_version, run_help;

/* For the options -h and -V. */
int print_tool_version(const struct tool *tool);
void print_usage(FILE *to);
void print_help(const struct command *command);

#endif /* IPCUCKOO_TOOL_COMMANDS_H */
