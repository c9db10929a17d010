// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines are read by the tool's own reader (lib/feed.h), columns by csv.c, JSON by json_feed.c. Here are the
 * formats of other programs that have an entry in each line.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "daemon/feed/csv.h"
#include "daemon/feed/format.h"
#include "daemon/feed/json_feed.h"

/* JSON takes at most this many times the size of the largest feed in memory. */
#define JSON_COST	4

/* So many first bytes show what the feed is. */
#define START_SIZE	512

/**
 * struct parser - a feed that is being read
 * @fault:	gets what is wrong
 * @stream:	reads lines
 * @csv:	reads columns
 * @json:	reads JSON
 * @start:	columns and JSON: the first bytes, until there are enough of them to look at
 * @start_len:	how many there are
 * @began:	columns and JSON: the first bytes were looked at, and read
 */
struct parser {
	struct feed_fault *fault;
	struct feed_stream *stream;
	struct csv *csv;
	struct json_feed *json;
	char start[START_SIZE];
	size_t start_len;
	bool began;
};

static int take_entry(struct feed *feed, struct feed_fault *fault, const char *text)
{
	return feed_take(feed, fault, text, strlen(text));
}

/* "Name, perhaps with colons:A-B" */
static int take_p2p(struct feed *feed, struct feed_fault *fault, char *line)
{
	char *colon = strrchr(line, ':');

	if (!colon)
		return feed_refuse(feed, fault, line,
				    "not a name, a colon, and a range");
	return take_entry(feed, fault, feed_trim(colon + 1));
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
static int take_ipfilter(struct feed *feed, struct feed_fault *fault, char *line)
{
	char *level = strchr(line, ',');

	if (level) {
		*level++ = '\0';
		if (strtol(level, NULL, 10) > 127) {
			feed->blank++;
			return 0;
		}
	}
	strip_zeros(line);
	return take_entry(feed, fault, line);
}

/* "deny A;", "Deny from A B" or "Require not ip A B" */
static int take_deny(struct feed *feed, struct feed_fault *fault, char *line)
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
		feed->blank++;
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
		return feed_refuse(feed, fault, line,
				    "neither \"deny A;\" nor \"Deny from A\" nor \"Require not ip A\"");
	while (have < count && !err)
		err = take_entry(feed, fault, word[have++]);
	return err;
}

/* "A:port" or "[A]:port"; the port is left out. */
static int take_ip_port(struct feed *feed, struct feed_fault *fault, char *line)
{
	const char *entry = line, *end = line + strlen(line), *colon, *first;
	char joined[FEED_ENTRY_SIZE];
	int err = feed_cut_entry(&entry, &end, joined, fault->why);

	if (err) {
		feed_wrong_line(feed, fault, line, strlen(line));
		return 0;
	}
	first = entry + (*entry == '[');
	colon = memchr(first, *entry == '[' ? ']' : ':', end - first);
	if (colon && (*entry == '[' || !memchr(colon + 1, ':', end - colon - 1)))
		end = colon;
	return feed_take(feed, fault, first, end - first);
}

/* The formats that are read line by line; plain lists are what the reader knows. */
static int (*const takers[])(struct feed *feed, struct feed_fault *fault, char *line) = {
	[FORMAT_PLAIN] = NULL,
	[FORMAT_P2P] = take_p2p,
	[FORMAT_IPFILTER] = take_ipfilter,
	[FORMAT_DENY] = take_deny,
	[FORMAT_IP_PORT] = take_ip_port,
};

struct parser *parser_new(const struct format *format, struct feed *feed, struct feed_fault *fault,
			  uint64_t limit)
{
	struct parser *parser = calloc(1, sizeof(*parser));

	if (!parser)
		return NULL;
	parser->fault = fault;
	feed->skip_invalid = true;
	feed->unit = "line";
	fault->line = 0;
	fault->text[0] = '\0';
	switch (format->kind) {
	case FORMAT_CSV:
	case FORMAT_RIR:
		parser->csv = csv_new(format, feed, fault);
		break;
	case FORMAT_JSON:
		parser->json = json_feed_new(format, feed, fault, JSON_COST * limit);
		break;
	default:
		feed->take = takers[format->kind];
		parser->stream = feed_open(feed, fault);
	}
	if (parser->stream || parser->csv || parser->json)
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
	free(parser);
}

static int push(struct parser *parser, const char *data, size_t len)
{
	if (parser->csv)
		return csv_push(parser->csv, data, len);
	return json_feed_push(parser->json, data, len);
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
	return json_feed_end(parser->json);
}
