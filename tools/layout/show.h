/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets and their members, as list and save print them: what there is to print
 * (show.c), and the layouts to print it in, all of them ipset's.
 */
#ifndef IPCUCKOO_TOOL_SHOW_H
#define IPCUCKOO_TOOL_SHOW_H

#include "cli/tool.h"
#include "lib/valued.h"
#include "nl/attachment.h"

/* Room for an address, or for the name of a host in brackets and a length. */
#define MEMBER_TEXT_SIZE	1056

/**
 * struct listing - one run of list or save
 * @tool:	the run
 * @layout:	how to print
 * @verbose:	also what ipset does not have
 * @ipset:	only what ipset can hold
 * @attached:	also what the sets are attached as
 * @attachments: all there are, for list; NULL if it does not need them
 * @attachment_count: how many
 * @set:	the set that is being printed
 * @count:	sets printed so far
 * @members:	members printed of the set
 * @valued:	its entries with what is kept for them, if anything is; then there are
 *		no others
 * @value:	what is kept for the member that is being printed, or NULL
 * @torn:	something changed while it was read, each time
 */
struct listing {
	struct tool *tool;
	const struct layout *layout;
	bool verbose;
	bool ipset;
	bool attached;
	struct nl_attachment *attachments;
	size_t attachment_count;
	const struct nl_set *set;
	size_t count;
	size_t members;
	struct valued valued;
	const struct entry_value *value;
	bool torn;
};

/**
 * struct layout - how sets are printed
 * @begin:	what comes before the first set; may be NULL
 * @name:	a set's name, where no more is asked for; NULL if that is no
 *		answer in this layout: it prints the sets as ever
 * @header:	what there is to say of a set
 * @members:	its members; NULL entries are entries that cannot be listed
 * @close:	what ends a set; may be NULL
 * @end:	what comes behind the last set; may be NULL
 */
struct layout {
	void (*begin)(struct listing *listing);
	void (*name)(struct listing *listing);
	void (*header)(struct listing *listing);
	void (*members)(struct listing *listing, const struct packed *entries);
	void (*close)(struct listing *listing);
	void (*end)(struct listing *listing);
};

/* The next attachment of the set that sees no packets now, from @*from on, or
 * NULL.
 */
const struct nl_attachment *next_inactive(const struct listing *listing, size_t *from);

extern const struct layout layout_plain;
extern const struct layout layout_save;
extern const struct layout layout_xml;
extern const struct layout layout_json;

enum item_kind {
	ITEM_FLAG,		/* nothing but its name */
	ITEM_NUMBER,
	ITEM_WORD,
};

/**
 * struct header_item - an option that a set was made with
 * @word:	its name
 * @kind:	what is behind that
 * @text:	its value
 */
struct header_item {
	const char *word;
	enum item_kind kind;
	char text[IPCUCKOO_COMMENT_MAX + 3];
};

#define HEADER_ITEMS	16

/* The options of a set, in ipset's order. Return: how many. */
size_t header_items(const struct nl_set *set,
		    struct header_item items[HEADER_ITEMS]);

/* What ipset calls the revision of the type. */
unsigned int type_revision(unsigned int type);

double load_factor(const struct nl_set *set);
double bits_per_entry(const struct nl_set *set);

/* A member as it is to be shown. Return: its end; there is no NUL. */
char *member_text(const struct listing *listing, enum entry_kind kind,
		  const uint8_t *entry, char text[MEMBER_TEXT_SIZE]);

/* Visit the members in order. Return: 0, or what a visit returned that ended it. */
int walk_members(struct listing *listing, const struct packed *entries,
		 int (*visit)(enum entry_kind kind, const uint8_t *entry,
			      void *listing));

/* What is kept for the member: the items that are to be shown of it. */
size_t value_items(const struct listing *listing,
		   struct header_item items[HEADER_ITEMS]);

#define UNLISTABLE	"a filter keeps fingerprints of its entries, not the addresses"

#endif /* IPCUCKOO_TOOL_SHOW_H */
