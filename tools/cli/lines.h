/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines that are commands. */
#ifndef IPCUCKOO_TOOL_LINES_H
#define IPCUCKOO_TOOL_LINES_H

#include "cli/tool.h"

/* The most words of one. */
#define LINE_WORDS	64

/*
 * Cut a line into words, in place: white space separates, double quotes hold
 * together. A line that begins with # has none. Return: how many, or -1.
 */
int split_line(char *line, char *word[LINE_WORDS]);

/* Whether a line of this length has no NUL in it, which would hide the rest. */
bool is_text(const char *line, size_t len);

#endif /* IPCUCKOO_TOOL_LINES_H */
