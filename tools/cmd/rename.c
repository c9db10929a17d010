// SPDX-License-Identifier: GPL-2.0-only
/* rename and swap: change names of sets. */
#include "cli/output.h"
#include "cmd/commands.h"
#include "set/guard.h"

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

static bool at_fault(const struct tool *tool, int attribute, int code)
{
	const struct nl_error *error = nl_error(tool->nl);

	return error->code == code && error->attribute == attribute;
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
	if (!nl_set_rename(tool->nl, from, to))
		return print_action(tool, to, "renamed");
	if (at_fault(tool, IPCUCKOO_A_SET_TO, -EEXIST))
		return fail(tool, STATUS_REFUSED,
			    "Set cannot be renamed: a set with the new name already exists (%s)",
			    to);
	return fail_kernel(tool, from, "Set %s cannot be renamed", from);
}

/* For guard_names(): attachments stay with the names, so those of one name get the
 * other set.
 */
static const void *swapped(const void *data, const char *name)
{
	const char *const *two = data;

	if (!strcmp(name, two[0]))
		return two[1];
	return strcmp(name, two[1]) ? NULL : two[0];
}

int run_swap(struct tool *tool, struct words *words)
{
	const char *name, *other;
	int status;

	status = parse_two(tool, words);
	if (status)
		return status;
	name = words->word[0];
	other = words->word[1];
	status = guard_names(tool, swapped, words->word, NULL);
	if (status)
		return status;
	if (!nl_set_swap(tool->nl, name, other))
		return print_action(tool, name, "swapped");
	if (at_fault(tool, IPCUCKOO_A_SET_TO, -ENOENT))
		return fail(tool, STATUS_REFUSED,
			    "Sets cannot be swapped: the second set does not exist (%s)",
			    other);
	if (at_fault(tool, IPCUCKOO_A_SET_TO, -EOPNOTSUPP))
		return fail(tool, STATUS_REFUSED,
			    "The sets cannot be swapped: their type does not match (%s and %s differ in type or family)",
			    name, other);
	return fail_kernel(tool, name, "The sets %s and %s cannot be swapped", name,
			   other);
}
