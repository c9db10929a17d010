// SPDX-License-Identifier: GPL-2.0-only
/* create, and change, which changes the limit of a set. */
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/create.h"
#include "set/filter.h"
#include "set/mask.h"
#include "set/refusal.h"

/* The options that only filter:ip has. */
static int parse_filter(const struct tool *tool, const struct options *options,
			struct nl_set *set)
{
	const char *bits = options->of[OPTION_BITS].word;
	const char *fpp = options->of[OPTION_FPP].word;
	const char *capacity = options->of[OPTION_CAPACITY].word;
	bool multi = options->of[OPTION_MULTI].given;
	int status = STATUS_OK;
	long long number = 0;

	if (!is_approximate(set))
		return bits || fpp || capacity || multi ?
		       fail_syntax(tool,
				   "bits, fpp, capacity and multi go with the type filter:ip only") :
		       STATUS_OK;
	if (capacity)
		status = parse_number(tool, "capacity", capacity, 1,
				      IPCUCKOO_CAPACITY_MAX, &number);
	if (!status)
		status = parse_width(tool, bits, fpp, &set->bits);
	set->capacity = number;
	set->flags |= multi ? IPCUCKOO_F_MULTI : 0;
	return status;
}

/* Parse "family inet6" or "-6". */
static int parse_family(const struct tool *tool, const struct options *options,
			struct nl_set *set)
{
	const char *word = options->of[OPTION_FAMILY].word;
	bool inet6 = options->of[OPTION_INET6].given;
	int family, status;

	if (!!word + inet6 + options->of[OPTION_INET].given > 1)
		return fail_syntax(tool, "family already specified");
	set->family = inet6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET;
	if (!word)
		return STATUS_OK;
	status = parse_meaning(tool, "unknown inet family ", "", family_words,
			       word, &family);
	if (!status)
		set->family = family;
	return status;
}

/* Lists show 4294967295 for no limit, because a list in ipset's format needs a number.
 * Understand it the same way.
 */
static uint32_t maxelem_of(uint32_t number)
{
	return number == UINT32_MAX ? 0 : number;
}

/* Parse the name and the type. They are the first words, because the type decides which
 * options may follow.
 */
static int parse_type(const struct tool *tool, const struct words *words,
		      struct nl_set *set)
{
	int status, type;

	if (words->count < 2)
		return fail_missing(tool, words->count);
	status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_meaning(tool, "typename '", "' is unknown", type_words,
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
	struct options options;
	int status;

	*set = (struct nl_set) { 0 };
	status = parse_type(tool, words, set);
	if (!status)
		status = options_parse(tool, OPTIONS_OF_SETS, words, 2, 2, &options);
	if (status)
		return status;
	set->maxelem = maxelem_of(options.of[OPTION_MAXELEM].number);
	*has_maxelem = options.of[OPTION_MAXELEM].given;
	set->flags = options.of[OPTION_FORCEADD].given ? IPCUCKOO_F_FORCEADD : 0;
	set->options = options_extensions(&options, OPTIONS_OF_SETS);
	set->timeout = options.of[OPTION_SET_TIMEOUT].number;
	status = options_check(tool, &options, set);
	if (!status)
		status = parse_family(tool, &options, set);
	if (!status)
		status = parse_mask(tool, options.of[OPTION_NETMASK].word,
				    options.of[OPTION_BITMASK].word, set);
	if (!status)
		status = parse_filter(tool, &options, set);
	return status;
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
	if (nl_set_change(tool->nl, words->word[0], maxelem_of(number)))
		return fail_kernel(tool, words->word[0], "Set %s cannot be changed",
				   words->word[0]);
	return print_action(tool, words->word[0], "changed");
}
