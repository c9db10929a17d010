// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"

/**
 * struct form - how a character in UTF-8 can look, by its first byte
 * @from:	the first of these bytes,
 * @to:		and the last one
 * @bytes:	how many bytes the character has
 * @least:	least value of the second byte: with lower ones it would be one with fewer bytes
 * @most:	greatest value: with higher ones it would be a surrogate, or above U+10FFFF
 */
struct form {
	unsigned char from;
	unsigned char to;
	unsigned char bytes;
	unsigned char least;
	unsigned char most;
};

/* The table "Well-Formed UTF-8 Byte Sequences" of the Unicode Standard */
static const struct form forms[] = {
	{ 0x01, 0x7f, 1, 0x80, 0xbf },
	{ 0xc2, 0xdf, 2, 0x80, 0xbf },
	{ 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf },
	{ 0xed, 0xed, 3, 0x80, 0x9f },
	{ 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf },
	{ 0xf1, 0xf3, 4, 0x80, 0xbf },
	{ 0xf4, 0xf4, 4, 0x80, 0x8f },
	{ 0, 0, 0, 0, 0 }
};

int utf8_next(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	const struct form *form = forms;
	int i;

	while (form->bytes && (*at < form->from || *at > form->to))
		form++;
	if (form->bytes > 1 && (at[1] < form->least || at[1] > form->most))
		return -1;
	/* The zero at the end is no continuation, so nothing behind it is looked at. */
	for (i = 2; i < form->bytes; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return -i;
	return form->bytes ? form->bytes : -1;
}

unsigned int utf8_code(const char *text, int bytes)
{
	unsigned int code = bytes == 1 ? *text : *text & (0x7f >> bytes);
	int i;

	for (i = 1; i < bytes; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

bool utf8_is_valid(const char *text)
{
	int bytes;

	for (; *text; text += bytes) {
		bytes = utf8_next(text);
		if (bytes < 0)
			return false;
	}
	return true;
}

char *utf8_repair(const char *text)
{
	/* A byte becomes three at most. */
	char *valid = malloc(3 * strlen(text) + 1), *end = valid;
	int bytes;

	for (; valid && *text; text += abs(bytes)) {
		bytes = utf8_next(text);
		end = bytes < 0 ? stpcpy(end, UTF8_REPLACEMENT) : mempcpy(end, text, bytes);
	}
	if (valid)
		*end = '\0';
	return valid;
}
