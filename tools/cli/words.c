// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses command lines. The grammar is that of ipset: a command, its arguments, then
 * keywords, some with a value. A keyword can be written with two dashes, an option with
 * one dash or two. An unknown word is an error; the message suggests a similar one.
 */
#include <ctype.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/hint.h"
#include "lib/address.h"
#include "lib/duration.h"
#include "lib/nearest.h"

#define MAX_GUESSES	32

const struct meaning type_words[] = {
	{ "hash:ip",	IPCUCKOO_TYPE_HASH_IP },
	{ "hash:net",	IPCUCKOO_TYPE_HASH_NET },
	{ "filter:ip",	IPCUCKOO_TYPE_FILTER_IP },
	{ "iphash",	IPCUCKOO_TYPE_HASH_IP },
	{ "nethash",	IPCUCKOO_TYPE_HASH_NET },
	{ NULL, 0 }
};

const struct meaning family_words[] = {
	{ "inet",	IPCUCKOO_FAMILY_INET },
	{ "inet6",	IPCUCKOO_FAMILY_INET6 },
	{ "any",	IPCUCKOO_FAMILY_ANY },
	{ "ipv4",	IPCUCKOO_FAMILY_INET },
	{ "ipv6",	IPCUCKOO_FAMILY_INET6 },
	{ NULL, 0 }
};

const struct meaning direction_words[] = {
	{ "src",	IPCUCKOO_DIR_SRC },
	{ "dst",	IPCUCKOO_DIR_DST },
	{ "both",	IPCUCKOO_DIR_BOTH },
	{ NULL, 0 }
};

const struct meaning verdict_words[] = {
	{ "drop",	IPCUCKOO_VERDICT_DROP },
	{ "accept",	IPCUCKOO_VERDICT_ACCEPT },
	{ "count",	IPCUCKOO_VERDICT_COUNT },
	{ "mark",	IPCUCKOO_VERDICT_MARK },
	{ "prefetch",	IPCUCKOO_VERDICT_PREFETCH },
	{ NULL, 0 }
};

const struct keyword no_keywords[] = {
	{ .word = NULL }
};

static const char *skip_dashes(const char *word)
{
	while (*word == '-')
		word++;
	return word;
}

/* Whether a word is an option: "-t" and "--terse" are; "-" (standard input), "-5" (a number)
 * and all words after "--" are not.
 */
static bool is_option(const struct words *words, int i)
{
	const char *word = words->word[i];

	return i < words->plain && word[0] == '-' && word[1] &&
	       !(word[1] >= '0' && word[1] <= '9');
}

static bool is_keyword(const struct keyword *keyword, const char *word,
		       bool option)
{
	if (!strcmp(keyword->word, word))
		return true;
	if (!option)
		return false;
	if (keyword->word[0] != '-')
		return !strncmp(word, "--", 2) && !strcmp(word + 2, keyword->word);
	return !strcmp(skip_dashes(keyword->word), skip_dashes(word));
}

static const struct keyword *find_keyword(const struct keyword *keywords,
					  const char *word, bool option)
{
	for (; keywords->word; keywords++)
		if (is_keyword(keywords, word, option))
			return keywords;
	return NULL;
}

/**
 * fail_unknown - print that a word is unknown, and what was perhaps meant
 * @tool:	the run
 * @word:	the word
 *
 * Return: STATUS_USAGE.
 */
int fail_unknown(const struct tool *tool, const char *word)
{
	return fail(tool, STATUS_USAGE,
		    tool->command->flags & COMMAND_TYPED ?
		    "Unknown argument: `%s'%s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information." :
		    "Unknown argument %s%s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    word, word_hint(tool->command, word),
		    tool->command->name, command_usage(tool->command),
		    tool->command->name);
}

/* Whether a keyword is allowed here. ipset's keywords are allowed only after the @least
 * arguments that the command needs. Options with two dashes, which ipset does not have,
 * are allowed anywhere.
 */
static bool may_stand(const struct keyword *keyword, bool option, int kept, int least)
{
	return (kept && kept >= least) ||
	       (option && !strncmp(keyword->word, "--", 2));
}

/* Set the variable that a keyword stands for. If the keyword needs a value, that is the next
 * word, and *i is advanced to it. Return: STATUS_OK, or another status after a message.
 */
