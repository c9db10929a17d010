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
	run_words(&one, &words);
	tool->nl = one.nl;
	return !one.command || one.command->run != run_quit;
}

int run_interactive(struct tool *tool, struct words *words)
{
	size_t room = 0;
	char *line = NULL;
	bool more = true;
	ssize_t len;
	int status;

	status = parse_words(tool, words, no_keywords, 0, 0);
	if (status)
		return status;
	while (more) {
		fputs("ipcuckoo> ", stdout);
		fflush(stdout);
		len = getline(&line, &room, stdin);
		/* Half a line may come before an error. */
		if (len < 0 || ferror(stdin))
			break;
		if (is_text(line, len))
			more = run_line(tool, line);
		else
			fail(tool, STATUS_USAGE, "a NUL byte in the line");
	}
	free(line);
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
