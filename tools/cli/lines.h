/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the lines of a file, and splits them into words. */
#ifndef IPCUCKOO_TOOL_LINES_H
#define IPCUCKOO_TOOL_LINES_H

#include "cli/tool.h"

/* Maximum number of words in a line. */
#define LINE_WORDS	64

/* No line that makes sense is longer: LINE_WORDS words, which have 255 bytes at most. */
#define LINE_MOST	(64 << 10)

/* What read_line() returns instead of a length */
#define LINE_NONE	(-1)
#define LINE_LONG	(-2)

/* Read the next line, without its newline, and put a NUL behind it. @ended: set to whether a newline
 * was there. Return: its length; LINE_NONE at the end of the file, or if it cannot be read; LINE_LONG
 * if the line is longer than LINE_MOST, and then @line has its beginning, and the rest is not read.
 */
ssize_t read_line(FILE *file, char line[LINE_MOST + 1], bool *ended);

/*
 * Split a line into words, in place. White space separates words, except inside
 * double quotes. A line that begins with # has no words. Return: the number of
 * words; -1 if there are more than LINE_WORDS, or if a quote is not closed.
 */
int split_line(char *line, char *word[LINE_WORDS]);

/* Whether a line of @len bytes contains no NUL. A NUL would hide the rest of it. */
bool is_text(const char *line, size_t len);

#endif /* IPCUCKOO_TOOL_LINES_H */
