// SPDX-License-Identifier: GPL-2.0-only
/* destroy and flush, for one set or all sets. */
#include "cli/output.h"
#include "cmd/commands.h"
#include "set/guard.h"
#include "set/refusal.h"

/* Parse "NAME", "--all", or nothing, which means all. *name is NULL for all sets. */
static int parse_which(const struct tool *tool, struct words *words,
		       const char **name)
{
	bool all = false;
	const struct keyword keywords[] = {
		{ .word = "--all", .flag = &all },
		{ .word = NULL }
	};
	int status;

	status = parse_words(tool, words, keywords, 0, 1);
	if (status)
		return status;
	*name = words->count ? words->word[0] : NULL;
	if (all && *name)
		return fail(tool, STATUS_USAGE,
			    "give the name of one set, or --all");
	return *name ? parse_name(tool, *name) : STATUS_OK;
}

int run_destroy(struct tool *tool, struct words *words)
{
	const char *name;
	int status;

	status = parse_which(tool, words, &name);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_del(tool->nl, name, tool->exist ? IPCUCKOO_F_EXIST : 0))
		return fail_destroyed(tool, name);
	warn_kept(tool, name);
	return print_action(tool, name, "destroyed");
}

/* For struct guard_change. @data: name of the set; NULL: all */
static void becomes_empty(const void *data, const char *name, struct guard_set *set)
{
	if (!data || !strcmp(name, data))
		set->name[0] = '\0';
}

int run_flush(struct tool *tool, struct words *words)
{
	struct guard_change change = { .becomes = becomes_empty };
	const char *name;
	int status;

	status = parse_which(tool, words, &name);
	if (!status)
		status = connect_module(tool);
	change.data = name;
	if (!status)
		status = guard(tool, &change);
	if (status)
		return status;
	if (nl_set_flush(tool->nl, name))
		return fail_kernel(tool, name, "Set%s%s cannot be flushed",
				   name ? " " : "s", name ? name : "");
	warn_kept(tool, name);
	return print_action(tool, name, "flushed");
}
