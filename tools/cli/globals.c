// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "cli/command.h"
#include "cli/globals.h"

static int take_output(struct tool *tool, const char *word)
{
	static const struct meaning outputs[] = {
		{ "plain",	OUTPUT_PLAIN },
		{ "save",	OUTPUT_SAVE },
		{ "xml",	OUTPUT_XML },
		{ "json",	OUTPUT_JSON },
		{ NULL, 0 }
	};
	int output, status;

	status = parse_meaning(tool, "unknown output mode '", "'", outputs, word,
			       &output);
	if (!status)
		tool->output = output;
	return status;
}

static int take_file(struct tool *tool, const char *word)
{
	tool->file = word;
	return STATUS_OK;
}

/**
 * struct global - an option that every command takes, before or after its name
 * @letter:	short name; "" if there is none
 * @name:	long name; both are written with one dash or two
 * @take:	takes the value of the option; NULL if the option is a flag
 * @flag:	offset of the flag in struct tool
 * @words:	the option in help
 * @text:	the description in help
 */
static const struct global {
	const char *letter;
	const char *name;
	int (*take)(struct tool *tool, const char *value);
	size_t flag;
	const char *words;
	const char *text;
} globals[] = {
#define FLAG(letter, name, field, words, text)	\
	{ letter, name, NULL, offsetof(struct tool, field), words, text }
	FLAG("j", "json", json, "-j, --json", "print JSON; help and messages stay text"),
	FLAG("q", "quiet", quiet, "-q, -quiet", "print no messages"),
	FLAG("!", "exist", exist, "-!, -exist",
	     "no error if something exists already, or does not exist"),
	{ "o", "output", take_output, 0, "-o, -output plain|save|xml|json",
	  "output format of list and save" },
	FLAG("s", "sorted", sorted, "-s, -sorted", "no effect: lists are always sorted"),
	FLAG("n", "name", names, "-n, -name", "list names only"),
	FLAG("t", "terse", terse, "-t, -terse", "do not list entries"),
	FLAG("r", "resolve", resolve, "-r, -resolve", "list host names instead of addresses"),
	{ "f", "file", take_file, 0, "-f, -file FILE",
	  "write to FILE (list, save), or read from it (restore, add, del)" },
	FLAG("", "force", force, "--force",
	     "allow changes that drop your SSH session, what this machine needs, or much of the internet"),
	FLAG("", "spare", spare, "--spare",
	     "the sets of the module ipcuckoo_spare: see ipcuckoo-upgrade"),
	FLAG("h", "help", help, "-h, --help", "show help, or that of the command"),
	FLAG("V", "version", version, "-V, --version", "show the version of the tool"),
#undef FLAG
	/* For help only: find_global() never returns it; take_globals() handles "--". */
	{ "", "", NULL, 0, "--", "no word after it is an option" },
};

#define GLOBALS	(sizeof(globals) / sizeof(globals[0]))

/* Find an option by its short or long name; like ipset, accept --n for -n. Return: the
 * option, or NULL.
 */
static const struct global *find_global(const char *word)
{
	size_t i;

	if (*word++ != '-')
		return NULL;
	if (*word == '-')
		word++;
	if (!*word)
		return NULL;
	for (i = 0; i < GLOBALS; i++)
		if (!strcmp(globals[i].letter, word) || !strcmp(globals[i].name, word))
			return &globals[i];
	return NULL;
}

bool needs_dashes(const char *name)
{
	return find_global(name) || !strcmp(name, "--");
}

/* Set the field of @tool that an option stands for. If the option needs a value, that is the
 * next word, and *i is advanced to it. Return: STATUS_OK, or another status after a message.
 */
static int take_global(struct tool *tool, const struct global *global,
		       const struct words *words, int *i)
{
	if (!global->take) {
		*(bool *)((char *)tool + global->flag) = true;
		return STATUS_OK;
	}
	if (*i + 1 == words->count)
		return fail(tool, STATUS_USAGE,
			    "Missing mandatory argument to option %s\nTry `ipcuckoo help' for more information.",
			    words->word[*i]);
	return global->take(tool, words->word[++*i]);
}

/* Whether the next word is the text of a comment ("add SET ENTRY ... comment TEXT"): it is
 * no option then, even if it looks like one.
 */
static bool is_text_next(const struct words *words, int kept)
{
	const struct command *command;

	if (kept < 4 || strcmp(words->word[kept - 1], "comment"))
		return false;
	command = find_command(words->word[0]);
	return command && !strcmp(command->name, "add");
}

/**
 * take_globals - take the options that every command takes out of the words
 * @tool:	the run; gets the options
 * @words:	the words; on return, without the options that come before "--"
 *
 * Return: STATUS_OK, or another status after a message.
 */
int take_globals(struct tool *tool, struct words *words)
{
	const struct global *global;
	int i, kept = 0, status;

	words->plain = words->count;
	for (i = 0; i < words->count; i++) {
		if (words->plain == words->count && !is_text_next(words, kept)) {
			if (!strcmp(words->word[i], "--")) {
				words->plain = kept;
				continue;
			}
			global = find_global(words->word[i]);
			status = global ? take_global(tool, global, words, &i) : STATUS_OK;
			if (status)
				return status;
			if (global)
				continue;
		}
		words->word[kept++] = words->word[i];
	}
	words->count = kept;
	return STATUS_OK;
}

void print_globals(FILE *to)
{
	size_t i;

	for (i = 0; i < GLOBALS; i++)
		fprintf(to, "  %-13s  %s\n", globals[i].words, globals[i].text);
}

void print_global_words(FILE *to)
{
	size_t i;

	for (i = 0; i < GLOBALS; i++)
		fprintf(to, " [%s]", globals[i].words);
	putc('\n', to);
}
