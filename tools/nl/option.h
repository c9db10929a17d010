/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of options: how each option is written, sent, read, printed and explained.
 * set/options.c has the options of sets, cli/options.c those of entries.
 */
#ifndef IPCUCKOO_TOOL_NL_OPTION_H
#define IPCUCKOO_TOOL_NL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../uapi/ipcuckoo.h"

struct nl_set;
struct option_value;
struct tool;

/* What follows the name of an option. */
enum value_kind {
	VALUE_FLAG,	/* nothing */
	VALUE_NUMBER,
	VALUE_WORD,
	VALUE_TEXT,	/* characters of is_comment(); printed in quotes, but not in JSON */
};

/* Bytes of the longest value as lists show it, with its NUL. */
#define OPTION_TEXT_SIZE	(IPCUCKOO_COMMENT_MAX + 1)

/**
 * struct option_spec - an option of sets or of entries
 * @word:	name on the command line and in lists; NULL ends the table
 * @kind:	kind of the value
 * @types:	the types of sets that take it: a mask of 1 << enum ipcuckoo_type
 * @most:	the value is a number from 0 to @most; 0: it is another number, or none
 * @extension:	enum ipcuckoo_option: a set with the option has this extension; the option of
 *		an entry sets its value
 * @time:	the number is one of seconds; units may be written with it
 * @refusal:	message if the set does not take the option because of its type, or, for an
 *		option of entries, because it lacks @extension
 *
 * The rest is for options of sets:
 *
 * @value:	how the grammar writes the value; NULL if there is none
 * @attr:	IPCUCKOO_A_* of the value; 0: none
 * @offset:	where struct nl_set has the value, which is 0 in sets without the option
 * @size:	size of the value: 1 or 4 for a number, IPCUCKOO_HOST6_SIZE for an address
 * @flag:	enum ipcuckoo_flag: a set with the option has this flag
 * @label:	ipset does not have the option: plain lists show it on a line of its own, after
 *		this label, and save --ipset refuses sets that have it; NULL: ipset has it, or
 *		does not have the type either
 * @old:	ipset warns that it ignores the option; so does the tool
 * @parse:	reads the values that need more than the above, after all numbers were read;
 *		called whether the option is given or not. NULL: nothing to do
 * @show:	writes the value as lists show it to a text of OPTION_TEXT_SIZE bytes, and
 *		returns whether they show the option. NULL: if the set has it
 * @help:	explanation; NULL: help and completion do not mention the option
 */
struct option_spec {
	const char *word;
	enum value_kind kind;
	uint32_t types;
	long long most;
	uint32_t extension;
	bool time;
	const char *refusal;
	const char *value;
	uint16_t attr;
	uint16_t offset;
	uint16_t size;
	uint32_t flag;
	const char *label;
	bool old;
	int (*parse)(const struct tool *tool, const struct option_value *values,
		     struct nl_set *set);
	bool (*show)(const struct nl_set *set, char *text);
	const char *help;
};

#define FOR(type)	(1u << IPCUCKOO_TYPE_##type)
#define FOR_EXACT	(FOR(HASH_IP) | FOR(HASH_NET))
#define FOR_ALL		(FOR_EXACT | FOR(FILTER_IP))

/* The options of sets, in the order of ipset's lists. */
extern const struct option_spec set_options[];

/* The field of a set that has the value of an option. */
static inline void *option_field(const struct option_spec *option, const struct nl_set *set)
{
	return (char *)set + option->offset;
}

/* Whether the value is not 0. */
static inline bool has_value(const struct option_spec *option, const struct nl_set *set)
{
	const char *field = option_field(option, set);
	size_t i;

	for (i = 0; i < option->size; i++)
		if (field[i])
			return true;
	return false;
}

#endif /* IPCUCKOO_TOOL_NL_OPTION_H */
