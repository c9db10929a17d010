/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of create, add, del and test, which are ipset's: one table says
 * how each is written, and for which sets it is meant (options.c).
 */
#ifndef IPCUCKOO_TOOL_OPTIONS_H
#define IPCUCKOO_TOOL_OPTIONS_H

#include "cli/tool.h"
#include "lib/valued.h"

enum option {
	/* of sets */
	OPTION_FAMILY,
	OPTION_INET,
	OPTION_INET6,
	OPTION_HASHSIZE,
	OPTION_MAXELEM,
	OPTION_NETMASK,
	OPTION_BITMASK,
	OPTION_SET_TIMEOUT,
	OPTION_SET_COUNTERS,
	OPTION_SET_COMMENT,
	OPTION_SET_SKBINFO,
	OPTION_FORCEADD,
	OPTION_BUCKETSIZE,
	OPTION_INITVAL,
	OPTION_PROBES,
	OPTION_RESIZE,
	OPTION_GC,
	OPTION_BITS,
	OPTION_FPP,
	OPTION_CAPACITY,
	OPTION_MULTI,
	/* of entries */
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

/* Which command an option goes with. */
enum option_place {
	OPTIONS_OF_SETS,
	OPTIONS_OF_ENTRIES,
};

/**
 * struct option_value - what was said of an option
 * @given:	it was given
 * @word:	the word behind it, or NULL
 * @number:	its value, of options that are numbers
 */
struct option_value {
	bool given;
	const char *word;
	long long number;
};

/**
 * struct options - what was said of all
 * @of:		option by option
 * @expand:	--expand was given; with entries only
 * @check:	--check was given; likewise
 */
struct options {
	struct option_value of[OPTIONS];
	bool expand;
	bool check;
};

/* Sort words out as parse_words() does. Return: STATUS_OK, or another. */
int options_parse(const struct tool *tool, enum option_place place,
		  struct words *words, int least, int most,
		  struct options *options);

/* Whether what was given is for sets like this one, and can be had. Return:
 * STATUS_OK, or another after a message.
 */
int options_check(const struct tool *tool, const struct options *options,
		  const struct nl_set *set);

/* Whether no other option than this one, or OPTIONS for none, was given. Return:
 * STATUS_OK, or another after a message.
 */
int options_only(const struct tool *tool, const struct options *options,
		 enum option option);

/* What the options given ask a set to keep (those of sets), or tell it (of
 * entries): enum ipcuckoo_option.
 */
uint32_t options_keeps(const struct options *options, enum option_place place);

/* Whether a comment can be saved and restored: it has neither quotes nor control
 * characters but tabs.
 */
bool is_comment(const char *text);

/* What they say of an entry of this set. Its comment stays theirs. Return:
 * STATUS_OK, or another after a message.
 */
int options_value(const struct tool *tool, const struct options *options,
		  const struct nl_set *set, struct entry_value *value);

#endif /* IPCUCKOO_TOOL_OPTIONS_H */
