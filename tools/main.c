// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipcuckoo: control of the ipcuckoo kernel module. The table of commands in
 * cmd/commands.c is where to start reading.
 */

#include "cli/globals.h"
#include "cli/tool.h"

/* What ipset's scripts expect of ipset's commands: 1 for all that failed but
 * for words that were wrong. Our own tell more.
 */
static int exit_status(const struct command *command, int status)
{
	bool ipset = command && command->flags & COMMAND_IPSET;

	if (status == STATUS_SYNTAX)
		return !command || ipset ? STATUS_NO : STATUS_USAGE;
	return ipset && status > STATUS_USAGE ? STATUS_NO : status;
}

static int run(struct tool *tool, struct words *words)
{
	const char *name;
	int status;

	status = take_globals(tool, words);
	if (status)
		return status;
	if (tool->version)
		return print_tool_version(tool);
	if (!words->count) {
		if (tool->help)
			print_usage(stdout);
		return tool->help ? STATUS_OK :
		       fail(tool, STATUS_USAGE,
			    "No command specified.\nTry `ipcuckoo help' for more information.");
	}
	name = words->word[0];
	words->word++;
	words->count--;
	words->plain--;
	tool->command = find_command(name);
	if (!tool->command)
		return fail_command(tool, name);
	if (tool->help) {
		print_help(tool->command);
		return STATUS_OK;
	}
	return tool->command->run(tool, words);
}

/**
 * run_words - run one command
 * @tool:	the run; what options of the command changed in it stays changed
 * @words:	its words
 *
 * Return: the status to exit with.
 */
int run_words(struct tool *tool, struct words *words)
{
	int status = run(tool, words);

	return exit_status(tool->command, status);
}

int main(int argc, char **argv)
{
	struct words words = { .word = argv + 1, .count = argc - 1 };
	static char buffer[64 << 10];
	struct tool tool = { 0 };
	int status;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	status = run_words(&tool, &words);
	nl_close(tool.nl);
	if ((fflush(stdout) || ferror(stdout)) && status <= STATUS_NO)
		status = exit_status(tool.command,
				     fail(&tool, STATUS_REFUSED,
					  "the output cannot be written: %s",
					  strerror(errno)));
	return status;
}
