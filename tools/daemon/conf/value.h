/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of the configuration: parsed from text into the field of an object. */
#ifndef IPCUCKOOD_VALUE_H
#define IPCUCKOOD_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tool.h"

#define VALUE_WHY_SIZE	256

/* What a value is, and what the field has to be. */
enum key_kind {
	KEY_TEXT,	/* char *: the value, with continuation lines appended */
	KEY_FILE,	/* char *: the name of a file, which has to be readable when it is used */
	KEY_SECRET,	/* char *: the same, but not everybody may read the file */
	KEY_LIST,	/* char **: its words, some in quotes, of all continuation lines; NULL ends them */
	KEY_LINES,	/* char **: the value and its continuation lines; NULL ends them */
	KEY_NUMBER,	/* uint64_t, from @least to @most */
	KEY_SIZE,	/* uint64_t: bytes, "32M" */
	KEY_TIME,	/* uint64_t: seconds, "90", "15m", "1h30m" */
	KEY_SHARE,	/* double from 0 to 1: "5%" */
	KEY_SWITCH,	/* bool: yes or no */
	KEY_WORD,	/* int: the meaning of one of @words */
};

/**
 * struct config_key - a key of a section
 * @word:	the key; NULL ends a table
 * @kind:	what the value is
 * @offset:	offset of the field that gets the value
 * @preset:	the value if the key is not given, as one would write it; NULL: the field stays 0
 * @needed:	a section without the key is refused; the text is an example of a line with it
 * @least:	numbers, sizes and times: smallest value
 * @most:	numbers, sizes and times: largest value; 0: any
 * @words:	KEY_WORD: the words
 */
struct config_key {
	const char *word;
	enum key_kind kind;
	size_t offset;
	const char *preset;
	const char *needed;
	uint64_t least;
	uint64_t most;
	const struct meaning *words;
};

/* The words of families: any, inet, inet6 */
extern const struct meaning value_families[];

/* Parse the value of a key. @more: it is a continuation line, whose value is appended. On error,
 * @why says what is wrong and what a value has to be. Return: whether it is right.
 */
bool value_parse(const struct config_key *key, void *object, const char *text, bool more,
		 char why[VALUE_WHY_SIZE]);
/* The file that the value of a key names; NULL if it names none. */
const char *value_file(const struct config_key *key, const void *object);
/* Free what the fields of an object have; the object stays. */
void value_free_all(const struct config_key *keys, void *object);
/* Whether the fields of two objects have the same values. */
bool value_same_all(const struct config_key *keys, const void *a, const void *b);

#endif /* IPCUCKOOD_VALUE_H */
