/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands share: options, words, messages, exit statuses.
 */
#ifndef IPCUCKOO_TOOL_H
#define IPCUCKOO_TOOL_H

#include <stdio.h>

#include "nl/set.h"

/* Exit statuses; print_usage() tells the user the same, and exit_status() has
 * the last word.
 */
enum status {
	STATUS_OK	= 0,
	STATUS_NO	= 1,	/* not in the set, not blocked */
	STATUS_USAGE	= 2,	/* wrong words or wrong input */
	STATUS_REFUSED	= 3,	/* refused by the kernel, or failed */
	STATUS_ABSENT	= 4,	/* the module is not loaded */
	STATUS_DENIED	= 5,	/* no permission */
	STATUS_SYNTAX	= 6,	/* a wrong value */
};

/* How sets are printed. */
enum output {
	OUTPUT_DEFAULT,		/* as the command does */
	OUTPUT_PLAIN,
	OUTPUT_SAVE,
	OUTPUT_XML,
	OUTPUT_JSON,
};

/**
 * struct tool - one run of the tool
 * @nl:		connection to the module, once connect_module() made it
 * @command:	the command being run
 * @json:	-j: answer in JSON
 * @quiet:	-q: no messages
 * @exist:	-exist: what is there already, or gone already, is no error
 * @force:	--force: also what locks the SSH session out
 * @sorted:	-sorted, which lists are anyway
 * @names:	-name: list names only
 * @terse:	-terse: list no members
 * @resolve:	-resolve: list host names where there are any
 * @help:	--help: show help instead
 * @version:	--version: show the version instead
 * @output:	-output: how to list
 * @file:	-file: where to write, or to read from; or NULL
 * @line:	the line of the input that is worked on, for messages; 0 for none
 */
struct tool {
	struct nl *nl;
	const struct command *command;
	bool json;
	bool quiet;
	bool exist;
	bool force;
	bool sorted;
	bool names;
	bool terse;
	bool resolve;
	bool help;
	bool version;
	enum output output;
	const char *file;
	unsigned long line;
};

/**
 * struct words - the words of a command line that are left to be understood
 * @word:	the words
 * @count:	how many
 * @plain:	from this one on none is an option ("--" came before)
 */
struct words {
	char **word;
	int count;
	int plain;
};

/* A word of the grammar and what it stands for; a table ends with a NULL. */
struct meaning {
	const char *word;
	int value;
};

extern const struct meaning type_words[];
extern const struct meaning family_words[];
extern const struct meaning direction_words[];
extern const struct meaning verdict_words[];

/**
 * struct keyword - an optional word of a command
 * @word:	how it is written
 * @flag:	set to true when it is met, or
 * @value:	set to the word behind it
 */
struct keyword {
	const char *word;
	bool *flag;
	const char **value;
};

/* For commands without any. */
extern const struct keyword no_keywords[];

#define PRINTF(at, args) __attribute__((format(printf, at, args)))

/* Messages. Each ends its line; those that take a status return it. */
int fail(const struct tool *tool, int status, const char *format, ...)
	PRINTF(3, 4);
void warn(const struct tool *tool, const char *format, ...) PRINTF(2, 3);
int fail_syntax(const struct tool *tool, const char *format, ...) PRINTF(2, 3);
int fail_missing(const struct tool *tool, int words);
int fail_usage(const struct tool *tool);
int fail_memory(const struct tool *tool);

/* " (did you mean ...?)" for a word that is none of the others. */
const char *nearest_hint(const char *word, const char *const *others,
			 size_t count);

/* Words. All return STATUS_OK or STATUS_USAGE after a message. */
int parse_words(const struct tool *tool, struct words *words,
		const struct keyword *keywords, int least, int most);
int fail_unknown(const struct tool *tool, const struct keyword *keywords,
		 const char *word);
int parse_name(const struct tool *tool, const char *name);
int parse_meaning(const struct tool *tool, const char *before,
		  const char *behind, const struct meaning *meanings,
		  const char *word, int *value);
int parse_number(const struct tool *tool, const char *what, const char *word,
		 long long least, long long most, long long *value);
const char *meaning_word(const struct meaning *meanings, int value);

/* The kernel. All return a status, and unless it is STATUS_OK after a message. */
int fail_kernel(const struct tool *tool, const char *set, const char *format,
		...) PRINTF(3, 4);
int connect_module(struct tool *tool);
int find_set(struct tool *tool, const char *name, struct nl_set *set);

#endif /* IPCUCKOO_TOOL_H */
