// SPDX-License-Identifier: GPL-2.0-only
/*
 * libinih cuts the file into sections, keys and values. It was chosen because its format is that of
 * the units and configuration files an operator already writes: no quotes, no brackets to balance,
 * and a misplaced character spoils one line, not the rest of the file. libconfig, the other choice,
 * knows the lines of its settings, which libinih does not; so the function that hands libinih the
 * lines counts them. It sees the lines with sections, too, and thereby those of empty sections.
 */
#include <ini.h>
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/conf/secret.h"
#include "daemon/conf/section.h"
#include "daemon/config.h"
#include "daemon/copy/copy.h"
#include "daemon/set/aggregate.h"
#include "daemon/set/source.h"
#include "daemon/set/target.h"
#include "lib/nearest.h"

/**
 * struct reader - a configuration that is being read
 * @file:	its name, and which line is read
 * @f:		the file
 * @config:	the result
 * @indented:	the line begins with a blank
 * @cut:	the line is too long for libinih, and its rest is skipped
 * @has_cut:	there was such a line
 * @section:	the section that is read; @object is a struct target or struct source
 * @set_lines:	for each source, the line that names its set
 */
struct reader {
	struct conf_file file;
	FILE *f;
	struct config *config;
	bool indented;
	bool cut;
	bool has_cut;
	struct section section;
	unsigned long *set_lines;
};

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
	struct source *source = section->object;

	if (section->object)
		section_end(section);
	if (section->object && !strcmp(section->kind, "set")) {
		target_check(section->object, section);
	} else if (section->object) {
		reader->set_lines[reader->config->source_count - 1] = section_line(section, "set");
		source_check(source, section);
	}
	section_clear(section, &reader->file);
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
		conf_fault(&reader->file, reader->file.line, "[%s]: %s", heading,
			   source_kind_missing(word));
		return;
	}
	conf_fault(&reader->file, reader->file.line,
		   "[%s]: there are no sections of the kind \"%s\"%s; sets are [set NAME], their sources [feed NAME]",
		   heading, word, nearest_hint(word, words, count));
}

