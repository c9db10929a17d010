// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"
#include "lib/utf8.h"

/* The characters beyond ASCII that control how a text is shown: the second set of control characters,
 * and marks without a width, some of which turn the direction of writing round.
 */
static const struct {
	unsigned int first;
	unsigned int last;
} controls[] = {
	{ 0x80, 0x9f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
};

bool escape_prints(const char *text, int *bytes)
{
	unsigned int code;
	size_t i;

	*bytes = utf8_next(text);
	if (*bytes < 0) {
		*bytes = 1;
		return false;
	}
	code = utf8_code(text, *bytes);
	for (i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (code >= controls[i].first && code <= controls[i].last)
			return false;
	return code >= ' ' && code != 0x7f;
}

char *escape_text(const char *text, const char *others, const char *mark, char *to)
{
	char *end = to;
	int bytes;

	while (*text) {
		if (escape_prints(text, &bytes) && !strchr(others, *text)) {
			end = mempcpy(end, text, bytes);
			text += bytes;
			continue;
		}
		while (bytes--)
			end += sprintf(end, "%s%02x", mark, (unsigned char)*text++);
	}
	*end = '\0';
	return to;
}

char *escape_json(const char *text)
{
	char *json = malloc(6 * strlen(text) + 1), *end = json;
	int bytes;

	for (; json && *text; text += bytes) {
		bytes = 1;
		if ((unsigned char)*text < 0x7f)
			*end++ = *text;
		else if (escape_prints(text, &bytes))
			end = mempcpy(end, text, bytes);
		else
			end += sprintf(end, "\\u%04x", utf8_code(text, bytes));
	}
	if (json)
		*end = '\0';
	return json;
}
