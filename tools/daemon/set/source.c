// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdlib.h>

#include "cli/options.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/set/guard.h"
#include "daemon/set/source.h"
#include "daemon/set/store.h"

/* Contents that change entry by entry are stored at most once in this many seconds, and after a failure
 * it takes as long until the next attempt.
 */
#define SAVE_SECONDS	60

/* A change of less than this part of a set is sent as what is added and deleted. */
#define SMALL_PART	8

#define FIELD(name)	.offset = offsetof(struct source, name)

const struct config_key source_keys[] = {
	{ "set", KEY_TEXT, FIELD(set), .needed = "set = blocklist" },
	{ "comment", KEY_TEXT, FIELD(comment) },
	{ "timeout", KEY_TIME, FIELD(timeout), .least = 1, .most = IPCUCKOO_TIMEOUT_MAX },
	{ NULL }
};

struct source *source_new(const struct source_kind *kind, const char *name)
{
	struct source *source = need_zeros(kind->size);

	source->kind = kind;
	source->name = need_copy(name);
	source->lag = -1;
	source->clock_difference = -1;
	return source;
}

void source_check(struct source *source, struct section *section)
{
	if (source->comment && (!is_comment(source->comment) ||
				strlen(source->comment) > IPCUCKOO_COMMENT_MAX))
		section_fault(section, "comment",
			      "has a double quote or a control character, or is longer than %u bytes",
			      IPCUCKOO_COMMENT_MAX);
	if (source->kind->check)
		source->kind->check(source, section);
}

const char *source_state_word(const struct source *source)
{
	static const char *const words[] = {
		[SOURCE_WAITING] = "waiting",
		[SOURCE_GOOD] = "good",
		[SOURCE_FAILING] = "failing",
		[SOURCE_REFUSED] = "refused",
	};

	return words[source->state];
}

static void on_save(void *data);

char *source_save_text(const struct source *source)
{
	if (!source->save_error)
		return NULL;
	return need_text("cannot be stored in %s: %s; it stays in force, but after a restart the contents stored before will be used until the source has answered",
			 source->daemon->state_dir, strerror(-source->save_error));
}

static void note_save_error(struct source *source, int err)
{
	bool same = err == source->save_error;
	char *text;

	source->save_error = err;
	text = source_save_text(source);
	if (!same && err)
		log_error("[%s %s] %s", source->kind->word, source->name, text);
	else if (!same)
		log_info("[%s %s] is stored again", source->kind->word, source->name);
	free(text);
}

/* Store the contents. What fails is tried again. */
static void save(struct source *source)
{
	struct daemon *daemon = source->daemon;

	timer_stop(&source->save_timer);
	source->unsaved = false;
	if (!daemon->state_dir || daemon->dry_run)
		return;
	note_save_error(source, store_save(source, daemon->state_dir));
	source->unsaved = source->save_error;
	if (source->unsaved)
		timer_start(daemon->event, &source->save_timer, SAVE_SECONDS * 1000, on_save,
			    source);
}

static void on_save(void *data)
{
	save(data);
}

static void save_later(struct source *source)
{
	source->unsaved = true;
	if (!timer_exists(&source->save_timer))
		timer_start(source->daemon->event, &source->save_timer, SAVE_SECONDS * 1000,
			    on_save, source);
}

/* The networks of the set may have changed with a source (aggregate.h). */
static void save_networks(const struct target *target)
{
	if (target->networks && target->networks->unsaved)
		save_later(target->networks);
}

static void set_problem(struct source *source, enum source_state state, char *problem)
{
	if (state == SOURCE_GOOD && source->problem)
		log_info("[%s %s] is good again, with %zu entries", source->kind->word,
			 source->name, contents_count(&source->contents));
	free(source->problem);
	source->problem = problem;
	source->state = state;
}

static void answered(struct source *source)
{
	source->answers++;
	if (source->daemon->answered)
		source->daemon->answered(source->daemon);
}

static void take_good(struct source *source)
{
	source->good_at = now_seconds();
	source->good_here = true;
	set_problem(source, SOURCE_GOOD, NULL);
}

/* The source had other contents. Change the kernel's set where it has to change, if that is a small part
 * of it, or else replace all of it. Until all sources have answered, entries are only added; when the last
 * one does, the set is replaced. @settled: nothing was in the set before but what sources say. @old: freed.
 * @kept_out: what the guard kept out of them, freed
 */
