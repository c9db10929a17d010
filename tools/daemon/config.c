// SPDX-License-Identifier: GPL-2.0-only
/*
 * libinih cuts the file into sections, keys and values. It was chosen because its format is that of
 * the units and configuration files an operator already writes: no quotes, no brackets to balance,
 * and a misplaced character spoils one line, not the rest of the file. libconfig, the other choice,
 * knows the lines of its settings, which libinih does not; so the function that hands libinih the
 * lines counts them. It sees the lines with sections, too, and thereby those of empty sections.
 */
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>

#include "daemon/config.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/source.h"
#include "daemon/target.h"
#include "daemon/value.h"
#include "lib/nearest.h"

/* A section has at most this many keys of each of its two tables. */
#define KEYS_MOST	64

/**
 * struct section - the section that is being read
 * @reader:	the reader
 * @kind:	"set", "feed", ...
 * @name:	its name
 * @line:	line of its heading
 * @keys:	its two tables of keys: those that all such sections have, and those of the kind
 * @object:	the struct target or struct source; NULL: a section that is wrong itself
 * @given:	the line of each key; 0 if it is not there
 * @last:	the key of the last line
 */
struct section {
	struct reader *reader;
	const char *kind;
	char *name;
	unsigned long line;
	const struct config_key *keys[2];
	void *object;
	unsigned long given[2][KEYS_MOST];
	const struct config_key *last;
};

/**
 * struct reader - a configuration that is being read
 * @file:	its name, for messages
 * @f:		the file
 * @config:	the result
 * @line:	number of the line
 * @indented:	the line begins with a blank
 * @cut:	the line is too long for libinih, and its rest is skipped
 * @has_cut:	there was such a line
 * @wrong:	something is wrong, and was printed
 * @section:	the section
 * @set_lines:	for each source, the line that names its set
 */
struct reader {
	const char *file;
	FILE *f;
	struct config *config;
	unsigned long line;
	bool indented;
	bool cut;
	bool has_cut;
	bool wrong;
	struct section section;
	unsigned long *set_lines;
};

static const struct config_key no_keys[] = { { NULL } };

