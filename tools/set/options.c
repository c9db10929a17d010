// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the options of sets. To add an option, add a row, and a field to struct
 * nl_set.
 */
#include <inttypes.h>

#include "cli/options.h"
#include "set/filter.h"
#include "set/mask.h"
#include "set/options.h"

#define FIELD(name)	.offset = offsetof(struct nl_set, name), \
			.size = sizeof(((struct nl_set *)0)->name)

#define FILTERS_ONLY	"bits, fpp, capacity and multi go with the type filter:ip only"

/* The value of the option @word. */
static const struct option_value *find_value(const struct option_value *values,
					     const char *word)
{
	const struct option_spec *option = set_options;

	for (; strcmp(option->word, word); option++)
		values++;
	return values;
}

/* Parse "family inet6", "-4" and "-6". */
static int parse_family(const struct tool *tool, const struct option_value *values,
			struct nl_set *set)
{
	const char *word = find_value(values, "family")->word;
	bool inet6 = find_value(values, "-6")->given;
	int family = inet6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET;
	int status = STATUS_OK;

	if (!!word + inet6 + find_value(values, "-4")->given > 1)
		return fail_syntax(tool, "family already specified");
	if (word)
		status = parse_meaning(tool, "unknown inet family ", "", family_words,
				       word, &family);
	set->family = family;
	return status;
}

static bool show_family(const struct nl_set *set, char *text)
{
	strcpy(text, meaning_word(family_words, set->family));
	return true;
}

/* Map the maxelem of the command line to that of the kernel, where 0 is no limit. Lists print
 * 4294967295 for no limit, because ipset's format needs a number; so take it as no limit.
 */
uint32_t parse_limit(uint32_t number)
{
	return number == UINT32_MAX ? 0 : number;
}

static bool show_maxelem(const struct nl_set *set, char *text)
{
	sprintf(text, "%" PRIu32, set->maxelem ? set->maxelem : UINT32_MAX);
	return set->maxelem || !is_approximate(set);
}

static int parse_masks(const struct tool *tool, const struct option_value *values,
		       struct nl_set *set)
{
	return parse_mask(tool, find_value(values, "netmask")->word,
			  find_value(values, "bitmask")->word, set);
}

static bool show_bitmask(const struct nl_set *set, char *text)
{
	mask_text(set, text);
	return has_bitmask(set);
}

static int parse_shape(const struct tool *tool, const struct option_value *values,
		       struct nl_set *set)
{
	const char *capacity = find_value(values, "capacity")->word;
	long long number = 0;
	int status = STATUS_OK;

	if (!is_approximate(set))
		return STATUS_OK;
	if (capacity)
		status = parse_number(tool, "capacity", capacity, 1,
				      IPCUCKOO_CAPACITY_MAX, &number);
	set->capacity = number;
	return status ? status : parse_width(tool, find_value(values, "bits")->word,
					     find_value(values, "fpp")->word, &set->bits);
}

static int parse_description(const struct tool *tool, const struct option_value *values,
			     struct nl_set *set)
{
	const char *text = find_value(values, "description")->word;

	if (!text)
		return STATUS_OK;
	if (strlen(text) > IPCUCKOO_DESCRIPTION_MAX)
		return fail_syntax(tool, "description is longer than the maximum allowed %u bytes",
				   IPCUCKOO_DESCRIPTION_MAX);
	if (!is_comment(text))
		return fail_syntax(tool, "\" characters and control characters are not permitted in descriptions");
	strcpy(set->description, text);
	return STATUS_OK;
}

