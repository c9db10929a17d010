// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages say what happened, and what to do about it. They go to stderr and begin with
 * the name of the tool; -q suppresses them. If ipset has a message for the same case, the
 * message begins with it.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/command.h"
#include "release.h"

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
	fputs("ipcuckoo v" IPCUCKOO_RELEASE ": ", stderr);
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
