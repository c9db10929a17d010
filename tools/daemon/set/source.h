/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source says which entries a set shall have: "[KIND NAME]" in the configuration. This is the
 * interface between the kinds of sources and the rest of the daemon.
 *
 * To add a kind of source:
 *
 * 1. Define a struct whose first member is a struct source, and a table of its own keys.
 * 2. Define a struct source_kind, and add it to the table in kinds.c.
 * 3. start() begins to follow the source: with timers and file descriptors of daemon->event, never
 *    by waiting. Whatever comes is delivered by source_deliver() or source_change(), what fails is
 *    reported by source_fail(), and source_confirm() says that there was nothing new.
 * 4. stop() ends that. The contents stay with struct source.
 *
 * What the rest does for each kind: it parses and checks the keys, stores the contents on disk and
 * loads them before start(), keeps the last good contents whatever happens, changes the kernel's
 * set, and shows state, metrics and messages.
 *
 * A source that has to remember more than its contents from one run to the next (a version, an id
 * in a stream) sets notes before it delivers. Notes are stored together with the contents, in one
 * step, so they never speak of other contents.
 */
#ifndef IPCUCKOOD_SOURCE_H
#define IPCUCKOOD_SOURCE_H

#include "daemon/base/daemon.h"
#include "daemon/base/timer.h"
#include "daemon/conf/section.h"
#include "daemon/set/contents.h"
#include "daemon/set/notes.h"
#include "daemon/set/target.h"

struct json_object;
struct request;
struct source;

/**
 * struct source_kind - a kind of source
 * @word:	"feed": its sections are "[feed NAME]"
 * @size:	size of the struct that begins with struct source
 * @keys:	its own keys; source_keys has those that all kinds have
 * @doubts:	it asks guard_doubt() before it delivers: what it delivers is right, or was agreed to
 * @limits:	it has limits of its own for how much of the internet it blocks
 * @check:	look at all keys together, and call section_fault() if something is wrong; or NULL
 * @start:	begin to follow the source. The loaded contents and notes are there already
 * @stop:	end it; NULL: it has neither timers nor file descriptors
 * @look:	look whether the source has changed: called after each event of the module, and every few
 *		seconds. Return: whether to call it again in a second. NULL: it finds out by itself
 * @show:	add what only this kind has to the JSON of its state; or NULL
 * @explain:	add to the JSON of an entry what only this kind knows about it; or NULL
 * @command:	do a command of the control socket, "refresh" or "accept", and answer with a text
 *		for people, allocated with need_text(). Set *@done to whether it was done. NULL:
 *		there are no commands
 * @request:	answer a request of the control socket, "publish" or "fleet", now or later; see
 *		request.h. NULL: there are none
 * @list:	the name of the list for which requests come; NULL: that of the source
 * @waiting:	the number of changes that wait to be published; NULL: it publishes nothing
 * @clock_set:	the clock was set by so many seconds; or NULL
 * @inherit:	take over what only this kind has from a source of the old configuration, which is
 *		stopped; or NULL
 * @free:	free what is neither a key nor part of struct source; or NULL
 */
struct source_kind {
	const char *word;
	size_t size;
	const struct config_key *keys;
	bool doubts;
	bool limits;
	void (*check)(struct source *source, struct section *section);
	void (*start)(struct source *source);
	void (*stop)(struct source *source);
	bool (*look)(struct source *source);
	void (*show)(const struct source *source, struct json_object *object);
	void (*explain)(const struct source *source, const struct member *member,
			struct json_object *object);
	char *(*command)(struct source *source, const char *command, bool *done);
	void (*request)(struct source *source, struct request *request);
	const char *(*list)(const struct source *source);
	uint64_t (*waiting)(const struct source *source);
	void (*clock_set)(struct source *source, int64_t seconds);
	void (*inherit)(struct source *source, struct source *old);
	void (*free)(struct source *source);
};

enum source_state {
	SOURCE_WAITING,		/* it has not answered since the daemon started, or its section changed */
	SOURCE_GOOD,		/* its last answer was good */
	SOURCE_FAILING,		/* it cannot be reached, or what it says cannot be read */
	SOURCE_REFUSED,		/* what it says waits until somebody agrees: "accept" */
};

