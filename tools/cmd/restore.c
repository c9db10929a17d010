// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore: runs the commands of a file as one transaction. All lines are parsed before
 * anything changes. What the lines do to names is tracked here, because the lines after
 * them name sets as these will be called.
 */
#include <limits.h>
#include <stdlib.h>

#include "cli/globals.h"
#include "cli/host.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cmd/attach.h"
#include "cmd/commands.h"
#include "cmd/create.h"
#include "lib/feed.h"
#include "nl/commit.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/mask.h"
#include "set/refusal.h"
#include "set/transaction.h"

/**
 * struct binding - a name, and the set that has it after the lines read so far
 * @name:	the name
 * @work:	the set; NULL if no set has this name any more
 */
struct binding {
	char name[IPCUCKOO_NAME_SIZE];
	struct work *work;
};

/**
 * struct restore - one run of restore
 * @tool:	the run
 * @line:	the run with the options of the current line
 * @transaction: the changes of the lines read so far
 * @bindings:	all names that sets have, or had
 * @count:	number of @bindings
 * @last:	index of the name that find_work() found last
 * @feed:	the entries of the current line
 * @quit:	a line was quit, so the lines after it are not read
 * @open:	the first line of save --all was read, and the last one was not
 * @cut:	the line has no newline, so that it may be cut off
 */
struct restore {
	struct tool *tool;
	struct tool line;
	struct transaction transaction;
	struct binding *bindings;
	size_t count;
	size_t last;
	struct feed feed;
	bool quit;
	bool open;
	bool cut;
};

static struct binding *bind_name(struct restore *r, const char *name,
				 struct work *work)
{
	struct binding *all;
	size_t i;

	for (i = 0; i < r->count; i++)
		if (!strcmp(r->bindings[i].name, name))
			break;
	if (i == r->count) {
		all = realloc(r->bindings, (i + 1) * sizeof(*all));
		if (!all)
			return NULL;
		r->bindings = all;
		r->count++;
		strcpy(all[i].name, name);
	}
	r->bindings[i].work = work;
	return &r->bindings[i];
}

static struct work *find_work(struct restore *r, const char *name)
{
	size_t i;

	if (r->last < r->count && !strcmp(r->bindings[r->last].name, name))
		return r->bindings[r->last].work;
	for (i = 0; i < r->count; i++) {
		if (!strcmp(r->bindings[i].name, name)) {
			r->last = i;
			return r->bindings[i].work;
		}
	}
	return NULL;
}

static int fail_missing_set(struct restore *r, const char *name)
{
	return fail(&r->line, STATUS_REFUSED,
		    "The set with the given name does not exist: \"%s\"", name);
}

static int add_step(struct restore *r, struct step *step)
{
	step->line = r->line;
	return transaction_step(&r->transaction, step) ?
	       fail_memory(&r->line) : STATUS_OK;
}

/* create -exist of a set that exists: ask the kernel at once whether the options are the
 * same, because the lines after this one are parsed by those of the set.
 */
static int check_created(struct restore *r, const struct work *there, struct nl_set set,
			 bool has_maxelem)
{
	char name[IPCUCKOO_NAME_SIZE];
	struct nl *nl = r->tool->nl;
	int err;

	strcpy(name, set.name);
	strcpy(set.name, there->set.name);
	err = nl_commit_begin(nl, IPCUCKOO_F_CHECK);
	if (!err)
		err = nl_set_new(nl, &set, has_maxelem, IPCUCKOO_F_EXIST);
	if (!err)
		err = nl_commit_send(nl);
	return err ? fail_created(&r->line, name) : STATUS_OK;
}

static int line_create(struct restore *r, struct words *words)
{
	struct step step = { .kind = STEP_CREATE };
	struct work *work, *there;
	struct nl_set set;
	bool has_maxelem;
	int status;

	status = parse_create(&r->line, words, &set, &has_maxelem);
	if (status)
		return status;
	there = find_work(r, set.name);
	if (there && !r->line.exist)
		return fail_created_already(&r->line, set.name);
	if (there && !there->created)
		return check_created(r, there, set, has_maxelem);
	work = transaction_work(&r->transaction, &set);
	if (!work || (!there && !bind_name(r, set.name, work)))
		return fail_memory(&r->line);
	work->created = true;
	work->has_maxelem = has_maxelem;
	step.work = work;
	strcpy(step.to, set.name);
	return add_step(r, &step);
}

