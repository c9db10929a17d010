// SPDX-License-Identifier: GPL-2.0-only
/*
 * load: replaces the entries of a set by those of files, in one step. All files are read
 * first. The entries are sorted, and repeated ones removed, so that the kernel can
 * allocate tables of the right size at once.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/commands.h"
#include "lib/feed.h"
#include "lib/monotonic.h"
#include "release.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/mask.h"
#include "set/refusal.h"

/* Maximum number of wrong lines that --skip-invalid prints. */
#define REPORT_MOST	10

/* A load that takes less than this many seconds shows no progress. */
#define PROGRESS_AFTER	0.3

#define BAR_WIDTH	40

/**
 * struct load - one run of load
 * @tool:	the run
 * @feed:	the entries of the files
 * @bulk:	the change
 * @duplicates:	number of repeated entries
 * @covered:	number of entries that a wider entry covers
 * @file:	names of the files
 * @files:	number of @file
 * @check:	--check: change nothing
 * @started:	start time in seconds
 * @bar:	the terminal shows a progress bar
 */
struct load {
	struct tool *tool;
	struct feed feed;
	struct bulk bulk;
	size_t duplicates;
	size_t covered;
	char **file;
	int files;
	bool check;
	double started;
	bool bar;
};

static void show_progress(void *data, size_t done, size_t all)
{
	static const char full[] = "########################################";
	struct load *load = data;
	int width = all ? done * BAR_WIDTH / all : BAR_WIDTH;

	if (!load->bar && monotonic_seconds() - load->started < PROGRESS_AFTER)
		return;
	load->bar = true;
	fprintf(stderr, "\r%s [%-*.*s] %zu of %zu", load->bulk.set, BAR_WIDTH,
		width, full, done, all);
}

static void clear_progress(struct load *load)
{
	if (load->bar)
		fputs("\r\033[K", stderr);
	load->bar = false;
}

static void report_line(const struct feed *feed, const struct feed_fault *fault)
{
	if (feed->skipped <= REPORT_MOST)
		fprintf(stderr, "ipcuckoo v" IPCUCKOO_RELEASE
			": %s:%lu: \"%s\": %s; skipped\n", fault->file,
			fault->line, fault->text, fault->why);
}

/* @file: as the user named it */
static int fail_feed(const struct load *load, const struct feed_fault *fault, const char *file,
		     int err)
{
	int status = err == -ENOMEM ? STATUS_REFUSED : STATUS_USAGE;
	const struct tool *tool = load->tool;

	if (!fault->line && fault->convert)
		return fail(tool, status, "%s %s; type: %s%s%s | ipcuckoo load %s -",
			    fault->file, fault->why, fault->convert, strcmp(file, "-") ? " " : "",
			    strcmp(file, "-") ? file : "", load->bulk.set);
	if (!fault->line && strstr(file, "://"))
		return fail(tool, status, "%s is no file; type: curl -fsS %s | ipcuckoo load %s -", file,
			    file, load->bulk.set);
	if (!fault->line)
		return fail(tool, status, "%s %s", fault->file, fault->why);
	return fail(tool, status, "%s:%lu: \"%s\": %s%s", fault->file,
		    fault->line, fault->text, fault->why,
		    err == -EINVAL ? "; fix the line or use --skip-invalid" :
		    "");
}

static int read_files(struct load *load, const struct nl_set *set, char **file,
		      int count)
{
	struct feed *feed = &load->feed;
	struct feed_fault fault;
	int err, i;

	for (i = 0; i < count; i++) {
		err = feed_read(feed, file[i], &fault);
		if (err)
			return fail_feed(load, &fault, file[i], err);
	}
	if (feed->skipped > REPORT_MOST)
		warn(load->tool, "%lu more lines skipped",
		     feed->skipped - REPORT_MOST);
	/* Perhaps a download failed. That must not unblock all addresses. */
	if (!packed_count(&feed->entries) && !load->bulk.append)
		return fail(load->tool, STATUS_USAGE,
			    "there is no entry to load; nothing was changed (ipcuckoo flush %s empties a set)",
			    load->bulk.set);
	mask_hosts(set, &feed->entries);
	packed_sort(&feed->entries);
	if (!is_multi(set))
		load->duplicates = packed_dedup(&feed->entries);
	load->covered = packed_covered(&feed->entries);
	return STATUS_OK;
}

