// SPDX-License-Identifier: GPL-2.0-only
/* XML. Names of sets and comments can have any bytes: U+FFFD stands for those that XML cannot have, as
 * it does in JSON, and references to characters for others that cannot be printed.
 */
#include <stdlib.h>

#include "layout/show.h"
#include "lib/escape.h"
#include "lib/utf8.h"
#include "set/attachment.h"

/* These two are valid UTF-8, and no XML. */
static bool is_no_character(unsigned int code)
{
	return code == 0xfffe || code == 0xffff;
}

/* Print a character that cannot be printed as it is. @bytes: as utf8_next() has returned it */
static void xml_odd(const char *text, int bytes)
{
	unsigned int code = bytes < 0 ? 0 : utf8_code(text, bytes);

	if ((code >= 0x7f && !is_no_character(code)) || code == '\n' || code == '\r' || code == '\t')
		printf("&#%u;", code);
	else
		fputs(UTF8_REPLACEMENT, stdout);
}

static void xml_text(const char *text)
{
	int bytes, unused;

	for (; *text; text += abs(bytes)) {
		bytes = utf8_next(text);
		if (*text == '<')
			fputs("&lt;", stdout);
		else if (*text == '&')
			fputs("&amp;", stdout);
		else if (*text == '"')
			fputs("&quot;", stdout);
		else if (!escape_prints(text, &unused) || is_no_character(utf8_code(text, bytes)))
			xml_odd(text, bytes);
		else
			fwrite_unlocked(text, 1, bytes, stdout);
	}
}

static void xml_items(const struct header_item *items, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const char *quote = items[i].kind == VALUE_TEXT ? "\"" : "";

		if (items[i].kind == VALUE_FLAG) {
			printf("<%s/>", items[i].word);
			continue;
		}
		printf("<%s>%s", items[i].word, quote);
		xml_text(items[i].text);
		printf("%s</%s>", quote, items[i].word);
	}
}

static void xml_begin(struct listing *listing)
{
	(void)listing;
	puts("<ipsets>");
}

static void xml_name(struct listing *listing)
{
	fputs("<ipset name=\"", stdout);
	xml_text(listing->set->name);
	puts("\"/>");
}

/* Print only attachments that see no packets. */
static void xml_inactive(const struct listing *listing)
{
	char text[ATTACHMENT_TEXT_SIZE], state[STATE_TEXT_SIZE];
	const struct nl_attachment *at;
	size_t from = 0;

	while ((at = next_inactive(listing, &from))) {
		fputs("<inactive>", stdout);
		xml_text(attachment_text(at, text));
		fputs(": ", stdout);
		xml_text(state_text(at, state));
		puts("</inactive>");
	}
}

static void xml_header(struct listing *listing)
{
	const struct nl_set *set = listing->set;
	struct header_item items[HEADER_ITEMS];
	size_t count = header_items(set, items);

	fputs("<ipset name=\"", stdout);
	xml_text(set->name);
	printf("\">\n<type>%s</type>\n<revision>%u</revision>\n<header>",
	       meaning_word(type_words, set->type), type_revision(set->type));
	xml_items(items, count);
	printf("\n<memsize>%llu</memsize>\n<references>%u</references>\n<numentries>%u</numentries>\n",
	       (unsigned long long)set->memory, set->attachments + set->rules,
	       set->entries);
	if (set->rules)
		printf("<rules>%u</rules>\n", set->rules);
	xml_inactive(listing);
	puts("</header>");
}

static int xml_member(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[MEMBER_TEXT_SIZE + 48], *end = text;
	struct header_item items[HEADER_ITEMS];
	size_t count;

	end = stpcpy(end, "<member><elem>");
	end = member_text(data, kind, entry, end);
	end = stpcpy(end, "</elem>");
	fwrite_unlocked(text, 1, end - text, stdout);
	count = value_items(data, items);
	xml_items(items, count);
	fputs_unlocked("</member>\n", stdout);
	return 0;
}

static void xml_members(struct listing *listing, const struct packed *entries)
{
	if (!entries)
		return;
	puts("<members>");
	walk_members(listing, entries, xml_member);
	puts("</members>");
}

static void xml_close(struct listing *listing)
{
	(void)listing;
	puts("</ipset>");
}

static void xml_end(struct listing *listing)
{
	(void)listing;
	puts("</ipsets>");
}

const struct layout layout_xml = {
	.begin = xml_begin,
	.name = xml_name,
	.header = xml_header,
	.members = xml_members,
	.close = xml_close,
	.end = xml_end,
};