static void apply_difference(struct source *source, struct contents *old, struct packed *kept_out,
			     bool settled)
{
	struct target *target = source->target;
	struct packed touched = { 0 };
	struct contents none = { 0 };
	int err = 0;

	if (settled != target_settled(target))
		err = -EAGAIN;
	/* The time at which its entries expire is counted from now on: all of them change. */
	if (!err && (source->timeout || !settled))
		err = contents_compare(&source->contents, &none, &touched);
	if (!err)
		err = contents_compare(old, &source->contents, &touched);
	if (!err)
		err = packed_missing(kept_out, &source->kept_out, &touched) ? :
		      packed_missing(&source->kept_out, kept_out, &touched);
	packed_unique(&touched);
	if (err || packed_count(&touched) > target->entries / SMALL_PART)
		target_apply(target);
	else if (packed_count(&touched))
		target_apply_some(target, &touched, true, !settled);
	save_networks(target);
	packed_free(&touched);
	packed_free(kept_out);
	contents_free(old);
}

void source_deliver(struct source *source, struct contents *contents)
{
	bool settled = target_settled(source->target);
	struct contents old = source->contents;
	struct packed kept_out = { 0 };

	/* Without memory for this, all of the set is replaced. */
	if (packed_append(&kept_out, &source->kept_out))
		settled = false;
	guard_deliver(source, contents);
	guard_note(source);
	source->contents = *contents;
	memset(contents, 0, sizeof(*contents));
	source->delivered = true;
	source->deliveries++;
	take_good(source);
	source->changed_at = source->good_at;
	target_need_all(source->target, &source->contents);
	if (source->daemon->dry_run) {
		packed_free(&kept_out);
		contents_free(&old);
	} else {
		apply_difference(source, &old, &kept_out, settled);
	}
	save(source);
	answered(source);
}

/* The last change of an entry counts. */
size_t source_count_after(const struct contents *contents, const struct source_change *changes,
			  size_t count)
{
	size_t result = contents_count(contents);
	struct contents seen = { 0 };
	uint32_t now = now_seconds();
	const struct member *member;
	struct member there;
	bool del, has;

	while (count--) {
		member = &changes[count].member;
		if (contents_find(&seen, member->kind, member->entry, &there))
			continue;
		if (contents_add(&seen, member)) {
			result = SIZE_MAX;
			break;
		}
		del = changes[count].del || member_expired(member, now);
		has = contents_find(contents, member->kind, member->entry, &there);
		result += !del && !has;
		result -= del && has;
	}
	contents_free(&seen);
	return result;
}

int source_change(struct source *source, const struct source_change *changes, size_t count,
		  bool atomic)
{
	struct packed touched = { 0 };
	uint32_t now = now_seconds();
	const struct member *member;
	size_t i;
	int err = 0;

	guard_change(source, changes, count);
	guard_note(source);
	for (i = 0; i < count && !err; i++) {
		member = &changes[i].member;
		if (changes[i].del || member_expired(member, now))
			contents_del(&source->contents, member->kind, member->entry);
		else
			err = contents_add(&source->contents, member);
		if (!changes[i].del)
			target_need(source->target, member);
		if (!err)
			err = packed_add(&touched, member->kind, member->entry);
	}
	packed_unique(&touched);
	take_good(source);
	source->changed_at = source->good_at;
	source->deliveries++;
	target_apply_some(source->target, &touched, atomic, false);
	save_networks(source->target);
	packed_free(&touched);
	save_later(source);
	answered(source);
	return err;
}

void source_confirm(struct source *source)
{
	struct contents none = { 0 };
	struct packed kept_out = { 0 };

	take_good(source);
	/* Its entries expire later now. */
	if (source->timeout && source->delivered) {
		if (!source->daemon->dry_run)
			apply_difference(source, &none, &kept_out, target_settled(source->target));
		save_later(source);
	}
	answered(source);
}

