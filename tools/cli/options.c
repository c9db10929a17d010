// SPDX-License-Identifier: GPL-2.0-only
/* Options: see options.h. To add an option, add a row to the table, and read its value in
 * options_value(), or in cmd/create.c for an option of sets.
 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"

enum option_kind {
	KIND_FLAG,
	KIND_NUMBER,
	KIND_WORD,
	KIND_IGNORED,	/* an old option with a value; it has no effect, and ipset warns */
};

#define FOR(type)	(1u << IPCUCKOO_TYPE_##type)
#define FOR_EXACT	(FOR(HASH_IP) | FOR(HASH_NET))
#define FOR_ALL		(FOR_EXACT | FOR(FILTER_IP))

/* ipset's messages for extensions that the set does not have. */
#define NO_TIMEOUT	"Timeout cannot be used: set was created without timeout support"
#define NO_COUNTERS	"Packet/byte counters cannot be used: set was created without counter support"
#define NO_COMMENT	"Comment cannot be used: set was created without comment support"
#define NO_SKBINFO	"Skbinfo mapping cannot be used: set was created without skbinfo support"

/**
 * struct option_spec - an option
 * @word:	name
 * @place:	which commands take it
 * @kind:	kind of its value
 * @types:	types of sets that take it
 * @most:	maximum, if the value is a number
 * @refusal:	options of entries: message if the set does not have @extension; NULL if the
 *		option needs no extension
 * @extension:	enum ipcuckoo_option: the extension that an option of sets asks for, or
 *		that an option of entries sets
 */
