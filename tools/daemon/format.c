// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plain lists are read by the tool's own reader. The lines of the other formats are collected here;
 * each is a record, which has named or numbered values.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/format.h"

/* The longest line of CSV and NDJSON. */
#define LINE_MOST	(64 << 10)

/* So many first bytes show what the feed is. */
#define START_SIZE	512

/* The most columns that are looked at, and the deepest JSON. */
#define COLUMNS_MOST	64
#define DEPTH_MOST	16

/* One of the values of a record that are needed. */
enum value { VALUE_FIELD, VALUE_TO, VALUE_WHERE, VALUES };

/**
 * struct parser - a feed that is being read
 * @format:	how
 * @feed:	gets the entries
 * @fault:	gets what is wrong
 * @stream:	plain lists: their reader
 * @line:	the line so far
 * @len:	its length
 * @skip_rest:	the line is too long: skip its rest
 * @start:	CSV, NDJSON: the first bytes, until there are enough of them to look at
 * @start_len:	how many there are
 * @began:	CSV, NDJSON: the first bytes were looked at, and read
 * @titled:	CSV: the first record was read
 * @column:	CSV: number of the column of each value, from 0
 * @tokener:	NDJSON: parses a line
 */
struct parser {
	const struct format *format;
	struct feed *feed;
	struct feed_fault *fault;
	struct feed_stream *stream;
	char *line;
	size_t len;
	bool skip_rest;
	char start[START_SIZE];
	size_t start_len;
	bool began;
	bool titled;
	size_t column[VALUES];
	struct json_tokener *tokener;
};

static const char *value_name(const struct format *format, enum value value)
{
	return value == VALUE_FIELD ? format->field :
	       value == VALUE_TO ? format->to : format->where;
}

/* The number of a column, from 0; -1 if the name is a heading. */
static long column_number(const char *name)
{
	char *end;
	long number = strtol(name, &end, 10);

	return *name && !*end && number > 0 ? number - 1 : -1;
}

struct parser *parser_new(const struct format *format, struct feed *feed, struct feed_fault *fault)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	bool good;

	if (!parser)
		return NULL;
	parser->format = format;
	parser->feed = feed;
	parser->fault = fault;
	feed->skip_invalid = true;
	fault->line = 0;
	fault->text[0] = '\0';
	if (format->kind == FORMAT_PLAIN) {
		parser->stream = feed_open(feed, fault);
		good = parser->stream;
	} else {
		parser->line = malloc(LINE_MOST + 1);
		if (format->kind == FORMAT_NDJSON)
			parser->tokener = json_tokener_new_ex(DEPTH_MOST);
		good = parser->line && (parser->tokener || format->kind != FORMAT_NDJSON);
	}
	if (good)
		return parser;
	parser_free(parser);
	return NULL;
}

void parser_free(struct parser *parser)
{
	if (!parser)
		return;
	feed_close(parser->stream);
	if (parser->tokener)
		json_tokener_free(parser->tokener);
	free(parser->line);
	free(parser);
}

