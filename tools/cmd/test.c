// SPDX-License-Identifier: GPL-2.0-only
/* test, and count, which is for approximate sets. */
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "layout/show.h"
#include "lib/escape.h"
#include "nl/entry.h"
#include "set/bulk.h"
#include "set/filter.h"

/* The entry for messages: an address as the user wrote it, for a host name its address. */
static const char *asked_text(const char *asked, const struct packed *entries,
			      char text[ADDRESS_TEXT_SIZE])
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	if (!address_parse(asked, strlen(asked), &range, why))
		return asked;
	return entry_text(entries, first_entry(entries), text);
}

static int print_test(const struct tool *tool, const struct nl_set *set,
		      const char *asked, const struct packed *entries,
		      const struct nl_test *test)
{
	struct entry_ref ref = first_entry(entries);
	char text[ADDRESS_TEXT_SIZE], match[ADDRESS_TEXT_SIZE];
	const char *yes = is_approximate(set) ? "may be" : "is";
	char name[ESCAPED_SIZE(IPCUCKOO_NAME_SIZE)];
	struct json_object *object;

	entry_text(entries, ref, text);
	match_text(entries, ref, test->prefix_len, match);
	if (tool->json) {
		object = json_object_new_object();
		json_add_string(object, "set", set->name);
		json_add_string(object, "elem", text);
		json_add_bool(object, "found", test->found);
		if (is_approximate(set))
			json_add_string(object, "answer",
					test->found ? "maybe" : "no");
		else if (test->found)
			json_add_string(object, "match", match);
		if (test->found)
			json_add_value(object, set, test);
		json_print(object);
	}
	if (!tool->quiet)
		fprintf(stderr, "%s%s %s in set %s.\n",
			test->found ? "Warning: " : "",
			asked_text(asked, entries, text),
			test->found ? yes : "is NOT", escape_text(set->name, "", "\\x", name));
	return test->found ? STATUS_OK : STATUS_NO;
}

static int print_copies(const struct tool *tool, const struct nl_set *set,
			const char *asked, const struct packed *entries,
			const struct nl_test *test)
{
	char text[ADDRESS_TEXT_SIZE];
	struct json_object *object;

	(void)asked;
	entry_text(entries, first_entry(entries), text);
	if (tool->json) {
		object = json_object_new_object();
		json_add_string(object, "set", set->name);
		json_add_string(object, "elem", text);
		json_add_uint(object, "copies", test->copies);
		json_print(object);
	} else {
		printf("%u\n", test->copies);
	}
	return test->copies ? STATUS_OK : STATUS_NO;
}

/* Test one entry, and print the result. With @nomatch, the result is whether an exception
 * decided.
 */
static int test_one(struct tool *tool, const struct nl_set *set, char **word, bool nomatch,
		    int (*print)(const struct tool *tool, const struct nl_set *set,
				 const char *asked, const struct packed *entries,
				 const struct nl_test *test))
{
	struct packed entries = { 0 };
	struct nl_test test = { 0 };
	int status;

	status = bulk_read(tool, set, word, 1, NULL, &entries);
	if (status)
		return status;
	if (packed_count(&entries) != 1)
		status = fail_syntax(tool, "%s takes one %s at a time",
				     tool->command->name,
				     set->type == IPCUCKOO_TYPE_HASH_NET ?
				     "address or prefix" : "address");
	else if (nl_entry_test(tool->nl, set->name, &entries, &test))
		status = fail_kernel(tool, set->name, "cannot test set %s",
				     set->name);
	if (nomatch)
		test.found = test.nomatch;
	if (!status)
		status = print(tool, set, *word, &entries, &test);
	packed_free(&entries);
	return status;
}

int run_test(struct tool *tool, struct words *words)
{
	struct options options;
	struct nl_set set;
	int status;

	status = options_parse(tool, OPTIONS_OF_TEST, words, 2, 2, &options);
	if (!status)
		status = options_only(tool, &options, OPTION_NOMATCH);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (!status)
		status = options_check(tool, &options, &set);
	return status ? status : test_one(tool, &set, words->word + 1,
			       options.of[OPTION_NOMATCH].given, print_test);
}

int run_count(struct tool *tool, struct words *words)
{
	struct nl_set set;
	int status;

	status = parse_words(tool, words, no_keywords, 2, 2);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (status)
		return status;
	if (!is_approximate(&set))
		return fail(tool, STATUS_REFUSED,
			    "the set %s is exact: an entry is there once, or not; see ipcuckoo test",
			    set.name);
	return test_one(tool, &set, words->word + 1, false, print_copies);
}