static const struct option_spec {
	const char *word;
	enum option_place place;
	enum option_kind kind;
	uint32_t types;
	long long most;
	const char *refusal;
	uint32_t extension;
} specs[OPTIONS] = {
#define SET_OPTION(name, word, kind, types, ...)			\
	[OPTION_##name] = { word, OPTIONS_OF_SETS, KIND_##kind, types, __VA_ARGS__ }
#define ENTRY_OPTION(name, word, kind, types, ...)			\
	[OPTION_##name] = { word, OPTIONS_OF_ENTRIES, KIND_##kind, types, __VA_ARGS__ }
	SET_OPTION(FAMILY,	"family",	WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(INET,	"-4",		FLAG,	FOR_ALL, 0, NULL),
	SET_OPTION(INET6,	"-6",		FLAG,	FOR_ALL, 0, NULL),
	/* ipset's tables have hashsize, bucketsize and initval. Here they have no effect. */
	SET_OPTION(HASHSIZE,	"hashsize",	NUMBER,	FOR_EXACT, UINT32_MAX, NULL),
	SET_OPTION(MAXELEM,	"maxelem",	NUMBER,	FOR_ALL, UINT32_MAX, NULL),
	SET_OPTION(NETMASK,	"netmask",	WORD,	FOR(HASH_IP), 0, NULL),
	SET_OPTION(BITMASK,	"bitmask",	WORD,	FOR(HASH_IP), 0, NULL),
	SET_OPTION(SET_TIMEOUT,	"timeout",	NUMBER,	FOR_EXACT, IPCUCKOO_TIMEOUT_MAX,
		   NULL, IPCUCKOO_O_TIMEOUT),
	SET_OPTION(SET_COUNTERS, "counters",	FLAG,	FOR_EXACT, 0, NULL, IPCUCKOO_O_COUNTERS),
	SET_OPTION(SET_COMMENT,	"comment",	FLAG,	FOR_EXACT, 0, NULL, IPCUCKOO_O_COMMENT),
	SET_OPTION(SET_SKBINFO,	"skbinfo",	FLAG,	FOR_EXACT, 0, NULL, IPCUCKOO_O_SKBINFO),
	SET_OPTION(FORCEADD,	"forceadd",	FLAG,	FOR_EXACT, 0, NULL),
	SET_OPTION(BUCKETSIZE,	"bucketsize",	NUMBER,	FOR_EXACT, UINT8_MAX, NULL),
	SET_OPTION(INITVAL,	"initval",	NUMBER,	FOR_EXACT, UINT32_MAX, NULL),
	SET_OPTION(PROBES,	"probes",	IGNORED, FOR_EXACT, 0, NULL),
	SET_OPTION(RESIZE,	"resize",	IGNORED, FOR_EXACT, 0, NULL),
	SET_OPTION(GC,		"gc",		IGNORED, FOR(HASH_IP), 0, NULL),
	SET_OPTION(BITS,	"bits",		WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(FPP,		"fpp",		WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(CAPACITY,	"capacity",	WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(MULTI,	"multi",	FLAG,	FOR_ALL, 0, NULL),
	ENTRY_OPTION(TIMEOUT,	"timeout",	NUMBER,	FOR_ALL, IPCUCKOO_TIMEOUT_MAX,
		     NO_TIMEOUT, IPCUCKOO_O_TIMEOUT),
	ENTRY_OPTION(PACKETS,	"packets",	NUMBER,	FOR_ALL, INT64_MAX,
		     NO_COUNTERS, IPCUCKOO_O_COUNTERS),
	ENTRY_OPTION(BYTES,	"bytes",	NUMBER,	FOR_ALL, INT64_MAX,
		     NO_COUNTERS, IPCUCKOO_O_COUNTERS),
	ENTRY_OPTION(COMMENT,	"comment",	WORD,	FOR_ALL, 0, NO_COMMENT, IPCUCKOO_O_COMMENT),
	ENTRY_OPTION(SKBMARK,	"skbmark",	WORD,	FOR_ALL, 0, NO_SKBINFO, IPCUCKOO_O_SKBINFO),
	ENTRY_OPTION(SKBPRIO,	"skbprio",	WORD,	FOR_ALL, 0, NO_SKBINFO, IPCUCKOO_O_SKBINFO),
	ENTRY_OPTION(SKBQUEUE,	"skbqueue",	NUMBER,	FOR_ALL, UINT16_MAX,
		     NO_SKBINFO, IPCUCKOO_O_SKBINFO),
	ENTRY_OPTION(NOMATCH,	"nomatch",	FLAG,	FOR(HASH_NET), 0, NULL),
#undef SET_OPTION
#undef ENTRY_OPTION
};

int options_parse(const struct tool *tool, enum option_place place,
		  struct words *words, int least, int most,
		  struct options *options)
{
	struct keyword keywords[OPTIONS + 3], *next = keywords;
	int i, status;

	*options = (struct options) { 0 };
	for (i = 0; i < OPTIONS; i++) {
		struct option_value *value = &options->of[i];

		if (specs[i].place != place)
			continue;
		*next++ = (struct keyword) {
			.word = specs[i].word,
			.flag = specs[i].kind == KIND_FLAG ? &value->given : NULL,
			.value = specs[i].kind == KIND_FLAG ? NULL : &value->word,
		};
	}
	if (place == OPTIONS_OF_ENTRIES)
		*next++ = (struct keyword) {
			.word = "--expand", .flag = &options->expand
		};
	/* In a file, --check cannot be an option of one line: restore has it for all. */
	if (place == OPTIONS_OF_ENTRIES && !tool->line &&
	    strcmp(tool->command->name, "test"))
		*next++ = (struct keyword) {
			.word = "--check", .flag = &options->check
		};
	*next = (struct keyword) { .word = NULL };
	status = parse_words(tool, words, keywords, least, most);
	for (i = 0; i < OPTIONS && !status; i++) {
		struct option_value *value = &options->of[i];

		value->given |= !!value->word;
		if (value->word && specs[i].kind == KIND_NUMBER)
			status = parse_number(tool, specs[i].word, value->word, 0,
					      specs[i].most, &value->number);
	}
	return status;
}

/* Whether a type takes an option. Another version of the module may send any type. */
static bool is_for(const struct option_spec *spec, unsigned int type)
{
	return type < 32 && spec->types & 1u << type;
}

int options_check(const struct tool *tool, const struct options *options,
		  const struct nl_set *set)
{
	int i;

	for (i = 0; i < OPTIONS; i++) {
		if (!options->of[i].given)
			continue;
		if (!is_for(&specs[i], set->type))
			return fail_unknown(tool, no_keywords, specs[i].word);
		if (specs[i].refusal &&
		    (specs[i].place == OPTIONS_OF_SETS || !(set->options & specs[i].extension)))
			return fail(tool, STATUS_REFUSED, "%s", specs[i].refusal);
		if (specs[i].kind == KIND_IGNORED)
			warn(tool, "Warning: Option '--%s %s' is ignored. Please upgrade your syntax.",
			     specs[i].word, options->of[i].word);
	}
	return STATUS_OK;
}

int options_only(const struct tool *tool, const struct options *options,
		 enum option option)
{
	int i;

	for (i = 0; i < OPTIONS; i++)
		if (options->of[i].given && i != (int)option)
			return fail_unknown(tool, no_keywords, specs[i].word);
	return STATUS_OK;
}

uint32_t options_extensions(const struct options *options, enum option_place place)
{
	uint32_t extensions = 0;
	int i;

	for (i = 0; i < OPTIONS; i++)
		if (specs[i].place == place && options->of[i].given)
			extensions |= specs[i].extension;
	return extensions;
}

/* Read a hexadecimal number. Return: the text after it, such as ":5"; NULL on error. */
static const char *read_hex(const char *word, uint32_t *number)
{
	unsigned long long value;
	char *end;

	if (!*word || strspn(word, "0123456789abcdefABCDEFx") == 0)
		return NULL;
	value = strtoull(word, &end, 16);
	if (end == word || value > UINT32_MAX)
		return NULL;
	*number = value;
	return end;
}

/* Read "0xMARK/0xMASK" or "0xMARK" as ipset does: it ignores the rest of the word from
 * where it does not match, for example a mask without 0x.
 */
static int read_mark(const struct tool *tool, const char *word, uint64_t *mark)
{
	unsigned long bits, mask;
	int numbers = sscanf(word, "0x%lx/0x%lx", &bits, &mask);

	if (numbers < 1)
		return fail_syntax(tool, "Invalid skbmark format, it should be:  MARK/MASK or MARK (see manpage), such as 0x1/0xff");
	if (numbers == 1)
		mask = UINT32_MAX;
	*mark = (uint64_t)(uint32_t)mask << 32 | (uint32_t)bits;
	return STATUS_OK;
}

static int read_prio(const struct tool *tool, const char *word, uint32_t *prio)
{
	uint32_t major = 0, minor = 0;
	const char *end = read_hex(word, &major);

	end = end && *end == ':' ? read_hex(end + 1, &minor) : NULL;
	if (!end || *end || major > UINT16_MAX || minor > UINT16_MAX)
		return fail_syntax(tool, "Invalid skbprio format, it should be:MAJOR:MINOR (see manpage), such as 1:10");
	*prio = major << 16 | minor;
	return STATUS_OK;
}

bool is_comment(const char *text)
{
	for (; *text; text++)
		if (*text == '"' || *text == 0x7f ||
		    (*text >= 0 && *text < ' ' && *text != '\t'))
			return false;
	return true;
}

static int read_comment(const struct tool *tool, const char *word, char **comment)
{
	if (strlen(word) > IPCUCKOO_COMMENT_MAX)
		return fail_syntax(tool, "Comment is longer than the maximum allowed %u characters",
				   IPCUCKOO_COMMENT_MAX);
	if (strchr(word, '"'))
		return fail_syntax(tool, "\" character is not permitted in comments");
	if (!is_comment(word))
		return fail_syntax(tool, "control characters, such as the end of a line, are not permitted in comments");
	*comment = (char *)word;
	return STATUS_OK;
}

static uint64_t counter(const struct option_value *value)
{
	if (!value->given)
		return IPCUCKOO_COUNTER_KEEP;
	return value->number;
}

int options_value(const struct tool *tool, const struct options *options,
		  const struct nl_set *set, struct entry_value *value)
{
	const struct option_value *of = options->of;
	int status = STATUS_OK;

	*value = (struct entry_value) {
		.timeout = of[OPTION_TIMEOUT].given ? of[OPTION_TIMEOUT].number : set->timeout,
		.packets = counter(&of[OPTION_PACKETS]),
		.bytes = counter(&of[OPTION_BYTES]),
		.queue = of[OPTION_SKBQUEUE].number,
		.nomatch = of[OPTION_NOMATCH].given,
	};
	if (of[OPTION_COMMENT].given)
		status = read_comment(tool, of[OPTION_COMMENT].word, &value->comment);
	if (!status && of[OPTION_SKBMARK].given)
		status = read_mark(tool, of[OPTION_SKBMARK].word, &value->mark);
	if (!status && of[OPTION_SKBPRIO].given)
		status = read_prio(tool, of[OPTION_SKBPRIO].word, &value->prio);
	return status;
}
