// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/nearest.h"

/* Longer words are not compared: no known word is as long. */
#define NEAREST_SIZE	64

/* What other tools, and people, say, and what is said here. */
static const struct {
	const char *theirs;
	const char *ours;
} synonyms[] = {
	{ "source", "src" }, { "saddr", "src" }, { "from", "src" }, { "in", "src" },
	{ "input", "src" }, { "incoming", "src" }, { "ingress", "src" },
	{ "destination", "dst" }, { "dest", "dst" }, { "daddr", "dst" }, { "to", "dst" },
	{ "out", "dst" }, { "output", "dst" }, { "outgoing", "dst" }, { "egress", "dst" },
	{ "any", "both" }, { "all", "both" }, { "src,dst", "both" }, { "dst,src", "both" },
	{ "reject", "drop" }, { "deny", "drop" }, { "block", "drop" }, { "ban", "drop" },
	{ "allow", "accept" }, { "pass", "accept" }, { "permit", "accept" },
	{ "return", "accept" }, { "log", "count" },
	{ "interface", "dev" }, { "iface", "dev" }, { "device", "dev" }, { "if", "dev" },
	{ "-i", "dev" }, { "-o", "dev" }, { "iif", "dev" }, { "iifname", "dev" },
	{ "on", "dev" }, { "via", "dev" },
	{ "ip", "inet" }, { "ip4", "inet" }, { "v4", "inet" }, { "4", "inet" },
	{ "ip6", "inet6" }, { "v6", "inet6" }, { "6", "inet6" },
	{ "both", "any" }, { "dual", "any" }, { "all", "any" }, { "ipv46", "any" },
	{ "ip", "hash:ip" }, { "host", "hash:ip" }, { "hosts", "hash:ip" },
	{ "ipset", "hash:ip" }, { "hash", "hash:net" }, { "net", "hash:net" },
	{ "nets", "hash:net" }, { "cidr", "hash:net" }, { "prefix", "hash:net" },
	{ "bloom", "filter:ip" }, { "filter", "filter:ip" },
	{ "expire", "timeout" }, { "expires", "timeout" }, { "ttl", "timeout" },
	{ "time", "timeout" }, { "for", "timeout" }, { "bantime", "timeout" },
	{ "limit", "maxelem" }, { "max", "maxelem" }, { "size", "maxelem" },
	{ "note", "comment" }, { "reason", "comment" }, { "except", "nomatch" },
	{ "counter", "counters" }, { "comments", "comment" },
};

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many letters differ, are added, are missing, or have changed places with their neighbours.
 * Upper and lower case do not differ.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][NEAREST_SIZE + 1], *before, *above, *row, *unused;
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > NEAREST_SIZE || b_len > NEAREST_SIZE)
		return NEAREST_SIZE;
	before = rows[0];
	above = rows[1];
	row = rows[2];
	for (j = 0; j <= b_len; j++)
		above[j] = j;
	for (i = 1; i <= a_len; i++) {
		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			char x = tolower(a[i - 1]), y = tolower(b[j - 1]);

			row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == tolower(b[j - 2]) && tolower(a[i - 2]) == y)
				row[j] = least(row[j], before[j - 2] + 1);
		}
		unused = before;
		before = above;
		above = row;
		row = unused;
	}
	return above[b_len];
}

static const char *find_synonym(const char *word, const char *const *others, size_t count)
{
	size_t i, j;

	for (i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		for (j = 0; j < count && !strcasecmp(synonyms[i].theirs, word); j++)
			if (!strcmp(synonyms[i].ours, others[j]))
				return others[j];
	return NULL;
}

/**
 * nearest_word - guess which word was meant
 * @word:	an unknown word
 * @others:	the known words
 * @count:	number of known words
 * @slips:	set to how many letters are wrong; 0 for a word that means the same
 *
 * Return: one of @others, or NULL if none is similar: of four letters one more may be wrong.
 */
const char *nearest_word(const char *word, const char *const *others, size_t count,
			 unsigned int *slips)
{
	const char *nearest = find_synonym(word, others, count);
	unsigned int best = 2 + strlen(word + strspn(word, "-")) / 4, d;
	size_t i;

	*slips = 0;
	if (nearest)
		return nearest;
	for (i = 0; i < count; i++) {
		d = distance(word, others[i]);
		if (d < best && d < strlen(others[i])) {
			best = d;
			nearest = others[i];
		}
	}
	*slips = best;
	return nearest;
}

/**
 * nearest_hint - guess which word was meant
 * @word:	an unknown word
 * @others:	the known words
 * @count:	number of known words
 *
 * Return: "; did you mean ...?", or "" if no known word is similar. The string is valid
 * until the next call.
 */
const char *nearest_hint(const char *word, const char *const *others, size_t count)
{
	static char hint[NEAREST_SIZE + 32];
	unsigned int slips;
	const char *nearest = nearest_word(word, others, count, &slips);

	if (!nearest)
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest);
	return hint;
}
