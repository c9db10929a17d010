// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/conf/section.h"
#include "lib/nearest.h"

static const struct config_key no_keys[] = { { NULL } };

void conf_fault(struct conf_file *file, unsigned long line, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (line)
		log_error("%s:%lu: %s", file->name, line, text);
	else
		log_error("%s: %s", file->name, text);
	file->wrong = true;
}

unsigned long section_line(const struct section *section, const char *word)
{
	int table, i;

	for (table = 0; table < 2 && word; table++)
		for (i = 0; section->keys[table][i].word; i++)
			if (!strcmp(section->keys[table][i].word, word) && section->given[table][i])
				return section->given[table][i];
	return section->line;
}

void section_fault(struct section *section, const char *key, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conf_fault(section->file, section_line(section, key), "[%s %s]%s%s: %s", section->kind,
		   section->name, key ? " " : "", key ? key : "", text);
}

void section_clear(struct section *section, struct conf_file *file)
{
	free(section->name);
	memset(section, 0, sizeof(*section));
	section->file = file;
	section->keys[0] = no_keys;
	section->keys[1] = no_keys;
}

void section_preset(struct section *section)
{
	const struct config_key *key;
	char why[VALUE_WHY_SIZE];
	int table;

	for (table = 0; table < 2; table++)
		for (key = section->keys[table]; key->word; key++)
			if (key->preset &&
			    !value_parse(key, section->object, key->preset, false, why))
				abort();
}

static void fault_key(struct section *section, const char *word)
{
	const char *words[2 * SECTION_KEYS_MOST];
	size_t count = 0;
	int table, i;

	for (table = 0; table < 2; table++)
		for (i = 0; section->keys[table][i].word && count < 2 * SECTION_KEYS_MOST; i++)
			words[count++] = section->keys[table][i].word;
	conf_fault(section->file, section->file->line,
		   "[%s %s] has no key \"%s\"%s; see ipcuckood(8)", section->kind, section->name,
		   word, nearest_hint(word, words, count));
}

static void take_value(struct section *section, const struct config_key *key, unsigned long *given,
		       const char *text, bool indented)
{
	bool more = *given && section->last == key && indented;
	struct conf_file *file = section->file;
	char why[VALUE_WHY_SIZE];

	if (*given && !more)
		conf_fault(file, file->line,
			   "[%s %s] %s: line %lu says that already; delete one of them",
			   section->kind, section->name, key->word, *given);
	if (!*given)
		*given = file->line;
	section->last = key;
	if (!value_parse(key, section->object, text, more, why))
		conf_fault(file, file->line, "[%s %s] %s: \"%.128s\" %s", section->kind,
			   section->name, key->word, text, why);
}

void section_take(struct section *section, const char *word, const char *text, bool indented)
{
	const struct config_key *key;
	int table;

	for (table = 0; table < 2; table++) {
		for (key = section->keys[table]; key->word; key++) {
			if (strcmp(key->word, word))
				continue;
			take_value(section, key, &section->given[table][key - section->keys[table]],
				   text, indented);
			return;
		}
	}
	fault_key(section, word);
}

void section_end(struct section *section)
{
	const struct config_key *key;
	int table;

	for (table = 0; table < 2; table++)
		for (key = section->keys[table]; key->word; key++)
			if (key->needed && !section->given[table][key - section->keys[table]])
				section_fault(section, NULL,
					      "there is no line for %s; add one, such as: %s",
					      key->word, key->needed);
}
