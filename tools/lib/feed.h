/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feeds: files with one address, prefix or range in each line.
 */
#ifndef IPCUCKOO_TOOL_FEED_H
#define IPCUCKOO_TOOL_FEED_H

#include "lib/origin.h"

/* Maximum number of hosts that a prefix or range is expanded to by default. */
#define FEED_EXPAND_LIMIT	65536ull
/* The same with --expand: 1 GiB of IPv4 hosts, more than a set needs. */
#define FEED_EXPAND_MOST	(1ull << 28)

/* Room for a range. */
#define FEED_ENTRY_SIZE		(2 * ADDRESS_TEXT_SIZE)

/**
 * struct feed_fault - a wrong line
 * @file:	the file, as the caller named it
 * @line:	number of the line; 0 if the file itself cannot be used
 * @text:	the entry, quoted for messages
 * @why:	what is wrong with the line
 * @convert:	if @line is 0: a command that makes a list of the file, whose name belongs at its end; or NULL
 */
struct feed_fault {
	const char *file;
	unsigned long line;
	char text[64];
	char why[ADDRESS_WHY_SIZE];
	const char *convert;
};

/**
 * struct feed - the entries of files, and how to read the files
 * @entries:	result, unsorted
 * @limit:	maximum number of entries; 0: any
 * @lines:	lines read of the current file
 * @unit:	what a line is called, for the caller: "line", or "value" of JSON
 * @blank:	lines without an entry that are not wrong: comments, and empty lines
 * @skipped:	wrong lines that were skipped
 * @masked:	prefixes whose host bits were cleared
 * @family:	IPCUCKOO_FAMILY_* of the set
 * @hosts_only:	the set holds only hosts: expand prefixes and ranges
 * @expand_limit: maximum number of hosts that one prefix or range is expanded to
 * @has_expand:	the command has the option --expand (for the error message)
 * @skip_invalid: skip wrong lines
 * @origin:	gets the lines of the entries; may be NULL
 * @report:	called for each skipped line; may be NULL
 * @take:	reads a line of another format, which it may change, without blanks around it; NULL: the
 *		format is an entry in each line. Return: 0, or a negative errno if the feed cannot go on
 */
struct feed {
	struct packed entries;
	size_t limit;
	unsigned long lines;
	const char *unit;
	unsigned long blank;
	unsigned long skipped;
	unsigned long masked;
	uint8_t family;
	bool hosts_only;
	uint64_t expand_limit;
	bool has_expand;
	bool skip_invalid;
	struct origin *origin;
	void (*report)(const struct feed *feed, const struct feed_fault *fault);
	int (*take)(struct feed *feed, struct feed_fault *fault, char *line);
};

int feed_add(struct feed *feed, const char *text, size_t len,
	     char why[ADDRESS_WHY_SIZE]);
int feed_read(struct feed *feed, const char *path, struct feed_fault *fault);
int feed_cut_entry(const char **line, const char **end, char joined[FEED_ENTRY_SIZE],
		   char why[ADDRESS_WHY_SIZE]);
int feed_take(struct feed *feed, struct feed_fault *fault, const char *text, size_t len);
int feed_refuse(struct feed *feed, struct feed_fault *fault, const char *text, const char *why);
char *feed_trim(char *text);
void feed_wrong_line(struct feed *feed, struct feed_fault *fault, const char *text, size_t len);
int feed_check_start(const char *data, size_t len, size_t *skip, struct feed_fault *fault);

/* A feed that arrives in parts. */
struct feed_stream;

struct feed_stream *feed_open(struct feed *feed, struct feed_fault *fault);
int feed_push(struct feed_stream *stream, const char *data, size_t len);
int feed_flush(struct feed_stream *stream);
int feed_end(struct feed_stream *stream);
void feed_close(struct feed_stream *stream);

void feed_free(struct feed *feed);

#endif /* IPCUCKOO_TOOL_FEED_H */
