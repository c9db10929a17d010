// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions: see transaction.h.
 *
 * A few changes of a set become one message that adds entries and one that deletes
 * entries, however large the set is. The kernel is asked about each entry, so that the
 * messages contain only what really changes. Many changes, and the contents of new sets,
 * go through shadows. So do new extensions of existing entries, unless they are the only
 * task of the transaction: they cannot be undone.
 *
 * Steps that can fail come before steps that cannot be undone. New sets are created with
 * temporary names, and shadows are filled. Then sets are attached, entries added,
 * shadows committed, entries deleted, and names changed. Until the first shadow is
 * committed, all steps can be undone, except for changes that other processes make in
 * the sets at the same time. Changes of names, new sets and attachments can be undone to
 * the end. After the first commit, the transaction can fail only because other processes
 * keep changing the next set, or because the kernel has no memory. The message then
 * names the sets that stay changed.
 */
#include <stdlib.h>

#include "nl/shadow.h"
#include "set/attachment.h"
#include "set/plan.h"

/* Collecting changes */

static void *grow(void *array, size_t count, size_t size)
{
	/* The array is full when count is a power of two. */
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
		work->extensions |= work->set.options | (value->nomatch ? NL_NOMATCH : 0);
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

/* Applying changes */

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
	struct nl_valued valued = { .entries = &work->valued, .options = work->extensions };
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

/* Create a shadow, and fill it with the new contents. Return: 0 or a negative errno. */
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
	return work->extensions ? fill_valued(t, work) : fill_plain(t, work);
}

#define STAYS_SIZE	160

/* For messages: the sets that stay changed. */
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

/* Create new sets, with temporary names, and shadows. Packets see none of them. */
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
	struct nl_valued valued = { .entries = &work->valued, .options = work->extensions };
	uint32_t flags = work->updates ? IPCUCKOO_F_EXIST : 0;
	struct nl_change change;
	int err;

	if (work->plan != PLAN_MESSAGES ||
	    (!packed_count(&work->say) && !work->valued.count))
		return STATUS_OK;
	err = work->extensions ?
	      nl_valued_add(t->tool->nl, work->at, 0, &valued, flags, &change) :
	      nl_entry_add(t->tool->nl, work->at, &work->say, flags, &change);
	if (err)
		return fail_change(t, work, err);
	work->done = true;
	return STATUS_OK;
}

/* Commit the shadow. If others have changed the set meanwhile, fill a new shadow and try
 * again.
 */
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

/* Delete entries. It is no error if others have deleted them already. */
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

/* Attach a set. Done before anything that cannot be undone, because the kernel can refuse
 * it for many reasons.
 */
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

/* Destroy the sets with temporary names: those to destroy, or the new ones if the
 * transaction failed.
 */
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
