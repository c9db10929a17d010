// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets: create, destroy, flush, rename, swap, change.
 */
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "cmd/create.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/mask.h"

static int print_action(const struct tool *tool, const char *set,
			const char *done)
{
	struct json_object *object;

	if (!tool->json)
		return STATUS_OK;
	object = json_object_new_object();
	if (set)
		json_add_string(object, "set", set);
	json_add_bool(object, done, true);
	json_print(object);
	return STATUS_OK;
}

/* What goes with filter:ip only. */
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

/* "family inet6", or "-6". */
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

/* As ipset rounds them. */
static void note_sizes(const struct options *options, struct nl_set *set)
{
	const struct option_value *hashsize = &options->of[OPTION_HASHSIZE];
	const struct option_value *bucketsize = &options->of[OPTION_BUCKETSIZE];
	const struct option_value *initval = &options->of[OPTION_INITVAL];

	if (hashsize->given)
		set->hashsize = 64;
	while (set->hashsize < hashsize->number && set->hashsize < 1u << 31)
		set->hashsize *= 2;
	if (bucketsize->given)
		set->bucketsize = bucketsize->number < 2 ? 2 :
				  bucketsize->number > 12 ? 12 :
				  (bucketsize->number + 1) & ~1u;
	set->has_initval = initval->given;
	set->initval = initval->number;
}

/* Lists say 4294967295 where there is no limit, as ipset's must say something. */
static uint32_t maxelem_of(uint32_t number)
{
	return number == UINT32_MAX ? 0 : number;
}

/* The name and the type, which are the first words whatever follows them: what may
 * follow depends on the type.
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
 * parse_create - read the words of create
 * @tool:	the run
 * @words:	the words
 * @set:	the set they ask for
 * @has_maxelem: set if they give it a limit
 *
 * Return: STATUS_OK, or another after a message.
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
	note_sizes(&options, set);
	set->options = options_keeps(&options, OPTIONS_OF_SETS);
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

int fail_created_already(const struct tool *tool, const char *name)
{
	return fail(tool, STATUS_REFUSED,
		    "Set cannot be created: set with the same name already exists (%s%s)",
		    name, tool->exist ?
		    ", of another type or family, or with other options or another limit" :
		    "; -exist accepts that");
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
	status = nl_set_new(tool->nl, &set, has_maxelem,
			    tool->exist ? IPCUCKOO_F_EXIST : 0);
	if (status == -EEXIST)
		return fail_created_already(tool, set.name);
	if (status)
		return fail_kernel(tool, NULL, "Set %s cannot be created",
				   set.name);
	return print_action(tool, set.name, "created");
}

/* "NAME", "--all", or nothing, which is all as well. */
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
	status = nl_set_del(tool->nl, name,
			    tool->exist ? IPCUCKOO_F_EXIST : 0);
	if (status == -EBUSY)
		return fail_attached(tool, name);
	if (status)
		return fail_kernel(tool, name, "Set%s%s cannot be destroyed",
				   name ? " " : "s", name ? name : "");
	return print_action(tool, name, "destroyed");
}

int run_flush(struct tool *tool, struct words *words)
{
	const char *name;
	int status;

	status = parse_which(tool, words, &name);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_flush(tool->nl, name))
		return fail_kernel(tool, name, "Set%s%s cannot be flushed",
				   name ? " " : "s", name ? name : "");
	return print_action(tool, name, "flushed");
}

/* FROM TO: two names of sets. */
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

/* What is attached stays with the name. */
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
