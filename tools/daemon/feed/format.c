// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plain lists are read by the tool's own reader, columns by csv.c, JSON by json_feed.c. Formats of
 * other programs, which have an entry in each line, are read here.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "daemon/feed/csv.h"
#include "daemon/feed/format.h"
#include "daemon/feed/json_feed.h"

/* The longest line of the formats that are read here. */
#define LINE_MOST	(64 << 10)

/* JSON takes at most this many times the size of the largest feed in memory. */
#define JSON_COST	4

/* So many first bytes show what the feed is. */
#define START_SIZE	512

/**
 * struct parser - a feed that is being read
 * @format:	how
 * @feed:	gets the entries
 * @fault:	gets what is wrong
 * @stream:	reads a plain list
 * @csv:	reads columns
 * @json:		reads JSON
 * @line:	other formats: the line so far
 * @len:	its length
 * @skip_rest:	the line is too long: skip its rest
 * @start:	all but plain lists: the first bytes, until there are enough of them to look at
 * @start_len:	how many there are
 * @began:	all but plain lists: the first bytes were looked at, and read
 */
struct parser {
	const struct format *format;
	struct feed *feed;
	struct feed_fault *fault;
	struct feed_stream *stream;
	struct csv *csv;
	struct json_feed *json;
	char *line;
	size_t len;
	bool skip_rest;
	char start[START_SIZE];
	size_t start_len;
	bool began;
};

struct parser *parser_new(const struct format *format, struct feed *feed, struct feed_fault *fault,
			  uint64_t limit)
{
	struct parser *parser = calloc(1, sizeof(*parser));

	if (!parser)
		return NULL;
	parser->format = format;
	parser->feed = feed;
	parser->fault = fault;
	feed->skip_invalid = true;
	feed->unit = "line";
	fault->line = 0;
	fault->text[0] = '\0';
	switch (format->kind) {
	case FORMAT_PLAIN:
		parser->stream = feed_open(feed, fault);
		break;
	case FORMAT_CSV:
	case FORMAT_RIR:
		parser->csv = csv_new(format, feed, fault);
		break;
	case FORMAT_JSON:
		parser->json = json_feed_new(format, feed, fault, JSON_COST * limit);
		break;
	default:
		parser->line = malloc(LINE_MOST + 1);
	}
	if (parser->stream || parser->csv || parser->json || parser->line)
		return parser;
	parser_free(parser);
	return NULL;
}

void parser_free(struct parser *parser)
{
	if (!parser)
		return;
	feed_close(parser->stream);
	csv_free(parser->csv);
	json_feed_free(parser->json);
	free(parser->line);
	free(parser);
}

static int take_entry(struct parser *parser, const char *text)
{
	return feed_take(parser->feed, parser->fault, text, strlen(text));
}

/* "Name, perhaps with colons:A-B" */
static int take_p2p(struct parser *parser, char *line)
{
	char *colon = strrchr(line, ':');

	if (!colon)
		return feed_refuse(parser->feed, parser->fault, line,
				    "not a name, a colon, and a range");
	return take_entry(parser, feed_trim(colon + 1));
}

/* Take away blanks, and zeros in front of numbers, which are decimal here. */
static void strip_zeros(char *text)
{
	char *to = text, *from;

	for (from = text; *from; from++) {
		if (*from == ' ' || *from == '\t')
			continue;
		if (*from == '0' && isdigit((unsigned char)from[1]) &&
		    (to == text || !isdigit((unsigned char)to[-1])))
			continue;
		*to++ = *from;
	}
	*to = '\0';
}

/* "A - B , level , name"; a level above 127 means that it is not blocked. */
static int take_ipfilter(struct parser *parser, char *line)
{
	char *level = strchr(line, ',');

	if (level) {
		*level++ = '\0';
		if (strtol(level, NULL, 10) > 127) {
			parser->feed->blank++;
			return 0;
		}
	}
	strip_zeros(line);
	return take_entry(parser, line);
}

