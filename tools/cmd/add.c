// SPDX-License-Identifier: GPL-2.0-only
/* add and del. */
#include <limits.h>

#include "cli/options.h"
#include "cmd/commands.h"
#include "cmd/stream.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/refusal.h"

/**
 * struct job - what add or del does with entries
 * @change:	does it
 * @kind:	BULK_ADD or BULK_DEL
 * @done:	"added" or "deleted"
 * @name:	of the set
 * @feed:	how lines are read
 * @refused:	the guard refused the last change
 * @sum:	entries changed, and not changed, by all requests
 */
struct job {
	int (*change)(struct bulk *bulk);
	enum bulk_kind kind;
	const char *done;
	const char *name;
	struct nl_set set;
	struct feed feed;
	struct options options;
	struct entry_value value;
	struct nl_change sum;
	bool refused;
};

/* Connect to the module, and read what the set is. */
static int look_up(struct tool *tool, void *data)
{
	struct job *job = data;
	int status = find_set(tool, job->name, &job->set);

	if (!status)
		status = options_check(tool, &job->options, &job->set);
	if (!status)
		status = options_value(tool, &job->options, &job->set, &job->value);
	if (status)
		return status;
	job->feed.family = job->set.family;
	job->feed.hosts_only = job->set.type != IPCUCKOO_TYPE_HASH_NET;
	job->feed.expand_limit = bulk_expand_limit(&job->set, job->options.expand);
	return STATUS_OK;
}

static int change_entries(struct tool *tool, struct packed *entries, void *data)
{
	struct job *job = data;
	struct bulk bulk = {
		.tool = tool, .set = job->set.name, .kind = &job->set, .entries = entries,
		.approximate = is_approximate(&job->set),
		.extensions = options_extensions(&job->options) |
			      (job->value.nomatch ? NL_NOMATCH : 0),
	};
	int status;

	if (bulk.extensions)
		bulk.value = &job->value;
	status = bulk_guard(&bulk, job->kind, NULL);
	job->refused = status;
	if (!status)
		status = job->change(&bulk);
	if (status)
		return status;
	job->sum.changed += bulk.change.changed;
	job->sum.unchanged += bulk.change.unchanged;
	return STATUS_OK;
}

/* Lines come in any order. */
static int change_lines(struct tool *tool, struct packed *entries, void *data)
{
	const struct job *job = data;

	bulk_sort(&job->set, entries);
	return change_entries(tool, entries, data);
}

static void narrow(struct tool *tool, struct packed *entries,
		   void (*refuse)(void *to, size_t count, const char *message), void *to, void *data)
{
	struct job *job = data;

	if (job->refused && job->kind == BULK_ADD && !job->value.nomatch)
		guard_narrow(tool, &job->set, entries, refuse, to);
}

static void print_sum(const struct tool *tool, const struct job *job)
{
	if (tool->json)
		bulk_print_json(job->name, job->done, &job->sum);
}

/* Entries come line by line. One that is there, or not there, is no error then. */
static int change_stream(struct tool *tool, struct job *job)
{
	const struct stream_target target = {
		.find = look_up, .apply = change_lines, .narrow = narrow,
		.done = job->done, .data = job,
	};
	int status;

	if (job->options.check)
		return fail(tool, STATUS_USAGE, "--check needs entries on the command line");
	tool->exist = true;
	job->feed.has_expand = true;
	warn_kept(tool, job->name);
	status = stream_run(tool, &job->feed, &target);
	print_sum(tool, job);
	return status;
}

static int change_words(struct tool *tool, const struct words *words, struct job *job)
{
	struct packed entries = { 0 };
	int status = bulk_read(tool, &job->set, words->word + 1, words->count - 1,
			       &job->options.expand, &entries);

	if (!status && !job->options.check) {
		status = change_entries(tool, &entries, job);
		if (!status) {
			warn_kept(tool, job->name);
			print_sum(tool, job);
		}
	}
	packed_free(&entries);
	return status;
}

static int change_set(struct tool *tool, struct words *words,
		      int (*change)(struct bulk *bulk), enum bulk_kind kind, const char *done)
{
	struct job job = { .change = change, .kind = kind, .done = done };
	int status;

	status = options_parse(tool, OPTIONS_OF_ENTRIES, words, tool->file ? 1 : 2, INT_MAX,
			       &job.options);
	if (!status && kind == BULK_DEL)
		status = options_only(tool, &job.options, OPTIONS);
	job.name = words->word[0];
	if (!status)
		status = look_up(tool, &job);
	if (status)
		return status;
	return words->count > 1 ? change_words(tool, words, &job) : change_stream(tool, &job);
}

int run_add(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_add, BULK_ADD, "added");
}

int run_del(struct tool *tool, struct words *words)
{
	return change_set(tool, words, bulk_del, BULK_DEL, "deleted");
}
