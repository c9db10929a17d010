// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets: create, destroy, flush, rename, swap, change.
 */
#include "filter.h"
#include "output.h"
#include "tool.h"

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

/* The words that go with filter:ip only. */
struct filter_words {
	const char *bits;
	const char *fpp;
	const char *capacity;
	bool multi;
};

static int parse_filter(const struct tool *tool, const struct filter_words *words,
			struct nl_set *set)
{
	long long capacity = 0;
	int status = STATUS_OK;

	if (!is_approximate(set))
		return words->bits || words->fpp || words->capacity || words->multi ?
		       fail(tool, STATUS_USAGE,
			    "bits, fpp, capacity and multi go with the type filter:ip only") :
		       STATUS_OK;
	if (words->capacity)
		status = parse_number(tool, "capacity", words->capacity, 1,
				      IPCUCKOO_CAPACITY_MAX, &capacity);
	if (!status)
		status = parse_width(tool, words->bits, words->fpp, &set->bits);
	set->capacity = capacity;
	set->flags = words->multi ? IPCUCKOO_F_MULTI : 0;
	return status;
}

int run_create(struct tool *tool, struct words *words)
{
	const char *family = NULL, *maxelem = NULL;
	struct filter_words filter = { 0 };
	const struct keyword keywords[] = {
		{ .word = "family", .value = &family },
		{ .word = "maxelem", .value = &maxelem },
		{ .word = "bits", .value = &filter.bits },
		{ .word = "fpp", .value = &filter.fpp },
		{ .word = "capacity", .value = &filter.capacity },
		{ .word = "multi", .flag = &filter.multi },
		{ .word = NULL }
	};
	int value = IPCUCKOO_FAMILY_INET, type = 0, status;
	struct nl_set set = { 0 };
	long long number = 0;

	status = parse_words(tool, words, keywords, 2, 2);
	if (!status)
		status = parse_name(tool, words->word[0]);
	if (!status)
		status = parse_meaning(tool, "type", type_words,
				       words->word[1], &type);
	if (!status && family)
		status = parse_meaning(tool, "family", family_words, family,
				       &value);
	if (!status && maxelem)
		status = parse_number(tool, "maxelem", maxelem, 0, UINT32_MAX,
				      &number);
	set.type = type;
	if (!status)
		status = parse_filter(tool, &filter, &set);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	strcpy(set.name, words->word[0]);
	set.family = value;
	set.maxelem = number;
	status = nl_set_new(tool->nl, &set, maxelem,
			    tool->exist ? IPCUCKOO_F_EXIST : 0);
	if (status == -EEXIST)
		return fail(tool, STATUS_REFUSED,
			    "Set %s cannot be created: a set with the same name already exists%s",
			    set.name,
			    tool->exist ? ", of another type or family, or with other options" :
			    " (-exist accepts that)");
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
		{ .word = "--all", .alias = "-a", .flag = &all },
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
		return fail(tool, STATUS_REFUSED,
			    "Set%s%s cannot be destroyed: %s attached; ipcuckoo detach %s first",
			    name ? " " : "s", name ? name : "",
			    name ? "it is" : "some are",
			    name ? name : "--all");
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
	if (nl_set_flush(tool->nl, name, tool->exist ? IPCUCKOO_F_EXIST : 0))
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
			    "Set %s cannot be renamed: a set with the new name %s already exists",
			    from, to);
	return fail_kernel(tool, from, "Set %s cannot be renamed", from);
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
	if (!nl_set_swap(tool->nl, name, other))
		return print_action(tool, name, "swapped");
	if (at_fault(tool, IPCUCKOO_A_SET_TO, -ENOENT))
		return fail(tool, STATUS_REFUSED,
			    "Sets cannot be swapped: the second set %s does not exist",
			    other);
	if (at_fault(tool, IPCUCKOO_A_SET_TO, -EOPNOTSUPP))
		return fail(tool, STATUS_REFUSED,
			    "The sets %s and %s cannot be swapped: their type does not match",
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
	if (nl_set_change(tool->nl, words->word[0], number))
		return fail_kernel(tool, words->word[0], "Set %s cannot be changed",
				   words->word[0]);
	return print_action(tool, words->word[0], "changed");
}
