// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file is a log; what is appended is what happened:
 *
 *   # ipcuckood waiting 1
 *   change 5f3e... 2 1795557503 0 00c0000207...
 *   sent 5f3e... 1795557560
 *   done 5f3e...
 *
 * A change has its token, the number of its entries, since when it waits, when it was sent, and the
 * packed changes. The file is removed when nothing waits any more, and written anew when it is
 * opened, or when most of it is done. A last line that was cut off is as good as none: nobody was
 * told that it is there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/backlog.h"
#include "daemon/log.h"
#include "daemon/memory.h"

#define HEAD		"# ipcuckood waiting 1\n"
/* The file is written anew when so many lines in it are of no use any more, and more than are. */
#define STALE_MOST	1000

/**
 * struct backlog - the file
 * @path:	its name
 * @source:	the source, for messages
 * @file:	the open file; NULL while nothing waits
 * @changes:	what waits, in its order
 * @count:	how many that are
 * @taken:	how many backlog_take() has given
 * @stale:	number of lines in the file that say nothing that is true still
 * @failed:	a message said that it cannot be written
 */
struct backlog {
	char *path;
	char *source;
	FILE *file;
	struct backlog_change **changes;
	size_t count;
	size_t taken;
	size_t stale;
	bool failed;
};

static struct backlog_change *find(struct backlog *backlog, const char *token)
{
	size_t i;

	/* It is the first one, but for a file that is damaged. */
	for (i = 0; i < backlog->count; i++)
		if (!strcmp(backlog->changes[i]->token, token))
			return backlog->changes[i];
	return NULL;
}

static void keep(struct backlog *backlog, const struct backlog_change *change)
{
	struct backlog_change *at = need_zeros(sizeof(*at));

	backlog->changes = need_room(backlog->changes, backlog->count);
	backlog->changes[backlog->count++] = at;
	*at = *change;
	at->bytes = (struct list_bytes){ 0 };
	at->bytes.data = need_zeros(change->bytes.size + 1);
	memcpy(at->bytes.data, change->bytes.data, change->bytes.size);
	at->bytes.size = change->bytes.size;
	at->bytes.room = change->bytes.size + 1;
}

static void drop(struct backlog *backlog, struct backlog_change *change)
{
	size_t at = 0;

	while (backlog->changes[at] != change)
		at++;
	backlog->count--;
	memmove(backlog->changes + at, backlog->changes + at + 1,
		(backlog->count - at) * sizeof(*backlog->changes));
	free(change->bytes.data);
	free(change);
}

/* --- reading --- */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return: whether the text is such packed changes as list_pack_change() makes, so many of them. */
static bool read_hex(const char *text, struct backlog_change *change)
{
	struct list_limits limits = { .family = IPCUCKOO_FAMILY_ANY, .most = UINT64_MAX };
	size_t size = strlen(text) / 2, i;
	struct list_changes changes = { 0 };
	char why[LIST_WHY_SIZE];
	bool good;

	if (strlen(text) % 2 || !size || size > LIST_CHANGES_MOST)
		return false;
	change->bytes.data = need_zeros(size);
	change->bytes.size = size;
	change->bytes.room = size;
	for (i = 0; i < size; i++) {
		if (digit(text[2 * i]) < 0 || digit(text[2 * i + 1]) < 0)
			return false;
		change->bytes.data[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]);
	}
	good = !list_parse_changes(change->bytes.data, size, &limits, &changes, why) &&
	       changes.count == change->count;
	list_free_changes(&changes);
	return good;
}

/* Return: whether the line is right. */
static bool read_line(struct backlog *backlog, char *line)
{
	struct backlog_change change = { .count = 0 }, *found;
	int at = 0;
	bool good;

	if (sscanf(line, "change %32s %zu %u %u %n", change.token, &change.count, &change.since,
		   &change.sent_at, &at) == 4 && at) {
		good = !find(backlog, change.token) && read_hex(line + at, &change);
		if (good)
			keep(backlog, &change);
		free(change.bytes.data);
		return good;
	}
	if (sscanf(line, "sent %32s %u", change.token, &change.sent_at) == 2) {
		found = find(backlog, change.token);
		if (found)
			found->sent_at = change.sent_at;
		return found;
	}
	if (sscanf(line, "done %32s", change.token) == 1) {
		found = find(backlog, change.token);
		if (found)
			drop(backlog, found);
		return found;
	}
	return false;
}

