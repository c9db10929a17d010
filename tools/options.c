// SPDX-License-Identifier: GPL-2.0-only
/* Options: see options.h. The table is all there is to know of them. */
#include "options.h"

enum option_kind {
	KIND_FLAG,
	KIND_NUMBER,
	KIND_WORD,
};

#define FOR(type)	(1 << IPCUCKOO_TYPE_##type)
#define FOR_EXACT	(FOR(HASH_IP) | FOR(HASH_NET))
#define FOR_ALL		(FOR_EXACT | FOR(FILTER_IP))

/* What ipset says to an option of an entry whose set is without. */
#define NO_TIMEOUT	"Timeout cannot be used: set was created without timeout support"
#define NO_COUNTERS	"Packet/byte counters cannot be used: set was created without counter support"
#define NO_COMMENT	"Comment cannot be used: set was created without comment support"
#define NO_SKBINFO	"Skbinfo mapping cannot be used: set was created without skbinfo support"

/* To an option of a set that this version does not have. */
#define UNSUPPORTED	"Set cannot be created: this version of ipcuckoo does not support the option "

/**
 * struct option_spec - an option
 * @word:	how it is written
 * @place:	which command it goes with
 * @kind:	what stands behind it
 * @types:	which types of sets it is for
 * @most:	the highest number
 * @refusal:	why it cannot be had; NULL if it can
 */
static const struct option_spec {
	const char *word;
	enum option_place place;
	enum option_kind kind;
	int types;
	long long most;
	const char *refusal;
} specs[OPTIONS] = {
#define SET_OPTION(name, word, kind, types, ...)			\
	[OPTION_##name] = { word, OPTIONS_OF_SETS, KIND_##kind, types, __VA_ARGS__ }
#define ENTRY_OPTION(name, word, kind, types, ...)			\
	[OPTION_##name] = { word, OPTIONS_OF_ENTRIES, KIND_##kind, types, __VA_ARGS__ }
	SET_OPTION(FAMILY,	"family",	WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(INET,	"-4",		FLAG,	FOR_ALL, 0, NULL),
	SET_OPTION(INET6,	"-6",		FLAG,	FOR_ALL, 0, NULL),
	SET_OPTION(HASHSIZE,	"hashsize",	NUMBER,	FOR_EXACT, UINT32_MAX, NULL),
	SET_OPTION(MAXELEM,	"maxelem",	NUMBER,	FOR_ALL, UINT32_MAX, NULL),
	SET_OPTION(NETMASK,	"netmask",	WORD,	FOR(HASH_IP), 0, NULL),
	SET_OPTION(BITMASK,	"bitmask",	WORD,	FOR(HASH_IP), 0, NULL),
	SET_OPTION(SET_TIMEOUT,	"timeout",	NUMBER,	FOR_EXACT, INT32_MAX,
		   UNSUPPORTED "timeout"),
	SET_OPTION(SET_COUNTERS, "counters",	FLAG,	FOR_EXACT, 0,
		   UNSUPPORTED "counters"),
	SET_OPTION(SET_COMMENT,	"comment",	FLAG,	FOR_EXACT, 0,
		   UNSUPPORTED "comment"),
	SET_OPTION(SET_SKBINFO,	"skbinfo",	FLAG,	FOR_EXACT, 0,
		   UNSUPPORTED "skbinfo"),
	SET_OPTION(FORCEADD,	"forceadd",	FLAG,	FOR_EXACT, 0,
		   UNSUPPORTED "forceadd"),
	SET_OPTION(BUCKETSIZE,	"bucketsize",	NUMBER,	FOR_EXACT, UINT8_MAX, NULL),
	SET_OPTION(INITVAL,	"initval",	NUMBER,	FOR_EXACT, UINT32_MAX, NULL),
	SET_OPTION(BITS,	"bits",		WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(FPP,		"fpp",		WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(CAPACITY,	"capacity",	WORD,	FOR_ALL, 0, NULL),
	SET_OPTION(MULTI,	"multi",	FLAG,	FOR_ALL, 0, NULL),
	ENTRY_OPTION(TIMEOUT,	"timeout",	NUMBER,	FOR_ALL, INT32_MAX, NO_TIMEOUT),
	ENTRY_OPTION(PACKETS,	"packets",	NUMBER,	FOR_ALL, INT64_MAX, NO_COUNTERS),
	ENTRY_OPTION(BYTES,	"bytes",	NUMBER,	FOR_ALL, INT64_MAX, NO_COUNTERS),
	ENTRY_OPTION(COMMENT,	"comment",	WORD,	FOR_ALL, 0, NO_COMMENT),
	ENTRY_OPTION(SKBMARK,	"skbmark",	WORD,	FOR_ALL, 0, NO_SKBINFO),
	ENTRY_OPTION(SKBPRIO,	"skbprio",	WORD,	FOR_ALL, 0, NO_SKBINFO),
	ENTRY_OPTION(SKBQUEUE,	"skbqueue",	NUMBER,	FOR_ALL, UINT16_MAX, NO_SKBINFO),
	ENTRY_OPTION(NOMATCH,	"nomatch",	FLAG,	FOR(HASH_NET), 0,
		     "Element cannot be added to the set: this version of ipcuckoo does not support the option nomatch"),
#undef SET_OPTION
#undef ENTRY_OPTION
};

int options_parse(const struct tool *tool, enum option_place place,
		  struct words *words, int least, int most,
		  struct options *options)
{
	struct keyword keywords[OPTIONS + 2], *next = keywords;
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

int options_check(const struct tool *tool, const struct options *options,
		  const struct nl_set *set)
{
	int i;

	for (i = 0; i < OPTIONS; i++) {
		if (!options->of[i].given)
			continue;
		if (!(specs[i].types & 1 << set->type))
			return fail_unknown(tool, no_keywords, specs[i].word);
		if (specs[i].refusal)
			return fail(tool, STATUS_REFUSED, "%s", specs[i].refusal);
	}
	return STATUS_OK;
}
