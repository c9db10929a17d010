// SPDX-License-Identifier: GPL-2.0-only
/*
 * libjq parses what arrives in parts. Each document is in memory as a whole, as a tree that may
 * take a hundred times its size ("[{},{},..."). So its size is estimated while it arrives, and what
 * would be too large is refused before there is a tree of it.
 *
 * A filter comes from the administrator, but shall do no more than yield addresses. What would give
 * it other input, the environment, files or an early end is defined anew before it (guard).
 * "import" and "include" are allowed at the beginning of a program only, where the guard is. libjq
 * runs the file .jq in HOME before each program, so main() unsets HOME.
 */
#include <stdio.h>
#include <stdlib.h>

#include <jq.h>

#include "daemon/base/memory.h"
#include "daemon/feed/json_feed.h"

/* Memory that libjq takes for an object or array, and for one more value in it. */
#define CONTAINER_COST	420
#define VALUE_COST	128

/* The longest text; of a document that is wrong, libjq 1.6 may lose one, which is never freed. */
#define TEXT_MOST	(64 << 10)

/* The separator of JSON texts (RFC 7464). libjq drops what it cuts off, and says nothing. */
#define SEPARATOR	'\x1e'

/* Bytes that the parser gets at once */
#define PART_SIZE	(16u << 10)

static const char guard[] =
	"def no: error(\"a filter has no input, environment or files\");"
	"def env: no; def input: no; def inputs: no; def debug: no; def debug(m): no; def stderr: no;"
	"def halt: no; def halt_error: no; def halt_error(c): no; def input_filename: no;"
	"def input_line_number: no; def get_search_list: no; def modulemeta: no;"
	"{} as $ENV | {} as $__prog_args |\n";

/**
 * struct json_feed - a feed of JSON that is being read
 * @feed:	gets the entries
 * @fault:	gets what is wrong
 * @state:	runs the filter
 * @parser:	parses the documents
 * @memory:	most memory that a document may take
 * @cost:	memory that the document so far may take
 * @quoted:	it is inside a text
 * @run:	bytes of the text so far
 * @escaped:	the last byte was a backslash
 * @documents:	number of documents
 * @arrays:	there was an array in them
 * @object:	the last one was an object
 * @found:	values that the filter yielded
 * @missing:	those that are null or ""
 */
struct json_feed {
	struct feed *feed;
	struct feed_fault *fault;
	jq_state *state;
	jv_parser *parser;
	uint64_t memory;
	uint64_t cost;
	bool quoted;
	size_t run;
	bool escaped;
	unsigned long documents;
	bool arrays;
	bool object;
	unsigned long found;
	unsigned long missing;
};

/* Keep the first message. It ends with the program, guard included. */
static void take_message(void *data, jv message)
{
	char **why = data, *end;

	message = jq_format_error(message);
	if (!*why) {
		*why = need_copy(jv_string_value(message));
		end = strstr(*why, " at <top-level>");
		if (!end)
			end = strstr(*why, " (Unix shell");
		if (!end)
			end = strchr(*why, '\n');
		if (end)
			*end = '\0';
	}
	jv_free(message);
}

/* Filters that were compiled, which takes some 20 ms. They stay, as many feeds may have the same
 * one, and they are not large.
 */
static struct compiled {
	struct compiled *next;
	char *filter;
	jq_state *state;
} *compiled;

/* Return: NULL, with the reason, if the filter is wrong. */
static jq_state *compile(const char *filter, char **why)
{
	struct compiled *found = compiled;
	char *program;

	*why = NULL;
	while (found && strcmp(found->filter, filter))
		found = found->next;
	if (found)
		return found->state;
	found = need_zeros(sizeof(*found));
	found->state = jq_init();
	program = need_text("%s%s", guard, filter);
	if (found->state)
		jq_set_error_cb(found->state, take_message, why);
	if (found->state && jq_compile(found->state, program)) {
		jq_set_error_cb(found->state, NULL, NULL);
		found->filter = need_copy(filter);
		found->next = compiled;
		compiled = found;
	} else {
		if (!*why)
			*why = need_copy("this is no program for jq");
		if (found->state)
			jq_teardown(&found->state);
		free(found);
		found = NULL;
	}
	free(program);
	return found ? found->state : NULL;
}

char *json_feed_check(const char *filter)
{
	char *why;

	compile(filter, &why);
	return why;
}

/* A text in quotes, as jq has them. */
static char *quote(const char *text)
{
	jv string = jv_dump_string(jv_string(text), 0);
	char *quoted = need_copy(jv_string_value(string));

	jv_free(string);
	return quoted;
}

/* The path of a field such as "a.b": .["a"]["b"] */
static void append_path(char **to, const char *name)
{
	char *parts = need_copy(name), *rest = parts, *part, *quoted;

	need_more(to, ".");
	while ((part = strsep(&rest, "."))) {
		quoted = quote(part);
		need_more(to, "[%s]", quoted);
		free(quoted);
	}
	free(parts);
}

/* The filter of a format that has fields. It yields null if a record has none of them. */
static char *make_filter(const struct format *format)
{
	char *filter = need_copy(""), *quoted;
	size_t i;

	if (format->match_field) {
		append_path(&filter, format->match_field);
		need_more(&filter, " as $m | if $m == null then null");
		need_more(&filter, " elif ($m | tostring | false");
		for (i = 0; format->match && format->match[i]; i++) {
			quoted = quote(format->match[i]);
			need_more(&filter, " or . == %s", quoted);
			free(quoted);
		}
		need_more(&filter, ") then ");
	}
	if (format->to) {
		append_path(&filter, format->to);
		need_more(&filter, " as $to | ");
	}
	append_path(&filter, format->field);
	need_more(&filter, " | if type == \"array\" then .[] else . end");
	if (format->to)
		need_more(&filter, " | if . and $to then \"\\(.)-\\($to)\" else . end");
	if (format->match_field)
		need_more(&filter, " else empty end");
	return filter;
}

