/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A section of the configuration, "[KIND NAME]" with lines "key = value". Tables of keys say what a section
 * may have; reading, messages, and the checks of values follow from them.
 */
#ifndef IPCUCKOOD_SECTION_H
#define IPCUCKOOD_SECTION_H

#include "daemon/conf/value.h"

/* A section has at most this many keys of each of its two tables. */
#define SECTION_KEYS_MOST	64

/**
 * struct conf_file - a file that is read
 * @name:	its name, for messages
 * @line:	number of the line
 * @wrong:	something is wrong, and was printed
 */
struct conf_file {
	const char *name;
	unsigned long line;
	bool wrong;
};

/**
 * struct section - the section that is being read
 * @file:	the file
 * @kind:	"set", "feed", ...
 * @name:	its name
 * @line:	line of its heading
 * @keys:	its two tables of keys: those that all such sections have, and those of the kind
 * @object:	the fields of the keys are in this object; NULL: a section that is wrong itself
 * @given:	the line of each key; 0 if it is not there
 * @last:	the key of the last line
 */
struct section {
	struct conf_file *file;
	const char *kind;
	char *name;
	unsigned long line;
	const struct config_key *keys[2];
	void *object;
	unsigned long given[2][SECTION_KEYS_MOST];
	const struct config_key *last;
};

/* Print what is wrong in a line; 0: it is no fault of a line. The configuration is refused then. */
void conf_fault(struct conf_file *file, unsigned long line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Print that the value of @key, or the section if it has no such line, is wrong. The configuration is
 * refused then.
 */
void section_fault(struct section *section, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Forget the section: what follows is in none. */
void section_clear(struct section *section, struct conf_file *file);
/* Give all keys that have a preset this value. */
void section_preset(struct section *section);
/* Take a line "word = text". @indented: it begins with a blank, and may continue a value. */
void section_take(struct section *section, const char *word, const char *text, bool indented);
/* The section has ended: print which keys are missing. */
void section_end(struct section *section);
/* The line of a key; that of the section if it is not there. */
unsigned long section_line(const struct section *section, const char *word);

#endif /* IPCUCKOOD_SECTION_H */
