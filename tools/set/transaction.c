// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions: see transaction.h.
 *
 * A few changes of a set go into one message that adds and one that deletes,
 * however large the set is: of each entry it is asked whether it is there, so
 * that the messages say just what changes. Many changes, and contents of new
 * sets, go through shadows. So do changes of what is kept for entries that are
 * there, unless they are all there is to do: nothing takes them back.
 *
 * What may fail comes before what cannot be taken back: new sets are made under
 * names that nobody uses, and shadows are filled; then sets are attached, entries
 * added, shadows committed, entries deleted, and names changed. Each of these
 * steps can be taken back until the first shadow is committed, but for what
 * others change in the sets at the same time; and what becomes of names, new sets
 * and attachments, to the end. What is left to fail then is that others keep
 * changing the next set, or that the kernel has no memory: the message names the
 * sets that stay changed.
 */
#include <stdlib.h>

#include "nl/shadow.h"
#include "set/attachment.h"
#include "set/plan.h"

/* Gathering */

static void *grow(void *array, size_t count, size_t size)
{
	/* At every power of two. */
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * size);
}

struct work *transaction_work(struct transaction *t, const struct nl_set *set)
{
	struct work **works = grow(t->works, t->count, sizeof(*works));
	struct work *work = calloc(1, sizeof(*work));

	if (works)
		t->works = works;
	if (!works || !work) {
		free(work);
		return NULL;
	}
	work->set = *set;
	strcpy(work->at, set->name);
	works[t->count++] = work;
	return work;
}

int transaction_name(struct transaction *t, const struct naming *naming)
{
	struct naming *namings = grow(t->namings, t->naming_count, sizeof(*namings));

	if (!namings)
		return -ENOMEM;
	t->namings = namings;
	namings[t->naming_count++] = *naming;
	return 0;
}

int work_change(struct work *work, const struct packed *entries, bool add,
		bool exist, unsigned long line, const struct entry_value *value)
{
	size_t more = packed_count(entries), i;
	struct change *change;
	int kind;

	if (add)
		work->told |= work->set.options | (value->nomatch ? NL_NOMATCH : 0);
	if (work->count + more > work->room) {
		work->room = 2 * work->room + more + 16;
		change = realloc(work->changes, work->room * sizeof(*change));
		if (!change)
			return -ENOMEM;
		work->changes = change;
	}
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		for (i = 0; i < entries->kind[kind].count; i++) {
			change = &work->changes[work->count++];
			*change = (struct change) {
				.kind = kind, .add = add, .exist = exist,
				.line = line, .value = *value,
			};
			if (value->comment) {
				change->value.comment = strdup(value->comment);
				if (!change->value.comment)
					return -ENOMEM;
			}
			memcpy(change->entry,
			       entries->kind[kind].data + i * entry_size[kind],
			       entry_size[kind]);
		}
	}
	return 0;
}

static void forget_changes(struct work *work)
{
	size_t i;

	for (i = 0; i < work->count; i++)
		free(work->changes[i].value.comment);
	work->count = 0;
}

void work_flush(struct work *work)
{
	forget_changes(work);
	work->flushed = true;
}

void transaction_free(struct transaction *t)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		forget_plan(t->works[i]);
		forget_changes(t->works[i]);
		free(t->works[i]->changes);
		free(t->works[i]);
	}
	free(t->works);
	free(t->namings);
}

/* Doing it */

static int fill_plain(struct transaction *t, const struct work *work)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(&work->say) > 0;

	while (more > 0)
		more = nl_shadow_add(t->tool->nl, work->shadow, &work->say, &cursor,
				     &change);
	return more;
}

static int fill_valued(struct transaction *t, const struct work *work)
{
	struct nl_valued valued = { .entries = &work->valued, .options = work->told };
	struct nl_change change;
	int more = work->valued.count > 0;

	while (more > 0)
		more = nl_valued_add(t->tool->nl, NULL, work->shadow, &valued, 0, &change);
	return more;
}

static int take_out(struct transaction *t, const struct work *work)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(&work->del) > 0;

	while (more > 0)
		more = nl_shadow_remove(t->tool->nl, work->shadow, &work->del,
					&cursor, IPCUCKOO_F_EXIST, &change);
	return more;
}

