/* SPDX-License-Identifier: GPL-2.0-only */
/* Sections of the manual, and how to print one of them. */
#ifndef IPCUCKOO_TOOL_MANUAL_H
#define IPCUCKOO_TOOL_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

/* A section of ipcuckoo(8), or another page. In @name, case does not count, and "-" is a blank. */
bool is_topic(const char *name);
/* Print it, as man prints it. Return: NULL, or why that cannot be done; valid until the next call. */
const char *print_topic(const char *name);
/* Print the names of all, one a line, each as one word in small letters. */
void print_topics(FILE *to);
/* Instead of an unknown name: a text that begins with "; ", or "" */
const char *topic_hint(const char *name);

#endif /* IPCUCKOO_TOOL_MANUAL_H */
