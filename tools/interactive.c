// SPDX-License-Identifier: GPL-2.0-only
/*
 * -: commands from standard input, one a line, with a prompt. One that fails is
 * no reason to stop.
 */
#include <stdlib.h>

#include "lines.h"

/* The rest of a line is a command of its own: what options it has are its. */
static void run_line(struct tool *tool, char *line)
{
	char *word[LINE_WORDS];
	struct words words = { .word = word };
	struct tool one = { .nl = tool->nl, .json = tool->json };
	int count = split_line(line, word);

	if (count < 0) {
		fail(&one, STATUS_USAGE, "too many words, or a quote without its end");
		return;
	}
	words.count = count;
	if (count)
		run_words(&one, &words);
	tool->nl = one.nl;
}

static bool is_quit(const char *line)
{
	return !strcmp(line, "quit\n") || !strcmp(line, "quit");
}

int run_interactive(struct tool *tool, struct words *words)
{
	size_t room = 0;
	char *line = NULL;
	ssize_t len;
	int status;

	status = parse_words(tool, words, no_keywords, 0, 0);
	if (status)
		return status;
	for (;;) {
		fputs("ipcuckoo> ", stdout);
		fflush(stdout);
		len = getline(&line, &room, stdin);
		if (len < 0 || is_quit(line))
			break;
		if (is_text(line, len))
			run_line(tool, line);
		else
			fail(tool, STATUS_USAGE, "a NUL byte in the line");
	}
	free(line);
	return STATUS_OK;
}
