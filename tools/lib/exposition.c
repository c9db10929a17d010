// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "lib/exposition.h"

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

/* Names of devices can contain quotes and backslashes. */
void exposition_label(FILE *f, const char *name, const char *value, const char *end)
{
	fprintf(f, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", f);
			continue;
		}
		if (*value == '"' || *value == '\\')
			putc('\\', f);
		putc(*value, f);
	}
	fprintf(f, "\"%s", end);
}