/* Parse the entries of add or del into r->feed. */
static int parse_entries(struct restore *r, const struct work *work,
			 struct words *words, const struct options *options)
{
	struct feed *feed = &r->feed;
	char why[ADDRESS_WHY_SIZE];
	int i, err;

	packed_clear(&feed->entries);
	feed->family = work->set.family;
	feed->hosts_only = work->set.type != IPCUCKOO_TYPE_HASH_NET;
	feed->has_expand = true;
	feed->expand_limit = bulk_expand_limit(&work->set, options->expand);
	for (i = 1; i < words->count; i++) {
		if (i > 1 && host_looks_like_keyword(words->word[i]))
			return fail_unknown(&r->line, words->word[i]);
		err = bulk_read_entry(&r->line, feed, words->word[i], why);
		if (err)
			return bulk_fail_entry(&r->line, &work->set,
					       words->word[i], why);
	}
	mask_hosts(&work->set, &feed->entries);
	if (packed_count(&feed->entries) > 1) {
		packed_unique(&feed->entries);
	}
	return STATUS_OK;
}

/* Refuse changes of a filter whose effect cannot be predicted: several entries may have
 * the same fingerprint.
 */
static int check_filter(struct restore *r, const struct nl_set *set, bool add)
{
	if (!is_multi(set) && (add || !is_approximate(set)))
		return STATUS_OK;
	return fail(&r->line, STATUS_REFUSED,
		    "restore cannot %s the approximate set %s; see ipcuckoo load",
		    add ? "add to" : "delete from", set->name);
}

static int line_change(struct restore *r, struct words *words, bool add)
{
	struct options options = { 0 };
	struct entry_value value;
	int status = STATUS_OK;
	struct work *work;

	/* Most lines have no options: skip the parser. */
	if (words->count != 2 || words->word[1][0] == '-')
		status = options_parse(&r->line, OPTIONS_OF_ENTRIES, words, 2,
				       INT_MAX, &options);
	if (!status && !add)
		status = options_only(&r->line, &options, OPTIONS);
	if (status)
		return status;
	work = find_work(r, words->word[0]);
	if (!work)
		return fail_missing_set(r, words->word[0]);
	status = check_filter(r, &work->set, add);
	if (!status)
		status = options_check(&r->line, &options, &work->set);
	if (!status)
		status = options_value(&r->line, &options, &work->set, &value);
	if (!status)
		status = parse_entries(r, work, words, &options);
	if (status)
		return status;
	return work_change(work, &r->feed.entries, add, r->line.exist, r->line.line,
			   &value) ? fail_memory(&r->line) : STATUS_OK;
}

static int line_add(struct restore *r, struct words *words)
{
	return line_change(r, words, true);
}

static int line_del(struct restore *r, struct words *words)
{
	return line_change(r, words, false);
}

static int destroy_work(struct restore *r, struct work *work, const char *name)
{
	struct step step = { .kind = STEP_DESTROY, .work = work };

	work->destroyed = true;
	strcpy(step.from, name);
	return bind_name(r, name, NULL) ? add_step(r, &step) : fail_memory(&r->line);
}

/* Call @act for the set that is named, or for all sets but those of ip_set. @missing: it is no error if there
 * is no set of that name.
 */
static int for_each_named(struct restore *r, struct words *words, bool missing,
			  int (*act)(struct restore *r, struct work *work,
				     const char *name))
{
	struct work *work;
	size_t i;
	int status;

	status = parse_words(&r->line, words, no_keywords, 0, 1);
	if (status)
		return status;
	if (words->count) {
		work = find_work(r, words->word[0]);
		if (work)
			return act(r, work, words->word[0]);
		return missing ? STATUS_OK : fail_missing_set(r, words->word[0]);
	}
	for (i = 0; i < r->count && !status; i++)
		if (r->bindings[i].work && !is_ipset(&r->bindings[i].work->set))
			status = act(r, r->bindings[i].work, r->bindings[i].name);
	return status;
}

static int line_destroy(struct restore *r, struct words *words)
{
	return for_each_named(r, words, r->line.exist, destroy_work);
}

static int flush_work(struct restore *r, struct work *work, const char *name)
{
	(void)r;
	(void)name;
	work_flush(work);
	return STATUS_OK;
}