/* "deny A;", "Deny from A B" or "Require not ip A B" */
static int take_deny(struct parser *parser, char *line)
{
	static const char *const others[] = { "<", "order ", "require all ", "satisfy ", NULL };
	static const char *const words[][4] = {
		{ "deny", "from" }, { "deny" }, { "require", "not", "ip" }
	};
	char *word[256], *rest = line, *next;
	size_t count = 0, have, i;
	int err = 0;

	for (i = 0; others[i]; i++)
		if (!strncasecmp(line, others[i], strlen(others[i])))
			break;
	if (others[i]) {
		parser->feed->blank++;
		return 0;
	}
	while (count < 256 && (next = strsep(&rest, " \t;")) && *next != '#')
		if (*next)
			word[count++] = next;
	for (i = 0; i < 3; i++) {
		for (have = 0; words[i][have] && have < count; have++)
			if (strcasecmp(word[have], words[i][have]))
				break;
		if (!words[i][have] && have < count)
			break;
	}
	if (i == 3 || count == 256)
		return feed_refuse(parser->feed, parser->fault, line,
				    "neither \"deny A;\" nor \"Deny from A\" nor \"Require not ip A\"");
	while (have < count && !err)
		err = take_entry(parser, word[have++]);
	return err;
}

/* "A:port" or "[A]:port"; the port is left out. */
static int take_ip_port(struct parser *parser, char *line)
{
	const char *entry = line, *end = line + strlen(line), *colon, *first;
	char joined[FEED_ENTRY_SIZE];
	int err = feed_cut_entry(&entry, &end, joined, parser->fault->why);

	if (err) {
		feed_wrong_line(parser->feed, parser->fault, line, strlen(line));
		return 0;
	}
	first = entry + (*entry == '[');
	colon = memchr(first, *entry == '[' ? ']' : ':', end - first);
	if (colon && (*entry == '[' || !memchr(colon + 1, ':', end - colon - 1)))
		end = colon;
	return feed_take(parser->feed, parser->fault, first, end - first);
}

/* The end of a line. Return: 0 or a negative errno. */
static int take_line(struct parser *parser)
{
	struct feed *feed = parser->feed;
	bool cut = parser->skip_rest;
	char *line;

	feed->lines++;
	parser->line[parser->len] = '\0';
	parser->skip_rest = false;
	if (cut)
		parser->len = 0;
	line = parser->line;
	if (cut || strlen(line) < parser->len) {
		parser->len = 0;
		return feed_refuse(feed, parser->fault, line,
				   cut ? "the line is longer than 64 KiB" :
					 "there is a NUL in this line");
	}
	parser->len = 0;
	line = feed_trim(line);
	if (!*line || *line == '#' || *line == ';' || !strncmp(line, "//", 2)) {
		feed->blank++;
		return 0;
	}
	switch (parser->format->kind) {
	case FORMAT_P2P:
		return take_p2p(parser, line);
	case FORMAT_IPFILTER:
		return take_ipfilter(parser, line);
	case FORMAT_DENY:
		return take_deny(parser, line);
	default:
		return take_ip_port(parser, line);
	}
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

static int push(struct parser *parser, const char *data, size_t len)
{
	if (parser->csv)
		return csv_push(parser->csv, data, len);
	if (parser->json)
		return json_feed_push(parser->json, data, len);
	return push_lines(parser, data, len);
}

/* Look at the first bytes, then read them. */
static int begin(struct parser *parser)
{
	size_t skip;
	int err;

	parser->began = true;
	err = feed_check_start(parser->start, parser->start_len, &skip, parser->fault);
	return err ? err : push(parser, parser->start + skip, parser->start_len - skip);
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
	return push(parser, data, len);
}

int parser_end(struct parser *parser)
{
	int err = 0;

	if (parser->stream)
		return feed_end(parser->stream);
	if (!parser->began)
		err = begin(parser);
	if (err)
		return err;
	if (parser->csv)
		return csv_end(parser->csv);
	if (parser->json)
		return json_feed_end(parser->json);
	return parser->len || parser->skip_rest ? take_line(parser) : 0;
}
