/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Texts of others, such as comments, names of devices and names of sets of ip_set, can have any
 * bytes. Printed as they are, control characters would act on the terminal, and the end of a line
 * would begin a line that looks like one of ours.
 */
#ifndef IPCUCKOO_TOOL_ESCAPE_H
#define IPCUCKOO_TOOL_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a text of @len bytes */
#define ESCAPED_SIZE(len)	(4 * (len) + 1)

/* Whether a byte, or a character of UTF-8, at the beginning of @text can be printed. @bytes: set to how
 * many bytes it has
 */
bool escape_prints(const char *text, int *bytes);

/* Copy a text; what cannot be printed, and what @others has, becomes @mark and two hexadecimal digits
 * for each byte, such as \x1b. @to has room for ESCAPED_SIZE(strlen(text)). Return: @to.
 */
char *escape_text(const char *text, const char *others, const char *mark, char *to);

/* Copy JSON, which is valid UTF-8; what cannot be printed becomes \u009b, for example, which means the
 * same. Return: an allocated text; NULL if there is no memory.
 */
char *escape_json(const char *text);

#endif /* IPCUCKOO_TOOL_ESCAPE_H */
