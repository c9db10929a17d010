// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grammar, which is ipset's: a verb, what it works on, then words with
 * values behind them, bare or with two dashes. Options have one dash or two.
 * Every word has to be known; for one that is not the message guesses.
 */
#include <stdlib.h>

#include "cli/command.h"

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

/* "-t", "--terse", but neither "-" (standard input) nor "-5" (a number). */
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
 * fail_unknown - refuse a word that has no meaning here
 * @tool:	the run
 * @keywords:	those that have one
 * @word:	the word
 *
 * Return: STATUS_USAGE.
 */
int fail_unknown(const struct tool *tool, const struct keyword *keywords,
		 const char *word)
{
	const char *known[MAX_GUESSES];
	size_t count = 0;

	for (; keywords->word && count < MAX_GUESSES; keywords++)
		known[count++] = keywords->word;
	return fail(tool, STATUS_USAGE,
		    tool->command->flags & COMMAND_TYPED ?
		    "Unknown argument: `%s'%s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information." :
		    "Unknown argument %s%s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    word, nearest_hint(word, known, count),
		    tool->command->name, tool->command->usage,
		    tool->command->name);
}

/* Whether a keyword may stand at this place: one of the words of a command, only
 * behind the words that the command needs; an option that only we have, anywhere.
 */
static bool may_stand(const struct keyword *keyword, bool option, int kept, int least)
{
	return (kept && kept >= least) ||
	       (option && !strncmp(keyword->word, "--", 2));
}

/* Take one keyword and its value; *i moves to the last word of it. */
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
			    tool->command->usage, tool->command->name);
	*keyword->value = words->word[++*i];
	return STATUS_OK;
}

/**
 * parse_words - sort a command's words out
 * @tool:	the run
 * @words:	the words; on return those that are no keywords
 * @keywords:	what may stand behind the first @least words, or, if it is written
 *		with two dashes in the table, anywhere
 * @least:	words the command needs: these, and the first one in any case,
 *		are taken as they are, for a set may be called as a keyword is,
 *		and its name may begin with a dash
 * @most:	words the command takes
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
			return fail_unknown(tool, keywords, word);
		} else {
			words->word[kept++] = word;
		}
	}
	words->count = kept;
	return kept < least ? fail_missing(tool, kept) : STATUS_OK;
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
	size_t len = strlen(name);
	char quoted[80];
	bool is_name;
	size_t i;

	is_name = strcmp(name, ".") && strcmp(name, "..");
	for (i = 0; i < len; i++)
		is_name &= name[i] > ' ' && name[i] < 0x7f && !strchr("\"/", name[i]);

	address_quote(quoted, sizeof(quoted), name, len);
	if (!len)
		return fail_syntax(tool, "the name of the set is empty");
	if (len >= IPCUCKOO_NAME_SIZE)
		return fail_syntax(tool, "setname '%s' is longer than %d characters",
				   quoted, IPCUCKOO_NAME_SIZE - 1);
	if (!is_name)
		return fail_syntax(tool,
				   "\"%s\" is no name of a set: ASCII letters, digits and punctuation but \" and / make names, . and .. are none",
				   quoted);
	return STATUS_OK;
}

/**
 * parse_meaning - look a word up
 * @tool:	the run
 * @before:	the message, up to the word
 * @behind:	and from there on
 * @meanings:	the table
 * @word:	the word
 * @value:	what it stands for
 *
 * Return: STATUS_OK, or STATUS_SYNTAX after a message.
 */
int parse_meaning(const struct tool *tool, const char *before,
		  const char *behind, const struct meaning *meanings,
		  const char *word, int *value)
{
	const char *known[MAX_GUESSES];
	size_t count = 0, len = 0, i;
	char all[128];

	for (; meanings->word && count < MAX_GUESSES; meanings++) {
		if (!strcmp(meanings->word, word)) {
			*value = meanings->value;
			return STATUS_OK;
		}
		known[count++] = meanings->word;
	}
	for (i = 0; i < count; i++)
		len += snprintf(all + len, sizeof(all) - len, "%s%s",
				i ? ", " : "", known[i]);
	return fail_syntax(tool, "%s%s%s%s\nKnown are: %s", before, word, behind,
			   nearest_hint(word, known, count), all);
}

/* The first word of a value: the usual one, when there are several. */
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
 * @what:	what the number is, for the message
 * @word:	decimal, or hexadecimal after 0x; no leading zeros, which ipset reads
 *		as octal and people as decimal
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
		return fail_syntax(tool, "'%s' is invalid as number (%s)", word,
				   what);
	if (!hex && digits[0] == '0' && digits[1])
		return fail_syntax(tool, "'%s' is invalid as number (%s; a leading zero: octal or decimal?)",
				   word, what);
	if (errno || *value < least || *value > most)
		return fail_syntax(tool, "'%s' is out of range %lld-%lld (%s)",
				   word, least, most, what);
	return STATUS_OK;
}
