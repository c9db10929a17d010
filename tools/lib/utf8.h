/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text that comes from outside, such as comments of entries, names of devices, or what servers
 * answer, can have any bytes. JSON, and what Prometheus reads, have to be valid UTF-8.
 */
#ifndef IPCUCKOO_TOOL_UTF8_H
#define IPCUCKOO_TOOL_UTF8_H

#include <stdbool.h>

/* What is shown instead of bytes that are no character: U+FFFD */
#define UTF8_REPLACEMENT	"\xef\xbf\xbd"

/**
 * utf8_next() - find the first character of a text
 * @text:	the text, which is not empty
 *
 * Return: how many bytes the character has. If the text does not begin with one, how many bytes the
 * replacement stands for, as a negative number: those that could begin a character, at least one,
 * as the Unicode Standard recommends ("U+FFFD Substitution of Maximal Subparts").
 */
int utf8_next(const char *text);

/* The number of the character of @bytes bytes, as utf8_next() has found it */
unsigned int utf8_code(const char *text, int bytes);

bool utf8_is_valid(const char *text);

/**
 * utf8_repair() - replace what is no character
 * @text:	the text
 *
 * Return: the valid text, allocated; NULL if there is no memory.
 */
char *utf8_repair(const char *text);

#endif /* IPCUCKOO_TOOL_UTF8_H */
