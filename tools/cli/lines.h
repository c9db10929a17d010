/* SPDX-License-Identifier: GPL-2.0-only */
/* Splits lines of a file into words. */
#ifndef IPCUCKOO_TOOL_LINES_H
#define IPCUCKOO_TOOL_LINES_H

#include "cli/tool.h"

/* Maximum number of words in a line. */
#define LINE_WORDS	64

/*
 * Split a line into words, in place. White space separates words, except inside
 * double quotes. A line that begins with # has no words. Return: the number of
 * words; -1 if there are more than LINE_WORDS, or if a quote is not closed.
 */
int split_line(char *line, char *word[LINE_WORDS]);

/* Whether a line of @len bytes contains no NUL. A NUL would hide the rest of it. */
bool is_text(const char *line, size_t len);

#endif /* IPCUCKOO_TOOL_LINES_H */