static void fault(struct reader *reader, unsigned long line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* @line: 0 if it is no fault of a line */
static void fault(struct reader *reader, unsigned long line, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (line)
		log_error("%s:%lu: %s", reader->file, line, text);
	else
		log_error("%s: %s", reader->file, text);
	reader->wrong = true;
}

/* The line of a key; that of the section if it is not there. */
static unsigned long key_line(const struct section *section, const char *word)
{
	int table, i;

	for (table = 0; table < 2 && word; table++)
		for (i = 0; section->keys[table][i].word; i++)
			if (!strcmp(section->keys[table][i].word, word) && section->given[table][i])
				return section->given[table][i];
	return section->line;
}

void config_fault(struct section *section, const char *key, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fault(section->reader, key_line(section, key), "[%s %s]%s%s: %s", section->kind,
	      section->name, key ? " " : "", key ? key : "", text);
}

static void preset_keys(const struct config_key *key, void *object)
{
	char why[VALUE_WHY_SIZE];

	for (; key->word; key++)
		if (key->preset && !value_parse(key, object, key->preset, false, why))
			abort();
}

void config_free_keys(const struct config_key *key, void *object)
{
	for (; key->word; key++)
		value_free(key, object);
}

bool config_same_keys(const struct config_key *key, const void *a, const void *b)
{
	for (; key->word; key++)
		if (!value_same(key, a, b))
			return false;
	return true;
}

struct source *config_source(const struct config *config, const char *name)
{
	size_t i;

	for (i = 0; i < config->source_count; i++)
		if (!strcmp(config->sources[i]->name, name))
			return config->sources[i];
	return NULL;
}

struct target *config_target(const struct config *config, const char *name)
{
	size_t i;

	for (i = 0; i < config->target_count; i++)
		if (!strcmp(config->targets[i]->name, name))
			return config->targets[i];
	return NULL;
}

/* The section has ended: is it complete, and does it make sense? */
static void end_section(struct reader *reader)
{
	struct section *section = &reader->section;
	const struct config_key *key;
	struct source *source;
	int table;

	for (table = 0; table < 2 && section->object; table++)
		for (key = section->keys[table]; key->word; key++)
			if (key->needed && !section->given[table][key - section->keys[table]])
				config_fault(section, NULL,
					     "there is no line for %s; add one, such as: %s",
					     key->word, key->needed);
	if (section->object && !strcmp(section->kind, "set")) {
		target_check(section->object, section);
	} else if (section->object) {
		source = section->object;
		reader->set_lines[reader->config->source_count - 1] = key_line(section, "set");
		source_check(source, section);
	}
	free(section->name);
	memset(section, 0, sizeof(*section));
	section->reader = reader;
	section->keys[0] = no_keys;
	section->keys[1] = no_keys;
}

static const struct source_kind *find_kind(const char *word, size_t len)
{
	const struct source_kind *const *kind;

	for (kind = source_kinds; *kind; kind++)
		if (strlen((*kind)->word) == len && !strncmp((*kind)->word, word, len))
			return *kind;
	return NULL;
}

static void fault_kind(struct reader *reader, const char *heading, size_t len)
{
	const char *words[32] = { "set" };
	char word[64];
	size_t count = 1;

	while (source_kinds[count - 1] && count < 32) {
		words[count] = source_kinds[count - 1]->word;
		count++;
	}
	snprintf(word, sizeof(word), "%.*s", (int)len, heading);
	if (source_kind_missing(word)) {
		fault(reader, reader->line, "[%s]: %s", heading, source_kind_missing(word));
		return;
	}
	fault(reader, reader->line,
	      "[%s]: there are no sections of the kind \"%s\"%s; sets are [set NAME], their sources [feed NAME]",
	      heading, word, nearest_hint(word, words, count));
}

static void add_target(struct reader *reader, struct section *section)
{
	struct config *config = reader->config;
	struct target *target = need_zeros(sizeof(*target));

	if (config_target(config, section->name))
		fault(reader, reader->line,
		      "[set %s]: there is such a section already; join the two", section->name);
	target->name = need_copy(section->name);
	section->keys[0] = target_keys;
	config->targets = need_room(config->targets, config->target_count);
	config->targets[config->target_count++] = target;
	section->object = target;
}

static void add_source(struct reader *reader, struct section *section,
		       const struct source_kind *kind)
{
	struct config *config = reader->config;

	if (config_source(config, section->name))
		fault(reader, reader->line,
		      "[%s %s]: there is a source of that name already; choose another name",
		      kind->word, section->name);
	section->object = source_new(kind, section->name);
	section->keys[0] = source_keys;
	section->keys[1] = kind->keys;
	config->sources = need_room(config->sources, config->source_count);
	reader->set_lines = need_room(reader->set_lines, config->source_count);
	config->sources[config->source_count++] = section->object;
}

/* Names of sources are names of files and labels of metrics. */
static bool is_name(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";

	return *name && *name != '.' && strlen(name) < 64 && !name[strspn(name, chars)];
}

/* A heading, without its brackets. */
static void begin_section(struct reader *reader, const char *heading)
{
	size_t len = strcspn(heading, " \t");
	const char *name = heading + len + strspn(heading + len, " \t");
	const struct source_kind *kind = find_kind(heading, len);
	bool set = len == 3 && !strncmp(heading, "set", 3);
	struct section *section = &reader->section;
	int table;

	end_section(reader);
	section->line = reader->line;
	if (!kind && !set) {
		fault_kind(reader, heading, len);
		return;
	}
	section->kind = set ? "set" : kind->word;
	if (!is_name(name) || (set && strlen(name) >= IPCUCKOO_NAME_SIZE)) {
		fault(reader, reader->line,
		      "[%s]: write [%s NAME], with a name of letters, digits, \".\", \"_\" and \"-\", at most %d of them",
		      heading, section->kind, set ? IPCUCKOO_NAME_SIZE - 1 : 63);
		return;
	}
	section->name = need_copy(name);
	if (set)
		add_target(reader, section);
	else
		add_source(reader, section, kind);
	for (table = 0; table < 2; table++)
		preset_keys(section->keys[table], section->object);
}

static void fault_key(struct reader *reader, const char *word)
{
	const struct section *section = &reader->section;
	const char *words[2 * KEYS_MOST];
	size_t count = 0;
	int table, i;

	for (table = 0; table < 2; table++)
		for (i = 0; section->keys[table][i].word && count < 2 * KEYS_MOST; i++)
			words[count++] = section->keys[table][i].word;
	fault(reader, reader->line, "[%s %s] has no key \"%s\"%s; see ipcuckood(8)", section->kind,
	      section->name, word, nearest_hint(word, words, count));
}

static void take_value(struct reader *reader, const struct config_key *key, unsigned long *given,
		       const char *text)
{
	struct section *section = &reader->section;
	bool more = *given && section->last == key && reader->indented;
	char why[VALUE_WHY_SIZE];

	if (*given && !more)
		fault(reader, reader->line,
		      "[%s %s] %s: line %lu says that already; delete one of them", section->kind,
		      section->name, key->word, *given);
	if (!*given)
		*given = reader->line;
	section->last = key;
	if (!value_parse(key, section->object, text, more, why))
		fault(reader, reader->line, "[%s %s] %s: \"%.128s\" %s", section->kind,
		      section->name, key->word, text, why);
}

/* libinih calls this for each line with a key. */
static int take_line(void *data, const char *heading, const char *word, const char *text)
{
	struct reader *reader = data;
	struct section *section = &reader->section;
	const struct config_key *key;
	int table;

	if (!section->line && !*heading)
		fault(reader, reader->line,
		      "%s: this line is in no section; write [set NAME] or [feed NAME] before it",
		      word);
	if (!section->object || reader->cut)
		return 1;
	for (table = 0; table < 2; table++) {
		for (key = section->keys[table]; key->word; key++) {
			if (strcmp(key->word, word))
				continue;
			take_value(reader, key, &section->given[table][key - section->keys[table]],
				   text);
			return 1;
		}
	}
	fault_key(reader, word);
	return 1;
}

/* A line "[heading]": begin the section. libinih ignores what is behind the bracket. */
static void read_heading(struct reader *reader, const char *text)
{
	char heading[128];
	size_t len = strcspn(text + 1, "]");

	/* libinih complains about a heading without its bracket. */
	if (text[1 + len] != ']')
		return;
	snprintf(heading, sizeof(heading), "%.*s", (int)len, text + 1);
	begin_section(reader, heading);
}

/* libinih calls this for a line, as it would call fgets(). */
static char *read_line(char *to, int size, void *data)
{
	struct reader *reader = data;
	const char *text;
	size_t len;

	if (!fgets(to, size, reader->f)) {
		if (ferror(reader->f))
			fault(reader, 0, "cannot be read: %s; name another file",
			      strerror(errno));
		return NULL;
	}
	len = strlen(to);
	/* The rest of a line that was too long is read, and ignored. */
	if (reader->cut) {
		reader->cut = !len || to[len - 1] != '\n';
		strcpy(to, "\n");
		return to;
	}
	reader->line++;
	reader->cut = len + 1 == (size_t)size && to[len - 1] != '\n';
	reader->has_cut |= reader->cut;
	if (reader->cut)
		fault(reader, reader->line,
		      "the line is longer than %d characters; continue a value on the next line, which begins with a blank",
		      size - 2);
	text = to + strspn(to, " \t");
	/* A byte order mark may come first. */
	if (reader->line == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	reader->indented = *to == ' ' || *to == '\t';
	/* An indented line that begins with a bracket continues a value, if there is one. */
	if (*text == '[' && !(reader->indented && reader->section.last))
		read_heading(reader, text);
	return to;
}

/* Connect the sources to their sets. */
static void link_sources(struct reader *reader)
{
	struct config *config = reader->config;
	const char **names = need_zeros((config->target_count + 1) * sizeof(*names));
	struct source *source;
	struct target *target;
	size_t i;

	for (i = 0; i < config->target_count; i++)
		names[i] = config->targets[i]->name;
	for (i = 0; i < config->source_count; i++) {
		source = config->sources[i];
		target = source->set ? config_target(config, source->set) : NULL;
		if (source->set && !target)
			fault(reader, reader->set_lines[i],
			      "[%s %s] set: there is no section [set %s]%s", source->kind->word,
			      source->name, source->set,
			      nearest_hint(source->set, names, config->target_count));
		if (!target)
			continue;
		source->target = target;
		target->sources = need_room(target->sources, target->source_count);
		target->sources[target->source_count++] = source;
		target->sources[target->source_count] = NULL;
	}
	free(names);
}

struct config *config_read_stream(FILE *f, const char *name)
{
	struct reader reader = { .file = name, .f = f };
	int line;

	reader.config = need_zeros(sizeof(*reader.config));
	reader.section.reader = &reader;
	reader.section.keys[0] = no_keys;
	reader.section.keys[1] = no_keys;
	line = ini_parse_stream(read_line, &reader, take_line, &reader);
	end_section(&reader);
	/* It counts the parts of a line that is too long as lines. */
	if (line > 0 && !reader.has_cut)
		fault(&reader, line,
		      "this is neither a section, as [feed NAME], nor a line \"key = value\", nor a comment, which begins with \"#\"");
	else if (line < 0)
		fault(&reader, 0, "out of memory");
	link_sources(&reader);
	free(reader.set_lines);
	if (!reader.wrong)
		return reader.config;
	config_free(reader.config);
	return NULL;
}

struct config *config_read(const char *path)
{
	FILE *f = fopen(path, "re");
	struct config *config;

	if (!f) {
		log_error("%s: cannot be opened: %s; ipcuckood(8) says what to write into it", path,
			  strerror(errno));
		return NULL;
	}
	config = config_read_stream(f, path);
	fclose(f);
	return config;
}

static bool opens_files(const struct source *source, const struct config_key *key)
{
	bool opens = true;
	const char *path;

	for (; key->word; key++) {
		path = key->kind == KEY_FILE ? *(char **)((char *)source + key->offset) : NULL;
		if (!path || !access(path, R_OK))
			continue;
		log_error("[%s %s] %s: %s cannot be opened: %s", source->kind->word, source->name,
			  key->word, path, strerror(errno));
		opens = false;
	}
	return opens;
}

bool config_opens_files(const struct config *config)
{
	bool opens = true;
	size_t i;

	for (i = 0; i < config->source_count; i++)
		opens &= opens_files(config->sources[i], config->sources[i]->kind->keys);
	return opens;
}

void config_free(struct config *config)
{
	size_t i;

	if (!config)
		return;
	for (i = 0; i < config->source_count; i++)
		source_free(config->sources[i]);
	for (i = 0; i < config->target_count; i++)
		target_free(config->targets[i]);
	for (i = 0; i < config->left_count; i++)
		free(config->left[i]);
	free(config->left);
	free(config->sources);
	free(config->targets);
	free(config);
}