static int line_flush(struct restore *r, struct words *words)
{
	return for_each_named(r, words, false, flush_work);
}

static int line_rename(struct restore *r, struct words *words)
{
	struct step step = { .kind = STEP_RENAME };
	int status;

	status = parse_words(&r->line, words, no_keywords, 2, 2);
	if (!status)
		status = parse_name(&r->line, words->word[1]);
	if (status)
		return status;
	step.work = find_work(r, words->word[0]);
	if (!step.work)
		return fail_missing_set(r, words->word[0]);
	if (find_work(r, words->word[1]))
		return fail_renamed_already(&r->line, words->word[1]);
	strcpy(step.from, words->word[0]);
	strcpy(step.to, words->word[1]);
	if (!bind_name(r, step.from, NULL) || !bind_name(r, step.to, step.work))
		return fail_memory(&r->line);
	return add_step(r, &step);
}

static int line_swap(struct restore *r, struct words *words)
{
	struct step step = { .kind = STEP_SWAP };
	int status;

	status = parse_words(&r->line, words, no_keywords, 2, 2);
	if (status)
		return status;
	step.work = find_work(r, words->word[0]);
	if (!step.work)
		return fail_missing_set(r, words->word[0]);
	step.other = find_work(r, words->word[1]);
	if (!step.other)
		return fail_swapped_missing(&r->line, words->word[1]);
	strcpy(step.from, words->word[0]);
	strcpy(step.to, words->word[1]);
	bind_name(r, step.from, step.other);
	bind_name(r, step.to, step.work);
	return add_step(r, &step);
}

static int line_attach(struct restore *r, struct words *words)
{
	struct step step = { .kind = STEP_ATTACH };
	struct nl_attachment *attachment = &step.attachment;
	int status;

	status = parse_attach(&r->line, words, attachment);
	if (status)
		return status;
	if (attachment->flags & IPCUCKOO_F_REPLACE)
		return fail(&r->line, STATUS_USAGE,
			    "--replace cannot be part of what is restored: run that attach on its own");
	step.work = find_work(r, attachment->set);
	if (!step.work)
		return fail_missing_set(r, attachment->set);
	status = check_approximate(&r->line, &step.work->set, attachment);
	return status ? status : add_step(r, &step);
}

static int follow_line(struct restore *r, struct words *words)
{
	static const struct {
		const char *name;
		int (*run)(struct restore *r, struct words *words);
	} lines[] = {
		{ "create", line_create }, { "add", line_add },
		{ "del", line_del }, { "destroy", line_destroy },
		{ "flush", line_flush }, { "rename", line_rename },
		{ "swap", line_swap }, { "attach", line_attach },
	};
	const char *name = words->word[0];
	unsigned int i;

	if (!strcmp(name, "COMMIT"))
		return STATUS_OK;
	r->line.command = find_command(name);
	if (!r->line.command)
		return fail_command(&r->line, name, NULL);
	if (r->line.command->run == run_quit) {
		r->quit = true;
		return STATUS_OK;
	}
	words->word++;
	words->count--;
	words->plain--;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strcmp(lines[i].name, r->line.command->name))
			return lines[i].run(r, words);
	return fail(&r->line, STATUS_USAGE,
		    "%s cannot be part of what is restored: lines create, add, del, destroy, flush, rename, swap or attach",
		    r->line.command->name);
}

static int take_line(struct restore *r, char *text)
{
	char *word[LINE_WORDS];
	struct words words = { .word = word };
	int status;

	if (*text == '#')
		r->open = !strcmp(text, SAVE_BEGIN) || (r->open && strcmp(text, SAVE_END));
	words.count = split_line(text, word);
	if (words.count < 0)
		return fail(&r->line, STATUS_USAGE,
			    "too many words, or a quote without its end%s",
			    r->cut ? "; the file ends here without a newline: is it cut off?" : "");
	if (!words.count)
		return STATUS_OK;
	/* ipset takes such a line, too, so it is no error. */
	if (r->cut && address_may_be_cut(word[words.count - 1], strlen(word[words.count - 1])))
		warn(&r->line,
		     "Warning: line %lu ends without a newline: was it cut off? %s is taken as it is",
		     r->line.line, word[words.count - 1]);
	status = take_globals(&r->line, &words);
	/* -file in a line has no effect: messages show the name of the input. */
	r->line.file = r->tool->file;
	return status || !words.count ? status : follow_line(r, &words);
}

