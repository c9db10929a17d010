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
#include <dirent.h>
#include <search.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/redis/backlog.h"
#include "daemon/set/source.h"
#include "lib/replace.h"

#define ENDING		".waiting"
#define HEAD		"# ipcuckood waiting 1\n"
/* The file is written anew when so many lines in it are of no use any more, and more than are. */
#define STALE_MOST	1000

/**
 * struct waiting - a change that waits
 * @change:	the change
 * @link:	in the order of all
 */
struct waiting {
	struct backlog_change change;
	TAILQ_ENTRY(waiting) link;
};

/**
 * struct backlog - the file
 * @path:	its name
 * @source:	the source, for messages
 * @file:	the open file; NULL while nothing waits
 * @changes:	what waits, in its order
 * @tokens:	the same by the token: a tree of tsearch()
 * @count:	how many that are
 * @take:	what backlog_take() gives next
 * @stale:	number of lines in the file that say nothing that is true still
 * @failed:	a message said that it cannot be written
 * @unread:	it could not be read, and stays as it is: nothing is stored
 */
struct backlog {
	char *path;
	char *source;
	FILE *file;
	TAILQ_HEAD(, waiting) changes;
	void *tokens;
	size_t count;
	struct waiting *take;
	size_t stale;
	bool failed;
	bool unread;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct waiting *)a)->change.token, ((const struct waiting *)b)->change.token);
}

static struct waiting *find(const struct backlog *backlog, const char *token)
{
	struct waiting wanted = { 0 }, **found;

	snprintf(wanted.change.token, sizeof(wanted.change.token), "%s", token);
	found = tfind(&wanted, &backlog->tokens, compare);
	return found ? *found : NULL;
}

static void keep(struct backlog *backlog, const struct backlog_change *change)
{
	struct waiting *at = need_zeros(sizeof(*at));
	struct list_bytes *bytes = &at->change.bytes;

	at->change = *change;
	bytes->data = need_zeros(change->bytes.size + 1);
	memcpy(bytes->data, change->bytes.data, change->bytes.size);
	bytes->room = change->bytes.size + 1;
	need_memory(!tsearch(at, &backlog->tokens, compare));
	TAILQ_INSERT_TAIL(&backlog->changes, at, link);
	backlog->count++;
}

