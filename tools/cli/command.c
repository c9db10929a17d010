// SPDX-License-Identifier: GPL-2.0-only
#include "cli/command.h"
#include "cli/hint.h"
#include "lib/address.h"
#include "nl/option.h"

/* Whether @word, perhaps after two dashes, abbreviates a name of one of ipset's commands. */
static bool begins(const struct command *command, const char *word)
{
	size_t len;
	int i;

	if (word[0] == '-' && word[1] == '-')
		word += 2;
	len = strlen(word);
	if (!len || !(command->flags & COMMAND_IPSET))
		return false;
	for (i = 0; i < COMMAND_ALIASES && command->aliases[i]; i++)
		if (!strncmp(command->aliases[i], word, len))
			return true;
	return !strncmp(command->name, word, len);
}

static bool is_called(const struct command *command, const char *word)
{
	int i;

	for (i = 0; i < COMMAND_ALIASES && command->aliases[i]; i++)
		if (!strcmp(command->aliases[i], word))
			return true;
	return !strcmp(command->name, word);
}

/* The command that has this very name */
static const struct command *find_called(const char *word)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (is_called(command, word))
			return command;
	return NULL;
}

/**
 * find_command - find a command by its name
 * @word:	one of its names, or an abbreviation if it is one of ipset's commands
 *
 * Return: the command, or NULL.
 */
const struct command *find_command(const char *word)
{
	const struct command *command = find_called(word);

	if (command)
		return command;
	for (command = commands; command->name; command++)
		if (begins(command, word))
			return command;
	return NULL;
}

const char *command_usage(const struct command *command)
{
	const struct option_spec *option = set_options;
	static char usage[1024];
	size_t len;

	if (!(command->flags & COMMAND_CREATE))
		return command->usage;
	len = snprintf(usage, sizeof(usage), "%s", command->usage);
	for (; option->word && len < sizeof(usage); option++)
		if (option->help)
			len += snprintf(usage + len, sizeof(usage) - len,
					option->value ? " [%s %s]" : " [%s]",
					option->word, option->value);
	return usage;
}

const char *command_example(const struct command *command, char *text, size_t size)
{
	const char *example = strstr(command->help, "\n  ipcuckoo ");

	*text = '\0';
	if (example)
		snprintf(text, size, "%.*s", (int)strcspn(example + 3, "\n"), example + 3);
	return text;
}

/* Print that there is no command of this name. @words: the words behind it */
int fail_command(const struct tool *tool, const char *name, const struct words *words)
{
	char quoted[64];

	address_quote(quoted, sizeof(quoted), name, strlen(name));
	return fail(tool, STATUS_USAGE,
		    "No command specified: unknown argument %s%s\nTry `ipcuckoo help' for more information.",
		    quoted, command_hint(tool, name, words));
}
