// SPDX-License-Identifier: GPL-2.0-only
/* create, and change, which changes the limit of a set. */
#include "cli/output.h"
#include "cmd/create.h"
#include "set/options.h"
#include "set/refusal.h"

/* What to say about a word that is no type. */
static const char *type_hint(const struct words *words)
{
	const char *type = words->word[1];

	if (find_meaning(type_words, words->word[0]) && !find_meaning(type_words, type))
		return "' is unknown; the name of the set comes before its type, as in: ipcuckoo create feed hash:ip";
	if (strchr(type, ',') || !strncmp(type, "bitmap:", 7) || !strncmp(type, "list:", 5) ||
	    !strcmp(type, "hash:mac"))
		return "' is unknown; ipset has such a set, and sets here have addresses and prefixes only";
	return "' is unknown";
}

/* Parse the name and the type. They are the first words, because the type decides which
 * options may follow.
 */
static int parse_type(const struct tool *tool, const struct words *words,
		      struct nl_set *set)
{
	int status, type;

	if (words->count < 2)
		return fail_missing(tool, words);
	status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_meaning(tool, "typename '", type_hint(words), type_words,
				       words->word[1], &type);
	if (status)
		return status;
	strcpy(set->name, words->word[0]);
	set->type = type;
	return STATUS_OK;
}

/**
 * parse_create - parse the arguments of create
 * @tool:	the run
 * @words:	the arguments
 * @set:	the set to create
 * @has_maxelem: set to whether maxelem was given
 *
 * Return: STATUS_OK, or another status after a message.
 */
int parse_create(const struct tool *tool, struct words *words,
		 struct nl_set *set, bool *has_maxelem)
{
	int status;

	*set = (struct nl_set) { 0 };
	status = parse_type(tool, words, set);
	return status ? status : parse_set_options(tool, words, set, has_maxelem);
}

int run_create(struct tool *tool, struct words *words)
{
	struct nl_set set;
	bool has_maxelem;
	int status;

	status = parse_create(tool, words, &set, &has_maxelem);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_new(tool->nl, &set, has_maxelem,
		       tool->exist ? IPCUCKOO_F_EXIST : 0))
		return fail_created(tool, set.name);
	return print_action(tool, set.name, "created");
}

int run_change(struct tool *tool, struct words *words)
{
	const char *maxelem = NULL;
	const struct keyword keywords[] = {
		{ .word = "maxelem", .value = &maxelem },
		{ .word = NULL }
	};
	long long number;
	int status;

	status = parse_words(tool, words, keywords, 1, 1);
	if (!status && !maxelem)
		status = fail_usage(tool);
	if (!status)
		status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_number(tool, "maxelem", maxelem, 0, UINT32_MAX, &number);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_change(tool->nl, words->word[0], parse_limit(number)))
		return fail_kernel(tool, words->word[0], "Set %s cannot be changed",
				   words->word[0]);
	return print_action(tool, words->word[0], "changed");
}
