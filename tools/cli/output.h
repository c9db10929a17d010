/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Output for people (aligned columns, sizes) and for programs (JSON).
 */
#ifndef IPCUCKOO_TOOL_OUTPUT_H
#define IPCUCKOO_TOOL_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/tool.h"

#define SIZE_TEXT_SIZE	24

/* "2.1 MiB" */
const char *size_text(uint64_t bytes, char text[SIZE_TEXT_SIZE]);

/* Nothing is added if @value is NULL. */
void json_add_string(struct json_object *object, const char *key,
		     const char *value);
void json_add_uint(struct json_object *object, const char *key,
		   uint64_t value);
void json_add_int(struct json_object *object, const char *key, int64_t value);
void json_add_bool(struct json_object *object, const char *key, bool value);
/* With three significant digits: a false-positive rate may be very small. */
void json_add_rate(struct json_object *object, const char *key, double value);
/* With two digits after the decimal point. */
void json_add_ratio(struct json_object *object, const char *key, double value);
/* The object as one line, without control characters. Valid until the next call. */
const char *json_text(struct json_object *object);
/* Print an object on a line of its own, and free it. */
void json_print(struct json_object *object);
/* With -j, print what was done to a set, or to all sets if @set is NULL. Return:
 * STATUS_OK.
 */
int print_action(const struct tool *tool, const char *set, const char *done);

/**
 * struct column - a column of a table
 * @title:	the title
 * @right:	align cells to the right (for numbers)
 */
struct column {
	const char *title;
	bool right;
};

#define TABLE_COLUMNS	16

/**
 * struct table - rows that are printed together, so that columns are aligned
 * @columns:	the columns; a column without a title ends the array
 * @cells:	texts, row by row
 * @count:	number of cells
 * @room:	number of cells that @cells has memory for
 */
struct table {
	const struct column *columns;
	char **cells;
	size_t count;
	size_t room;
};

void table_add(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a name of others: blanks in it are escaped, too, so that columns do not shift. */
void table_add_name(struct table *table, const char *name);
/* Print the table and free its cells. */
void table_print(struct table *table);

#endif /* IPCUCKOO_TOOL_OUTPUT_H */
