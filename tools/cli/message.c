// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages say what happened, and what to do about it. They go to stderr and begin with
 * the name of the tool; -q suppresses them. If ipset has a message for the same case, the
 * message begins with it.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/hint.h"
#include "lib/escape.h"
#include "release.h"

/* Words and names that messages repeat may have control characters, but no line of a message has. */
static void print_line(const char *text, size_t len)
{
	char *line = strndup(text, len), *escaped = malloc(ESCAPED_SIZE(len));

	if (line && escaped)
		fputs(escape_text(line, "", "\\x", escaped), stderr);
	free(escaped);
	free(line);
}

/* Print the lines of a message. @file: the name of the file that belongs at the end of the first line;
 * or NULL
 */
static void print_text(const char *file, const char *format, va_list args)
{
	char *text, *line;
	size_t len;

	if (vasprintf(&text, format, args) < 0)
		return;
	for (line = text;; line += len + 1) {
		len = strcspn(line, "\n");
		print_line(line, len);
		if (file && line == text)
			fprintf(stderr, " (file %s)", file);
		if (!line[len])
			break;
		fputc('\n', stderr);
	}
	fputc('\n', stderr);
	free(text);
}

static void print_name(void)
{
	fflush(stdout);
	fputs("ipcuckoo v" IPCUCKOO_RELEASE ": ", stderr);
}

static void print_message(const struct tool *tool, const char *before,
			  const char *format, va_list args)
{
	if (tool->said) {
		free(*tool->said);
		if (vasprintf(tool->said, format, args) < 0)
			*tool->said = NULL;
		return;
	}
	if (tool->quiet)
		return;
	print_name();
	if (tool->line)
		fprintf(stderr, "Error in line %lu: ", tool->line);
	fputs(before, stderr);
	print_text(tool->line ? tool->file : NULL, format, args);
}

/**
 * fail - print why the command failed
 * @tool:	the run
 * @status:	the exit status
 * @format:	the message, as for printf()
 *
 * Return: @status.
 */
int fail(const struct tool *tool, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(tool, "", format, args);
	va_end(args);
	return status;
}

/**
 * fail_syntax - print that a value is wrong
 * @tool:	the run
 * @format:	the message, as for printf()
 *
 * Return: STATUS_SYNTAX.
 */
int fail_syntax(const struct tool *tool, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(tool, "Syntax error: ", format, args);
	va_end(args);
	return STATUS_SYNTAX;
}

/* Print a warning. It has no "Error in line N", even if a line of a file runs. */
void warn(const struct tool *tool, const char *format, ...)
{
	va_list args;

	if (tool->quiet)
		return;
	print_name();
	va_start(args, format);
	print_text(NULL, format, args);
	va_end(args);
}

int fail_memory(const struct tool *tool)
{
	return fail(tool, STATUS_REFUSED, "out of memory");
}

int fail_usage(const struct tool *tool)
{
	const struct command *command = tool->command;
	char example[128];

	return fail(tool, STATUS_USAGE,
		    "wrong words for %s, which is used as in: %s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    command->name, command_example(command, example, sizeof(example)),
		    command->name, command_usage(command), command->name);
}

/* Word @number of the grammar of a command, from 0 */
static void copy_word(const struct command *command, int number, char *to, size_t size)
{
	const char *word = command_usage(command);

	while (number--)
		word += strcspn(word, " ") + 1;
	snprintf(to, size, "%.*s", (int)strcspn(word, " ."), word);
}

/* Print that a command has too few arguments. @words: those that it has */
int fail_missing(const struct tool *tool, const struct words *words)
{
	const struct command *command = tool->command;
	char missing[64], example[128];

	copy_word(command, words->count, missing, sizeof(missing));
	return fail(tool, STATUS_USAGE,
		    "Missing %smandatory argument to command %s: %s%s%s%s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    words->count ? "second " : "", command->name, missing, missing_hint(command, words),
		    *command_example(command, example, sizeof(example)) ? ", as in: " : "", example,
		    command->name, command_usage(command), command->name);
}
