// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "lib/escape.h"
#include "lib/json.h"

/* Return @memory, which holds a line of output; exit if its allocation failed. */
static void *need(void *memory)
{
	if (!memory) {
		fputs("ipcuckoo: out of memory\n", stderr);
		exit(3);
	}
	return memory;
}

const char *size_text(uint64_t bytes, char text[SIZE_TEXT_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = bytes / 1024.0;
	unsigned int unit = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT_SIZE, "%u B", (unsigned int)bytes);
		return text;
	}
	while (value >= 1023.95 && unit < 3) {
		value /= 1024;
		unit++;
	}
	snprintf(text, SIZE_TEXT_SIZE, "%.1f %s", value, units[unit]);
	return text;
}

void json_add_string(struct json_object *object, const char *key,
		     const char *value)
{
	if (value)
		json_object_object_add(object, key, json_new_text(value));
}

void json_add_uint(struct json_object *object, const char *key,
		   uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void json_add_int(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void json_add_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

void json_add_ratio(struct json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", value);
	json_object_object_add(object, key,
			       json_object_new_double_s(value, text));
}

void json_add_rate(struct json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g", value);
	json_object_object_add(object, key,
			       json_object_new_double_s(value, text));
}

const char *json_text(struct json_object *object)
{
	static char *escaped;

	free(escaped);
	escaped = escape_json(need((void *)json_object_to_json_string_ext(object,
							JSON_C_TO_STRING_NOSLASHESCAPE)));
	return need(escaped);
}

void json_print(struct json_object *object)
{
	puts(json_text(object));
	json_object_put(object);
}

int print_action(const struct tool *tool, const char *set, const char *done)
{
	struct json_object *object;

	if (!tool->json)
		return STATUS_OK;
	object = json_object_new_object();
	json_add_string(object, "set", set);
	json_add_bool(object, done, true);
	json_print(object);
	return STATUS_OK;
}

void table_add(struct table *table, const char *format, ...)
{
	char *cell = NULL;
	va_list args;
	int len;

	if (table->count == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cells = need(realloc(table->cells, table->room *
					    sizeof(*table->cells)));
	}
	va_start(args, format);
	len = vasprintf(&cell, format, args);
	va_end(args);
	table->cells[table->count++] = need(len < 0 ? NULL : cell);
}

void table_add_name(struct table *table, const char *name)
{
	char *text = need(malloc(ESCAPED_SIZE(strlen(name))));

	table_add(table, "%s", escape_text(name, " ", "\\x", text));
	free(text);
}

static void print_cell(const char *text, int width, bool right, bool last)
{
	if (last && !right)
		width = 0;
	printf(right ? "%*s" : "%-*s", width, text);
	fputs(last ? "\n" : "  ", stdout);
}

void table_print(struct table *table)
{
	int width[TABLE_COLUMNS], len;
	unsigned int columns = 0, c;
	size_t i;

	for (; table->columns[columns].title; columns++)
		width[columns] = strlen(table->columns[columns].title);
	for (i = 0; i < table->count; i++) {
		len = strlen(table->cells[i]);
		if (len > width[i % columns])
			width[i % columns] = len;
	}
	for (c = 0; c < columns; c++)
		print_cell(table->columns[c].title, width[c],
			   table->columns[c].right, c + 1 == columns);
	for (i = 0; i < table->count; i++) {
		c = i % columns;
		print_cell(table->cells[i], width[c], table->columns[c].right,
			   c + 1 == columns);
		free(table->cells[i]);
	}
	free(table->cells);
}