static int take_keyword(const struct tool *tool, struct words *words,
			const struct keyword *keyword, int *i)
{
	if (keyword->flag) {
		*keyword->flag = true;
		return STATUS_OK;
	}
	if (*keyword->value)
		return fail_syntax(tool, "%s already specified",
				   keyword->word);
	if (*i + 1 == words->count)
		return fail(tool, STATUS_USAGE,
			    "Missing mandatory argument of option `%s'\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
			    keyword->word, tool->command->name,
			    command_usage(tool->command), tool->command->name);
	*keyword->value = words->word[++*i];
	return STATUS_OK;
}

/**
 * parse_words - separate the keywords of a command from its arguments
 * @tool:	the run
 * @words:	the words; on return, the arguments
 * @keywords:	keywords that are allowed after the first @least arguments; those with
 *		two dashes in this array are allowed anywhere
 * @least:	minimum number of arguments. These, and always the first argument, are
 *		never taken for ipset's keywords or options: a set can have the name of a
 *		keyword, and its name can begin with a dash
 * @most:	maximum number of arguments
 *
 * Return: STATUS_OK, or STATUS_USAGE after a message.
 */
int parse_words(const struct tool *tool, struct words *words,
		const struct keyword *keywords, int least, int most)
{
	const struct keyword *keyword;
	int i, kept = 0, status;
	bool option;

	for (i = 0; i < words->count; i++) {
		char *word = words->word[i];

		option = is_option(words, i);
		keyword = find_keyword(keywords, word, option);
		if (keyword && may_stand(keyword, option, kept, least)) {
			status = take_keyword(tool, words, keyword, &i);
			if (status)
				return status;
		} else if (kept == most || (option && kept && kept >= least)) {
			return fail_unknown(tool, word);
		} else {
			words->word[kept++] = word;
		}
	}
	words->count = kept;
	return kept < least ? fail_missing(tool, words) : STATUS_OK;
}

/* Why a set cannot have a name, whatever its length; NULL if it can. Sets of ip_set may have others.
 * @better: set to the name with underscores instead of what cannot be part of it
 */
static const char *name_fault(const char *name, char better[IPCUCKOO_NAME_SIZE])
{
	const char *why = NULL;
	char *c;

	snprintf(better, IPCUCKOO_NAME_SIZE, "%s", name);
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		why = "a set is also a file in /proc/net/ipcuckoo/set";
	for (c = better; *c; c++) {
		if (*c > ' ' && *c < 0x7f && *c != '"' && *c != '/' && (!why || *c != '.'))
			continue;
		if (*c == '/')
			why = "a set is also a file in /proc/net/ipcuckoo/set, so / cannot be part of its name";
		else if (*c == '"')
			why = "double quotes stand around words in files for restore";
		else if (*c == ' ')
			why = "blanks stand between words in files and lists";
		else if (*c != '.')
			why = "letters beyond ASCII and control characters are not the same on every terminal";
		*c = '_';
	}
	return why;
}

/* Whether one of our sets could have this name, apart from its length */
bool is_set_name(const char *name)
{
	char unused[IPCUCKOO_NAME_SIZE];

	return *name && !name_fault(name, unused);
}

/**
 * parse_name - check the name of a set
 * @tool:	the run
 * @name:	the name
 *
 * Return: STATUS_OK, or STATUS_USAGE after a message.
 */
int parse_name(const struct tool *tool, const char *name)
{
	char quoted[80], better[IPCUCKOO_NAME_SIZE];
	const char *why = name_fault(name, better);
	size_t len = strlen(name);

	address_quote(quoted, sizeof(quoted), name, len);
	if (!len)
		return fail_syntax(tool, "the name of the set is empty");
	if (len >= IPCUCKOO_NAME_SIZE)
		return fail_syntax(tool, "setname '%s' is longer than %d characters",
				   quoted, IPCUCKOO_NAME_SIZE - 1);
	if (why)
		return fail_syntax(tool, "\"%s\" is no name of a set: %s; %s would be one",
				   quoted, why, better);
	return STATUS_OK;
}

/* Find a word in a table. Return: its row, or NULL. */
const struct meaning *find_meaning(const struct meaning *meanings, const char *word)
{
	for (; meanings->word; meanings++)
		if (!strcmp(meanings->word, word))
			return meanings;
	return NULL;
}