static void add_target(struct reader *reader, struct section *section)
{
	struct config *config = reader->config;
	struct target *target = need_zeros(sizeof(*target));

	if (config_target(config, section->name))
		conf_fault(&reader->file, reader->file.line,
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
		conf_fault(&reader->file, reader->file.line,
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

	end_section(reader);
	section->line = reader->file.line;
	if (!kind && !set) {
		fault_kind(reader, heading, len);
		return;
	}
	section->kind = set ? "set" : kind->word;
	if (!is_name(name) || (set && strlen(name) >= IPCUCKOO_NAME_SIZE)) {
		conf_fault(&reader->file, reader->file.line,
			   "[%s]: write [%s NAME], with a name of letters, digits, \".\", \"_\" and \"-\", at most %d of them",
			   heading, section->kind, set ? IPCUCKOO_NAME_SIZE - 1 : 63);
		return;
	}
	section->name = need_copy(name);
	if (set)
		add_target(reader, section);
	else
		add_source(reader, section, kind);
	section_preset(section);
}

/* libinih calls this for each line with a key. */
static int take_line(void *data, const char *heading, const char *word, const char *text)
{
	struct reader *reader = data;
	struct section *section = &reader->section;

	if (!section->line && !*heading)
		conf_fault(&reader->file, reader->file.line,
			   "%s: this line is in no section; write [set NAME] or [feed NAME] before it",
			   word);
	if (section->object && !reader->cut)
		section_take(section, word, text, reader->indented);
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

/* libinih cuts a line where ";" follows a blank. */
static void find_comment(struct reader *reader, const char *text)
{
	const char *at = text;

	if (!*text || strchr("#;[", *text))
		return;
	while ((at = strchr(at + 1, ';')))
		if (at[-1] == ' ' || at[-1] == '\t')
			break;
	if (at)
		conf_fault(&reader->file, reader->file.line,
			   "\"%.*s\": a comment needs a line of its own; if this is part of the value, leave out the blank before \";\"",
			   (int)strcspn(at, "\r\n"), at);
}

/* libinih calls this for a line, as it would call fgets(). */
static char *read_line(char *to, int size, void *data)
{
	struct reader *reader = data;
	const char *text;
	size_t len;

	if (!fgets(to, size, reader->f)) {
		if (ferror(reader->f))
			conf_fault(&reader->file, 0, "cannot be read: %s; name another file",
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
	reader->file.line++;
	reader->cut = len + 1 == (size_t)size && to[len - 1] != '\n';
	reader->has_cut |= reader->cut;
	if (reader->cut)
		conf_fault(&reader->file, reader->file.line,
			   "the line is longer than %d characters; continue a value on the next line, which begins with a blank",
			   size - 2);
	text = to + strspn(to, " \t");
	/* A byte order mark may come first. */
	if (reader->file.line == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	reader->indented = *to == ' ' || *to == '\t';
	find_comment(reader, text);
	/* An indented line that begins with a bracket continues a value, if there is one. */
	if (*text == '[' && !(reader->indented && reader->section.last))
		read_heading(reader, text);
	return to;
}

static void link_source(struct source *source, struct target *target)
{
	source->target = target;
	target->sources = need_room(target->sources, target->source_count);
	target->sources[target->source_count++] = source;
	target->sources[target->source_count] = NULL;
}

/* The networks that "aggregate" lists are a source of the set. */
static void add_networks(struct reader *reader, struct target *target)
{
	struct config *config = reader->config;
	char *name = need_text("%s.networks", target->name);

	if (config_source(config, name))
		conf_fault(&reader->file, 0,
			   "%s: that is the source with the networks that aggregate in [set %s] lists; choose another name",
			   name, target->name);
	target->networks = source_new(&aggregate_kind, name);
	config->sources = need_room(config->sources, config->source_count);
	config->sources[config->source_count++] = target->networks;
	link_source(target->networks, target);
	free(name);
}

/* Connect the sources to their sets. */
static void link_sources(struct reader *reader)
{
	struct config *config = reader->config;
	const char **names = need_zeros((config->target_count + 1) * sizeof(*names));
	struct source *source;
	struct target *target;
	const char *of;
	size_t i;

	for (i = 0; i < config->target_count; i++)
		names[i] = config->targets[i]->name;
	for (i = 0; i < config->source_count; i++) {
		source = config->sources[i];
		target = source->set ? config_target(config, source->set) : NULL;
		if (source->set && !target)
			conf_fault(&reader->file, reader->set_lines[i],
				   "[%s %s] set: there is no section [set %s]%s",
				   source->kind->word, source->name, source->set,
				   nearest_hint(source->set, names, config->target_count));
		if (target)
			link_source(source, target);
		/* In two sets that copy each other, an entry would stay for ever. */
		of = copy_set_of(source);
		if (of && config_target(config, of))
			conf_fault(&reader->file, reader->set_lines[i],
				   "[%s %s] of: this daemon keeps [set %s] itself, and a copy is one of a set that others keep; add sources to the set instead",
				   source->kind->word, source->name, of);
	}
	config->section_count = config->source_count;
	for (i = 0; i < config->target_count; i++)
		if (config->targets[i]->aggregate_count)
			add_networks(reader, config->targets[i]);
	free(names);
}

struct config *config_read_stream(FILE *f, const char *name)
{
	struct reader reader = { .file.name = name, .f = f };
	int line;

	reader.config = need_zeros(sizeof(*reader.config));
	section_clear(&reader.section, &reader.file);
	line = ini_parse_stream(read_line, &reader, take_line, &reader);
	end_section(&reader);
	/* It counts the parts of a line that is too long as lines. */
	if (line > 0 && !reader.has_cut)
		conf_fault(&reader.file, line,
			   "this is neither a section, as [feed NAME], nor a line \"key = value\", nor a comment, which begins with \"#\"");
	else if (line < 0)
		conf_fault(&reader.file, 0, "out of memory");
	link_sources(&reader);
	free(reader.set_lines);
	if (!reader.file.wrong)
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
	char why[SECRET_WHY_SIZE];
	bool opens = true;
	const char *path;

	for (; key->word; key++) {
		path = value_file(key, source);
		if (!path)
			continue;
		if (access(path, R_OK))
			snprintf(why, sizeof(why), "%.200s cannot be opened: %s", path,
				 strerror(errno));
		else if (key->kind != KEY_SECRET ||
			 secret_check(path, strstr(key->word, "password") ? "password" : "key", why))
			continue;
		log_error("[%s %s] %s: %s", source->kind->word, source->name, key->word, why);
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
	for (i = 0; config->left && config->left[i]; i++)
		free(config->left[i]);
	free(config->left);
	free(config->sources);
	free(config->targets);
	free(config);
}
