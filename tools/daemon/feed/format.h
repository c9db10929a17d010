/* SPDX-License-Identifier: GPL-2.0-only */
/* The formats of feeds: read in parts, as they arrive. */
#ifndef IPCUCKOOD_FORMAT_H
#define IPCUCKOOD_FORMAT_H

#include "lib/feed.h"

enum format_kind {
	FORMAT_PLAIN,	/* an address, prefix or range in each line: what "ipcuckoo load" reads */
	FORMAT_CSV,	/* columns, perhaps with quotes and a line of headings */
	FORMAT_JSON,	/* JSON documents: one, or one in each line, or one behind the other */
	FORMAT_RIR,	/* delegated files of Internet registries: columns, numbers of addresses */
	FORMAT_P2P,	/* "name:A-B" in each line */
	FORMAT_IPFILTER,/* "A - B , level , name" in each line, with leading zeros */
	FORMAT_DENY,	/* "deny A;" of nginx, "Deny from A" and "Require not ip A" of Apache */
	FORMAT_IP_PORT,	/* "A:port" or "[A]:port" in each line */
	FORMAT_IPTOASN,	/* tables of countries and systems, which are CSV: see table.h */
	FORMAT_DBIP,
	FORMAT_GEOLITE,
};

/**
 * struct format - how to read a feed
 * @kind:	the format
 * @separator:	CSV: character between columns
 * @field:	CSV: the column, a number from 1 or a heading; JSON: the field, "a.b" for one inside
 *		another, if there is no @filter
 * @to:		if not NULL, the same for the last address of a range that begins in @field
 * @count:	CSV: if not NULL, the column with the number of addresses from @field on
 * @mask:	CSV: if not NULL, the column with the netmask or prefix length
 * @wildcard:	CSV: if not NULL, the column with the inverted netmask
 * @integers:	CSV: addresses are decimal numbers
 * @match_field: if not NULL, the column or field that @match is compared with
 * @match:	only records that have one of these values are read; NULL ends them
 * @country:	tables: the countries that are wanted; NULL ends them. table_check() makes @match of it
 * @not_country: tables: all countries but these are wanted
 * @asn:	tables: the autonomous systems that are wanted
 * @is_table:	@match has countries or systems
 * @except:	records are read that have none of @match
 * @found:	for each of @match: a record had it
 * @where:	CSV: if not NULL, only records for which this is true are read: "score >= 90"
 * @filter:	JSON: the program for jq that yields the addresses; or NULL
 * @member:	archives: pattern of the files that are read; NULL: there is only one
 * @password_file: archives: a file whose first line is the password; or NULL
 */
struct format {
	int kind;
	int separator;
	char *field;
	char *to;
	char *count;
	char *mask;
	char *wildcard;
	bool integers;
	char *match_field;
	char **match;
	char **country;
	char **not_country;
	char **asn;
	bool is_table;
	bool except;
	bool *found;
	char *where;
	char *filter;
	char *member;
	char *password_file;
};

struct parser;

/* @feed: gets the entries; wrong lines are skipped and counted. @fault: gets line and reason of
 * what is wrong, also of lines that are skipped. @limit: the largest feed, in bytes. Return: NULL
 * if there is no memory.
 */
struct parser *parser_new(const struct format *format, struct feed *feed, struct feed_fault *fault,
			  uint64_t limit);
/* Return: 0 or a negative errno; then this is no such feed, and the rest is of no use. */
int parser_push(struct parser *parser, const char *data, size_t len);
/* The end of the feed. Return: as parser_push(). */
int parser_end(struct parser *parser);
void parser_free(struct parser *parser);

#endif /* IPCUCKOOD_FORMAT_H */
