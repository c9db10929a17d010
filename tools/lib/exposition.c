// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/exposition.h"
#include "lib/utf8.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

void exposition_head(FILE *f, const char *before, const char *name, const char *help)
{
	fprintf(f, "# HELP %s%s %s\n# TYPE %s%s %s\n", before, name, help, before, name,
		ends_with(name, "_total") ? "counter" : "gauge");
}

/* Names of devices can contain quotes, backslashes, and bytes that are no UTF-8. */
void exposition_label(FILE *f, const char *name, const char *value, const char *end)
{
	const char *before;
	int bytes;

	fprintf(f, "%s=\"", name);
	for (; *value; value += abs(bytes)) {
		bytes = utf8_next(value);
		before = *value == '"' || *value == '\\' ? "\\" : "";
		if (bytes < 0)
			fputs(UTF8_REPLACEMENT, f);
		else if (*value == '\n')
			fputs("\\n", f);
		else
			fprintf(f, "%s%.*s", before, bytes, value);
	}
	fprintf(f, "\"%s", end);
}
