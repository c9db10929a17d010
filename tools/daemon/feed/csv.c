// SPDX-License-Identifier: GPL-2.0-only
/*
 * Columns are cut byte by byte, as they arrive: a value in quotes may have separators, quotes
 * written twice, and newlines. Text behind such a value could hide other records, so it is wrong; a
 * quote that nothing closes would hide all the rest, so the feed is refused.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/feed/csv.h"
#include "daemon/feed/table.h"

/* The longest record. */
#define RECORD_MOST	(64 << 10)

/* The values of a record that are needed. */
enum value {
	VALUE_FIELD, VALUE_TO, VALUE_COUNT, VALUE_MASK, VALUE_WILDCARD, VALUE_MATCH, VALUE_WHERE,
	VALUES
};

/* Where in a record the reader is. */
enum state {
	STATE_BEGIN,	/* before a value */
	STATE_VALUE,	/* in a value */
	STATE_QUOTED,	/* in a value in quotes */
	STATE_CLOSED,	/* behind a quote, which ends the value unless another one follows */
	STATE_AFTER,	/* in blanks behind a value in quotes */
	STATE_COMMENT,	/* in a comment */
};

/* A comparison, as "score >= 90". */
struct condition {
	char column[128];
	char operator[3];
	const char *value;
};

/**
 * struct csv - a feed of columns that is being read
 * @format:	how
 * @feed:	gets the entries
 * @fault:	gets what is wrong
 * @separator:	character between columns
 * @name:	of each value that is needed, its column: a number or a heading; or NULL
 * @column:	the same as number, from 0
 * @where:	the comparison of VALUE_WHERE
 * @titled:	the columns are known
 * @first:	no record was read yet
 * @state:	where in a record the reader is
 * @wrong:	why the record cannot be used; or NULL
 * @more_lines:	lines of the record but for its last one
 * @text:	the values of the record, each with a NUL behind it
 * @len:	their length
 * @start:	where each value begins
 * @count:	number of values
 */
struct csv {
	const struct format *format;
	struct feed *feed;
	struct feed_fault *fault;
	char separator;
	const char *name[VALUES];
	size_t column[VALUES];
	struct condition where;
	bool titled;
	bool first;
	enum state state;
	const char *wrong;
	unsigned long more_lines;
	char text[RECORD_MOST + 1];
	size_t len;
	char *start[CSV_COLUMNS_MOST];
	size_t count;
};

static bool parse_condition(const char *text, struct condition *condition)
{
	const char *at = text + strcspn(text, "<>=!");
	size_t len = at - text, operator;

	while (len && text[len - 1] == ' ')
		len--;
	operator = *at && at[1] == '=' ? 2 : 1;
	snprintf(condition->column, sizeof(condition->column), "%.*s", (int)len, text);
	snprintf(condition->operator, sizeof(condition->operator), "%.*s", (int)operator, at);
	condition->value = at + strnlen(at, operator);
	condition->value += strspn(condition->value, " ");
	return len && len < sizeof(condition->column) && *at && *condition->value &&
	       strcmp(condition->operator, "!") && !strchr("<>=!", *condition->value);
}

/* The number of a column, from 0; -1 if the name is a heading. */
static long column_number(const char *name)
{
	char *end;
	long number = strtol(name, &end, 10);

	return *name && !*end && number > 0 ? number - 1 : -1;
}

bool csv_is_column(const char *name)
{
	long number = column_number(name);

	return number < 0 ? strspn(name, "0123456789") < strlen(name) : number < CSV_COLUMNS_MOST;
}

bool csv_is_condition(const char *text)
{
	struct condition condition;

	return parse_condition(text, &condition) && csv_is_column(condition.column);
}

struct csv *csv_new(const struct format *format, struct feed *feed, struct feed_fault *fault)
{
	struct csv *csv = calloc(1, sizeof(*csv));
	bool rir = format->kind == FORMAT_RIR;
	int value;

	if (!csv)
		return NULL;
	csv->format = format;
	csv->feed = feed;
	csv->fault = fault;
	csv->separator = rir ? '|' : format->separator;
	if (format->where && parse_condition(format->where, &csv->where))
		csv->name[VALUE_WHERE] = csv->where.column;
	csv->name[VALUE_FIELD] = rir ? "4" : format->field;
	csv->name[VALUE_TO] = format->to;
	csv->name[VALUE_COUNT] = rir ? "5" : format->count;
	csv->name[VALUE_MASK] = format->mask;
	csv->name[VALUE_WILDCARD] = format->wildcard;
	csv->name[VALUE_MATCH] = format->match_field;
	csv->titled = true;
	csv->first = true;
	for (value = 0; value < VALUES; value++) {
		if (!csv->name[value])
			continue;
		csv->column[value] = column_number(csv->name[value]);
		csv->titled &= csv->column[value] != (size_t)-1;
	}
	return csv;
}

