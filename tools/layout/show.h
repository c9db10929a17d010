/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets and their members for list and save: show.c says what to print, the layouts
 * print it. All layouts are those of ipset.
 */
#ifndef IPCUCKOO_TOOL_SHOW_H
#define IPCUCKOO_TOOL_SHOW_H

#include <json-c/json.h>

#include "cli/tool.h"
#include "lib/extended.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "nl/option.h"

/* Room for an address, or for a host name in brackets with a prefix length. */
#define MEMBER_TEXT_SIZE	1056

/**
 * struct listing - one run of list or save
 * @tool:	the run
 * @layout:	how to print
 * @verbose:	--verbose: print also what ipset does not have
 * @ipset:	--ipset: refuse what ipset cannot restore
 * @own:	leave out sets of ip_set, unless one is named
 * @named:	the user has named the set: then it is an error if it is gone
 * @gone:	@set is left out: it was destroyed since the sets were read, or cannot be saved
 * @terminal:	the plain list goes to a terminal
 * @attached:	save --all: print also the commands that attach the sets
 * @attachments: all attachments, for list; NULL if they are not needed
 * @attachment_count: number of @attachments
 * @set:	the set that is printed now
 * @count:	number of sets printed so far
 * @members:	number of members of @set printed so far
 * @extended:	the members of @set with their extensions, if they have any; the struct
 *		packed is empty then
 * @value:	extensions of the member that is printed now, or NULL
 * @torn:	something changed in every attempt to read it
 */
struct listing {
	struct tool *tool;
	const struct layout *layout;
	bool verbose;
	bool ipset;
	bool own;
	bool named;
	bool gone;
	bool terminal;
	bool attached;
	struct nl_attachment *attachments;
	size_t attachment_count;
	const struct nl_set *set;
	size_t count;
	size_t members;
	struct extended extended;
	const struct entry_value *value;
	bool torn;
};

/**
 * struct layout - how sets are printed
 * @begin:	prints what comes before the first set; may be NULL
 * @name:	prints the name of a set, for -name; NULL: -name has no effect
 * @header:	prints the properties of a set
 * @members:	prints the members of a set; entries is NULL if they cannot be listed
 * @close:	prints the end of a set; may be NULL
 * @end:	prints what comes after the last set; may be NULL
 */
struct layout {
	void (*begin)(struct listing *listing);
	void (*name)(struct listing *listing);
	void (*header)(struct listing *listing);
	void (*members)(struct listing *listing, const struct packed *entries);
	void (*close)(struct listing *listing);
	void (*end)(struct listing *listing);
};

/* The next attachment of the set, beginning with number *from, that sees no packets now;
 * NULL if there is none. Advances *from.
 */
const struct nl_attachment *next_inactive(const struct listing *listing, size_t *from);

extern const struct layout layout_plain;
extern const struct layout layout_save;
extern const struct layout layout_xml;
extern const struct layout layout_json;

/**
 * struct header_item - an option of a set, or an extension of an entry
 * @word:	name
 * @label:	see struct option_spec; NULL for extensions
 * @kind:	kind of the value
 * @text:	value; comments without quotes
 */
struct header_item {
	const char *word;
	const char *label;
	enum value_kind kind;
	char text[OPTION_TEXT_SIZE];
};

#define HEADER_ITEMS	24

/* The options of a set, in ipset's order. Return: their number. */
size_t header_items(const struct nl_set *set,
		    struct header_item items[HEADER_ITEMS]);

/* Add options or extensions to an object of JSON. */
void json_add_items(struct json_object *object, const struct header_item *items, size_t count);

/* Add the options of the entry that decided a test. */
void json_add_value(struct json_object *object, const struct nl_set *set, const struct nl_test *test);

/* The revision of the type in ipset. */
unsigned int type_revision(unsigned int type);

double load_factor(const struct nl_set *set);
double bits_per_entry(const struct nl_set *set);

/* Write the text of a member, without a NUL. Return: the end of the text. */
char *member_text(const struct listing *listing, enum entry_kind kind,
		  const uint8_t *entry, char text[MEMBER_TEXT_SIZE]);

/* Call @visit for each member, in order, until it returns another value than 0. Return:
 * that value, or 0.
 */
int walk_members(struct listing *listing, const struct packed *entries,
		 int (*visit)(enum entry_kind kind, const uint8_t *entry,
			      void *listing));

/* Print the extensions of the current member as save does, and a newline. */
void print_value(const struct listing *listing);

/* The extensions of the current member. Return: their number. */
size_t value_items(const struct listing *listing,
		   struct header_item items[HEADER_ITEMS]);

#define UNLISTABLE	"a filter keeps fingerprints of its entries, not the addresses"

#endif /* IPCUCKOO_TOOL_SHOW_H */
