/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command line runs. */
#ifndef IPCUCKOO_TOOL_COMMANDS_H
#define IPCUCKOO_TOOL_COMMANDS_H

#include "cli/command.h"

/* The set that block and unblock work on. */
#define BLOCK_SET	"blocklist"

/* Return: the status to exit with. */
int run_words(struct tool *tool, struct words *words);
/* That of a command that ended with this one. */
int exit_status(const struct command *command, int status);

/* In the order of the table. */
int run_create(struct tool *tool, struct words *words);
int run_destroy(struct tool *tool, struct words *words);
int run_flush(struct tool *tool, struct words *words);
int run_rename(struct tool *tool, struct words *words);
int run_swap(struct tool *tool, struct words *words);
int run_change(struct tool *tool, struct words *words);
int run_list(struct tool *tool, struct words *words);
int run_restore(struct tool *tool, struct words *words);
int run_save(struct tool *tool, struct words *words);
int run_interactive(struct tool *tool, struct words *words);
int run_quit(struct tool *tool, struct words *words);
int run_add(struct tool *tool, struct words *words);
int run_del(struct tool *tool, struct words *words);
int run_test(struct tool *tool, struct words *words);
int run_count(struct tool *tool, struct words *words);
int run_load(struct tool *tool, struct words *words);
int run_attach(struct tool *tool, struct words *words);
int run_detach(struct tool *tool, struct words *words);
int run_block(struct tool *tool, struct words *words);
int run_unblock(struct tool *tool, struct words *words);
int run_monitor(struct tool *tool, struct words *words);
int run_stats(struct tool *tool, struct words *words);
int run_top(struct tool *tool, struct words *words);
int run_version(struct tool *tool, struct words *words);
int run_help(struct tool *tool, struct words *words);

/* What the options -h and -V are for. */
int print_tool_version(const struct tool *tool);
void print_usage(FILE *to);
void print_help(const struct command *command);

#endif /* IPCUCKOO_TOOL_COMMANDS_H */
