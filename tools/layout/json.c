// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON, with the structure that ipset has since 7.24. With -j, headers also contain what
 * ipset does not have.
 */
#include <stdlib.h>

#include "cli/kept.h"
#include "cli/output.h"
#include "layout/show.h"
#include "lib/json.h"
#include "set/attachment.h"
#include "set/filter.h"

static void json_begin(struct listing *listing)
{
	(void)listing;
	fputc('[', stdout);
}

static void json_next(const struct listing *listing)
{
	fputs(listing->count > 1 ? ",\n" : "\n", stdout);
}

static void json_name(struct listing *listing)
{
	struct json_object *name = json_new_text(listing->set->name);

	json_next(listing);
	printf("{\"name\":%s}", json_text(name));
	json_object_put(name);
}

void json_add_items(struct json_object *object, const struct header_item *items, size_t count)
{
	for (; count--; items++) {
		if (items->kind == VALUE_FLAG)
			json_add_bool(object, items->word, true);
		else if (items->kind == VALUE_NUMBER)
			json_add_uint(object, items->word, strtoull(items->text, NULL, 10));
		else
			json_add_string(object, items->word, items->text);
	}
}

void json_add_value(struct json_object *object, const struct nl_set *set, const struct nl_test *test)
{
	struct entry_value value = test->value;
	struct header_item items[HEADER_ITEMS];
	struct nl_set shown = *set;
	const struct listing listing = { .set = &shown, .value = &value };

	if (!test->has_value)
		shown.options = 0;
	value.nomatch = test->nomatch;
	value.comment = *test->comment ? (char *)test->comment : NULL;
	json_add_items(object, items, value_items(&listing, items));
}

static void json_filter(struct json_object *header, const struct nl_set *set)
{
	json_add_bool(header, "multi", is_multi(set));
	json_add_ratio(header, "bitsperentry", bits_per_entry(set));
	json_add_rate(header, "fppnow", filter_rate_now(set));
	json_add_rate(header, "fppfull", filter_rate_full(set));
}

/* Print only attachments that see no packets. */
static void json_inactive(struct json_object *header, const struct listing *listing)
{
	struct json_object *array = NULL;
	const struct nl_attachment *at;
	size_t from = 0;

	while ((at = next_inactive(listing, &from))) {
		if (!array)
			array = json_object_new_array();
		json_object_array_add(array, json_attachment(at));
	}
	if (array)
		json_object_object_add(header, "inactive", array);
}

static void json_header(struct listing *listing)
{
	struct json_object *header = json_object_new_object(), *name;
	const struct nl_set *set = listing->set;
	struct header_item items[HEADER_ITEMS];
	const char *owner = set_owner(set);

	json_add_items(header, items, header_items(set, items));
	json_add_uint(header, "memsize", set->memory);
	json_add_uint(header, "references", set->attachments + set->rules);
	json_add_uint(header, "numentries", set->entries);
	if (set->rules)
		json_add_uint(header, "rules", set->rules);
	if (owner)
		json_object_object_add(header, "owner", json_new_text(owner));
	if (listing->tool->json) {
		if (set->id)
			json_add_uint(header, "id", set->id);
		json_add_ratio(header, "loadfactor", load_factor(set));
	}
	if (is_approximate(set))
		json_filter(header, set);
	json_inactive(header, listing);
	name = json_new_text(set->name);
	json_next(listing);
	printf("{\"name\":%s,\"type\":\"%s\",\"revision\":%u,\"header\":",
	       json_text(name), meaning_word(type_words, set->type), type_revision(set->type));
	fputs(json_text(header), stdout);
	json_object_put(name);
	json_object_put(header);
}

/* Print the extensions of a member, after its address. */
static void json_value(const struct listing *listing)
{
	struct header_item items[HEADER_ITEMS];
	size_t count = value_items(listing, items), i;
	struct json_object *word;

	for (i = 0; i < count; i++) {
		printf(",\"%s\":", items[i].word);
		if (items[i].kind == VALUE_FLAG) {
			fputs("true", stdout);
		} else if (items[i].kind == VALUE_NUMBER) {
			fputs(items[i].text, stdout);
		} else {
			word = json_new_text(items[i].text);
			fputs(json_text(word), stdout);
			json_object_put(word);
		}
	}
}

static int json_member(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[MEMBER_TEXT_SIZE + 32], *end = text;
	struct listing *listing = data;

	if (listing->members++)
		*end++ = ',';
	end = stpcpy(end, "\n{\"elem\":\"");
	end = member_text(listing, kind, entry, end);
	*end++ = '"';
	fwrite_unlocked(text, 1, end - text, stdout);
	json_value(listing);
	putc_unlocked('}', stdout);
	return 0;
}

static void json_members(struct listing *listing, const struct packed *entries)
{
	if (!entries) {
		fputs(",\"members\":null,\"why\":\"" UNLISTABLE "\"", stdout);
		return;
	}
	fputs(",\"members\":[", stdout);
	walk_members(listing, entries, json_member);
	fputs(listing->members ? "\n]" : "]", stdout);
}

static void json_close(struct listing *listing)
{
	(void)listing;
	fputc('}', stdout);
}

static void json_end(struct listing *listing)
{
	fputs(listing->count ? "\n]\n" : "]\n", stdout);
}

const struct layout layout_json = {
	.begin = json_begin,
	.name = json_name,
	.header = json_header,
	.members = json_members,
	.close = json_close,
	.end = json_end,
};
