// SPDX-License-Identifier: GPL-2.0-only
/*
 * list: sets and their members in ipset's layout, and in the layout of its
 * JSON. A set of a million is read packed, sorted in place, and written
 * through one buffer; its members never exist as JSON objects.
 */
#include <stdlib.h>

#include "filter.h"
#include "output.h"
#include "tool.h"

/**
 * struct listing - one run of list
 * @tool:	the run
 * @terse:	headers only
 * @names:	names only
 * @count:	sets printed so far
 * @members:	members printed of the set
 * @torn:	something changed while it was read, each time
 */
struct listing {
	struct tool *tool;
	bool terse;
	bool names;
	size_t count;
	size_t members;
	bool torn;
};

static double load_factor(const struct nl_set *set)
{
	return set->slots ? (double)set->entries / set->slots : 0;
}

static int print_member(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[ADDRESS_TEXT_SIZE + 1], *end;

	(void)data;
	end = entry_format(text, kind, entry);
	*end++ = '\n';
	fwrite_unlocked(text, 1, end - text, stdout);
	return 0;
}

static int print_json_member(enum entry_kind kind, const uint8_t *entry,
			     void *data)
{
	struct listing *listing = data;
	char text[ADDRESS_TEXT_SIZE + 32], *end = text;

	if (listing->members++)
		*end++ = ',';
	end = stpcpy(end, "\n{\"elem\":\"");
	end = entry_format(end, kind, entry);
	end = stpcpy(end, "\"}");
	fwrite_unlocked(text, 1, end - text, stdout);
	return 0;
}

#define UNLISTABLE	"a filter keeps fingerprints of its entries, not the addresses"

static double bits_per_entry(const struct nl_set *set)
{
	return set->entries ? 8.0 * set->memory / set->entries : 0;
}

static void print_filter(const struct nl_set *set)
{
	char now[SHARE_TEXT_SIZE], full[SHARE_TEXT_SIZE];

	printf("Bits per entry: %.1f\n"
	       "Strangers that match: %s now, %s when full\n",
	       bits_per_entry(set), share_text(filter_share_now(set), now),
	       share_text(filter_share_full(set), full));
}

static void print_header(const struct nl_set *set)
{
	printf("Name: %s\nType: %s\nHeader: family %s", set->name,
	       meaning_word(type_words, set->type),
	       meaning_word(family_words, set->family));
	if (set->maxelem)
		printf(" maxelem %u", set->maxelem);
	if (is_approximate(set))
		printf(" bits %u capacity %u%s", set->bits, set->capacity,
		       is_multi(set) ? " multi" : "");
	printf("\nSize in memory: %llu\nReferences: %u\n"
	       "Number of entries: %u\nLoad factor: %.2f\n",
	       (unsigned long long)set->memory, set->attachments, set->entries,
	       load_factor(set));
	if (is_approximate(set))
		print_filter(set);
}

static void add_json_filter(struct json_object *header, const struct nl_set *set)
{
	json_add_uint(header, "bits", set->bits);
	json_add_uint(header, "capacity", set->capacity);
	json_add_bool(header, "multi", is_multi(set));
	json_add_ratio(header, "bitsperentry", bits_per_entry(set));
	json_add_share(header, "fppnow", filter_share_now(set));
	json_add_share(header, "fppfull", filter_share_full(set));
}

static void print_json_header(const struct nl_set *set)
{
	struct json_object *header = json_object_new_object();
	struct json_object *name = json_object_new_string(set->name);

	json_add_string(header, "family",
			meaning_word(family_words, set->family));
	if (set->maxelem)
		json_add_uint(header, "maxelem", set->maxelem);
	json_add_uint(header, "memsize", set->memory);
	json_add_uint(header, "references", set->attachments);
	json_add_uint(header, "numentries", set->entries);
	json_add_ratio(header, "loadfactor", load_factor(set));
	if (is_approximate(set))
		add_json_filter(header, set);
	printf("{\"name\":%s,\"type\":\"%s\",\"header\":%s", json_text(name),
	       meaning_word(type_words, set->type), json_text(header));
	json_object_put(header);
	json_object_put(name);
}