struct json_feed *json_feed_new(const struct format *format, struct feed *feed,
				struct feed_fault *fault, uint64_t memory)
{
	char *filter = format->filter ? need_copy(format->filter) : make_filter(format), *why;
	struct json_feed *json = need_zeros(sizeof(*json));

	json->feed = feed;
	json->fault = fault;
	json->memory = memory;
	feed->unit = "value";
	json->state = compile(filter, &why);
	json->parser = jv_parser_new(0);
	free(filter);
	free(why);
	if (json->state && json->parser)
		return json;
	json_feed_free(json);
	return NULL;
}

void json_feed_free(struct json_feed *json)
{
	if (!json)
		return;
	if (json->parser)
		jv_parser_free(json->parser);
	free(json);
}

/* The feed is of no use. @message: why, or NULL; it is freed */
static int refuse(struct json_feed *json, const char *what, jv message)
{
	bool text = jv_get_kind(message) == JV_KIND_STRING;
	char quoted[128];

	if (text)
		address_quote(quoted, sizeof(quoted), jv_string_value(message),
			      strlen(jv_string_value(message)));
	snprintf(json->fault->why, sizeof(json->fault->why), "%s%s%s", what, text ? ": " : "",
		 text ? quoted : "");
	json->fault->line = 0;
	jv_free(message);
	return -EINVAL;
}

/* What the filter has yielded; it is freed. */
static int take_value(struct json_feed *json, jv value)
{
	jv_kind kind = jv_get_kind(value);
	struct feed *feed = json->feed;
	const char *text;
	int err = 0, len = 0;

	feed->lines++;
	json->found++;
	if (kind == JV_KIND_STRING) {
		text = jv_string_value(value);
		len = jv_string_length_bytes(jv_copy(value));
		if (len)
			err = feed_take(feed, json->fault, text, len);
	}
	if (kind == JV_KIND_NULL || (kind == JV_KIND_STRING && !len)) {
		feed->blank++;
		json->missing++;
	} else if (kind != JV_KIND_STRING) {
		err = feed_refuse(feed, json->fault, jv_kind_name(kind),
				   "the filter has to yield strings, each an address, prefix or range");
	}
	jv_free(value);
	return err;
}

/* Run the filter for a document, which is freed. */
static int run_filter(struct json_feed *json, jv document)
{
	jv value, message = jv_null();
	int err = 0;

	json->documents++;
	json->object = jv_get_kind(document) == JV_KIND_OBJECT;
	jq_start(json->state, document, 0);
	while (!err && jv_is_valid(value = jq_next(json->state)))
		err = take_value(json, value);
	if (!err && jv_invalid_has_msg(jv_copy(value)))
		message = jv_invalid_get_msg(value);
	/* Otherwise the filter would keep the document until it runs the next time. */
	jq_start(json->state, jv_null(), 0);
	if (err || jv_get_kind(message) == JV_KIND_NULL)
		return err;
	return refuse(json, "is JSON for which the filter fails", message);
}

/* Parse what was given to the parser. */
static int parse(struct json_feed *json)
{
	jv document;
	int err;

	while (jv_is_valid(document = jv_parser_next(json->parser))) {
		json->cost = 0;
		err = run_filter(json, document);
		if (err)
			return err;
	}
	if (jv_invalid_has_msg(jv_copy(document)))
		return refuse(json, "is no JSON", jv_invalid_get_msg(document));
	jv_free(document);
	return 0;
}

/* Add what a part of a document may cost. Return: NULL, or why it is refused. */
static const char *estimate(struct json_feed *json, const char *data, size_t len)
{
	json->cost += len;
	for (; len && *data && *data != SEPARATOR && json->run <= TEXT_MOST; data++, len--) {
		if (*data == '[' || *data == '{')
			json->cost += CONTAINER_COST;
		else if (*data == ',')
			json->cost += VALUE_COST;
		json->arrays |= *data == '[';
		json->quoted ^= *data == '"' && !json->escaped;
		json->run = json->quoted ? json->run + 1 : 0;
		json->escaped = *data == '\\' && !json->escaped;
	}
	if (json->run > TEXT_MOST)
		return "is JSON with a text that is longer than 64 KiB";
	if (len && *data)
		return "is a sequence of JSON texts with separators (RFC 7464), which is not read";
	if (len)
		return "is no JSON: it has a NUL";
	if (json->cost > json->memory)
		return "is JSON that takes more than four times max-size in memory; if that is right, raise max-size";
	return NULL;
}

int json_feed_push(struct json_feed *json, const char *data, size_t len)
{
	const char *why;
	size_t some;
	int err = 0;

	for (; len && !err; data += some, len -= some) {
		some = len < PART_SIZE ? len : PART_SIZE;
		why = estimate(json, data, some);
		if (why)
			return refuse(json, why, jv_null());
		jv_parser_set_buf(json->parser, data, some, 1);
		err = parse(json);
	}
	return err;
}

/* An answer that has no entry empties the set, if that is allowed. A server that says what went
 * wrong answers an object, too. It has nothing where the list belongs, or no list at all.
 */
int json_feed_end(struct json_feed *json)
{
	int err;

	jv_parser_set_buf(json->parser, "", 0, 0);
	err = parse(json);
	if (err || packed_count(&json->feed->entries))
		return err;
	if (json->missing ||
	    (!json->found && json->documents == 1 && json->object && !json->arrays))
		return refuse(json, "is JSON without a list: the filter finds nothing where the entries belong, as in an error",
			      jv_null());
	return 0;
}