/* The line cannot be used. Return: 0; the feed goes on. */
static int wrong_line(struct parser *parser, const char *text, const char *why)
{
	snprintf(parser->fault->why, sizeof(parser->fault->why), "%s", why);
	feed_wrong_line(parser->feed, parser->fault, text, strlen(text));
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len && strchr(" \t", text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

static bool is_wanted(const struct format *format, const char *value)
{
	size_t i;

	if (!format->where)
		return true;
	for (i = 0; value && format->match && format->match[i]; i++)
		if (!strcmp(format->match[i], value))
			return true;
	return false;
}

/* Add the entry of a record. @first: it is the first record of CSV, perhaps headings. */
static int take_record(struct parser *parser, char *const value[VALUES], bool first)
{
	char joined[2 * ADDRESS_TEXT_SIZE];
	const char *text = value[VALUE_FIELD];
	int err;

	if (!text || !*text || !is_wanted(parser->format, value[VALUE_WHERE])) {
		parser->feed->blank++;
		return 0;
	}
	if (value[VALUE_TO]) {
		snprintf(joined, sizeof(joined), "%s-%s", text, value[VALUE_TO]);
		text = joined;
	}
	err = feed_add(parser->feed, text, strlen(text), parser->fault->why);
	if (err == -EINVAL && first) {
		parser->feed->blank++;
		return 0;
	}
	if (err == -EINVAL) {
		feed_wrong_line(parser->feed, parser->fault, text, strlen(text));
		return 0;
	}
	parser->fault->line = parser->feed->lines;
	return err;
}

/* Cut a line of CSV into columns. Inside quotes, two quotes are one. Return: how many there are. */
static size_t cut_columns(char *line, char separator, char *column[COLUMNS_MOST])
{
	size_t count = 0;
	char *from = line, *to;

	while (from && count < COLUMNS_MOST) {
		from += strspn(from, separator == ' ' ? " " : "");
		if (*from != '"') {
			column[count++] = from;
			from = strchr(from, separator);
			if (from)
				*from++ = '\0';
			continue;
		}
		to = ++from;
		column[count++] = to;
		for (; *from && !(from[0] == '"' && from[1] != '"'); from++) {
			from += from[0] == '"';
			*to++ = *from;
		}
		from = *from ? strchr(from + 1, separator) : NULL;
		*to = '\0';
		if (from)
			from++;
	}
	return count;
}

/* Find the columns, by number, or by the headings in the first record. Return: 0, or -EINVAL if
 * there is no such heading.
 */
static int find_columns(struct parser *parser, char *const *column, size_t count)
{
	const char *name;
	long number;
	size_t i;
	int value;

	for (value = 0; value < VALUES; value++) {
		name = value_name(parser->format, value);
		if (!name)
			continue;
		number = column_number(name);
		for (i = 0; number < 0 && i < count; i++)
			if (!strcmp(trim(column[i]), name))
				number = i;
		if (number < 0) {
			parser->fault->line = parser->feed->lines;
			snprintf(parser->fault->why, sizeof(parser->fault->why),
				 "the headings have no column \"%.64s\"", name);
			return -EINVAL;
		}
		parser->column[value] = number;
	}
	return 0;
}

static int take_csv(struct parser *parser)
{
	const struct format *format = parser->format;
	char *value[VALUES] = { NULL }, *column[COLUMNS_MOST];
	size_t count = cut_columns(parser->line, format->separator, column);
	bool first = !parser->titled;
	int i, err;

	parser->titled = true;
	err = first ? find_columns(parser, column, count) : 0;
	if (err)
		return err;
	for (i = 0; i < VALUES; i++)
		if (value_name(format, i) && parser->column[i] < count)
			value[i] = trim(column[parser->column[i]]);
	if (!value[VALUE_FIELD] && !first)
		return wrong_line(parser, parser->line, "there is no such column in this line");
	return take_record(parser, value, first);
}

/* A value of an object, by a name such as "a.b". NULL if there is none. */
static struct json_object *find_field(struct json_object *object, const char *name)
{
	char part[128];
	size_t len;

	for (; *name; name += len + (name[len] == '.')) {
		len = strcspn(name, ".");
		snprintf(part, sizeof(part), "%.*s", (int)len, name);
		if (!json_object_is_type(object, json_type_object) ||
		    !json_object_object_get_ex(object, part, &object))
			return NULL;
	}
	return object;
}

static char *field_text(struct json_object *object, const char *name)
{
	struct json_object *found = name ? find_field(object, name) : NULL;

	return found ? (char *)json_object_get_string(found) : NULL;
}

/* The field may be a list of addresses. The line is blank if none of them is used, and is counted
 * once, however many there are.
 */
static int take_object(struct parser *parser, struct json_object *object)
{
	const struct format *format = parser->format;
	struct json_object *field = find_field(object, format->field), *at;
	char *value[VALUES] = {
		[VALUE_TO] = field_text(object, format->to),
		[VALUE_WHERE] = field_text(object, format->where),
	};
	unsigned long blank = parser->feed->blank;
	size_t count, i;
	int err = 0;

	if (!json_object_is_type(field, json_type_array)) {
		value[VALUE_FIELD] = field ? (char *)json_object_get_string(field) : NULL;
		return take_record(parser, value, false);
	}
	count = json_object_array_length(field);
	for (i = 0; i < count && !err; i++) {
		at = json_object_array_get_idx(field, i);
		value[VALUE_FIELD] = (char *)json_object_get_string(at);
		err = take_record(parser, value, false);
	}
	parser->feed->blank = blank + (parser->feed->blank - blank == count);
	return err;
}

static int take_ndjson(struct parser *parser, size_t len)
{
	struct json_object *object;
	int err;

	json_tokener_reset(parser->tokener);
	object = json_tokener_parse_ex(parser->tokener, parser->line, len + 1);
	if (json_object_is_type(object, json_type_object))
		err = take_object(parser, object);
	else
		err = wrong_line(parser, parser->line, "this is no JSON object");
	json_object_put(object);
	return err;
}

/* The end of a line. Return: 0 or a negative errno. */
static int take_line(struct parser *parser)
{
	size_t len = parser->len;
	bool cut = parser->skip_rest;

	parser->feed->lines++;
	parser->len = 0;
	parser->skip_rest = false;
	if (cut)
		return wrong_line(parser, "", "the line is longer than 64 KiB");
	while (len && parser->line[len - 1] == '\r')
		len--;
	parser->line[len] = '\0';
	if (strlen(parser->line) < len)
		return wrong_line(parser, parser->line, "there is a NUL in this line");
	if (!len || *parser->line == '#' || *parser->line == ';') {
		parser->feed->blank++;
		return 0;
	}
	if (parser->format->kind == FORMAT_CSV)
		return take_csv(parser);
	return take_ndjson(parser, len);
}

static int push_lines(struct parser *parser, const char *data, size_t len)
{
	const char *newline;
	size_t some;
	int err = 0;

	for (; len && !err; data += some, len -= some) {
		newline = memchr(data, '\n', len);
		some = newline ? (size_t)(newline - data) : len;
		if (parser->skip_rest || parser->len + some > LINE_MOST) {
			parser->skip_rest = true;
		} else {
			memcpy(parser->line + parser->len, data, some);
			parser->len += some;
		}
		if (newline) {
			err = take_line(parser);
			some++;
		}
	}
	return err;
}

/* Look at the first bytes, then read them. */
static int begin(struct parser *parser)
{
	size_t skip;
	int err;

	parser->began = true;
	err = feed_check_start(parser->start, parser->start_len, &skip, parser->fault);
	return err ? err : push_lines(parser, parser->start + skip, parser->start_len - skip);
}

int parser_push(struct parser *parser, const char *data, size_t len)
{
	size_t some;
	int err;

	if (parser->stream)
		return feed_push(parser->stream, data, len);
	if (!parser->began) {
		some = START_SIZE - parser->start_len;
		if (some > len)
			some = len;
		memcpy(parser->start + parser->start_len, data, some);
		parser->start_len += some;
		if (parser->start_len < START_SIZE)
			return 0;
		err = begin(parser);
		if (err)
			return err;
		data += some;
		len -= some;
	}
	return push_lines(parser, data, len);
}

int parser_end(struct parser *parser)
{
	int err = 0;

	if (parser->stream)
		return feed_end(parser->stream);
	if (!parser->began)
		err = begin(parser);
	if (!err && (parser->len || parser->skip_rest))
		err = take_line(parser);
	return err;
}
