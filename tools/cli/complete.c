// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints how a command line may go on: one word a line. A word in capitals stands for a value, such
 * as NAME for the name of a set: the shell knows better than this program how to offer files, and
 * how to quote what it offers. The shell also leaves out what does not begin as the last word does.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/complete.h"
#include "cli/manual.h"

#define MAX_TOKENS	128

/**
 * struct row - the grammar of a command, in pieces
 * @text:	the grammar
 * @token:	its words, with brackets, alternatives and dots
 * @count:	how many there are
 */
struct row {
	char text[2048];
	const char *token[MAX_TOKENS];
	int count;
};

/* Is @word one of the alternatives of @token? @last: set if it is the last one */
static bool is_alternative(const char *token, const char *word, bool *last)
{
	size_t len = strlen(word), piece;

	for (; *token; token += piece) {
		token += strspn(token, "[]|");
		piece = strcspn(token, "[]|");
		*last = !token[piece + strspn(token + piece, "[]|")];
		if (piece && piece == len && !strncmp(token, word, len))
			return true;
	}
	return false;
}

/* Find the grammar of a command by any of its names; without such a command, @row gets none. */
static void find_row(const char *known, const char *word, struct row *row)
{
	char names[128], *token;
	size_t len;
	bool last;

	row->count = 0;
	row->text[0] = '\0';
	for (; *known; known += len + (known[len] == '\n')) {
		len = strcspn(known, "\n");
		snprintf(names, sizeof(names), "%.*s", (int)strcspn(known, " \n"), known);
		if (!is_alternative(names, word, &last))
			continue;
		snprintf(row->text, sizeof(row->text), "%.*s", (int)(len - strlen(names)),
			 known + strlen(names));
		break;
	}
	for (token = strtok(row->text, " "); token && row->count < MAX_TOKENS;
	     token = strtok(NULL, " "))
		row->token[row->count++] = token;
}

/* Print a placeholder without what stands around it. */
static void print_meant(const char *token)
{
	token += strspn(token, "[");
	printf("%.*s\n", (int)strcspn(token, "[].|"), token);
}

/* Print the words of a token that are typed as they are. @dashed: those that begin with a dash, or
 * else the others
 */
static void print_literals(const char *token, bool dashed)
{
	size_t len;

	for (; *token; token += len) {
		token += strspn(token, "[]|,.");
		len = strcspn(token, "[]|,.");
		if (dashed ? *token == '-' : islower((unsigned char)*token))
			printf("%.*s\n", (int)len, token);
	}
}

static void print_all_literals(const struct row *row, bool dashed)
{
	int i;

	for (i = 0; i < row->count; i++)
		print_literals(row->token[i], dashed);
}

static void print_commands(const char *known)
{
	for (; *known && *known != '*'; known += strcspn(known, "\n"), known += *known == '\n')
		printf("%.*s\n", (int)strcspn(known, " |\n"), known);
}

/* Is @word an option that every command takes? @value: set to its value in the grammar, or NULL */
static bool is_global(const struct row *globals, const char *word, const char **value)
{
	char name[32];
	bool found = false;
	int i;

	*value = NULL;
	for (i = 0; i < globals->count; i++) {
		const char *token = globals->token[i] + (*globals->token[i] == '[');

		if (found && *globals->token[i] == '[')
			return true;
		if (*token != '-') {
			if (found)
				*value = token;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(token, ",]"), token);
		found = found || !strcmp(name, word);
	}
	return found;
}

/* What follows the last word in the grammar; NULL if any keyword may follow.
 * @word: the words without options that every command takes; the first one is the command
 */
static const char *find_next(const struct row *row, const char *const *word, int count)
{
	const char *next = NULL;
	bool last;
	int i;

	if (count <= 2) {
		next = count <= row->count ? row->token[count - 1] : NULL;
		return count == 2 && next && *next == '[' ? NULL : next;
	}
	for (i = 0; i < row->count; i++) {
		if (!is_alternative(row->token[i], word[count - 1], &last))
			continue;
		next = i + 1 < row->count ? row->token[i + 1] : NULL;
		/* Not if it is optional, or if it is the value of another alternative: in
		 * accept|mark VALUE, only mark has a value.
		 */
		return next && (*next == '[' || (isupper((unsigned char)*next) && !last)) ?
		       NULL : next;
	}
	for (i = 0; i < row->count; i++)
		if (isupper((unsigned char)*row->token[i]) && strstr(row->token[i], "..."))
			next = row->token[i];
	return next;
}

static void print_next(const char *known, const struct row *row, const char *next)
{
	const char *meant = next ? next + strspn(next, "[") : "";

	if (!strncmp(meant, "COMMAND", strlen("COMMAND"))) {
		print_commands(known);
		print_topics(stdout);
	} else if (!*meant || !strncmp(meant, "ENTRY", strlen("ENTRY"))) {
		print_all_literals(row, false);
	} else if (isupper((unsigned char)*meant)) {
		print_meant(meant);
	} else {
		print_literals(meant, false);
	}
}

void complete(const char *known, char *const *word, int count)
{
	const char *kept[MAX_TOKENS], *value = NULL;
	struct row globals, row;
	int i, left = 0;

	if (!count)
		return;
	find_row(known, "*", &globals);
	for (i = 0; i < count - 1 && left < MAX_TOKENS; i++) {
		if (!is_global(&globals, word[i], &value))
			kept[left++] = word[i];
		else if (value)
			i++;
	}
	if (i == count) {
		print_next(known, &globals, value);
		return;
	}
	find_row(known, left ? kept[0] : "", &row);
	if (*word[count - 1] == '-') {
		print_all_literals(&row, true);
		print_all_literals(&globals, true);
	} else if (!left) {
		print_commands(known);
	} else if (left > 1 || row.count < 2 || strncmp(row.token[1], "hash:", strlen("hash:"))) {
		/* The set that create makes has no name yet. */
		print_next(known, &row, find_next(&row, kept, left));
	}
}