static void print_json_summary(const struct load *load, double seconds)
{
	struct json_object *object = json_object_new_object();
	const struct bulk *bulk = &load->bulk;

	json_add_string(object, "set", bulk->set);
	json_add_uint(object, "entries", bulk->change.entries);
	json_add_uint(object, "added", bulk->change.changed);
	json_add_uint(object, "unchanged", bulk->change.unchanged);
	json_add_uint(object, "duplicates", load->duplicates);
	json_add_uint(object, "covered", load->covered);
	json_add_uint(object, "masked", load->feed.masked);
	json_add_uint(object, "skipped", load->feed.skipped);
	json_add_uint(object, "restarts", bulk->restarts);
	json_add_ratio(object, "seconds", seconds);
	json_print(object);
}

static void print_count(unsigned long long count, const char *one,
			const char *many)
{
	if (count)
		printf(", %llu %s", count, count == 1 ? one : many);
}

/* "bl: 120430 entries, 12 duplicates, 3 lines skipped, in 0.09 s" */
static void print_summary(const struct load *load)
{
	const struct bulk *bulk = &load->bulk;
	double seconds = monotonic_seconds() - load->started;

	if (load->tool->json) {
		print_json_summary(load, seconds);
		return;
	}
	if (load->tool->quiet)
		return;
	printf("%s: %u %s", bulk->set, bulk->change.entries,
	       bulk->change.entries == 1 ? "entry" : "entries");
	if (bulk->append && !load->check) {
		printf(", %u added", bulk->change.changed);
		print_count(bulk->change.unchanged, "there before",
			    "there before");
	} else if (bulk->approximate) {
		print_count(bulk->change.unchanged, "matches already",
			    "match already");
	}
	print_count(load->duplicates, "duplicate", "duplicates");
	print_count(load->covered, "inside a wider prefix",
		    "inside wider prefixes");
	print_count(load->feed.masked, "prefix with host bits cleared",
		    "prefixes with host bits cleared");
	print_count(load->feed.skipped, "line skipped", "lines skipped");
	print_count(bulk->restarts, "restart as others changed the set",
		    "restarts as others changed the set");
	printf(", in %.2f s%s\n", seconds, load->check ? "; nothing was changed" : "");
}

/* --check: print what load would do. The kernel may still refuse it, for lack of memory
 * for example.
 */
static int check_only(struct load *load, const struct nl_set *set)
{
	size_t count = packed_count(&load->feed.entries);

	if (!load->bulk.append && set->maxelem && count > set->maxelem &&
	    !(set->flags & IPCUCKOO_F_FORCEADD))
		return fail(load->tool, STATUS_REFUSED,
			    "Hash is full, cannot add more elements (all of them, %zu, set %s; ipcuckoo change %s maxelem N raises its limit)",
			    count, set->name, set->name);
	load->bulk.change.entries = count;
	print_summary(load);
	return STATUS_OK;
}

/* Whether an entry is among those of a line. */
static bool is_among(const struct packed *entries, enum entry_kind kind, const uint8_t *entry)
{
	const struct entry_array *array = &entries->kind[kind];
	size_t i;

	for (i = 0; i < array->count; i++)
		if (!memcmp(array->data + i * entry_size[kind], entry, entry_size[kind]))
			return true;
	return false;
}

