/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration: a file of sections "[KIND NAME]" with lines "key = value". Tables of keys say
 * what a section may have; reading, messages, and the checks of values follow from them.
 */
#ifndef IPCUCKOOD_CONFIG_H
#define IPCUCKOOD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/tool.h"

struct source;
struct target;

/* What a value is, and what the field has to be. */
enum key_kind {
	KEY_TEXT,	/* char *: the value, with continuation lines appended */
	KEY_FILE,	/* char *: the name of a file, which has to be readable when it is used */
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

/* A section as it is read, for config_fault(). */
struct section;

/**
 * struct config - a configuration
 * @targets:	the sets, in the order of the file
 * @sources:	the sources, in the order of the file
 * @left:	files with changes that wait to be published for a source that is not in it
 */
struct config {
	struct target **targets;
	size_t target_count;
	struct source **sources;
	size_t source_count;
	char **left;
	size_t left_count;
};

/* Read a configuration. Everything that is wrong is printed with file, line and key. Return: NULL
 * if something is wrong.
 */
struct config *config_read(const char *path);
/* The same from a stream, which @name names in messages. */
struct config *config_read_stream(FILE *f, const char *name);
/* Whether the files that it names can be opened, now and by this user. Those that cannot are printed. */
bool config_opens_files(const struct config *config);
void config_free(struct config *config);

struct source *config_source(const struct config *config, const char *name);
struct target *config_target(const struct config *config, const char *name);

/* For the check of a section: print that the value of @key, or the section if it has no such
 * line, is wrong. The configuration is refused then.
 */
void config_fault(struct section *section, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Free what the fields of an object have; the object stays. */
void config_free_keys(const struct config_key *keys, void *object);
/* Whether the fields of two objects have the same values. */
bool config_same_keys(const struct config_key *keys, const void *a, const void *b);

#endif /* IPCUCKOOD_CONFIG_H */