void csv_free(struct csv *csv)
{
	free(csv);
}

/* Find the columns by the headings. Return: false if there is no such heading; then it is in
 * fault->why.
 */
static bool find_columns(struct csv *csv)
{
	int value;
	size_t i;

	for (value = 0; value < VALUES; value++) {
		if (!csv->name[value] || column_number(csv->name[value]) >= 0)
			continue;
		for (i = 0; i < csv->count; i++)
			if (!strcmp(csv->start[i], csv->name[value]))
				break;
		if (i == csv->count) {
			csv->fault->line = csv->feed->lines;
			snprintf(csv->fault->why, sizeof(csv->fault->why),
				 "the headings have no column \"%.64s\"", csv->name[value]);
			return false;
		}
		csv->column[value] = i;
	}
	csv->titled = true;
	return true;
}

/* Compare as numbers if both are; texts are the same, or not. Return: NULL, or what is wrong. */
static const char *compare(const struct condition *condition, const char *text, bool *wanted)
{
	const char *operator = condition->operator;
	char *end, *value_end;
	double number = strtod(text, &end), value = strtod(condition->value, &value_end);
	bool numbers = *text && !*end && !*value_end, same, less;

	if (!numbers && *operator != '=' && *operator != '!')
		return "what the key \"where\" compares is no number in this line";
	same = numbers ? number == value : !strcmp(text, condition->value);
	less = numbers && number < value;
	if (*operator == '!')
		*wanted = !same;
	else if (*operator == '<')
		*wanted = less || (same && operator[1]);
	else if (*operator == '>')
		*wanted = !less && (!same || operator[1]);
	else
		*wanted = same;
	return NULL;
}

static bool is_matched(const struct format *format, const char *value)
{
	size_t i;

	if (!format->match_field)
		return true;
	if (format->is_table)
		return table_wants(format, value);
	for (i = 0; value && format->match && format->match[i]; i++)
		if (!strcmp(format->match[i], value))
			return true;
	return false;
}

/* Write a decimal number as an address. Return: whether it is one. */
static bool format_integer(const char *digits, char to[ADDRESS_TEXT_SIZE])
{
	unsigned __int128 number = 0, before;
	uint8_t address[16];
	int i;

	for (; isdigit((unsigned char)*digits); digits++) {
		before = number;
		number = number * 10 + (*digits - '0');
		if (number / 10 != before)
			return false;
	}
	for (i = 15; i >= 0; i--, number >>= 8)
		address[i] = number;
	for (i = 0; i < 12 && !address[i]; i++)
		;
	return !*digits && (i == 12 ? inet_ntop(AF_INET, address + 12, to, ADDRESS_TEXT_SIZE) :
				      inet_ntop(AF_INET6, address, to, ADDRESS_TEXT_SIZE));
}

/* The prefix length of a mask, or -1. @inverted: it has ones where a netmask has zeros */
static int mask_length(const char *text, bool inverted)
{
	struct in_addr address;
	uint32_t mask;
	char *end;
	long len;

	if (!inverted && isdigit((unsigned char)*text) && !strchr(text, '.')) {
		len = strtol(text, &end, 10);
		return *end || len > 128 ? -1 : len;
	}
	if (inet_pton(AF_INET, text, &address) != 1)
		return -1;
	mask = ntohl(address.s_addr);
	mask = inverted ? mask : ~mask;
	return mask & (mask + 1) ? -1 : 32 - __builtin_popcount(mask);
}

/* The number of addresses from @first on; of IPv6, as registries have it, the prefix length. */
static bool format_count(const char *first, const char *count, char *to, size_t size)
{
	struct in_addr address;
	uint64_t last;
	char *end;
	unsigned long long number = strtoull(count, &end, 10);

	if (!isdigit((unsigned char)*count) || *end || !number || number > 1ull << 32)
		return false;
	if (strchr(first, ':')) {
		snprintf(to, size, "%s/%llu", first, number);
		return true;
	}
	if (inet_pton(AF_INET, first, &address) != 1)
		return false;
	last = ntohl(address.s_addr) + number - 1;
	snprintf(to, size, "%s-%u.%u.%u.%u", first, (uint8_t)(last >> 24), (uint8_t)(last >> 16),
		 (uint8_t)(last >> 8), (uint8_t)last);
	return last <= UINT32_MAX;
}

