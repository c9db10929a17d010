// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "lib/nearest.h"

/* Longer words are not compared: no known word is as long. */
#define NEAREST_SIZE	64

/* Levenshtein distance: how many letters differ, are added or are missing. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NEAREST_SIZE + 1], above, corner, best;
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > NEAREST_SIZE || b_len > NEAREST_SIZE)
		return NEAREST_SIZE;
	for (j = 0; j <= b_len; j++)
		row[j] = j;
	for (i = 1; i <= a_len; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			above = row[j];
			best = corner + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = above;
			row[j] = best;
		}
	}
	return row[b_len];
}

/**
 * nearest_hint - guess which word was misspelt
 * @word:	an unknown word
 * @others:	the known words
 * @count:	number of known words
 *
 * Return: "; did you mean ...?", or "" if no known word is similar. The string is valid
 * until the next call.
 */
const char *nearest_hint(const char *word, const char *const *others,
			 size_t count)
{
	static char hint[NEAREST_SIZE + 32];
	unsigned int best = strlen(word) / 3 + 2, d;
	const char *nearest = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		d = distance(word, others[i]);
		if (d < best && d < strlen(others[i])) {
			best = d;
			nearest = others[i];
		}
	}
	if (!nearest)
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest);
	return hint;
}