/* Fill a shadow with all there will be. Return: 0 or a negative errno. */
static int fill_shadow(struct transaction *t, struct work *work)
{
	bool empty = work->fresh || work->flushed;
	int err;

	err = nl_shadow_new(t->tool->nl, work->at, &work->add,
			    empty ? 0 : IPCUCKOO_F_APPEND, &work->shadow);
	if (!err)
		err = take_out(t, work);
	if (err)
		return err;
	return work->told ? fill_valued(t, work) : fill_plain(t, work);
}

#define STAYS_SIZE	160

/* What cannot be taken back any more, for a message. */
static const char *what_stays(const struct transaction *t, char text[STAYS_SIZE])
{
	size_t len = 0, i;

	strcpy(text, "nothing was changed");
	for (i = 0; i < t->count && len < STAYS_SIZE; i++)
		if (t->works[i]->final)
			len += snprintf(text + len, STAYS_SIZE - len, "%s%s",
					len ? ", " : "changed for good were: ",
					t->works[i]->set.name);
	if (len >= STAYS_SIZE)
		strcpy(text + STAYS_SIZE - 4, "...");
	return text;
}

static int fail_change(struct transaction *t, const struct work *work, int err)
{
	char stays[STAYS_SIZE];

	if (err == -ESTALE)
		return fail(t->tool, STATUS_REFUSED,
			    "others kept changing the set %s, %d times in a row (%s); try again",
			    work->set.name, ATTEMPTS, what_stays(t, stays));
	if (err == -ENOSPC)
		return fail(t->tool, STATUS_REFUSED,
			    "Hash is full, cannot add more elements (set %s; %s)",
			    work->set.name, what_stays(t, stays));
	return fail_kernel(t->tool, work->at, "cannot change the set %s (%s)",
			   work->set.name, what_stays(t, stays));
}

/* Make what nobody sees yet: new sets, and shadows. */
static int prepare(struct transaction *t, struct work *work)
{
	struct nl_set set = work->set;
	int err = 0;

	strcpy(set.name, work->at);
	if (work->fresh && nl_set_new(t->tool->nl, &set, work->has_maxelem, 0))
		return fail_kernel(t->tool, NULL, "Set %s cannot be created",
				   work->set.name);
	if (work->plan == PLAN_SHADOW)
		err = fill_shadow(t, work);
	return err ? fail_change(t, work, err) : STATUS_OK;
}

static int add_entries(struct transaction *t, struct work *work)
{
	struct nl_valued valued = { .entries = &work->valued, .options = work->told };
	uint32_t flags = work->updates ? IPCUCKOO_F_EXIST : 0;
	struct nl_change change;
	int err;

	if (work->plan != PLAN_MESSAGES ||
	    (!packed_count(&work->say) && !work->valued.count))
		return STATUS_OK;
	err = work->told ?
	      nl_valued_add(t->tool->nl, work->at, 0, &valued, flags, &change) :
	      nl_entry_add(t->tool->nl, work->at, &work->say, flags, &change);
	if (err)
		return fail_change(t, work, err);
	work->done = true;
	return STATUS_OK;
}

/* Others may change a set until the last moment; then its shadow begins anew. */
static int commit(struct transaction *t, struct work *work)
{
	struct nl_change change;
	bool empty = work->fresh || work->flushed;
	int attempt, err = 0;

	if (work->plan != PLAN_SHADOW)
		return STATUS_OK;
	for (attempt = 0; attempt < ATTEMPTS && !err; attempt++) {
		err = nl_shadow_commit(t->tool->nl, work->shadow,
				       empty ? IPCUCKOO_F_OVERRIDE : 0, &change);
		if (!err) {
			work->shadow = 0;
			work->final = !work->fresh;
			return STATUS_OK;
		}
		if (err != -ESTALE || attempt == ATTEMPTS - 1)
			break;
		nl_shadow_del(t->tool->nl, work->shadow);
		err = fill_shadow(t, work);
	}
	return fail_change(t, work, err);
}

/* What is gone already is as it shall be. */
static int del_entries(struct transaction *t, struct work *work)
{
	struct nl_change change;
	int err;

	if (work->plan != PLAN_MESSAGES || !packed_count(&work->del))
		return STATUS_OK;
	err = nl_entry_del(t->tool->nl, work->at, &work->del, IPCUCKOO_F_EXIST,
			   &change);
	if (err)
		return fail_change(t, work, err);
	work->final = true;
	return STATUS_OK;
}

