// SPDX-License-Identifier: GPL-2.0-only
/* Plain text, and the commands of save that create the sets again. */
#include "cli/globals.h"
#include "cli/kept.h"
#include "layout/show.h"
#include "lib/escape.h"
#include "set/attachment.h"
#include "set/filter.h"

/* Print the properties that ipset's sets do not have, after those that they have. */
static void plain_filter(const struct nl_set *set)
{
	char now[RATE_TEXT_SIZE], full[RATE_TEXT_SIZE];

	printf("Bits per entry: %.1f\n"
	       "False-positive rate: %s now, %s when full\n",
	       bits_per_entry(set), rate_text(filter_rate_now(set), now),
	       rate_text(filter_rate_full(set), full));
}

/* Print a line for each attachment that sees no packets. */
static void plain_inactive(const struct listing *listing)
{
	char text[ATTACHMENT_TEXT_SIZE], state[STATE_TEXT_SIZE];
	const struct nl_attachment *at;
	size_t from = 0;

	while ((at = next_inactive(listing, &from)))
		printf("Sees no packets: %s: %s\n", attachment_text(at, text),
		       state_text(at, state));
}

/* Names of sets of ip_set can have any bytes. */
static const char *shown_name(const struct nl_set *set)
{
	static char name[ESCAPED_SIZE(IPCUCKOO_NAME_SIZE)];

	return escape_text(set->name, "", "\\x", name);
}

/* A value: on a terminal, without control characters of others. */
static const char *shown_text(const struct listing *listing, const char *text)
{
	static char escaped[ESCAPED_SIZE(OPTION_TEXT_SIZE)];

	return listing->terminal ? escape_text(text, "", "\\x", escaped) : text;
}

/* ipset's format has a number for the limit of entries, and firewalld and other programs read it:
 * 4294967295 is no limit (set/options.c). Say so to a person, who reads it on a terminal. The
 * layouts JSON, XML and save are for programs, and keep the number.
 */
static void name_no_limit(const struct listing *listing, struct header_item *items, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (listing->terminal && !listing->set->maxelem &&
		    !strcmp(items[i].word, "maxelem"))
			strcpy(items[i].text, "(no limit)");
}

/* Print options or extensions, and a newline. @labels: leave out those that have labels. */
static void plain_items(const struct listing *listing, const struct header_item *items, size_t count,
			bool labels)
{
	static const char *const formats[] = {
		[VALUE_FLAG] = " %s",
		[VALUE_NUMBER] = " %s %s",
		[VALUE_WORD] = " %s %s",
		[VALUE_TEXT] = " %s \"%s\"",
	};
	size_t i;

	for (i = 0; i < count; i++)
		if (!labels || !items[i].label)
			printf(formats[items[i].kind], items[i].word,
			       shown_text(listing, items[i].text));
	putc_unlocked('\n', stdout);
}

static void plain_name(struct listing *listing)
{
	puts(shown_name(listing->set));
}

static void plain_header(struct listing *listing)
{
	const struct nl_set *set = listing->set;
	struct header_item items[HEADER_ITEMS];
	size_t count = header_items(set, items), i;
	const char *owner = set_owner(set);

	name_no_limit(listing, items, count);
	if (listing->count > 1)
		fputc('\n', stdout);
	printf("Name: %s\nType: %s\nRevision: %u\nHeader:", shown_name(set),
	       meaning_word(type_words, set->type), type_revision(set->type));
	plain_items(listing, items, count, true);
	printf("Size in memory: %llu\nReferences: %u\nNumber of entries: %u\n",
	       (unsigned long long)set->memory, set->attachments + set->rules,
	       set->entries);
	for (i = 0; i < count; i++)
		if (items[i].label)
			printf("%s: %s\n", items[i].label, shown_text(listing, items[i].text));
	if (set->rules)
		printf("Rules of iptables: %u\n", set->rules);
	if (owner)
		printf("Owner: %s\n", owner);
	if (listing->verbose && set->id)
		printf("Id: %u\n", set->id);
	if (listing->verbose || is_approximate(set))
		printf("Load factor: %.2f\n", load_factor(set));
	if (is_approximate(set))
		plain_filter(set);
	plain_inactive(listing);
}

void print_value(const struct listing *listing)
{
	struct header_item items[HEADER_ITEMS];

	plain_items(listing, items, value_items(listing, items), false);
}

static int plain_member(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[MEMBER_TEXT_SIZE], *end;

	end = member_text(data, kind, entry, text);
	fwrite_unlocked(text, 1, end - text, stdout);
	print_value(data);
	return 0;
}

static void plain_members(struct listing *listing, const struct packed *entries)
{
	if (!entries) {
		printf("Members: not listed: " UNLISTABLE "; ask for one with: ipcuckoo test %s ADDRESS\n",
		       shown_name(listing->set));
		return;
	}
	puts("Members:");
	walk_members(listing, entries, plain_member);
}

const struct layout layout_plain = {
	.name = plain_name,
	.header = plain_header,
	.members = plain_members,
};

/* "-- " if the name of the set is also an option of the tool, else "". ipset does not
 * know "--", and has fewer options.
 */
static const char *save_dashes(const struct listing *listing)
{
	return !listing->ipset && needs_dashes(listing->set->name) ? "-- " : "";
}

static void save_header(struct listing *listing)
{
	const struct nl_set *set = listing->set;
	struct header_item items[HEADER_ITEMS];

	printf("create %s%s %s", save_dashes(listing), set->name,
	       meaning_word(type_words, set->type));
	plain_items(listing, items, header_items(set, items), false);
}

static int save_member(enum entry_kind kind, const uint8_t *entry, void *data)
{
	const struct listing *listing = data;
	char text[IPCUCKOO_NAME_SIZE + 8 + MEMBER_TEXT_SIZE], *end = text;

	end = stpcpy(end, "add ");
	end = stpcpy(end, save_dashes(listing));
	end = stpcpy(end, listing->set->name);
	*end++ = ' ';
	end = member_text(listing, kind, entry, end);
	fwrite_unlocked(text, 1, end - text, stdout);
	print_value(listing);
	return 0;
}

static void save_members(struct listing *listing, const struct packed *entries)
{
	if (entries)
		walk_members(listing, entries, save_member);
	else
		warn(listing->tool, "the entries of %s are not saved: " UNLISTABLE,
		     listing->set->name);
}

const struct layout layout_save = {
	.header = save_header,
	.members = save_members,
};
