/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands share: options, words, messages, exit statuses.
 */
#ifndef IPCUCKOO_TOOL_H
#define IPCUCKOO_TOOL_H

#include <stdio.h>

#include "nl/set.h"

/* Exit statuses. print_usage() lists them; exit_status() maps some of them for ipset's
 * commands.
 */
enum status {
	STATUS_OK	= 0,
	STATUS_NO	= 1,	/* not in the set, not blocked */
	STATUS_USAGE	= 2,	/* wrong command line or wrong input */
	STATUS_REFUSED	= 3,	/* refused by the kernel, or failed */
	STATUS_ABSENT	= 4,	/* the module is not loaded */
	STATUS_DENIED	= 5,	/* no permission */
	STATUS_SYNTAX	= 6,	/* a wrong value; see exit_status() */
	STATUS_WAITS	= 7,	/* not done yet, but stored, and done later */
};

/* How sets are printed. */
enum output {
	OUTPUT_DEFAULT,		/* list: plain, save: as commands; with -j, JSON */
	OUTPUT_PLAIN,
	OUTPUT_SAVE,
	OUTPUT_XML,
	OUTPUT_JSON,
};

/**
 * struct tool - one run of the tool
 * @nl:		connection to the module; NULL until connect_module() opens it
 * @command:	the command that runs
 * @json:	-j: print JSON
 * @quiet:	-q: print no messages
 * @exist:	-exist: it is no error if something to create or add exists, or if
 *		something to delete does not exist
 * @force:	--force: allow changes that the guard refuses (set/guard.h)
 * @sorted:	-sorted: has no effect, because lists are always sorted
 * @names:	-name: list names only
 * @terse:	-terse: list no members
 * @resolve:	-resolve: list host names instead of addresses that have one
 * @spare:	--spare: the module is ipcuckoo_spare
 * @help:	--help: show help instead of running the command
 * @version:	--version: show the version instead of running a command
 * @output:	-output: format of lists
 * @file:	-file: the file to write to, or to read from; NULL if not given
 * @line:	number of the input line that runs, for messages; 0 if there is none
 * @said:	if not NULL, gets the text of the last error message, which is not printed then; the
 *		caller frees it
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
	bool spare;
	bool help;
	bool version;
	enum output output;
	const char *file;
	unsigned long line;
	char **said;
};

/**
 * struct words - the words of a command line that are not parsed yet
 * @word:	the words
 * @count:	number of words
 * @plain:	index of the first word after "--": from there on, no word is an option
 */
struct words {
	char **word;
	int count;
	int plain;
};

/* A word and its value. A NULL word ends a table. */
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
 * @word:	the keyword
 * @flag:	set to true if the keyword is given; or NULL
 * @value:	if @flag is NULL: set to the word after the keyword
 */
struct keyword {
	const char *word;
	bool *flag;
	const char **value;
};

/* The keywords of a command that takes none. */
extern const struct keyword no_keywords[];

#define PRINTF(at, args) __attribute__((format(printf, at, args)))

/* Messages. The functions add the newline. All but warn() return an exit status. */
int fail(const struct tool *tool, int status, const char *format, ...)
	PRINTF(3, 4);
void warn(const struct tool *tool, const char *format, ...) PRINTF(2, 3);
int fail_syntax(const struct tool *tool, const char *format, ...) PRINTF(2, 3);
int fail_missing(const struct tool *tool, const struct words *words);
int fail_usage(const struct tool *tool);
int fail_memory(const struct tool *tool);

/* Parsing. Those that return int return STATUS_OK, or another status after a message. */
int parse_words(const struct tool *tool, struct words *words,
		const struct keyword *keywords, int least, int most);
int fail_unknown(const struct tool *tool, const char *word);
bool is_set_name(const char *name);
int parse_name(const struct tool *tool, const char *name);
const struct meaning *find_meaning(const struct meaning *meanings, const char *word);
int parse_meaning(const struct tool *tool, const char *before,
		  const char *behind, const struct meaning *meanings,
		  const char *word, int *value);
int parse_number(const struct tool *tool, const char *what, const char *word,
		 long long least, long long most, long long *value);
int parse_time(const struct tool *tool, const char *what, const char *word,
	       long long least, long long most, long long *value);
const char *meaning_word(const struct meaning *meanings, int value);

/* Room for a message of the kernel and advice. */
#define KERNEL_REASON_SIZE	512

void kernel_reason(const struct nl_error *error, const char *set, char *to, size_t size);

/* The kernel. All return STATUS_OK, or another status after a message. */
int fail_kernel(const struct tool *tool, const char *set, const char *format,
		...) PRINTF(3, 4);
int open_module(struct tool *tool);
int connect_module(struct tool *tool);
int find_set(struct tool *tool, const char *name, struct nl_set *set);

#endif /* IPCUCKOO_TOOL_H */
