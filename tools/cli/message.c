// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages say what happened, and what to do about it. They go to stderr and begin with
 * the name of the tool; -q suppresses them. If ipset has a message for the same case, the
 * message begins with it.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/command.h"

/* Longer words are not compared: no known word is as long. */
#define NEAREST_SIZE	64

/* Print a message, with the name of the file at the end of its first line. */
static void print_with_file(const char *file, const char *format, va_list args)
{
	char *text = NULL;
	int len = vasprintf(&text, format, args) < 0 ? 0 : strcspn(text, "\n");

	if (len)
		fprintf(stderr, "%.*s (file %s)%s", len, text, file, text + len);
	free(text);
}

static void print_name(void)
{
	fflush(stdout);
	fputs("ipcuckoo v" IPCUCKOO_TOOL_VERSION ": ", stderr);
}

static void print_message(const struct tool *tool, const char *before,
			  const char *format, va_list args)
{
	print_name();
	if (tool->line)
		fprintf(stderr, "Error in line %lu: ", tool->line);
	fputs(before, stderr);
	if (tool->line && tool->file)
		print_with_file(tool->file, format, args);
	else
		vfprintf(stderr, format, args);
	fputc('\n', stderr);
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

	if (!tool->quiet) {
		va_start(args, format);
		print_message(tool, "", format, args);
		va_end(args);
	}
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

	if (!tool->quiet) {
		va_start(args, format);
		print_message(tool, "Syntax error: ", format, args);
		va_end(args);
	}
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
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int fail_memory(const struct tool *tool)
{
	return fail(tool, STATUS_REFUSED, "out of memory");
}

int fail_usage(const struct tool *tool)
{
	const struct command *command = tool->command;

	return fail(tool, STATUS_USAGE,
		    "wrong words for %s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    command->name, command->name, command_usage(command),
		    command->name);
}

/* Print that a command has too few arguments. @words: the number it has. */
int fail_missing(const struct tool *tool, int words)
{
	const struct command *command = tool->command;

	return fail(tool, STATUS_USAGE,
		    "Missing %smandatory argument to command %s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    words ? "second " : "", command->name, command->name,
		    command_usage(command), command->name);
}

/* Levenshtein distance: how many letters differ, are added or are missing. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NEAREST_SIZE + 1], above, corner, best;
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > NEAREST_SIZE || b_len > NEAREST_SIZE)
		return NEAREST_SIZE;
	for (j = 0; j <= b_len; j++)
		row[j] = j;
	for (i = 1; i <= a_len; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			above = row[j];
			best = corner + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = above;
			row[j] = best;
		}
	}
	return row[b_len];
}

/**
 * nearest_hint - guess which word was misspelt
 * @word:	an unknown word
 * @others:	the known words
 * @count:	number of known words
 *
 * Return: "; did you mean ...?", or "" if no known word is similar. The string is valid
 * until the next call.
 */
const char *nearest_hint(const char *word, const char *const *others,
			 size_t count)
{
	static char hint[NEAREST_SIZE + 32];
	unsigned int best = strlen(word) / 3 + 2, d;
	const char *nearest = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		d = distance(word, others[i]);
		if (d < best && d < strlen(others[i])) {
			best = d;
			nearest = others[i];
		}
	}
	if (!nearest)
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest);
	return hint;
}
