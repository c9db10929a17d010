// SPDX-License-Identifier: GPL-2.0-only
/* add and del. */
#include <limits.h>

#include "cli/options.h"
#include "cmd/commands.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/refusal.h"

static int change_set(struct tool *tool, struct words *words,
		      int (*change)(struct bulk *bulk), enum bulk_kind kind, const char *done)
{
	struct entry_value value;
	struct options options;
	struct packed entries = { 0 };
	struct nl_set set;
	struct bulk bulk;
	int status;

	status = options_parse(tool, OPTIONS_OF_ENTRIES, words, 2, INT_MAX, &options);
	if (!status && kind == BULK_DEL)
		status = options_only(tool, &options, OPTIONS);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (!status)
		status = options_check(tool, &options, &set);
	if (!status)
		status = options_value(tool, &options, &set, &value);
	if (!status)
		status = bulk_read(tool, &set, words->word + 1,
				   words->count - 1, &options.expand, &entries);
	if (status || options.check) {
		packed_free(&entries);
		return status;
	}
	bulk = (struct bulk) {
		.tool = tool, .set = set.name, .kind = &set, .entries = &entries,
		.approximate = is_approximate(&set),
		.extensions = options_extensions(&options) |
			      (value.nomatch ? NL_NOMATCH : 0),
	};
	if (bulk.extensions)
		bulk.value = &value;
	status = bulk_guard(&bulk, kind, NULL);
	if (!status)
		status = change(&bulk);
	if (!status)
		warn_kept(tool, set.name);
	if (!status && tool->json)
		bulk_print_json(set.name, done, &bulk.change);
	packed_free(&entries);
	return status;
}

int run_add(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_add, BULK_ADD, "added");
}

int run_del(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_del, BULK_DEL, "deleted");
}