/* Read a file again until a line has the entry. Return: its number; 0 if there is none. */
static unsigned long find_line(const struct load *load, const char *path, enum entry_kind kind,
			       const uint8_t *entry)
{
	struct feed feed = load->feed;
	FILE *file = fopen(path, "re");
	struct feed_stream *stream;
	struct feed_fault fault;
	unsigned long line = 0;
	char *text = NULL;
	bool found = false;
	size_t room = 0;
	ssize_t len;

	memset(&feed.entries, 0, sizeof(feed.entries));
	feed.skip_invalid = true;
	feed.report = NULL;
	stream = file ? feed_open(&feed, &fault) : NULL;
	while (stream && !found && (len = getline(&text, &room, file)) > 0) {
		line++;
		if (feed_push(stream, text, len) || feed_end(stream))
			break;
		found = is_among(&feed.entries, kind, entry);
		packed_clear(&feed.entries);
	}
	if (stream)
		feed_close(stream);
	if (file)
		fclose(file);
	free(text);
	packed_free(&feed.entries);
	return found ? line : 0;
}

/* For struct bulk.where. Standard input cannot be read again. */
static void find_place(struct tool *tool, const void *data, enum entry_kind kind,
		       const uint8_t *entry, char *text, size_t size)
{
	const struct load *load = (const struct load *)((const char *)data -
							offsetof(struct load, bulk));
	unsigned long line;
	int i;

	(void)tool;
	for (i = 0; i < load->files; i++) {
		line = strcmp(load->file[i], "-") ? find_line(load, load->file[i], kind, entry) : 0;
		if (!line)
			continue;
		snprintf(text, size, "%.200s:%lu: ", load->file[i], line);
		return;
	}
}

static int load_files(struct load *load, const struct nl_set *set, char **file,
		      int count)
{
	struct tool *tool = load->tool;
	struct feed *feed = &load->feed;
	int status;

	feed->family = set->family;
	feed->hosts_only = set->type != IPCUCKOO_TYPE_HASH_NET;
	if (!tool->quiet)
		feed->report = report_line;
	load->bulk.tool = tool;
	load->bulk.set = set->name;
	load->bulk.kind = set;
	load->bulk.where = find_place;
	load->file = file;
	load->files = count;
	load->bulk.approximate = is_approximate(set);
	load->bulk.entries = &feed->entries;
	status = read_files(load, set, file, count);
	if (status)
		return status;
	status = bulk_guard(&load->bulk, BULK_LOAD, NULL);
	if (status)
		return status;
	if (load->check)
		return check_only(load, set);
	if (!tool->quiet && isatty(STDERR_FILENO)) {
		load->bulk.progress = show_progress;
		load->bulk.progress_data = load;
	}
	status = bulk_load(&load->bulk);
	clear_progress(load);
	if (!status) {
		print_summary(load);
		warn_kept(tool, set->name);
	}
	return status;
}

/* Refuse a word of other commands among the files. */
static int check_files(const struct tool *tool, const struct words *words)
{
	int i;

	for (i = 1; i < words->count; i++)
		if (!strcmp(words->word[i], "timeout") && access("timeout", F_OK))
			return fail(tool, STATUS_USAGE,
				    "load has no timeout: the entries get that of the set, as after: ipcuckoo create NAME hash:net timeout 1h");
	return STATUS_OK;
}

int run_load(struct tool *tool, struct words *words)
{
	struct load load = { .tool = tool, .started = monotonic_seconds() };
	bool expand = false;
	const struct keyword keywords[] = {
		{ .word = "--append", .flag = &load.bulk.append },
		{ .word = "--override", .flag = &load.bulk.override },
		{ .word = "--skip-invalid", .flag = &load.feed.skip_invalid },
		{ .word = "--expand", .flag = &expand },
		{ .word = "--check", .flag = &load.check },
		{ .word = NULL }
	};
	struct nl_set set;
	int status;

	status = parse_words(tool, words, keywords, 2, INT_MAX);
	if (!status)
		status = check_files(tool, words);
	if (!status)
		status = find_set(tool, words->word[0], &set);
	if (status)
		return status;
	load.feed.has_expand = true;
	load.feed.expand_limit = bulk_expand_limit(&set, expand);
	status = load_files(&load, &set, words->word + 1, words->count - 1);
	feed_free(&load.feed);
	return status;
}