/* libcurl says how long it tried, and how much came: texts that differ in that are the same. */
static bool is_same(const char *a, const char *b)
{
	size_t same, digits;

	for (;; a += digits, b += strspn(b, "0123456789")) {
		same = strcspn(a, "0123456789");
		if (strncmp(a, b, same))
			return false;
		a += same;
		b += same;
		digits = strspn(a, "0123456789");
		if (!*a || !digits)
			return !strcmp(a, b);
		if (strncmp(a + digits, " ms", 3) && strncmp(a + digits, " milliseconds", 13) &&
		    strncmp(a + digits, " out of ", 8) && strncmp(a + digits, " bytes", 6) &&
		    (digits != strspn(b, "0123456789") || strncmp(a, b, digits)))
			return false;
	}
}

static void report(struct source *source, enum source_state state, const char *format, va_list args)
{
	char text[1024], *printable;
	bool same;

	vsnprintf(text, sizeof(text), format, args);
	/* Much of it is what a server says. */
	printable = need_printable(text);
	same = source->problem && is_same(printable, source->problem) && source->state == state;
	set_problem(source, state, printable);
	if (same)
		return;
	if (source->delivered)
		log_error("[%s %s] %s; its last good contents stay in force (%zu entries)",
			  source->kind->word, source->name, text,
			  contents_count(&source->contents));
	else
		log_error("[%s %s] %s; it has no entries yet, and what is in the set stays there",
			  source->kind->word, source->name, text);
}

void source_set_warning(struct source *source, char *warning)
{
	free(source->warning);
	source->warning = warning ? need_printable(warning) : NULL;
	free(warning);
}

void source_fail(struct source *source, const char *format, ...)
{
	va_list args;

	source->failures++;
	va_start(args, format);
	report(source, SOURCE_FAILING, format, args);
	va_end(args);
	answered(source);
}

void source_refuse(struct source *source, const char *format, ...)
{
	va_list args;

	source->refusals++;
	va_start(args, format);
	report(source, SOURCE_REFUSED, format, args);
	va_end(args);
	answered(source);
}

void source_start(struct source *source, struct daemon *daemon)
{
	source->daemon = daemon;
	/* The source of the old configuration could not be stored, or networks changed with the set. */
	if (source->save_error || source->unsaved)
		save(source);
	source->kind->start(source);
}

void source_stop(struct source *source)
{
	if (source->kind->stop)
		source->kind->stop(source);
	if (source->unsaved)
		save(source);
}

void source_remove_kept_out(struct source *source)
{
	struct packed kept_out = { 0 };

	if (!packed_count(&source->kept_out) || target_settled(source->target))
		return;
	need_memory(packed_append(&kept_out, &source->kept_out));
	target_apply_some(source->target, &kept_out, true, false);
	packed_free(&kept_out);
}

void source_follow(struct source *source)
{
	if (!guard_follow(source))
		return;
	guard_note(source);
	save_later(source);
	target_apply(source->target);
	save_networks(source->target);
	source_remove_kept_out(source);
}

void source_clock_set(struct source *source, int64_t seconds)
{
	/* What was stored in an earlier run has the time of another clock. */
	if (source->good_here)
		source->good_at = shift_time(source->good_at, seconds);
	if (source->kind->clock_set)
		source->kind->clock_set(source, seconds);
}

void source_inherit(struct source *source, struct source *old)
{
	contents_free(&source->contents);
	source->contents = old->contents;
	source->notes = old->notes;
	memset(&old->contents, 0, sizeof(old->contents));
	old->notes = NULL;
	source->delivered = old->delivered;
	source->good_at = old->good_at;
	source->good_here = old->good_here;
	source->changed_at = old->changed_at;
	source->answers = old->answers;
	source->deliveries = old->deliveries;
	source->failures = old->failures;
	source->refusals = old->refusals;
	source->save_error = old->save_error;
	memcpy(source->version, old->version, sizeof(source->version));
	if (value_same_all(source_keys, source, old) &&
	    value_same_all(source->kind->keys, source, old)) {
		source->state = old->state;
		source->problem = old->problem;
		old->problem = NULL;
	}
	if (source->kind->inherit)
		source->kind->inherit(source, old);
}

void source_free(struct source *source)
{
	timer_stop(&source->save_timer);
	if (source->kind->free)
		source->kind->free(source);
	value_free_all(source->kind->keys, source);
	value_free_all(source_keys, source);
	contents_free(&source->contents);
	notes_free(&source->notes);
	free(source->problem);
	free(source->warning);
	guard_free(source);
	free(source->name);
	free(source);
}