/**
 * parse_meaning - look up a word in a table
 * @tool:	the run
 * @before:	text of the error message before the word
 * @behind:	text of the error message after the word
 * @meanings:	the table
 * @word:	the word
 * @value:	set to the value of the word
 *
 * Return: STATUS_OK, or STATUS_SYNTAX after a message.
 */
int parse_meaning(const struct tool *tool, const char *before,
		  const char *behind, const struct meaning *meanings,
		  const char *word, int *value)
{
	const struct meaning *found = find_meaning(meanings, word);
	const char *known[MAX_GUESSES], *hint;
	size_t count = 0, len = 0, i;
	char all[128];

	if (found) {
		*value = found->value;
		return STATUS_OK;
	}
	for (; meanings->word && count < MAX_GUESSES; meanings++)
		known[count++] = meanings->word;
	for (i = 0; i < count; i++)
		len += snprintf(all + len, sizeof(all) - len, "%s%s",
				i ? ", " : "", known[i]);
	hint = nearest_hint(word, known, count);
	if (!*hint && tool->command)
		hint = word_hint(tool->command, word);
	return fail_syntax(tool, "%s%s%s%s\nKnown are: %s", before, word, behind, hint, all);
}

/* Find the word for a value in a table. If there are several, the first is the usual one.
 * Return: "unknown" if there is none.
 */
const char *meaning_word(const struct meaning *meanings, int value)
{
	for (; meanings->word; meanings++)
		if (meanings->value == value)
			return meanings->word;
	return "unknown";
}

/**
 * parse_number - read a whole number
 * @tool:	the run
 * @what:	name of the number for the error message
 * @word:	a decimal number, or a hexadecimal one after 0x. Leading zeros are refused:
 *		ipset reads such numbers as octal, people as decimal
 * @least:	lowest value allowed
 * @most:	highest value allowed
 * @value:	the result
 *
 * Return: STATUS_OK, or STATUS_SYNTAX after a message.
 */
int parse_number(const struct tool *tool, const char *what, const char *word,
		 long long least, long long most, long long *value)
{
	const char *digits = word + (*word == '-');
	bool hex = !strncasecmp(digits, "0x", 2);
	char *end;

	errno = 0;
	*value = strtoll(word, &end, hex ? 16 : 10);
	if (*digits < '0' || *digits > '9' || *end)
		return fail_syntax(tool, "'%s' is invalid as number (%s)%s", word, what,
				   strcmp(what, "maxelem") ? "" : "; 0 is no limit");
	if (!hex && digits[0] == '0' && digits[1])
		return fail_syntax(tool, "'%s' is invalid as number (%s; a leading zero: octal or decimal?)",
				   word, what);
	if (errno || *value < least || *value > most)
		return fail_syntax(tool, "'%s' is out of range %lld-%lld (%s)",
				   word, least, most, what);
	return STATUS_OK;
}

/**
 * parse_time - read a time: a number as parse_number() does, or numbers with units, as in 1h30m
 * @tool:	the run
 * @what:	name of the time for the error message
 * @word:	the time
 * @least:	shortest time allowed
 * @most:	longest time allowed
 * @value:	the result in seconds
 *
 * Return: STATUS_OK, or STATUS_SYNTAX after a message.
 */
int parse_time(const struct tool *tool, const char *what, const char *word,
	       long long least, long long most, long long *value)
{
	const char *units = word + strspn(word, "0123456789");
	char in_seconds[64];
	uint64_t seconds;

	snprintf(in_seconds, sizeof(in_seconds), "%s in seconds, or as in " DURATION_EXAMPLES, what);
	if (units == word || !isalpha((unsigned char)*units) || strchr("xX", *units))
		return parse_number(tool, in_seconds, word, least, most, value);
	if (!duration_parse(word, &seconds))
		return fail_syntax(tool, "'%s' is invalid as number (%s)", word, in_seconds);
	*value = seconds;
	if (seconds < (uint64_t)least || seconds > (uint64_t)most)
		return fail_syntax(tool, "'%s' is out of range %lld-%lld (%s)", word, least, most,
				   in_seconds);
	return STATUS_OK;
}
