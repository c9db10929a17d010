// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <net/if.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hint.h"
#include "lib/address.h"
#include "lib/duration.h"
#include "lib/nearest.h"

#define HINT_SIZE	512
#define GRAMMAR_SIZE	1024
#define MAX_GUESSES	64

/* Words for which other tools have a command, and what to type here. */
static const struct {
	const char *words;
	const char *hint;
} foreign[] = {
	{ " delete remove rm erase unset ",
	  "ipcuckoo del NAME ENTRY deletes an entry of a set, ipcuckoo destroy NAME a whole set" },
	{ " ls show view print get dump entries members ",
	  "ipcuckoo list NAME shows a set, ipcuckoo list all sets, ipcuckoo stats what is attached" },
	{ " list-sets sets names list-all ", "ipcuckoo list -n shows the names of all sets" },
	{ " ban deny reject blacklist blackhole blocklist ",
	  "ipcuckoo block ENTRY drops all packets of an address or prefix" },
	{ " drop ",
	  "ipcuckoo block ENTRY drops all packets of an address or prefix, ipcuckoo attach NAME src drop those of all entries of a set" },
	{ " unban unbanip pardon undrop ", "ipcuckoo unblock ENTRY ends a block" },
	{ " allow accept permit pass whitelist trust ",
	  "ipcuckoo unblock ENTRY ends a block, ipcuckoo attach NAME src accept lets the entries of a set pass" },
	{ " insert append push put ", "ipcuckoo add NAME ENTRY adds an entry to a set" },
	{ " make mk define newset new-set ",
	  "ipcuckoo create NAME hash:net family any makes a set of hosts and prefixes" },
	{ " clear empty reset purge truncate ",
	  "ipcuckoo flush NAME deletes all entries of a set" },
	{ " import fill read update refresh reload ",
	  "ipcuckoo load NAME FILE replaces the entries of a set by those of a list, ipcuckoo restore -file FILE runs what ipcuckoo save has printed" },
	{ " export backup ",
	  "ipcuckoo save --all -file FILE saves all sets, and what is attached" },
	{ " enable start on activate apply use bind ",
	  "ipcuckoo attach NAME src drop drops packets from the addresses of a set" },
	{ " disable stop off unbind ", "ipcuckoo detach NAME ends what a set does to packets" },
	{ " check lookup look find search match contains query has ",
	  "ipcuckoo test NAME ADDRESS says whether an address is in a set" },
	{ " mv move ", "ipcuckoo rename FROM TO gives a set another name" },
	{ " watch tail events follow log ", "ipcuckoo monitor shows changes as they happen" },
	{ " status info stat counters counter ",
	  "ipcuckoo stats shows what is attached, counters and sets" },
	{ " man usage ", "ipcuckoo help shows all commands" },
	{ " exit bye ", "quit ends the input" },
};

static bool is_foreign(const char *words, const char *name)
{
	char word[32];

	return snprintf(word, sizeof(word), " %s ", name) < (int)sizeof(word) &&
	       !strchr(name, ' ') && strcasestr(words, word);
}

static bool is_entry(const char *word)
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	return !address_parse(word, strlen(word), &range, why);
}

/* Is it the whole name of a command? A set may have the name of an abbreviation, such as "a". */
static bool is_command(const char *word)
{
	const struct command *command = find_command(word);

	return command && !strcmp(command->name, word);
}

/* @most: how many letters may be wrong */
static const char *misspelt_hint(const char *name, unsigned int most)
{
	static char hint[64];
	const struct command *command;
	const char *names[MAX_GUESSES], *nearest;
	unsigned int slips;
	size_t count;

	for (count = 0; commands[count].name; count++)
		names[count] = commands[count].name;
	nearest = nearest_word(name, names, count, &slips);
	command = nearest ? find_command(nearest) : NULL;
	if (!command || slips > (command->flags & COMMAND_LOSES ? 1 : most))
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest);
	return hint;
}

