// SPDX-License-Identifier: GPL-2.0-only
/* Options of entries: see options.h. To add an option, add a row to the table, and read its
 * value in options_value().
 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"
#include "nl/option.h"

/* ipset's messages for extensions that the set does not have. */
#define LIKE(option)	" (as it would have after: ipcuckoo create NAME hash:net " option ")"
#define NO_TIMEOUT	"Timeout cannot be used: set was created without timeout support" LIKE("timeout 0")
#define NO_COUNTERS	"Packet/byte counters cannot be used: set was created without counter support" LIKE("counters")
#define NO_COMMENT	"Comment cannot be used: set was created without comment support" LIKE("comment")
#define NO_SKBINFO	"Skbinfo mapping cannot be used: set was created without skbinfo support" LIKE("skbinfo")

static const struct option_spec specs[] = {
#define OPTION(name, word, kind, types, ...)				\
	[OPTION_##name] = { word, VALUE_##kind, types, __VA_ARGS__ }
	OPTION(TIMEOUT,	"timeout",	NUMBER,	FOR_ALL, IPCUCKOO_TIMEOUT_MAX,
	       IPCUCKOO_O_TIMEOUT, true, NO_TIMEOUT),
	OPTION(PACKETS,	"packets",	NUMBER,	FOR_ALL, INT64_MAX,
	       IPCUCKOO_O_COUNTERS, false, NO_COUNTERS),
	OPTION(BYTES,	"bytes",	NUMBER,	FOR_ALL, INT64_MAX,
	       IPCUCKOO_O_COUNTERS, false, NO_COUNTERS),
	OPTION(COMMENT,	"comment",	WORD,	FOR_ALL, 0, IPCUCKOO_O_COMMENT, false, NO_COMMENT),
	OPTION(SKBMARK,	"skbmark",	WORD,	FOR_ALL, 0, IPCUCKOO_O_SKBINFO, false, NO_SKBINFO),
	OPTION(SKBPRIO,	"skbprio",	WORD,	FOR_ALL, 0, IPCUCKOO_O_SKBINFO, false, NO_SKBINFO),
	OPTION(SKBQUEUE, "skbqueue",	NUMBER,	FOR_ALL, UINT16_MAX,
	       IPCUCKOO_O_SKBINFO, false, NO_SKBINFO),
	OPTION(NOMATCH,	"nomatch",	FLAG,	FOR(HASH_NET), 0, 0, false, NULL),
#undef OPTION
	[OPTIONS] = { .word = NULL }
};

#define KEYWORDS	32

int options_read(const struct tool *tool, const struct option_spec *table,
		 const struct keyword *more, struct words *words, int least, int most,
		 struct option_value *values)
{
	struct keyword keywords[KEYWORDS] = { 0 }, *next = keywords;
	int i, status;

	for (i = 0; table[i].word; i++, next++) {
		values[i] = (struct option_value) { 0 };
		next->word = table[i].word;
		if (table[i].kind == VALUE_FLAG)
			next->flag = &values[i].given;
		else
			next->value = &values[i].word;
	}
	for (; more->word; more++)
		*next++ = *more;
	status = parse_words(tool, words, keywords, least, most);
	for (i = 0; table[i].word && !status; i++) {
		values[i].given |= !!values[i].word;
		if (!values[i].given || !table[i].most)
			continue;
		status = table[i].time ?
			 parse_time(tool, table[i].word, values[i].word, 0, table[i].most,
				    &values[i].number) :
			 parse_number(tool, table[i].word, values[i].word, 0, table[i].most,
				      &values[i].number);
	}
	return status;
}

int options_parse(const struct tool *tool, enum option_place place,
		  struct words *words, int least, int most,
		  struct options *options)
{
	/* In a file, --check cannot be an option of one line: restore has it for all. */
	bool check = place == OPTIONS_OF_ENTRIES && !tool->line;
	const struct keyword more[] = {
		{ .word = "--expand", .flag = &options->expand },
		{ .word = check ? "--check" : NULL, .flag = &options->check },
		{ .word = NULL }
	};

	*options = (struct options) { 0 };
	return options_read(tool, specs, more, words, least, most, options->of);
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
			return fail_unknown(tool, specs[i].word);
		if (specs[i].refusal && !(set->options & specs[i].extension))
			return fail(tool, STATUS_REFUSED, "%s", specs[i].refusal);
	}
	return STATUS_OK;
}

int options_only(const struct tool *tool, const struct options *options,
		 enum option option)
{
	int i;

	for (i = 0; i < OPTIONS; i++)
		if (options->of[i].given && i != (int)option)
			return fail_unknown(tool, specs[i].word);
	return STATUS_OK;
}

uint32_t options_extensions(const struct options *options)
{
	uint32_t extensions = 0;
	int i;

	for (i = 0; i < OPTIONS; i++)
		if (options->of[i].given)
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
	unsigned char c;

	while ((c = *text++))
		if (c == '"' || c == 0x7f || (c < ' ' && c != '\t'))
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