/* Write the entry of a record. Return: NULL, or what is wrong. */
static const char *format_entry(const struct csv *csv, char *const value[VALUES], char *to,
				size_t size)
{
	char numbers[2][ADDRESS_TEXT_SIZE];
	const char *first = value[VALUE_FIELD], *last = value[VALUE_TO];
	int mask = value[VALUE_WILDCARD] ? VALUE_WILDCARD : VALUE_MASK, len;

	if (csv->format->integers) {
		if (!format_integer(first, numbers[0]) ||
		    (last && !format_integer(last, numbers[1])))
			return "not a decimal number that stands for an address";
		first = numbers[0];
		last = last ? numbers[1] : NULL;
	}
	if (last) {
		snprintf(to, size, "%s-%s", first, last);
	} else if (value[VALUE_COUNT]) {
		if (!format_count(first, value[VALUE_COUNT], to, size))
			return "the number of addresses is none";
	} else if (value[mask]) {
		len = mask_length(value[mask], mask == VALUE_WILDCARD);
		if (len < 0)
			return mask == VALUE_WILDCARD ? "not an inverted netmask, as 0.0.0.255 is" :
							"neither a netmask nor a prefix length";
		snprintf(to, size, "%s/%d", first, len);
	} else {
		snprintf(to, size, "%s", first);
	}
	return NULL;
}

/* Files of registries are read wrongly without the number of addresses. */
static bool is_registry(const struct csv *csv)
{
	return csv->format->kind == FORMAT_CSV && csv->separator == '|' && csv->count > 6 &&
	       (!strcmp(csv->start[2], "ipv4") || !strcmp(csv->start[2], "ipv6")) &&
	       csv->column[VALUE_FIELD] == 3 && !csv->format->count && !csv->format->mask;
}

static int take_values(struct csv *csv, char *const value[VALUES])
{
	char text[512];
	const char *wrong = NULL;
	bool wanted = is_matched(csv->format, value[VALUE_MATCH]);

	if (wanted && value[VALUE_WHERE])
		wrong = compare(&csv->where, value[VALUE_WHERE], &wanted);
	if (!wanted || !*value[VALUE_FIELD]) {
		csv->feed->blank++;
		return 0;
	}
	text[0] = '\0';
	if (!wrong)
		wrong = format_entry(csv, value, text, sizeof(text));
	if (wrong)
		return feed_refuse(csv->feed, csv->fault, value[VALUE_FIELD], wrong);
	return feed_take(csv->feed, csv->fault, text, strlen(text));
}

static int take_columns(struct csv *csv)
{
	char *value[VALUES] = { NULL };
	bool first = csv->first;
	size_t i;

	csv->first = false;
	for (i = 0; i < csv->count; i++)
		csv->start[i] = feed_trim(csv->start[i]);
	if (!csv->titled) {
		csv->feed->blank++;
		return find_columns(csv) ? 0 : -EINVAL;
	}
	if (csv->format->kind == FORMAT_RIR &&
	    (csv->count < 5 || strncmp(csv->start[2], "ipv", 3) || !strcmp(csv->start[3], "*"))) {
		csv->feed->blank++;
		return 0;
	}
	if (is_registry(csv)) {
		csv->fault->line = csv->feed->lines;
		snprintf(csv->fault->why, sizeof(csv->fault->why),
			 "this is a file of an Internet registry, with numbers of addresses: say format = rir");
		return -EINVAL;
	}
	for (i = 0; i < VALUES; i++) {
		if (!csv->name[i])
			continue;
		if (csv->column[i] >= csv->count && i == VALUE_MATCH)
			continue;
		if (csv->column[i] >= csv->count)
			return feed_refuse(csv->feed, csv->fault, csv->start[0],
					    "a column that is needed is not in this line");
		value[i] = csv->start[csv->column[i]];
	}
	/* Headings, whose columns are known by their numbers */
	if (first && isalpha((unsigned char)*value[VALUE_FIELD]) &&
	    !strpbrk(value[VALUE_FIELD], ".:/")) {
		csv->feed->blank++;
		return 0;
	}
	return take_values(csv, value);
}