/* An option such as -a, for which ipset has -A; NULL for others, and for what loses data */
static const char *other_case(const char *name)
{
	static char other[3];
	const struct command *command;

	if (*name != '-' || !islower((unsigned char)name[1]) || name[2])
		return NULL;
	sprintf(other, "-%c", toupper((unsigned char)name[1]));
	command = find_command(other);
	return command && !(command->flags & COMMAND_LOSES) ? other : NULL;
}

const char *command_hint(const struct tool *tool, const char *name, const struct words *words)
{
	static char hint[HINT_SIZE];
	const char *next = words && words->count ? words->word[0] : "";
	const char *misspelt = misspelt_hint(name, 1);
	char quoted[64];
	size_t i;

	address_quote(quoted, sizeof(quoted), name, strlen(name));
	for (i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (!is_foreign(foreign[i].words, name))
			continue;
		snprintf(hint, sizeof(hint), "; %s", foreign[i].hint);
		return hint;
	}
	if (tool->line == 1 && strchr("{[<", *name))
		snprintf(hint, sizeof(hint),
			 "; restore reads what ipcuckoo save prints, and neither JSON nor XML");
	else if (is_entry(name) && tool->line)
		snprintf(hint, sizeof(hint),
			 "; for a list of addresses: ipcuckoo load NAME FILE");
	else if (is_entry(name))
		snprintf(hint, sizeof(hint),
			 "; ipcuckoo block %s drops all its packets, ipcuckoo add NAME %s adds it to a set",
			 quoted, quoted);
	else if (other_case(name))
		snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", other_case(name));
	else if (is_command(next) && is_foreign(" ipcuckoo ipset sudo ", name))
		snprintf(hint, sizeof(hint), "; leave out %s: ipcuckoo %s%s", quoted, next,
			 words->count > 1 ? " ..." : "");
	else if (is_command(next))
		snprintf(hint, sizeof(hint), "; the command comes first: ipcuckoo %s %s%s",
			 next, quoted, words->count > 1 ? " ..." : "");
	else if (!*misspelt && is_entry(next))
		snprintf(hint, sizeof(hint),
			 "; a command comes first, as in: ipcuckoo add %s %s, or ipcuckoo test %s %s",
			 quoted, next, quoted, next);
	else
		return *misspelt ? misspelt : misspelt_hint(name, MAX_GUESSES);
	return hint;
}

const char *entry_hint(const struct command *command, const char *word)
{
	const char *value = value_hint(command, word);
	static char hint[HINT_SIZE];
	char quoted[64];

	address_quote(quoted, sizeof(quoted), word, strlen(word));
	if (*value)
		return value;
	if (!strcmp(command->name, "add") && !access(word, F_OK))
		snprintf(hint, sizeof(hint),
			 "; to add the entries of a file: ipcuckoo load NAME %s --append", quoted);
	else if (!strcmp(command->name, "block") && !strpbrk(word, ".:/"))
		snprintf(hint, sizeof(hint),
			 "; block takes addresses and prefixes; to drop those of a set: ipcuckoo attach NAME src drop");
	else if (!strcmp(command->name, "unblock") && !strpbrk(word, ".:/"))
		snprintf(hint, sizeof(hint),
			 "; unblock takes addresses and prefixes, which ipcuckoo list blocked shows");
	else
		return "";
	return hint;
}

const char *missing_hint(const struct command *command, const struct words *words)
{
	static char hint[HINT_SIZE];

	if (words->count != 1 || strncmp(command->usage, "NAME ", 5) ||
	    (!is_entry(words->word[0]) &&
	     (strncmp(command->usage, "NAME FILE", 9) || access(words->word[0], F_OK))))
		return "";
	snprintf(hint, sizeof(hint), "; the name of the set comes before %s", words->word[0]);
	return hint;
}

/* What an attachment has no words for: where packets are going */
static const char hooks[] =
	" input output forward forwarded prerouting postrouting chain table inbound outbound ";

