// SPDX-License-Identifier: GPL-2.0-only
#include "cli/lines.h"

ssize_t read_line(FILE *file, char line[LINE_MOST + 1], bool *ended)
{
	ssize_t len = 0;
	int c;

	while ((c = getc_unlocked(file)) != EOF && c != '\n' && len < LINE_MOST)
		line[len++] = c;
	line[len] = '\0';
	*ended = c == '\n';
	if (c != EOF && c != '\n')
		return LINE_LONG;
	/* Half a line may come before an error. */
	return ferror(file) || (c == EOF && !len) ? LINE_NONE : len;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Terminate the word at @from, and remove its quotes. Return: the text after the word;
 * NULL if a quote is not closed.
 */
static char *end_word(char *from)
{
	bool quoted = false;
	char *to = from;

	for (; *from && (quoted || !is_blank(*from)); from++) {
		if (*from == '"')
			quoted = !quoted;
		else
			*to++ = *from;
	}
	if (quoted)
		return NULL;
	if (*from)
		from++;
	*to = '\0';
	return from;
}

int split_line(char *line, char *word[LINE_WORDS])
{
	int count = 0;

	for (;;) {
		while (is_blank(*line))
			line++;
		if (!*line || (!count && *line == '#'))
			return count;
		if (count == LINE_WORDS)
			return -1;
		word[count++] = line;
		line = end_word(line);
		if (!line)
			return -1;
	}
}

bool is_text(const char *line, size_t len)
{
	return strlen(line) == len;
}
