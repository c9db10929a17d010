// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdlib.h>

#include "daemon/base/memory.h"
#include "daemon/conf/value.h"
#include "lib/duration.h"

/* A unit of sizes: the letter, and how many bytes it is. */
struct unit {
	char letter;
	uint64_t size;
};

static const struct unit sizes[] = {
	{ 'K', 1 << 10 }, { 'M', 1 << 20 }, { 'G', 1 << 30 }, { 0, 0 }
};

static const struct unit none[] = { { 0, 0 } };

static const struct {
	const struct unit *units;
	const char *what;
} numbers[] = {
	[KEY_NUMBER]	= { none, "a number" },
	[KEY_SIZE]	= { sizes, "a number of bytes, such as 500K, 32M or 1G" },
	[KEY_TIME]	= { none, "a time, such as " DURATION_EXAMPLES },
};

const struct meaning value_families[] = {
	{ "any", IPCUCKOO_FAMILY_ANY },
	{ "inet", IPCUCKOO_FAMILY_INET },
	{ "inet6", IPCUCKOO_FAMILY_INET6 },
	{ NULL, 0 }
};

static void *field_of(const struct config_key *key, const void *object)
{
	return (char *)object + key->offset;
}

/* A number as a person would write it, with the largest unit that divides it. */
static void format_number(char to[DURATION_TEXT_SIZE], uint64_t number, enum key_kind kind)
{
	const struct unit *unit = numbers[kind].units, *best = NULL;

	for (; unit->letter; unit++)
		if (number && number % unit->size == 0)
			best = unit;
	if (kind == KEY_TIME)
		duration_format(number, to);
	else if (best)
		snprintf(to, DURATION_TEXT_SIZE, "%llu%c",
			 (unsigned long long)(number / best->size), best->letter);
	else
		snprintf(to, DURATION_TEXT_SIZE, "%llu", (unsigned long long)number);
}

static bool check_limits(const struct config_key *key, uint64_t number, char *why)
{
	char least[DURATION_TEXT_SIZE], most[DURATION_TEXT_SIZE];

	if (number >= key->least && (!key->most || number <= key->most))
		return true;
	format_number(least, key->least, key->kind);
	format_number(most, key->most, key->kind);
	if (key->most)
		snprintf(why, VALUE_WHY_SIZE, "has to be from %s to %s", least, most);
	else
		snprintf(why, VALUE_WHY_SIZE, "has to be %s at least", least);
	return false;
}

static bool parse_units(const struct unit *unit, uint64_t *field, const char *text)
{
	char *end = NULL;

	errno = 0;
	*field = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
	while (end && *end && unit->letter && *end != unit->letter)
		unit++;
	if (!end || errno || (*end && (!unit->letter || end[1])) ||
	    (*end && *field > UINT64_MAX / unit->size))
		return false;
	if (*end)
		*field *= unit->size;
	return true;
}

static bool parse_number_value(const struct config_key *key, uint64_t *field, const char *text,
			       char *why)
{
	bool good = key->kind == KEY_TIME ? duration_parse(text, field) :
		    parse_units(numbers[key->kind].units, field, text);

	if (good)
		return check_limits(key, *field, why);
	snprintf(why, VALUE_WHY_SIZE, "is not %s", numbers[key->kind].what);
	return false;
}

static bool parse_share(double *field, const char *text, char *why)
{
	char *end = (char *)text;

	if (isdigit((unsigned char)*text))
		*field = strtod(text, &end) / 100;
	if (end > text && !strcmp(end, "%") && *field >= 0 && *field <= 1)
		return true;
	snprintf(why, VALUE_WHY_SIZE, "is not a share from 0%% to 100%%, such as 25%%");
	return false;
}

static bool parse_switch(bool *field, const char *text, char *why)
{
	*field = !strcmp(text, "yes");
	if (*field || !strcmp(text, "no"))
		return true;
	snprintf(why, VALUE_WHY_SIZE, "has to be yes or no");
	return false;
}

static bool parse_word(const struct config_key *key, int *field, const char *text, char *why)
{
	const struct meaning *word;
	size_t len;

	for (word = key->words; word->word; word++) {
		if (!strcmp(word->word, text)) {
			*field = word->value;
			return true;
		}
	}
	len = snprintf(why, VALUE_WHY_SIZE, "has to be");
	for (word = key->words; word->word; word++)
		if (len < VALUE_WHY_SIZE)
			len += snprintf(why + len, VALUE_WHY_SIZE - len, "%s %s",
					word == key->words ? "" : word[1].word ? "," : " or",
					word->word);
	return false;
}