static int change_name(struct transaction *t, const struct naming *naming,
		       bool back)
{
	char hidden[IPCUCKOO_NAME_SIZE];
	const char *from = naming->from, *to = naming->to;

	hidden_name(t, naming->work, hidden);
	switch (naming->kind) {
	case NAMING_CREATE:
		from = hidden;
		break;
	case NAMING_DESTROY:
		to = hidden;
		break;
	case NAMING_SWAP:
		return nl_set_swap(t->tool->nl, from, to);
	case NAMING_ATTACH:
		return 0;
	default:
		break;
	}
	return back ? nl_set_rename(t->tool->nl, to, from) :
		      nl_set_rename(t->tool->nl, from, to);
}

/* Before anything is changed for good: there are many reasons to refuse it. */
static int attach_named(struct transaction *t, struct naming *naming)
{
	struct nl_attachment attachment = naming->attachment;
	struct tool line = *t->tool;

	line.line = naming->line;
	line.exist = naming->exist;
	first_name(t, naming, attachment.set);
	return attach_checked(&line, naming->attachment.set, &attachment,
			      &naming->id);
}

static int attach_all(struct transaction *t)
{
	int status = STATUS_OK;
	size_t i;

	for (i = 0; i < t->naming_count && !status; i++)
		if (t->namings[i].kind == NAMING_ATTACH)
			status = attach_named(t, &t->namings[i]);
	return status;
}

static void detach_all(struct transaction *t)
{
	struct nl_attachment from = { 0 };
	uint32_t detached;
	size_t i;

	for (i = 0; i < t->naming_count; i++) {
		from.id = t->namings[i].id;
		if (from.id)
			nl_detach(t->tool->nl, &from, &detached);
	}
}

static int change_names(struct transaction *t)
{
	char stays[STAYS_SIZE];
	int err = 0;
	size_t i;

	for (i = 0; i < t->naming_count && !err; i++)
		err = change_name(t, &t->namings[i], false);
	if (!err)
		return STATUS_OK;
	t->tool->line = t->namings[--i].line;
	fail_kernel(t->tool, NULL, "the name of a set cannot be changed (%s)",
		    what_stays(t, stays));
	while (i--)
		change_name(t, &t->namings[i], true);
	return STATUS_REFUSED;
}

/* Sets under hidden names: those that go, or all new ones if it came to nothing. */
static void destroy_hidden(struct transaction *t, bool failed)
{
	char hidden[IPCUCKOO_NAME_SIZE];
	size_t i;

	for (i = 0; i < t->count; i++) {
		if (failed ? !t->works[i]->fresh : !t->works[i]->gone)
			continue;
		hidden_name(t, t->works[i], hidden);
		nl_set_del(t->tool->nl, hidden, IPCUCKOO_F_EXIST);
	}
}

static void undo(struct transaction *t)
{
	struct nl_change change;
	struct work *work;
	size_t i;

	detach_all(t);
	for (i = 0; i < t->count; i++) {
		work = t->works[i];
		if (work->done)
			nl_entry_del(t->tool->nl, work->at, &work->add,
				     IPCUCKOO_F_EXIST, &change);
		if (work->shadow)
			nl_shadow_del(t->tool->nl, work->shadow);
	}
}

static int for_each_work(struct transaction *t,
			 int (*step)(struct transaction *t, struct work *work))
{
	int status = STATUS_OK;
	size_t i;

	for (i = 0; i < t->count && !status; i++)
		status = step(t, t->works[i]);
	return status;
}

int transaction_apply(struct transaction *t)
{
	int status;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->works[i]->fresh)
			hidden_name(t, t->works[i], t->works[i]->at);
	status = for_each_work(t, prepare);
	if (!status)
		status = attach_all(t);
	if (!status)
		status = for_each_work(t, add_entries);
	if (!status)
		status = for_each_work(t, commit);
	if (!status)
		status = for_each_work(t, del_entries);
	if (!status)
		status = change_names(t);
	if (status)
		undo(t);
	destroy_hidden(t, status);
	return status;
}