/* Headings may be in a comment. */
static int take_comment(struct csv *csv)
{
	char separator[] = { csv->separator, '\0' }, *rest = csv->start[0];

	csv->feed->blank++;
	if (csv->titled)
		return 0;
	rest += strspn(rest, "#; \t");
	for (csv->count = 0; rest && csv->count < CSV_COLUMNS_MOST; csv->count++)
		csv->start[csv->count] = feed_trim(strsep(&rest, separator));
	find_columns(csv);
	csv->fault->line = 0;
	return 0;
}

static void begin_value(struct csv *csv)
{
	csv->state = STATE_BEGIN;
	if (csv->count < CSV_COLUMNS_MOST)
		csv->start[csv->count] = csv->text + csv->len;
}

static void begin_record(struct csv *csv)
{
	csv->wrong = NULL;
	csv->more_lines = 0;
	csv->len = 0;
	csv->count = 0;
	begin_value(csv);
}

static void put(struct csv *csv, char c)
{
	if (csv->len < RECORD_MOST)
		csv->text[csv->len++] = c;
	else
		csv->wrong = "the line is longer than 64 KiB";
	if (!c)
		csv->wrong = "there is a NUL in this line";
}

static void end_value(struct csv *csv)
{
	/* Blanks may be between columns, too. */
	if (csv->separator == ' ' && csv->state == STATE_BEGIN)
		return;
	if (csv->len < RECORD_MOST)
		csv->text[csv->len++] = '\0';
	else
		csv->wrong = "the line is longer than 64 KiB";
	csv->count += csv->count < CSV_COLUMNS_MOST;
}

static int end_record(struct csv *csv)
{
	bool comment = csv->state == STATE_COMMENT;
	int err;

	csv->feed->lines++;
	csv->text[csv->len] = '\0';
	if (!csv->count && csv->state == STATE_BEGIN) {
		csv->feed->blank++;
		err = 0;
	} else if (comment) {
		err = take_comment(csv);
	} else {
		end_value(csv);
		err = csv->wrong ? feed_refuse(csv->feed, csv->fault, csv->text, csv->wrong) :
				   take_columns(csv);
		/* The lines of a record count as its last one does. */
		if (csv->wrong)
			csv->feed->skipped += csv->more_lines;
		else
			csv->feed->blank += csv->more_lines;
	}
	begin_record(csv);
	return err;
}

static int never_closed(struct csv *csv)
{
	csv->fault->line = csv->feed->lines - csv->more_lines + 1;
	snprintf(csv->fault->why, sizeof(csv->fault->why),
		 "a quote begins a value here, and no quote ends it");
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int take_byte(struct csv *csv, char c)
{
	bool outside = csv->state != STATE_QUOTED && csv->state != STATE_COMMENT;

	if (c == '\n' && csv->state != STATE_QUOTED)
		return end_record(csv);
	if (outside && c == csv->separator) {
		end_value(csv);
		begin_value(csv);
		return 0;
	}
	switch (csv->state) {
	case STATE_BEGIN:
		if (is_blank(c))
			return 0;
		csv->state = c == '"' ? STATE_QUOTED : STATE_VALUE;
		if (!csv->count && (c == '#' || c == ';'))
			csv->state = STATE_COMMENT;
		if (c != '"')
			put(csv, c);
		return 0;
	case STATE_QUOTED:
		if (c == '"') {
			csv->state = STATE_CLOSED;
			return 0;
		}
		csv->feed->lines += c == '\n';
		csv->more_lines += c == '\n';
		put(csv, c);
		return csv->len < RECORD_MOST ? 0 : never_closed(csv);
	case STATE_CLOSED:
		if (c == '"') {
			csv->state = STATE_QUOTED;
			put(csv, c);
			return 0;
		}
		csv->state = STATE_AFTER;
		/* fallthrough */
	case STATE_AFTER:
		if (!is_blank(c))
			csv->wrong = "there is text behind a quote that ends a value";
		return 0;
	default:
		put(csv, c);
		return 0;
	}
}

int csv_push(struct csv *csv, const char *data, size_t len)
{
	int err = 0;

	if (!csv->start[0])
		begin_record(csv);
	for (; len && !err; data++, len--)
		err = take_byte(csv, *data);
	return err;
}

int csv_end(struct csv *csv)
{
	if (csv->state == STATE_QUOTED)
		return never_closed(csv);
	return csv->len || csv->count || csv->state != STATE_BEGIN ? end_record(csv) : 0;
}