static void read_file(struct backlog *backlog)
{
	FILE *f = fopen(backlog->path, "re");
	unsigned long number = 1;
	char *line = NULL;
	size_t room = 0;
	bool good;

	if (!f && errno == ENOENT)
		return;
	good = f && getline(&line, &room, f) > 0 && !strcmp(line, HEAD);
	/* A line without its end was cut off. */
	while (good && getline(&line, &room, f) > 0 && strchr(line, '\n')) {
		number++;
		*strchr(line, '\n') = '\0';
		good = read_line(backlog, line);
	}
	if (!good)
		log_warning("[redis %s] line %lu of %s cannot be read; changes that waited to be published before it are published, those behind it are lost: publish them again",
			    backlog->source, number, backlog->path);
	free(line);
	if (f)
		fclose(f);
}

/* --- writing --- */

static void write_change(FILE *f, const struct backlog_change *change)
{
	size_t i;

	fprintf(f, "change %s %zu %u %u ", change->token, change->count, change->since,
		change->sent_at);
	for (i = 0; i < change->bytes.size; i++)
		fprintf(f, "%02x", change->bytes.data[i]);
	fputc('\n', f);
}

/* Return: whether all that was written is on the disk. */
static bool flush(struct backlog *backlog)
{
	bool good = backlog->file && !fflush(backlog->file) && !ferror(backlog->file) &&
		    !fsync(fileno(backlog->file));

	if (!good && !backlog->failed)
		log_error("[redis %s] what waits to be published cannot be stored in %s: %s; it is lost if the daemon ends before Redis answers",
			  backlog->source, backlog->path, strerror(errno));
	backlog->failed = !good;
	return good;
}

static void close_file(struct backlog *backlog)
{
	if (backlog->file)
		fclose(backlog->file);
	backlog->file = NULL;
}

/* Write the file anew, or remove it if nothing waits. Return: whether that worked. */
static bool rewrite(struct backlog *backlog)
{
	char *temporary = need_text("%s.new", backlog->path);
	bool good = true;
	size_t i;

	close_file(backlog);
	backlog->stale = 0;
	if (!backlog->count) {
		unlink(backlog->path);
	} else {
		backlog->file = fopen(temporary, "we");
		if (backlog->file)
			fputs(HEAD, backlog->file);
		for (i = 0; backlog->file && i < backlog->count; i++)
			write_change(backlog->file, backlog->changes[i]);
		good = flush(backlog) && !rename(temporary, backlog->path);
		if (!good)
			unlink(temporary);
	}
	free(temporary);
	return good;
}

/* After a failure, what is in the file is not known. */
static bool needs_rewrite(const struct backlog *backlog)
{
	return !backlog->file || backlog->failed || !backlog->count ||
	       (backlog->stale > STALE_MOST && backlog->stale > backlog->count);
}

bool backlog_add(struct backlog *backlog, const struct backlog_change *change)
{
	keep(backlog, change);
	if (needs_rewrite(backlog))
		return rewrite(backlog);
	write_change(backlog->file, change);
	return flush(backlog);
}

bool backlog_sent(struct backlog *backlog, const char *token, uint32_t at)
{
	struct backlog_change *change = find(backlog, token);

	if (!change)
		return true;
	change->sent_at = at;
	backlog->stale++;
	if (needs_rewrite(backlog))
		return rewrite(backlog);
	fprintf(backlog->file, "sent %s %u\n", token, at);
	return flush(backlog);
}

bool backlog_done(struct backlog *backlog, const char *token)
{
	struct backlog_change *change = find(backlog, token);

	if (!change)
		return true;
	drop(backlog, change);
	backlog->stale++;
	if (needs_rewrite(backlog))
		return rewrite(backlog);
	/* No need to wait for the disk: without the line, the change comes again, by its token. */
	fprintf(backlog->file, "done %s\n", token);
	fflush(backlog->file);
	return true;
}

bool backlog_take(struct backlog *backlog, struct backlog_change *change)
{
	const struct backlog_change *from;

	if (backlog->taken == backlog->count)
		return false;
	from = backlog->changes[backlog->taken++];
	*change = *from;
	change->bytes.data = need_zeros(from->bytes.size);
	memcpy(change->bytes.data, from->bytes.data, from->bytes.size);
	change->bytes.room = from->bytes.size;
	return true;
}

struct backlog *backlog_open(const char *dir, const char *source, const char *list)
{
	struct backlog *backlog = need_zeros(sizeof(*backlog));

	backlog->path = need_text("%s/%s@%s.waiting", dir, source, list);
	backlog->source = need_copy(source);
	read_file(backlog);
	rewrite(backlog);
	return backlog;
}

void backlog_close(struct backlog *backlog)
{
	if (!backlog)
		return;
	close_file(backlog);
	while (backlog->count)
		drop(backlog, backlog->changes[backlog->count - 1]);
	free(backlog->changes);
	free(backlog->source);
	free(backlog->path);
	free(backlog);
}