/* What an attachment, or an entry, is not asked about */
static const char ports[] =
	" port ports sport dport --sport --dport --port proto protocol -p --protocol tcp udp icmp icmpv6 ";

/* The words of a grammar that are typed as they are. @text: room for the grammar */
static size_t literals(const struct command *command, char text[GRAMMAR_SIZE],
		       const char *known[MAX_GUESSES])
{
	size_t count = 0;
	char *word;

	snprintf(text, GRAMMAR_SIZE, "%s", command_usage(command));
	for (word = strtok(text, "[]|. "); word && count < MAX_GUESSES; word = strtok(NULL, "[]|. "))
		if (islower((unsigned char)*word) || (*word == '-' && word[1]))
			known[count++] = word;
	return count;
}

static bool is_among(const char *const *known, size_t count, const char *word)
{
	while (count--)
		if (!strcmp(*known++, word))
			return true;
	return false;
}

/* Is it a device, or does it look like the name of one? */
static bool is_device(const char *word)
{
	size_t len = strlen(word), letters;

	for (letters = 0; word[letters] >= 'a' && word[letters] <= 'z'; letters++)
		;
	return if_nametoindex(word) ||
	       (letters > 1 && letters < len && len < IFNAMSIZ && word[len - 1] >= '0' &&
		word[len - 1] <= '9' && !strpbrk(word, ":/"));
}

/* The keyword whose value @word is, if that is clear; else NULL. */
static const char *keyword_of(const char *const *known, size_t count, const char *word)
{
	uint64_t seconds;

	if (find_meaning(family_words, word) && is_among(known, count, "family"))
		return "family";
	/* A plain number could also be a limit. */
	if (is_among(known, count, "maxelem") && !word[strspn(word, "0123456789")])
		return "maxelem";
	if (is_among(known, count, "timeout") && duration_parse(word, &seconds))
		return "timeout";
	return is_among(known, count, "dev") && is_device(word) ? "dev" : NULL;
}

const char *value_hint(const struct command *command, const char *word)
{
	static char hint[HINT_SIZE];
	const char *known[MAX_GUESSES], *keyword;
	char text[GRAMMAR_SIZE];
	size_t count = literals(command, text, known);

	keyword = keyword_of(known, count, word);
	if (!keyword)
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s %s\"?", keyword, word);
	return hint;
}

/* A file, for a command that does not take its name without -file */
static bool is_file(const struct command *command, const char *word)
{
	return command->flags & COMMAND_FILE && !access(word, F_OK);
}

const char *word_hint(const struct command *command, const char *word)
{
	const char *known[MAX_GUESSES], *value = value_hint(command, word);
	char text[GRAMMAR_SIZE];
	static char hint[HINT_SIZE];
	size_t count = literals(command, text, known);

	if (is_foreign(ports, word))
		return "; ports and protocols belong to the attachment, as in: ipcuckoo attach NAME src drop proto tcp dport 22";
	if (is_foreign(hooks, word) && is_among(known, count, "ingress"))
		return "; an attachment sees all packets that come in, also those to forward; with dst or both, it sees those that this machine sends, too";
	if (is_foreign(" s m h d second seconds minute minutes min hour hours day days ", word) &&
	    is_among(known, count, "timeout"))
		return "; a time is one word, as in: timeout 1h30m";
	if (is_entry(word)) {
		snprintf(hint, sizeof(hint),
			 "; ipcuckoo test NAME %s says whether a set has that address", word);
		return hint;
	}
	if (is_file(command, word)) {
		snprintf(hint, sizeof(hint), "; did you mean \"-file %s\"?", word);
		return hint;
	}
	if (*value)
		return value;
	if (is_among(known, count, word))
		return command->flags & COMMAND_TYPED ?
		       "; sets of this type do not take it" : "; it stands in the wrong place";
	return nearest_hint(word, known, count);
}