const struct option_spec set_options[] = {
	{ "family", VALUE_WORD, FOR_ALL, .value = "inet|inet6|any",
	  .attr = IPCUCKOO_A_FAMILY, FIELD(family),
	  .parse = parse_family, .show = show_family,
	  .help = "IPv4 (the default), IPv6 or both" },
	{ "-4", .types = FOR_ALL },
	{ "-6", .types = FOR_ALL },
	/* ipset's tables have hashsize, bucketsize and initval. Here they have no effect. */
	{ "hashsize", VALUE_NUMBER, FOR_EXACT, .most = UINT32_MAX },
	{ "maxelem", VALUE_NUMBER, FOR_ALL, .value = "N",
	  .attr = IPCUCKOO_A_MAXELEM, FIELD(maxelem), .most = UINT32_MAX,
	  .show = show_maxelem,
	  .help = "limit of the number of entries; 0: no limit" },
	{ "netmask", VALUE_NUMBER, FOR(HASH_IP), .value = "N",
	  .attr = IPCUCKOO_A_NETMASK, FIELD(netmask),
	  .parse = parse_masks,
	  .help = "compare only the first N bits of addresses" },
	{ "bitmask", VALUE_WORD, FOR(HASH_IP), .value = "ADDRESS",
	  .attr = IPCUCKOO_A_BITMASK, FIELD(bitmask),
	  .show = show_bitmask,
	  .help = "compare only the bits of addresses that are 1 in ADDRESS" },
	{ "timeout", VALUE_NUMBER, FOR_EXACT, .value = "TIME",
	  .attr = IPCUCKOO_A_TIMEOUT, FIELD(timeout), .extension = IPCUCKOO_O_TIMEOUT,
	  .most = IPCUCKOO_TIMEOUT_MAX, .time = true,
	  .help = "entries expire after that time, such as 90, 15m or 7d (at most 68\n\t"
		  "years), unless add gives them another timeout; 0: never" },
	{ "counters", VALUE_FLAG, FOR_EXACT, .extension = IPCUCKOO_O_COUNTERS,
	  .help = "count packets and bytes for each entry" },
	{ "comment", VALUE_FLAG, FOR_EXACT, .extension = IPCUCKOO_O_COMMENT,
	  .help = "entries can have a comment" },
	{ "forceadd", VALUE_FLAG, FOR_EXACT, .flag = IPCUCKOO_F_FORCEADD,
	  .help = "if the set is full, a new entry replaces another one; -exist does\n\t"
		  "not compare it" },
	{ "skbinfo", VALUE_FLAG, FOR_EXACT, .extension = IPCUCKOO_O_SKBINFO,
	  .help = "entries can have a mark; attachments with the verdict mark\n\t"
		  "set it instead of their own" },
	{ "bucketsize", VALUE_NUMBER, FOR_EXACT, .most = UINT8_MAX },
	{ "initval", VALUE_NUMBER, FOR_EXACT, .most = UINT32_MAX },
	{ "probes", VALUE_WORD, FOR_EXACT, .old = true },
	{ "resize", VALUE_WORD, FOR_EXACT, .old = true },
	{ "gc", VALUE_WORD, FOR(HASH_IP), .old = true },
	{ "bits", VALUE_NUMBER, FOR(FILTER_IP), .value = "8|16|32",
	  .attr = IPCUCKOO_A_BITS, FIELD(bits), .refusal = FILTERS_ONLY,
	  .parse = parse_shape,
	  .help = "bits of a fingerprint; default: 16" },
	{ "fpp", VALUE_WORD, FOR(FILTER_IP), .value = "P", .refusal = FILTERS_ONLY,
	  .help = "choose as few bits as keep the false-positive rate within P,\n\t"
		  "such as 0.001 or 0.1%" },
	{ "capacity", VALUE_NUMBER, FOR(FILTER_IP), .value = "N",
	  .attr = IPCUCKOO_A_CAPACITY, FIELD(capacity), .refusal = FILTERS_ONLY,
	  .help = "make room for N entries; default: maxelem, or 65536" },
	{ "multi", VALUE_FLAG, FOR(FILTER_IP), .flag = IPCUCKOO_F_MULTI,
	  .refusal = FILTERS_ONLY,
	  .help = "store an entry again each time it is added, up to eight times;\n\t"
		  "del removes one copy. To delete an entry that was never added\n\t"
		  "can unblock other addresses." },
	{ "description", VALUE_TEXT, FOR_ALL, .value = "TEXT",
	  .attr = IPCUCKOO_A_DESCRIPTION, FIELD(description), .label = "Description",
	  .parse = parse_description,
	  .help = "a text that lists show, at most 255 bytes; -exist does not\n\t"
		  "compare it" },
	{ NULL }
};

#define SET_OPTIONS		(sizeof(set_options) / sizeof(set_options[0]) - 1)

/* Options that have a message of their own are refused later, by parse_value(). */
static int check_type(const struct tool *tool, const struct option_spec *option,
		      const struct option_value *value, const struct nl_set *set)
{
	if (!value->given)
		return STATUS_OK;
	if (!option->refusal && !(option->types & 1u << set->type))
		return fail_unknown(tool, option->word);
	if (option->old)
		warn(tool, "Warning: Option '--%s %s' is ignored. Please upgrade your syntax.",
		     option->word, value->word);
	return STATUS_OK;
}

static int parse_value(const struct tool *tool, const struct option_spec *option,
		       const struct option_value *value, struct nl_set *set)
{
	if (!value->given)
		return STATUS_OK;
	if (!(option->types & 1u << set->type))
		return fail_syntax(tool, "%s", option->refusal);
	set->flags |= option->flag;
	set->options |= option->extension;
	if (option->most && option->size)
		*(uint32_t *)option_field(option, set) = value->number;
	return STATUS_OK;
}

int parse_set_options(const struct tool *tool, struct words *words, struct nl_set *set,
		      bool *has_maxelem)
{
	struct option_value values[SET_OPTIONS];
	const struct option_spec *option = set_options;
	size_t i;
	int status;

	status = options_read(tool, set_options, no_keywords, words, 2, 2, values);
	for (i = 0; i < SET_OPTIONS && !status; i++)
		status = check_type(tool, &option[i], &values[i], set);
	for (i = 0; i < SET_OPTIONS && !status; i++) {
		status = parse_value(tool, &option[i], &values[i], set);
		if (!status && option[i].parse)
			status = option[i].parse(tool, values, set);
	}
	*has_maxelem = find_value(values, "maxelem")->given;
	set->maxelem = parse_limit(set->maxelem);
	return status;
}

bool show_option(const struct option_spec *option, const struct nl_set *set,
		 char text[OPTION_TEXT_SIZE])
{
	const void *field = option_field(option, set);

	if (option->show)
		return option->show(set, text);
	*text = '\0';
	if (option->kind == VALUE_TEXT)
		strcpy(text, field);
	else if (option->size == sizeof(uint8_t))
		sprintf(text, "%" PRIu8, *(const uint8_t *)field);
	else if (option->size == sizeof(uint32_t))
		sprintf(text, "%" PRIu32, *(const uint32_t *)field);
	if (option->flag || option->extension)
		return set->flags & option->flag || set->options & option->extension;
	return has_value(option, set);
}
