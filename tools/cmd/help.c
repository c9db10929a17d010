// SPDX-License-Identifier: GPL-2.0-only
/* help: prints the table of commands, the help of one of them, or a section of the manual. */
#include <limits.h>
#include <stdlib.h>

#include "cli/complete.h"
#include "cli/globals.h"
#include "cli/hint.h"
#include "cli/manual.h"
#include "cmd/commands.h"
#include "layout/show.h"
#include "nl/option.h"

static const struct {
	unsigned int type;
	const char *text;
} types[] = {
	{ IPCUCKOO_TYPE_HASH_IP,	"hosts; also called iphash" },
	{ IPCUCKOO_TYPE_HASH_NET,	"hosts and prefixes; also called nethash" },
	{ IPCUCKOO_TYPE_FILTER_IP,	"hosts, approximate: some non-members match" },
};

/* Print the types as ipset does: in each line, a type and its revision in ipset.
 * firewalld reads all lines after the heading, and fails if one is blank. So this must
 * be the end of the help.
 */
static void print_types(FILE *to)
{
	size_t i;

	fputs("\nSupported set types:\n", to);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		fprintf(to, "    %-12s  %u  %s\n",
			meaning_word(type_words, types[i].type),
			type_revision(types[i].type), types[i].text);
}

void print_usage(FILE *to)
{
	const struct command *command;

	fputs("Usage: ipcuckoo [OPTION...] COMMAND [WORD...]\n\nCommands:\n",
	      to);
	for (command = commands; command->name; command++)
		fprintf(to, "  %-8s  %s\n", command->name, command->summary);
	fputs("\nOptions, before or after the command:\n", to);
	print_globals(to);
	fputs("\nExit status:\n"
	      "  0  success; found\n"
	      "  1  not in the set, not blocked; for ipset's commands, any other failure\n"
	      "  2  wrong command line; for commands ipset does not have, also wrong input\n"
	      "  3  refused by the kernel, or failed\n"
	      "  4  the kernel module is not loaded\n"
	      "  5  no permission\n"
	      "  7  not done yet, but stored, and done later: publish\n"
	      "\nTo begin: ipcuckoo block 192.0.2.1. More: ipcuckoo help COMMAND;\n"
	      "the manual: man ipcuckoo, or one of its sections: ipcuckoo help quick start\n",
	      to);
	print_types(to);
}

/* Print the grammar of all commands, for completion and tests. */
static void print_words(FILE *to)
{
	const struct command *command;
	size_t i;

	for (command = commands; command->name; command++) {
		fputs(command->name, to);
		for (i = 0; i < COMMAND_ALIASES && command->aliases[i]; i++)
			fprintf(to, "|%s", command->aliases[i]);
		fprintf(to, " %s\n", command_usage(command));
	}
	putc('*', to);
	print_global_words(to);
}

/* Print how a command line may go on. @words: after --complete, those of the command line */
static int print_completion(const struct tool *tool, const struct words *words)
{
	char *known = NULL;
	size_t size;
	FILE *to = open_memstream(&known, &size);

	if (!to)
		return fail(tool, STATUS_REFUSED, "%s", strerror(errno));
	print_words(to);
	if (fclose(to)) {
		free(known);
		return fail(tool, STATUS_REFUSED, "%s", strerror(errno));
	}
	complete(known, words->word + 1, words->count - 1);
	free(known);
	return STATUS_OK;
}

/* Print the options of sets, with a line above them that says which types take them. */
static void print_options(void)
{
	static const struct meaning groups[] = {
		{ "all types",			FOR_ALL },
		{ "hash:ip and hash:net",	FOR_EXACT },
		{ "hash:ip",			FOR(HASH_IP) },
		{ "filter:ip",			FOR(FILTER_IP) },
		{ NULL, 0 }
	};
	const struct option_spec *option;
	uint32_t types = 0;

	for (option = set_options; option->word; option++) {
		if (!option->help)
			continue;
		if (option->types != types)
			printf("\nFor %s:\n", meaning_word(groups, option->types));
		types = option->types;
		printf(option->value ? "%s %s\n\t%s\n" : "%s%s\n\t%s\n", option->word,
		       option->value ? option->value : "", option->help);
	}
}

void print_help(const struct command *command)
{
	const char *usage = command_usage(command);

	printf("Usage: ipcuckoo %s%s%s\n\n%c%s.\n%s", command->name,
	       *usage ? " " : "", usage, *command->summary - 'a' + 'A',
	       command->summary + 1, command->help);
	if (command->flags & COMMAND_CREATE)
		print_options();
}

/* If @word is a type of sets, print the help of the commands that depend on the type, as
 * ipset does. Return: whether it is a type.
 */
static bool print_type_help(const char *word)
{
	const struct command *command = commands;
	bool known = find_meaning(type_words, word);

	for (; known && command->name; command++) {
		if (!(command->flags & COMMAND_TYPED))
			continue;
		if (command != commands)
			putchar('\n');
		print_help(command);
	}
	return known;
}

/* Instead of what is neither a command nor a section */
static const char *unknown_hint(const struct tool *tool, const char *name)
{
	const char *hint = command_hint(tool, name, NULL);

	return *hint ? hint : topic_hint(name);
}

/* Put all words together, with a blank between them: the name of a section may have several. */
static void join_words(const struct words *words, char *to, size_t size)
{
	size_t len = 0;
	int i;

	for (i = 0; i < words->count && len < size; i++)
		len += snprintf(to + len, size - len, "%s%s", i ? " " : "", words->word[i]);
}

int run_help(struct tool *tool, struct words *words)
{
	const struct command *command;
	const char *why;
	char name[256];
	bool grammar = false;
	const struct keyword keywords[] = {
		{ .word = "--words", .flag = &grammar },
		{ .word = NULL }
	};
	int status;

	/* What follows are the words of a command line, whatever they mean here. */
	if (words->count && !strcmp(words->word[0], "--complete"))
		return print_completion(tool, words);
	status = parse_words(tool, words, keywords, 0, INT_MAX);
	if (status)
		return status;
	if (grammar) {
		print_words(stdout);
		return STATUS_OK;
	}
	if (!words->count) {
		print_usage(stdout);
		return STATUS_OK;
	}
	join_words(words, name, sizeof(name));
	command = find_command(words->word[0]);
	if (words->count == 1 && print_type_help(name))
		return STATUS_OK;
	if (words->count == 1 && command) {
		print_help(command);
		return STATUS_OK;
	}
	if (is_topic(name)) {
		why = print_topic(name);
		return why ? fail(tool, STATUS_REFUSED, "%s", why) : STATUS_OK;
	}
	if (command)
		return fail_unknown(tool, words->word[1]);
	return fail(tool, STATUS_USAGE,
		    "Unknown settype: `%s', and neither a command nor a section of the manual%s\nTry `ipcuckoo help' for more information.",
		    name, unknown_hint(tool, name));
}