/* What stands in the place of members where there can be none. */
static void print_unlistable(const struct listing *listing,
			     const struct nl_set *set)
{
	if (listing->tool->json)
		fputs(",\"members\":null,\"why\":\"" UNLISTABLE "\"", stdout);
	else
		printf("Members: not listed: " UNLISTABLE "; ask for one with: ipcuckoo test %s ADDRESS\n",
		       set->name);
}

/* Header and members; @entries is NULL if there is to be the header only. */
static void print_set(struct listing *listing, const struct nl_set *set,
		      const struct packed *entries)
{
	bool unlistable = is_approximate(set) && !listing->terse;
	bool json = listing->tool->json;

	listing->members = 0;
	if (json) {
		printf(listing->count++ ? ",\n" : "\n");
		print_json_header(set);
		if (unlistable) {
			print_unlistable(listing, set);
		} else if (entries) {
			fputs(",\"members\":[", stdout);
			packed_walk(entries, print_json_member, listing);
			fputs(listing->members ? "\n]" : "]", stdout);
		}
		fputc('}', stdout);
		return;
	}
	if (listing->count++)
		fputc('\n', stdout);
	print_header(set);
	if (unlistable) {
		print_unlistable(listing, set);
	} else if (entries) {
		puts("Members:");
		packed_walk(entries, print_member, NULL);
	}
}

static int list_set(struct listing *listing, const struct nl_set *set)
{
	struct tool *tool = listing->tool;
	struct packed entries = { 0 };
	int err;

	if (listing->terse || is_approximate(set)) {
		print_set(listing, set, NULL);
		return STATUS_OK;
	}
	err = nl_entries(tool->nl, set->name, &entries);
	if (err < 0) {
		packed_free(&entries);
		return fail_kernel(tool, set->name, "cannot list set %s",
				   set->name);
	}
	if (err > 0) {
		listing->torn = true;
		warn(tool,
		     "the set %s changed while it was read, every time: the list is not of one moment",
		     set->name);
	}
	packed_sort(&entries);
	print_set(listing, set, &entries);
	packed_free(&entries);
	return STATUS_OK;
}

static void list_name(struct listing *listing, const struct nl_set *set)
{
	struct json_object *name;

	if (!listing->tool->json) {
		puts(set->name);
		return;
	}
	name = json_object_new_string(set->name);
	printf("%s{\"name\":%s}", listing->count++ ? ",\n" : "\n",
	       json_text(name));
	json_object_put(name);
}

static int list_sets(struct listing *listing, const struct nl_set *sets,
		     size_t count)
{
	bool json = listing->tool->json;
	int status = STATUS_OK;
	size_t i;

	if (json)
		fputc('[', stdout);
	for (i = 0; i < count && !status; i++) {
		if (listing->names)
			list_name(listing, &sets[i]);
		else
			status = list_set(listing, &sets[i]);
	}
	if (json)
		fputs(listing->count ? "\n]\n" : "]\n", stdout);
	if (!status && listing->torn)
		status = STATUS_REFUSED;
	return status;
}

int run_list(struct tool *tool, struct words *words)
{
	struct listing listing = { .tool = tool };
	const struct keyword keywords[] = {
		{ .word = "--terse", .alias = "-t", .flag = &listing.terse },
		{ .word = "--name", .alias = "-n", .flag = &listing.names },
		{ .word = NULL }
	};
	struct nl_set *sets, set;
	int err, status;
	size_t count;

	status = parse_words(tool, words, keywords, 0, 1);
	if (status)
		return status;
	if (words->count) {
		status = find_set(tool, words->word[0], &set);
		return status ? status : list_sets(&listing, &set, 1);
	}
	status = connect_module(tool);
	if (status)
		return status;
	err = nl_sets(tool->nl, &sets, &count);
	if (err < 0)
		return fail_kernel(tool, NULL, "cannot list the sets");
	if (err > 0) {
		listing.torn = true;
		warn(tool,
		     "sets came and went while they were read: the list is not of one moment");
	}
	status = list_sets(&listing, sets, count);
	free(sets);
	return status;
}
