/* SPDX-License-Identifier: GPL-2.0-only */
/* The formats of feeds: read in parts, as they arrive. */
#ifndef IPCUCKOOD_FORMAT_H
#define IPCUCKOOD_FORMAT_H

#include "lib/feed.h"

enum format_kind {
	FORMAT_PLAIN,	/* an address, prefix or range in each line: what "ipcuckoo load" reads */
	FORMAT_CSV,	/* columns, perhaps with quotes and a line of headings */
	FORMAT_NDJSON,	/* a JSON object in each line */
};

/**
 * struct format - how to read a feed
 * @kind:	the format
 * @separator:	CSV: character between columns
 * @field:	CSV: the column, a number from 1 or a heading; NDJSON: the field, "a.b" for one
 *		inside another
 * @to:		if not NULL, the same for the last address of a range that begins in @field
 * @where:	if not NULL, the same for the value that @match is compared with
 * @match:	only records that have one of these values are read; NULL ends them
 */
struct format {
	int kind;
	int separator;
	char *field;
	char *to;
	char *where;
	char **match;
};

struct parser;

/* @feed: gets the entries; wrong lines are skipped and counted. @fault: gets line and reason of
 * what is wrong, also of lines that are skipped. Return: NULL if there is no memory.
 */
struct parser *parser_new(const struct format *format, struct feed *feed, struct feed_fault *fault);
/* Return: 0 or a negative errno; then this is no such feed, and the rest is of no use. */
int parser_push(struct parser *parser, const char *data, size_t len);
/* The end of the feed. Return: as parser_push(). */
int parser_end(struct parser *parser);
void parser_free(struct parser *parser);

#endif /* IPCUCKOOD_FORMAT_H */
