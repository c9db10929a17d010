// SPDX-License-Identifier: GPL-2.0-only
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "lib/escape.h"

static void *check(void *memory)
{
	if (memory)
		return memory;
	log_error("out of memory; the sets in the kernel stay as they are");
	exit(EXIT_FAILURE);
}

void need_memory(int err)
{
	check(err ? NULL : (void *)"");
}

void *need_zeros(size_t size)
{
	return check(calloc(1, size));
}

char *need_copy(const char *text)
{
	return text ? check(strdup(text)) : NULL;
}

char *need_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return check(text);
}

void need_more(char **text, const char *format, ...)
{
	char *more = NULL, *whole;
	va_list args;

	va_start(args, format);
	need_memory(vasprintf(&more, format, args) < 0);
	va_end(args);
	whole = need_text("%s%s", *text, more);
	free(more);
	free(*text);
	*text = whole;
}

char *need_printable(const char *text)
{
	return escape_text(text, "", "\\x", need_zeros(ESCAPED_SIZE(strlen(text))));
}

char *need_json(struct json_object *object, int flags)
{
	const char *text = json_object_to_json_string_ext(object, flags);
	char *escaped = check(text ? escape_json(text) : NULL);

	json_object_put(object);
	return escaped;
}

void *need_room(void *array, size_t count)
{
	return check(realloc(array, (count + 2) * sizeof(void *)));
}
