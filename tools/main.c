// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipcuckoo: control of the ipcuckoo kernel module. The table of commands in
 * cmd/commands.c is where to start reading; here are the options that go with all.
 */
#include <stddef.h>
#include <stdlib.h>

#include "cli/tool.h"

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

/**
 * struct global - an option that goes with every command, and may stand anywhere
 * @letter:	its short spelling; "" if it has none
 * @name:	its long one; both are written with one dash or two
 * @take:	does what its value asks for; NULL if it is a flag
 * @flag:	where in struct tool the flag is
 */
static const struct global {
	const char *letter;
	const char *name;
	int (*take)(struct tool *tool, const char *value);
	size_t flag;
} globals[] = {
	{ "j", "json",		NULL, offsetof(struct tool, json) },
	{ "q", "quiet",		NULL, offsetof(struct tool, quiet) },
	{ "!", "exist",		NULL, offsetof(struct tool, exist) },
	{ "o", "output",	take_output, 0 },
	{ "s", "sorted",	NULL, offsetof(struct tool, sorted) },
	{ "n", "name",		NULL, offsetof(struct tool, names) },
	{ "t", "terse",		NULL, offsetof(struct tool, terse) },
	{ "r", "resolve",	NULL, offsetof(struct tool, resolve) },
	{ "f", "file",		take_file, 0 },
	{ "", "force",		NULL, offsetof(struct tool, force) },
	{ "h", "help",		NULL, offsetof(struct tool, help) },
	{ "V", "version",	NULL, offsetof(struct tool, version) },
};

/* ipset has --n for -n as well. Return: the option, or NULL. */
static const struct global *find_global(const char *word)
{
	size_t i;

	if (*word++ != '-')
		return NULL;
	if (*word == '-')
		word++;
	if (!*word)
		return NULL;
	for (i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
		if (!strcmp(globals[i].letter, word) || !strcmp(globals[i].name, word))
			return &globals[i];
	return NULL;
}

bool needs_dashes(const char *name)
{
	return find_global(name) || !strcmp(name, "--");
}

/* Take an option and its value; *i moves to the last word of it. */
static int take_global(struct tool *tool, const struct global *global,
		       const struct words *words, int *i)
{
	if (!global->take) {
		*(bool *)((char *)tool + global->flag) = true;
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

/**
 * take_globals - take the options that go with every command out of the words
 * @tool:	the run, which has them then
 * @words:	the words, up to "--"; on return the rest
 *
 * Return: STATUS_OK, or another after a message.
 */
int take_globals(struct tool *tool, struct words *words)
{
	const struct global *global;
	int i, kept = 0, status;

	words->plain = words->count;
	for (i = 0; i < words->count; i++) {
		if (words->plain == words->count && !is_text_next(words, kept)) {
			if (!strcmp(words->word[i], "--")) {
				words->plain = kept;
				continue;
			}
			global = find_global(words->word[i]);
			status = global ? take_global(tool, global, words, &i) : STATUS_OK;
			if (status)
				return status;
			if (global)
				continue;
		}
		words->word[kept++] = words->word[i];
	}
	words->count = kept;
	return STATUS_OK;
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
