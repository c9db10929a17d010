/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of add, del and test. The table in options.c says how each option is
 * written, and which types of sets take it. (Those of create are in set/options.c.)
 */
#ifndef IPCUCKOO_TOOL_OPTIONS_H
#define IPCUCKOO_TOOL_OPTIONS_H

#include "cli/tool.h"
#include "lib/extended.h"
#include "nl/option.h"

enum option {
	OPTION_TIMEOUT,
	OPTION_PACKETS,
	OPTION_BYTES,
	OPTION_COMMENT,
	OPTION_SKBMARK,
	OPTION_SKBPRIO,
	OPTION_SKBQUEUE,
	OPTION_NOMATCH,
	OPTIONS
};

/* Which command has the options: add or del, perhaps in a file, or test. */
enum option_place {
	OPTIONS_OF_ENTRIES,
	OPTIONS_OF_TEST,
};

/**
 * struct option_value - an option on the command line
 * @given:	the option was given
 * @word:	the word after the option, or NULL
 * @number:	the value, if the option takes a number
 */
struct option_value {
	bool given;
	const char *word;
	long long number;
};

/**
 * struct options - all options on the command line
 * @of:		the options of ipset's syntax
 * @expand:	--expand was given
 * @check:	--check was given (not with test)
 */
struct options {
	struct option_value of[OPTIONS];
	bool expand;
	bool check;
};

/* Take the options of @table and @more out of @words, as parse_words() does, and read their
 * numbers. @values: set for each row of the table. Return: STATUS_OK, or another status after
 * a message.
 */
int options_read(const struct tool *tool, const struct option_spec *table,
		 const struct keyword *more, struct words *words, int least, int most,
		 struct option_value *values);

/* The same for options of entries. */
int options_parse(const struct tool *tool, enum option_place place,
		  struct words *words, int least, int most,
		  struct options *options);

/* Check that a set like this one takes the options that were given, and has the
 * extensions that they need. Return: STATUS_OK, or another status after a message.
 */
int options_check(const struct tool *tool, const struct options *options,
		  const struct nl_set *set);

/* Check that no option was given, except perhaps @option; OPTIONS means: no exception.
 * Return: STATUS_OK, or another status after a message.
 */
int options_only(const struct tool *tool, const struct options *options,
		 enum option option);

/* The extensions (enum ipcuckoo_option) whose values the given options set. */
uint32_t options_extensions(const struct options *options);

/* Whether a comment can be saved and restored: it contains no quotes, and no control
 * characters except tabs.
 */
bool is_comment(const char *text);

/* The extensions that @options give to an entry of the set, defaults filled in.
 * @value->comment points into the options. Return: STATUS_OK, or another status after
 * a message.
 */
int options_value(const struct tool *tool, const struct options *options,
		  const struct nl_set *set, struct entry_value *value);

#endif /* IPCUCKOO_TOOL_OPTIONS_H */