/* Refuse what is compressed, or is no text. @skip: set to the length of a byte order mark */
static int check_start(const struct tool *tool, const char *text, size_t len, size_t *skip)
{
	const char *name = tool->file ? tool->file : "standard input";
	struct feed_fault fault;

	if (!feed_check_start(text, len, skip, &fault))
		return STATUS_OK;
	if (!fault.convert)
		return fail(tool, STATUS_USAGE, "%s %s", name, fault.why);
	return fail(tool, STATUS_USAGE, "%s %s; type: %s%s%s | ipcuckoo restore", name, fault.why,
		    fault.convert, tool->file ? " " : "", tool->file ? tool->file : "");
}

/* @len: that of @text, or LINE_LONG */
static int check_line(struct restore *r, const char *text, ssize_t len)
{
	if (len == LINE_LONG)
		return fail(&r->line, STATUS_USAGE,
			    "the line is longer than %d bytes: is this a file of ipcuckoo save?",
			    LINE_MOST);
	return is_text(text, len) ? STATUS_OK :
	       fail(&r->line, STATUS_USAGE, "a NUL byte in the line");
}

static int read_lines(struct restore *r, FILE *file)
{
	static char text[LINE_MOST + 1];
	unsigned long number = 0;
	int status = STATUS_OK;
	size_t skip = 0;
	bool ended;
	ssize_t len;

	while (!status && !r->quit && (len = read_line(file, text, &ended)) != LINE_NONE) {
		/* Options of a line apply only to that line. */
		r->line = *r->tool;
		r->line.line = ++number;
		r->cut = !ended;
		if (number == 1)
			status = check_start(r->tool, text, len < 0 ? LINE_MOST : len, &skip);
		if (!status)
			status = check_line(r, text, len);
		if (!status)
			status = take_line(r, text + skip);
		skip = 0;
	}
	return status;
}

static int read_file(struct restore *r, FILE *file)
{
	const char *name = r->tool->file ? r->tool->file : "standard input";
	int status = read_lines(r, file);

	if (!status && ferror(file))
		return fail(r->tool, STATUS_REFUSED, "%s cannot be read: %s", name,
			    strerror(errno));
	if (!status && r->open && !r->quit)
		return fail(r->tool, STATUS_USAGE,
			    "%s is cut off: the last line of what ipcuckoo save --all has printed is missing. Nothing was changed; save it again, or delete its first line to restore what is there",
			    name);
	return status;
}

/* Read the sets that exist in the kernel. */
static int read_sets(struct restore *r)
{
	struct nl_set *sets;
	struct work *work;
	size_t count, i;
	int status;

	status = connect_module(r->tool);
	if (status)
		return status;
	if (nl_sets(r->tool->nl, &sets, &count) < 0)
		return fail_kernel(r->tool, NULL, "cannot list the sets");
	for (i = 0; i < count && !status; i++) {
		work = transaction_work(&r->transaction, &sets[i]);
		if (!work || !bind_name(r, sets[i].name, work))
			status = fail_memory(r->tool);
	}
	free(sets);
	return status;
}

static int restore(struct restore *r, FILE *file, bool check)
{
	int status = read_sets(r);

	if (!status)
		status = read_file(r, file);
	if (!status)
		status = transaction_plan(&r->transaction);
	if (!status)
		status = transaction_apply(&r->transaction, check);
	return status;
}

int run_restore(struct tool *tool, struct words *words)
{
	struct restore r = { .tool = tool, .transaction = { .tool = tool } };
	bool check = false;
	const struct keyword keywords[] = {
		{ .word = "--check", .flag = &check },
		{ .word = NULL }
	};
	FILE *file = stdin;
	int status;

	status = parse_words(tool, words, keywords, 0, 0);
	if (status)
		return status;
	if (tool->file)
		file = fopen(tool->file, "r");
	if (!file)
		return fail(tool, STATUS_REFUSED, "Cannot open %s for reading: %s",
			    tool->file, strerror(errno));
	status = restore(&r, file, check);
	if (file != stdin)
		fclose(file);
	transaction_free(&r.transaction);
	feed_free(&r.feed);
	free(r.bindings);
	return status;
}
