// SPDX-License-Identifier: GPL-2.0-only
/* rename and swap: change names of sets. */
#include "cli/output.h"
#include "cmd/commands.h"
#include "set/guard.h"
#include "set/refusal.h"

/* Parse two names of sets, and connect to the module. */
static int parse_two(struct tool *tool, struct words *words)
{
	int status = parse_words(tool, words, no_keywords, 2, 2);

	if (!status)
		status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_name(tool, words->word[1]);
	return status ? status : connect_module(tool);
}

int run_rename(struct tool *tool, struct words *words)
{
	const char *from, *to;
	int status;

	status = parse_two(tool, words);
	if (status)
		return status;
	from = words->word[0];
	to = words->word[1];
	if (nl_set_rename(tool->nl, from, to))
		return fail_renamed(tool, from, to);
	warn_kept(tool, from);
	return print_action(tool, to, "renamed");
}

/* For struct guard_change: attachments stay with the names, so those of one name get the other
 * set.
 */
static void swapped(const void *data, const char *name, struct guard_set *set)
{
	const char *const *two = data;

	if (!strcmp(name, two[0]) || !strcmp(name, two[1]))
		strcpy(set->name, two[!strcmp(name, two[0])]);
}

int run_swap(struct tool *tool, struct words *words)
{
	struct guard_change change = { .becomes = swapped };
	const char *name, *other;
	int status;

	status = parse_two(tool, words);
	if (status)
		return status;
	name = words->word[0];
	other = words->word[1];
	change.data = words->word;
	status = guard(tool, &change);
	if (status)
		return status;
	if (nl_set_swap(tool->nl, name, other))
		return fail_swapped(tool, name, other);
	warn_kept(tool, name);
	warn_kept(tool, other);
	return print_action(tool, name, "swapped");
}
