// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipcuckoo: control of the ipcuckoo kernel module. The table of commands in
 * commands.c is where to start reading; here are the options that go with all.
 */
#include <stdlib.h>

#include "tool.h"

/* Options of the tool itself, which may stand anywhere. */
struct globals {
	bool help;
	bool version;
};

static int take_output(struct tool *tool, const char *word)
{
	static const struct meaning outputs[] = {
		{ "plain",	OUTPUT_PLAIN },
		{ "save",	OUTPUT_SAVE },
		{ "xml",	OUTPUT_XML },
		{ "json",	OUTPUT_JSON },
		{ NULL, 0 }
	};
	int output, status;

	status = parse_meaning(tool, "unknown output mode '", "'", outputs, word,
			       &output);
	if (!status)
		tool->output = output;
	return status;
}

static int take_file(struct tool *tool, const char *word)
{
	tool->file = word;
	return STATUS_OK;
}

/* An option of the tool: one that is a flag, or one that has a value. */
struct global {
	const char *brief;
	const char *name;
	bool *flag;
	int (*take)(struct tool *tool, const char *value);
};

static bool is_global(const struct global *global, const char *word)
{
	const char *name = word + 1;

	if (*word != '-')
		return false;
	if (*name == '-')
		name++;
	return !strcmp(global->brief, word) || !strcmp(global->name, name);
}

/* Take an option and its value; *i moves to the last word of it. */
static int take_global(struct tool *tool, struct globals *globals,
		       const struct words *words, int *i, bool *taken)
{
	const struct global all[] = {
		{ "-j", "json",		&tool->json, NULL },
		{ "-q", "quiet",	&tool->quiet, NULL },
		{ "-!", "exist",	&tool->exist, NULL },
		{ "-o", "output",	NULL, take_output },
		{ "-s", "sorted",	&tool->sorted, NULL },
		{ "-n", "name",		&tool->names, NULL },
		{ "-t", "terse",	&tool->terse, NULL },
		{ "-r", "resolve",	&tool->resolve, NULL },
		{ "-f", "file",		NULL, take_file },
		{ "--force", "force",	&tool->force, NULL },
		{ "-h", "help",		&globals->help, NULL },
		{ "-V", "version",	&globals->version, NULL },
	};
	const struct global *global = all, *end = all + sizeof(all) / sizeof(all[0]);

	while (global < end && !is_global(global, words->word[*i]))
		global++;
	*taken = global < end;
	if (!*taken)
		return STATUS_OK;
	if (global->flag) {
		*global->flag = true;
		return STATUS_OK;
	}
	if (*i + 1 == words->count)
		return fail(tool, STATUS_USAGE,
			    "Missing mandatory argument to option %s\nTry `ipcuckoo help' for more information.",
			    words->word[*i]);
	return global->take(tool, words->word[++*i]);
}

/* What stands behind "add SET ENTRY ... comment" is text, whatever it looks like. */
static bool is_text_next(const struct words *words, int kept)
{
	const struct command *command;

	if (kept < 4 || strcmp(words->word[kept - 1], "comment"))
		return false;
	command = find_command(words->word[0]);
	return command && command->run == run_add;
}

/* Take the options out of the words, up to "--". */
static int take_globals(struct tool *tool, struct globals *globals,
			struct words *words)
{
	int i, kept = 0, status;
	bool taken;

	words->plain = words->count;
	for (i = 0; i < words->count; i++) {
		if (words->plain == words->count && !is_text_next(words, kept)) {
			if (!strcmp(words->word[i], "--")) {
				words->plain = kept;
				continue;
			}
			status = take_global(tool, globals, words, &i, &taken);
			if (status)
				return status;
			if (taken)
				continue;
		}
		words->word[kept++] = words->word[i];
	}
	words->count = kept;
	return STATUS_OK;
}

/**
 * take_line_options - take the options out of a line of a file
 * @tool:	the run, which has them then
 * @words:	its words; on return the rest
 *
 * Return: STATUS_OK, or another after a message.
 */
int take_line_options(struct tool *tool, struct words *words)
{
	struct globals globals = { 0 };

	return take_globals(tool, &globals, words);
}

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
	struct globals globals = { 0 };
	const char *name;
	int status;

	status = take_globals(tool, &globals, words);
	if (status)
		return status;
	if (globals.version)
		return print_tool_version(tool);
	if (!words->count) {
		if (globals.help)
			print_usage(stdout);
		return globals.help ? STATUS_OK :
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
	if (globals.help) {
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