static void parse_text(char **field, const char *text, bool more)
{
	char *joined = need_text("%s%s", more && *field ? *field : "", text);

	free(*field);
	*field = joined;
}

static void free_list(char **list)
{
	size_t i;

	for (i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* Append the elements of a list. @words: blanks and commas separate them, and an element that has some is
 * in quotes; otherwise each line is an element.
 */
static bool parse_list(char ***field, const char *text, bool words, bool more, char *why)
{
	const char *blanks = words ? " \t\r\n," : "\r\n";
	size_t count = 0, len;
	bool quoted;

	if (!more) {
		free_list(*field);
		*field = NULL;
	}
	while (*field && (*field)[count])
		count++;
	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		if (words && *text == '#') {
			snprintf(why, VALUE_WHY_SIZE,
				 "has a word that begins with \"#\"; a comment needs a line of its own, and such a word needs quotes");
			return false;
		}
		quoted = *text == '"';
		text += quoted;
		len = strcspn(text, quoted ? "\"" : blanks);
		if (quoted && !text[len]) {
			snprintf(why, VALUE_WHY_SIZE, "has a quote that is not closed");
			return false;
		}
		*field = need_room(*field, count);
		(*field)[count++] = need_text("%.*s", (int)len, text);
		(*field)[count] = NULL;
		text += len + quoted;
	}
	return true;
}

static bool is_text(const struct config_key *key)
{
	return key->kind == KEY_TEXT || key->kind == KEY_FILE || key->kind == KEY_SECRET;
}

static bool is_list(const struct config_key *key)
{
	return key->kind == KEY_LIST || key->kind == KEY_LINES;
}

bool value_parse(const struct config_key *key, void *object, const char *text, bool more,
		 char why[VALUE_WHY_SIZE])
{
	void *field = field_of(key, object);

	if (!*text) {
		snprintf(why, VALUE_WHY_SIZE, "has no value; write one, or delete the line");
		return false;
	}
	if (more && !is_text(key) && !is_list(key)) {
		snprintf(why, VALUE_WHY_SIZE,
			 "has a value already; an indented line continues the line before it");
		return false;
	}
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_FILE:
	case KEY_SECRET:
		parse_text(field, text, more);
		return true;
	case KEY_LIST:
		return parse_list(field, text, true, more, why);
	case KEY_LINES:
		return parse_list(field, text, false, more, why);
	case KEY_SHARE:
		return parse_share(field, text, why);
	case KEY_SWITCH:
		return parse_switch(field, text, why);
	case KEY_WORD:
		return parse_word(key, field, text, why);
	default:
		return parse_number_value(key, field, text, why);
	}
}

const char *value_file(const struct config_key *key, const void *object)
{
	const char *text = is_text(key) ? *(char **)field_of(key, object) : NULL;

	if (!text || key->kind != KEY_TEXT)
		return text;
	/* In a url, these characters are no part of the name. */
	return strncasecmp(text, "file:///", 8) || strpbrk(text, "%#?") ? NULL : text + 7;
}

static void value_free(const struct config_key *key, void *object)
{
	void *field = field_of(key, object);

	if (is_text(key)) {
		free(*(char **)field);
		*(char **)field = NULL;
	} else if (is_list(key)) {
		free_list(*(char ***)field);
		*(char ***)field = NULL;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_list(char **a, char **b)
{
	for (; a && b && *a && *b; a++, b++)
		if (strcmp(*a, *b))
			return false;
	return !(a && *a) && !(b && *b);
}

static bool value_same(const struct config_key *key, const void *a, const void *b)
{
	const void *x = field_of(key, a), *y = field_of(key, b);

	switch (key->kind) {
	case KEY_TEXT:
	case KEY_FILE:
	case KEY_SECRET:
		return same_text(*(char **)x, *(char **)y);
	case KEY_LIST:
	case KEY_LINES:
		return same_list(*(char ***)x, *(char ***)y);
	case KEY_SHARE:
		return *(double *)x == *(double *)y;
	case KEY_SWITCH:
		return *(bool *)x == *(bool *)y;
	case KEY_WORD:
		return *(int *)x == *(int *)y;
	default:
		return *(uint64_t *)x == *(uint64_t *)y;
	}
}

void value_free_all(const struct config_key *key, void *object)
{
	for (; key->word; key++)
		value_free(key, object);
}

bool value_same_all(const struct config_key *key, const void *a, const void *b)
{
	for (; key->word; key++)
		if (!value_same(key, a, b))
			return false;
	return true;
}
