// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries: add, del, test.
 */
#include <limits.h>

#include "bulk.h"
#include "output.h"

static int print_change(const struct bulk *bulk, const char *done)
{
	struct json_object *object;

	if (!bulk->tool->json)
		return STATUS_OK;
	object = json_object_new_object();
	json_add_string(object, "set", bulk->set);
	json_add_uint(object, done, bulk->change.changed);
	json_add_uint(object, "unchanged", bulk->change.unchanged);
	json_print(object);
	return STATUS_OK;
}

static int change_set(struct tool *tool, struct words *words,
		      int (*change)(struct bulk *bulk), const char *done)
{
	bool expand = false;
	const struct keyword keywords[] = {
		{ .word = "--expand", .flag = &expand },
		{ .word = NULL }
	};
	struct packed entries = { 0 };
	struct nl_set set;
	struct bulk bulk;
	int status;

	status = parse_words(tool, words, keywords, 2, INT_MAX);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (!status)
		status = bulk_read(tool, &set, words->word + 1,
				   words->count - 1, &expand, &entries);
	if (status)
		return status;
	bulk = (struct bulk) {
		.tool = tool, .set = set.name, .entries = &entries
	};
	status = change(&bulk);
	if (!status)
		status = print_change(&bulk, done);
	packed_free(&entries);
	return status;
}

int run_add(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_add, "added");
}

int run_del(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_del, "deleted");
}

static int print_test(const struct tool *tool, const char *set,
		      const struct packed *entries, bool found,
		      uint8_t prefix_len)
{
	struct entry_ref ref = first_entry(entries);
	char text[ADDRESS_TEXT_SIZE], match[ADDRESS_TEXT_SIZE];
	struct json_object *object;

	entry_text(entries, ref, text);
	match_text(entries, ref, prefix_len, match);
	if (tool->json) {
		object = json_object_new_object();
		json_add_string(object, "set", set);
		json_add_string(object, "elem", text);
		json_add_bool(object, "found", found);
		if (found)
			json_add_string(object, "match", match);
		json_print(object);
	}
	if (!tool->quiet)
		fprintf(stderr, "%s is %s set %s.\n", text,
			found ? "in" : "NOT in", set);
	return found ? STATUS_OK : STATUS_NO;
}

int run_test(struct tool *tool, struct words *words)
{
	struct packed entries = { 0 };
	uint8_t prefix_len = 0;
	struct nl_set set;
	int found, status;

	status = parse_words(tool, words, no_keywords, 2, 2);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (!status)
		status = bulk_read(tool, &set, words->word + 1, 1, NULL,
				   &entries);
	if (status)
		return status;
	if (packed_count(&entries) != 1) {
		packed_free(&entries);
		return fail(tool, STATUS_USAGE,
			    "test takes one %s at a time",
			    set.type == IPCUCKOO_TYPE_HASH_IP ? "address" :
			    "address or prefix");
	}
	found = nl_entry_test(tool->nl, set.name, &entries, &prefix_len);
	if (found < 0)
		status = fail_kernel(tool, set.name, "cannot test set %s",
				     set.name);
	else
		status = print_test(tool, set.name, &entries, found,
				    prefix_len);
	packed_free(&entries);
	return status;
}