static void drop(struct backlog *backlog, struct waiting *at)
{
	tdelete(at, &backlog->tokens, compare);
	if (backlog->take == at)
		backlog->take = TAILQ_NEXT(at, link);
	TAILQ_REMOVE(&backlog->changes, at, link);
	backlog->count--;
	free(at->change.bytes.data);
	free(at);
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
	struct backlog_change change = { .count = 0 };
	struct waiting *found;
	int at = 0;
	bool good;

	if (sscanf(line, "change %32s %zu %u %u %n", change.token, &change.count, &change.since,
		   &change.sent_at, &at) == 4 && at) {
		good = read_hex(line + at, &change);
		/* A change that was written again is the same. */
		if (good && !find(backlog, change.token))
			keep(backlog, &change);
		free(change.bytes.data);
		return good;
	}
	if (sscanf(line, "sent %32s %u", change.token, &change.sent_at) == 2) {
		found = find(backlog, change.token);
		if (found)
			found->change.sent_at = change.sent_at;
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

/* Nothing of it is used, and it stays: it may be readable when the daemon starts again. */
static void leave_file(struct backlog *backlog, const char *what, int error)
{
	while (backlog->count)
		drop(backlog, TAILQ_FIRST(&backlog->changes));
	backlog->unread = true;
	log_error("[redis %s] %s cannot be %s: %s; the changes in it wait until it can be read, and the daemon starts again; until then, changes that wait are not stored",
		  backlog->source, backlog->path, what, strerror(error));
}

/* Line @number is wrong: keep the file under another name. */
static void put_aside(struct backlog *backlog, unsigned long number)
{
	char *bad = need_text("%s.bad", backlog->path);

	if (rename(backlog->path, bad))
		leave_file(backlog, "read, nor renamed", errno);
	else
		log_warning("[redis %s] line %lu of %s makes no sense; changes that waited to be published before it are published, those behind it are not: publish them again; the file is kept as %s",
			    backlog->source, number, backlog->path, bad);
	free(bad);
}

static void read_file(struct backlog *backlog)
{
	FILE *f = fopen(backlog->path, "re");
	unsigned long number = 1;
	char *line = NULL;
	size_t room = 0;
	bool good;

	if (!f) {
		if (errno != ENOENT)
			leave_file(backlog, "read", errno);
		return;
	}
	errno = 0;
	good = getline(&line, &room, f) > 0 && !strcmp(line, HEAD);
	/* A line without its end was cut off. */
	while (good && getline(&line, &room, f) > 0 && strchr(line, '\n')) {
		number++;
		*strchr(line, '\n') = '\0';
		good = read_line(backlog, line);
	}
	if (ferror(f))
		leave_file(backlog, "read", errno);
	else if (!good)
		put_aside(backlog, number);
	free(line);
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

/* Say it once if something was not stored. @err: 0 or a negative errno. Return: whether it was. */
static bool say_stored(struct backlog *backlog, int err)
{
	if (err && !backlog->failed)
		log_error("[redis %s] what waits to be published cannot be stored in %s: %s; it is lost if the daemon ends before Redis answers",
			  backlog->source, backlog->path, strerror(-err));
	backlog->failed = err;
	return !err;
}

static bool flush(struct backlog *backlog)
{
	FILE *f = backlog->file;

	return say_stored(backlog, fflush(f) || ferror(f) || fsync(fileno(f)) ? -errno : 0);
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
	const struct waiting *at;

	close_file(backlog);
	backlog->stale = 0;
	if (!backlog->count) {
		unlink(backlog->path);
		return true;
	}
	backlog->file = replace_open(backlog->path);
	if (backlog->file)
		fputs(HEAD, backlog->file);
	TAILQ_FOREACH(at, &backlog->changes, link)
		if (backlog->file)
			write_change(backlog->file, &at->change);
	if (say_stored(backlog, replace_file(backlog->file, backlog->path, REPLACE_LASTING)))
		return true;
	/* It is not the file of that name. */
	close_file(backlog);
	return false;
}

/* After a failure, what is in the file is not known. */
static bool needs_rewrite(const struct backlog *backlog)
{
	return !backlog->file || backlog->failed || !backlog->count ||
	       (backlog->stale > STALE_MOST && backlog->stale > backlog->count);
}

bool backlog_add(struct backlog *backlog, const struct backlog_change *change)
{
	bool again = find(backlog, change->token);

	if (backlog->unread)
		return false;
	if (!again)
		keep(backlog, change);
	if (again || needs_rewrite(backlog))
		return rewrite(backlog);
	write_change(backlog->file, change);
	return flush(backlog);
}

bool backlog_sent(struct backlog *backlog, const char *token, uint32_t at)
{
	struct waiting *found = find(backlog, token);

	if (!found)
		return true;
	found->change.sent_at = at;
	backlog->stale++;
	if (needs_rewrite(backlog))
		return rewrite(backlog);
	fprintf(backlog->file, "sent %s %u\n", token, at);
	return flush(backlog);
}

bool backlog_done(struct backlog *backlog, const char *token)
{
	struct waiting *found = find(backlog, token);

	if (!found)
		return true;
	drop(backlog, found);
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

	if (!backlog->take)
		return false;
	from = &backlog->take->change;
	backlog->take = TAILQ_NEXT(backlog->take, link);
	*change = *from;
	change->bytes.data = need_zeros(from->bytes.size);
	memcpy(change->bytes.data, from->bytes.data, from->bytes.size);
	change->bytes.room = from->bytes.size;
	return true;
}

struct backlog *backlog_open(const char *dir, const char *source, const char *list)
{
	struct backlog *backlog = need_zeros(sizeof(*backlog));

	backlog->path = need_text("%s/%s@%s" ENDING, dir, source, list);
	backlog->source = need_copy(source);
	TAILQ_INIT(&backlog->changes);
	read_file(backlog);
	backlog->take = TAILQ_FIRST(&backlog->changes);
	if (!backlog->unread)
		rewrite(backlog);
	return backlog;
}

void backlog_close(struct backlog *backlog)
{
	if (!backlog)
		return;
	close_file(backlog);
	while (backlog->count)
		drop(backlog, TAILQ_FIRST(&backlog->changes));
	free(backlog->source);
	free(backlog->path);
	free(backlog);
}

/* --- files that nobody opens --- */

/* Whether one of the sources opens the file @name, "SOURCE@LIST.waiting". */
static bool is_opened(struct source *const *sources, size_t count, const char *name)
{
	bool same = false;
	char *own;
	size_t i;

	for (i = 0; i < count && !same; i++) {
		if (!sources[i]->kind->waiting)
			continue;
		own = need_text("%s@%s" ENDING, sources[i]->name, source_list(sources[i]));
		same = !strcmp(own, name);
		free(own);
	}
	return same;
}

static void say_left(const char *dir, const char *name)
{
	const char *list = strrchr(name, '@'), *end = strrchr(name, '.');

	log_error("the configuration has no section [redis %.*s] with list = %.*s, so what waits to be published to that list goes on waiting, in %s/%s: put the section back until it is published, or remove the file",
		  (int)(list - name), name, (int)(end - list - 1), list + 1, dir, name);
}

char **backlog_find_left(const char *dir, struct source *const *sources, size_t count)
{
	const struct dirent *entry;
	DIR *files = opendir(dir);
	char **left = NULL;
	const char *end;
	size_t found = 0;

	while (files && (entry = readdir(files))) {
		end = strrchr(entry->d_name, '.');
		if (!end || strcmp(end, ENDING) || !strchr(entry->d_name, '@') ||
		    is_opened(sources, count, entry->d_name))
			continue;
		say_left(dir, entry->d_name);
		left = need_room(left, found);
		left[found++] = need_text("%s/%s", dir, entry->d_name);
		left[found] = NULL;
	}
	if (files)
		closedir(files);
	return left;
}
