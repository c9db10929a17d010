// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command "-": reads commands from standard input, one a line, with a prompt, until
 * quit. It goes on if a command fails.
 */
#include <stdlib.h>

#include "cli/lines.h"
#include "cmd/commands.h"

/* Run one line. Options of "-" apply to every line, options of a line only to that line.
 * Return: whether to go on.
 */
static bool run_line(struct tool *tool, char *line)
{
	char *word[LINE_WORDS];
	struct words words = { .word = word };
	struct tool one = *tool;
	int count = split_line(line, word);

	if (count < 0)
		fail(tool, STATUS_USAGE, "too many words, or a quote without its end");
	if (count <= 0)
		return true;
	words.count = count;
	one.command = NULL;
	/* As ipset does; a line may have its own -q. */
	one.quiet = false;
	run_words(&one, &words);
	tool->nl = one.nl;
	return !one.command || one.command->run != run_quit;
}

int run_interactive(struct tool *tool, struct words *words)
{
	static char line[LINE_MOST + 1];
	bool more = true, ended;
	ssize_t len;
	int status;

	status = parse_words(tool, words, no_keywords, 0, 0);
	if (status)
		return status;
	while (more) {
		fputs("ipcuckoo> ", stdout);
		fflush(stdout);
		len = read_line(stdin, line, &ended);
		if (len == LINE_NONE)
			break;
		if (len == LINE_LONG)
			return fail(tool, STATUS_USAGE, "the line is longer than %d bytes", LINE_MOST);
		if (is_text(line, len))
			more = run_line(tool, line);
		else
			fail(tool, STATUS_USAGE, "a NUL byte in the line");
	}
	if (ferror(stdin))
		return fail(tool, STATUS_REFUSED, "standard input cannot be read: %s",
			    strerror(errno));
	return STATUS_OK;
}

/* quit on a command line does nothing. "-" and restore compare with this function. */
int run_quit(struct tool *tool, struct words *words)
{
	(void)tool;
	(void)words;
	return STATUS_OK;
}
