// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file, here of a feed:
 *
 *   # ipcuckood 1
 *   #! good-at 1795557503
 *   #! changed-at 1795557503
 *   #! note etag "5f3e"
 *   192.0.2.7
 *   198.51.100.0/24,1795561103
 *   203.0.113.9,0,a comment
 *   #! end 3
 *
 * A line is an entry, the second at which it expires (0: never), and its comment. The last line
 * has the number of entries: a file without it was cut off, and is not used.
 */
#include <stdlib.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/set/store.h"
#include "lib/replace.h"

#define HEAD	"# ipcuckood 1\n"

static void save_entries(const struct source *source, FILE *f)
{
	struct contents_cursor cursor = { 0 };
	char text[ADDRESS_TEXT_SIZE + 1], *end;
	struct member member;
	size_t count = 0;

	while (contents_next(&source->contents, &cursor, &member)) {
		end = entry_format(text, member.kind, member.entry);
		count++;
		if (!member.expires && !member.comment) {
			/* There may be millions of these. */
			*end++ = '\n';
			fwrite_unlocked(text, end - text, 1, f);
			continue;
		}
		*end = '\0';
		fprintf(f, "%s,%u%s%s\n", text, member.expires, member.comment ? "," : "",
			member.comment ? member.comment : "");
	}
	fprintf(f, "#! end %zu\n", count);
}

static void save(const struct source *source, FILE *f)
{
	const struct note *note;

	fputs(HEAD, f);
	fprintf(f, "#! good-at %u\n#! changed-at %u\n", source->good_at, source->changed_at);
	for (note = source->notes; note; note = note->next)
		fprintf(f, "#! note %s %s\n", note->key, note->value);
	save_entries(source, f);
}

int store_save(const struct source *source, const char *dir)
{
	char *path = need_text("%s/%s.list", dir, source->name);
	FILE *f = replace_open(path);
	int err;

	if (f)
		save(source, f);
	/* A power failure may bring back the contents before: they are as good as those of a daemon that
	 * ended earlier, and not worth the time that REPLACE_LASTING takes for each of thousands of feeds.
	 */
	err = replace_file(f, path, REPLACE_WHOLE);
	if (f)
		fclose(f);
	free(path);
	return err;
}

/* A line "#! KEY VALUE". Return: 1 at the end, 0, or -EINVAL. */
static int load_note(struct source *source, char *line, size_t count)
{
	char *rest = line + strcspn(line, " "), *value;

	if (*rest)
		*rest++ = '\0';
	if (!strcmp(line, "good-at")) {
		source->good_at = strtoul(rest, NULL, 10);
	} else if (!strcmp(line, "changed-at")) {
		source->changed_at = strtoul(rest, NULL, 10);
	} else if (!strcmp(line, "note")) {
		value = rest + strcspn(rest, " ");
		if (*value)
			*value++ = '\0';
		notes_set(&source->notes, rest, value);
	} else if (!strcmp(line, "end")) {
		return strtoul(rest, NULL, 10) == count ? 1 : -EINVAL;
	}
	return 0;
}

/* Add one entry. Entries of another family are left out: the configuration may have changed. */
static int load_entry(struct contents *contents, struct feed *feed, char *line)
{
	char *expires = strchr(line, ','), *comment = NULL, why[ADDRESS_WHY_SIZE];
	struct member member = { 0 };
	struct contents_cursor cursor = { 0 };
	struct contents parsed = { 0 };
	int err;

	if (expires) {
		*expires++ = '\0';
		comment = strchr(expires, ',');
		if (comment)
			*comment++ = '\0';
	}
	err = feed_add(feed, line, strlen(line), why);
	if (err == -EINVAL)
		return 0;
	if (err || !expires)
		return err;
	/* It has values of its own: take it out of the entries that have none. */
	parsed.plain = feed->entries;
	while (!err && contents_next(&parsed, &cursor, &member)) {
		member.expires = strtoul(expires, NULL, 10);
		member.comment = comment;
		err = contents_add(contents, &member);
	}
	packed_clear(&feed->entries);
	return err;
}

/* Why there is no further line. */
static int end_error(FILE *f)
{
	return ferror(f) ? -errno : -EINVAL;
}

/* Return: 0, or a negative errno: -EINVAL for a file that is cut off or no such file. Notes may have
 * any length: that of a feed has all values of match.
 */
static int load(struct source *source, FILE *f, struct contents *contents)
{
	struct feed feed = { 0 }, valued = { 0 };
	size_t count = 0, room = 0;
	char *line = NULL;
	int err = 0;

	target_prepare(source->target, &feed);
	target_prepare(source->target, &valued);
	if (getline(&line, &room, f) < 0)
		err = end_error(f);
	else if (strcmp(line, HEAD))
		err = -EINVAL;
	while (!err) {
		if (getline(&line, &room, f) < 0) {
			err = end_error(f);
			break;
		}
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "#! ", 3)) {
			err = load_note(source, line + 3, count);
		} else {
			err = load_entry(contents, strchr(line, ',') ? &valued : &feed, line);
			count++;
		}
	}
	free(line);
	packed_free(&valued.entries);
	if (err == 1)
		contents_take(contents, &feed.entries);
	packed_free(&feed.entries);
	return err == 1 ? 0 : err;
}

bool store_load(struct source *source, const char *dir)
{
	char *path = need_text("%s/%s.list", dir, source->name);
	struct contents contents = { 0 };
	FILE *f = fopen(path, "re");
	int err = -errno;

	if (f) {
		err = load(source, f, &contents);
		fclose(f);
	}
	if (!err) {
		contents_free(&source->contents);
		source->contents = contents;
	} else {
		/* Notes without their contents would be wrong. */
		notes_free(&source->notes);
		contents_free(&contents);
	}
	if (err && err != -ENOENT)
		log_warning("[%s %s] %s cannot be used: %s; the set waits for the source",
			    source->kind->word, source->name, path,
			    err == -EINVAL ? "it is cut off, or was not written by this version" :
					     strerror(-err));
	free(path);
	return !err;
}