/**
 * struct source - a source of entries
 *
 * Read from the configuration:
 * @set:	name of the set
 * @comment:	comment of its entries that have none of their own; or NULL
 * @timeout:	seconds after which entries expire, counted from the last good answer that has them;
 *		0: never
 *
 * The rest:
 * @kind:	its kind
 * @name:	its name
 * @daemon:	the daemon; NULL while the configuration is only checked
 * @target:	the set
 * @contents:	the last good contents; a kind changes them with the functions below only
 * @notes:	the notes
 * @delivered:	it has had contents, now or in an earlier run
 * @state:	state
 * @problem:	why its state is FAILING or REFUSED, and what to do; NULL otherwise
 * @warning:	what is wrong although the contents are good, and what to do; or NULL. The kind sets it
 * @kept_out:	entries of the contents that the set does not get, sorted: see guard.h
 * @kept_out_why: the reason of the first of them, if there are any
 * @too_much:	those of @kept_out of which one change would have added too much
 * @agreed:	entries of the contents that cover an address of this machine, to which somebody agreed
 * @left_out:	why the set gets nothing of the contents; or NULL: see guard_total()
 * @good_at:	last good answer, in seconds since 1970; 0: none
 * @good_here:	that was in this run
 * @changed_at:	last good answer that changed the contents
 * @interval:	seconds between two good answers at most, if all is well. The kind sets it in start()
 * @answers:	number of answers, good or not, in this run
 * @deliveries:	number of good answers that changed the contents, in this run
 * @failures:	number of failures, in this run
 * @refusals:	number of contents refused, in this run
 * @lag:	for streams: seconds between a change at the source and here; negative: unknown
 * @clock_difference: seconds by which the clocks of the source and of this machine differ; negative:
 *		unknown
 * @version:	the source's own name of what the contents are: an ETag, an id, a serial number; ""
 *		if there is none. The kind sets it
 * @unsaved:	the stored contents are older
 * @save_error:	why the contents could not be stored: a negative errno, or 0
 * @save_timer:	stores them
 */
struct source {
	char *set;
	char *comment;
	uint64_t timeout;

	const struct source_kind *kind;
	char *name;
	struct daemon *daemon;
	struct target *target;
	struct contents contents;
	struct note *notes;
	bool delivered;
	enum source_state state;
	char *problem;
	char *warning;
	struct packed kept_out;
	char *kept_out_why;
	struct packed agreed;
	struct packed too_much;
	char *left_out;
	uint32_t good_at;
	bool good_here;
	uint32_t changed_at;
	double interval;
	uint64_t answers;
	uint64_t deliveries;
	uint64_t failures;
	uint64_t refusals;
	double lag;
	double clock_difference;
	char version[128];
	bool unsaved;
	int save_error;
	struct timer save_timer;
};

/* A change of one entry. Changes are done in their order. */
struct source_change {
	bool del;
	struct member member;
};

/* Keys that all kinds have. */
extern const struct config_key source_keys[];
/* All kinds (kinds.c); NULL ends them. */
extern const struct source_kind *const source_kinds[];
/* The name of the list that a source shares; its own name if it has none. */
static inline const char *source_list(const struct source *source)
{
	return source->kind->list ? source->kind->list(source) : source->name;
}

/* Why this program was built without a kind, and what to do; NULL if there is no such kind. */
const char *source_kind_missing(const char *word);

/* Replace the contents by @contents, which are empty afterwards. The kernel's set changes in one
 * step. What a kind refuses to believe it must not deliver: see source_refuse().
 */
void source_deliver(struct source *source, struct contents *contents);

/* Change single entries. Expired additions are deletions. @atomic: the source made all of the
 * changes in one step, so the kernel's set has to change in one step, too. Return: 0 or -ENOMEM;
 * then some changes are done, and the kind should ask for whole contents.
 */
int source_change(struct source *source, const struct source_change *changes, size_t count,
		  bool atomic);

/* How many entries contents would have after changes; SIZE_MAX if there is no memory. */
size_t source_count_after(const struct contents *contents, const struct source_change *changes,
			  size_t count);

/* Set the warning, which belongs to the source then; NULL: there is none. */
void source_set_warning(struct source *source, char *warning);

/* The source has answered that nothing has changed. */
void source_confirm(struct source *source);

/* The source failed, or what it says is not believed: the last good contents stay in force. The
 * text says what is wrong and what to do. It is printed once as long as it stays the same.
 */
void source_fail(struct source *source, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void source_refuse(struct source *source, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* For the rest of the daemon. */
struct source *source_new(const struct source_kind *kind, const char *name);
void source_check(struct source *source, struct section *section);
void source_start(struct source *source, struct daemon *daemon);
void source_stop(struct source *source);
/* The machine has other addresses: see guard_follow(). */
void source_follow(struct source *source);
/* While entries are only added, since not all sources of the set have answered, remove those from the kernel
 * that the guard keeps out.
 */
void source_remove_kept_out(struct source *source);
/* The clock was set by so many seconds. */
void source_clock_set(struct source *source, int64_t seconds);
/* Take over contents, notes and counts from a source of the old configuration; and its state, if the section
 * is the same as there.
 */
void source_inherit(struct source *source, struct source *old);
void source_free(struct source *source);
const char *source_state_word(const struct source *source);
/* That the contents cannot be stored, and what follows; NULL if they can. Allocated. */
char *source_save_text(const struct source *source);

#endif /* IPCUCKOOD_SOURCE_H */
