// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions: see transaction.h.
 *
 * All changes become one request, COMMIT, which the kernel does whole or not at all. The
 * new contents of sets, and of new sets, are sent to shadows before it, which nobody else
 * sees. If the only task is to add, or to delete, a few entries of one set, the message
 * that does so is enough, however large the set is.
 */
#include <stdlib.h>

#include "nl/commit.h"
#include "nl/shadow.h"
#include "set/plan.h"
#include "set/program.h"
#include "set/refusal.h"

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
	works[t->count++] = work;
	return work;
}

const char *transaction_name(const struct transaction *t, const struct work *work,
			     unsigned long line)
{
	const char *name = work->set.name;
	const struct step *step;

	for (step = t->steps; step < steps_end(t) && step->line.line < line; step++) {
		if (step->kind != STEP_RENAME && step->kind != STEP_SWAP)
			continue;
		if (step->work == work)
			name = step->to;
		else if (step->kind == STEP_SWAP && step->other == work)
			name = step->from;
	}
	return name;
}

int transaction_step(struct transaction *t, const struct step *step)
{
	struct step *steps = grow(t->steps, t->step_count, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	t->steps = steps;
	steps[t->step_count++] = *step;
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
	free(t->steps);
}

/* Shadows */

static int send_plain(struct transaction *t, const struct work *work)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(&work->plain) > 0;

	while (more > 0)
		more = nl_shadow_add(t->tool->nl, work->shadow, &work->plain, &cursor,
				     &change);
	return more;
}

static int send_extended(struct transaction *t, const struct work *work)
{
	struct nl_extended extended = { .entries = &work->extended, .options = work->extensions };
	struct nl_change change;
	int more = work->extended.count > 0;

	while (more > 0)
		more = nl_extended_add(t->tool->nl, NULL, work->shadow, &extended, 0, &change);
	return more;
}

static int remove_entries(struct transaction *t, const struct work *work)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(&work->del) > 0;

	while (more > 0)
		more = nl_shadow_remove(t->tool->nl, work->shadow, &work->del,
					&cursor, IPCUCKOO_F_EXIST, &change);
	return more;
}

static int new_shadow(struct transaction *t, struct work *work)
{
	if (work->created)
		return nl_shadow_create(t->tool->nl, &work->set, work->has_maxelem,
					&work->add, &work->shadow);
	return nl_shadow_new(t->tool->nl, work->set.name, &work->add,
			     work->flushed ? 0 : IPCUCKOO_F_APPEND, &work->shadow);
}

/* Create a shadow, and fill it with the new contents. Return: 0 or a negative errno. */
static int fill_shadow(struct transaction *t, struct work *work)
{
	int err = new_shadow(t, work);

	if (!err)
		err = remove_entries(t, work);
	if (err)
		return err;
	return work->extensions ? send_extended(t, work) : send_plain(t, work);
}

static void drop_shadow(struct transaction *t, struct work *work)
{
	if (work->shadow)
		nl_shadow_del(t->tool->nl, work->shadow);
	work->shadow = 0;
}

/* The line that changes the entries of a set last; the whole input for a set that is created. */
static unsigned long last_line(const struct work *work)
{
	unsigned long line = 0;
	size_t i;

	for (i = 0; i < work->count; i++)
		if (work->changes[i].line > line)
			line = work->changes[i].line;
	return line;
}

static int fail_change(struct transaction *t, const struct work *work, int err)
{
	const char *name = transaction_name(t, work, last_line(work));

	if (err == -ESTALE)
		return fail(t->tool, STATUS_REFUSED,
			    "others kept changing the set %s, %d times in a row (nothing was changed); try again",
			    name, NL_ATTEMPTS);
	if (err == -ENOSPC)
		return fail(t->tool, STATUS_REFUSED,
			    "Hash is full, cannot add more elements (set %s; nothing was changed)",
			    name);
	return fail_kernel(t->tool, work->created ? NULL : work->set.name, "%s the set %s (nothing was changed)",
			   work->created ? "cannot create" : "cannot change", name);
}

static int fill_shadows(struct transaction *t)
{
	size_t i;
	int err;

	for (i = 0; i < t->count; i++) {
		if (t->works[i]->plan != PLAN_SHADOW)
			continue;
		err = fill_shadow(t, t->works[i]);
		if (err)
			return fail_change(t, t->works[i], err);
	}
	return STATUS_OK;
}

static void drop_shadows(struct transaction *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		drop_shadow(t, t->works[i]);
}

/* The commit */

/* Whether the commit changes the contents of a set. Those of a new set are part of the
 * request that creates it.
 */
static bool has_contents(const struct work *work)
{
	return !work->created &&
	       (work->plan == PLAN_SHADOW || work->plan == PLAN_FLUSH);
}

static int put_contents(struct transaction *t, const struct work *work)
{
	struct nl_change unused;

	if (work->plan == PLAN_FLUSH)
		return nl_set_flush(t->tool->nl, work->set.name);
	return nl_shadow_commit(t->tool->nl, work->shadow,
				work->flushed ? IPCUCKOO_F_OVERRIDE : 0, &unused);
}

static int put_attach(struct transaction *t, const struct step *step)
{
	struct nl_attachment attachment = step->attachment;
	uint32_t unused;

	attachment.flags |= step->line.exist ? IPCUCKOO_F_EXIST : 0;
	return nl_attach(t->tool->nl, &attachment, &unused);
}

static int put_step(struct transaction *t, const struct step *step)
{
	uint32_t exist = step->line.exist ? IPCUCKOO_F_EXIST : 0;
	const struct work *work = step->work;
	struct nl *nl = t->tool->nl;

	switch (step->kind) {
	case STEP_CREATE:
		if (work->shadow)
			return nl_set_new_filled(nl, step->to, work->shadow);
		return nl_set_new(nl, &work->set, work->has_maxelem, exist);
	case STEP_RENAME:
		return nl_set_rename(nl, step->from, step->to);
	case STEP_SWAP:
		return nl_set_swap(nl, step->from, step->to);
	case STEP_DESTROY:
		return nl_set_del(nl, step->from, exist);
	case STEP_ATTACH:
		return put_attach(t, step);
	}
	return -EINVAL;
}

/* Contents come first: shadows are those of sets by the names that these have now, and
 * a swap would make them stale.
 */
static int send_commit(struct transaction *t, uint32_t flags)
{
	int err = nl_commit_begin(t->tool->nl, flags);
	size_t i;

	for (i = 0; i < t->count && !err; i++)
		if (has_contents(t->works[i]))
			err = put_contents(t, t->works[i]);
	for (i = 0; i < t->step_count && !err; i++)
		err = put_step(t, &t->steps[i]);
	return err ? err : nl_commit_send(t->tool->nl);
}

/* What the kernel has refused: the contents of a set, or a step. Both are NULL if it has
 * not said.
 */
static struct work *find_fault(const struct transaction *t, const struct step **step)
{
	const struct nl_error *error = nl_error(t->tool->nl);
	size_t at = error->change, i;

	*step = NULL;
	if (!error->has_change)
		return NULL;
	for (i = 0; i < t->count; i++)
		if (has_contents(t->works[i]) && !at--)
			return t->works[i];
	if (at < t->step_count)
		*step = &t->steps[at];
	return NULL;
}

static int fail_step(const struct step *step)
{
	switch (step->kind) {
	case STEP_CREATE:
		return fail_created(&step->line, step->to);
	case STEP_RENAME:
		return fail_renamed(&step->line, step->from, step->to);
	case STEP_SWAP:
		return fail_swapped(&step->line, step->from, step->to);
	case STEP_DESTROY:
		return fail_destroyed(&step->line, step->from);
	case STEP_ATTACH:
		return fail_attach(&step->line, step->attachment.set);
	}
	return STATUS_REFUSED;
}

/* If others have changed a set since its shadow was created, fill a new shadow and send
 * the commit again.
 */
static int commit(struct transaction *t, bool check)
{
	const struct step *step;
	struct work *work;
	int err;

	while ((err = send_commit(t, check ? IPCUCKOO_F_CHECK : 0))) {
		work = find_fault(t, &step);
		if (step)
			return fail_step(step);
		if (err == -EMSGSIZE)
			return fail(t->tool, STATUS_REFUSED,
				    "the lines change too many sets for one message to the kernel (nothing was changed); restore them in parts, or raise net.core.wmem_max");
		if (!work)
			return fail_kernel(t->tool, NULL, "nothing was changed");
		if (err != -ESTALE || ++work->attempts == NL_ATTEMPTS)
			return fail_change(t, work, err);
		drop_shadow(t, work);
		err = fill_shadow(t, work);
		if (err)
			return fail_change(t, work, err);
	}
	return STATUS_OK;
}

/* Send the only message that is needed. The kernel applies all of it, or nothing; packets may
 * see its entries appear one after the other.
 */
static int send_message(struct transaction *t, struct work *work)
{
	struct nl_extended extended = { .entries = &work->extended, .options = work->extensions };
	uint32_t flags = work->updates ? IPCUCKOO_F_EXIST : 0;
	const char *name = work->set.name;
	struct nl *nl = t->tool->nl;
	struct nl_change change;
	int err;

	if (packed_count(&work->del))
		err = nl_entry_del(nl, name, &work->del, IPCUCKOO_F_EXIST, &change);
	else if (work->extensions)
		err = nl_extended_add(nl, name, 0, &extended, flags, &change);
	else
		err = nl_entry_add(nl, name, &work->plain, flags, &change);
	return err ? fail_change(t, work, err) : STATUS_OK;
}

/* Before the commit, so that nothing has changed if a program cannot be attached. With -exist all
 * else is committed nevertheless, and @partial is set: at boot, a library that is missing must not
 * leave all other sets out of force.
 */
static int attach_programs(struct transaction *t, int *partial)
{
	struct step *step;
	int status;

	for (step = t->steps; step < steps_end(t); step++) {
		if (step->kind != STEP_ATTACH)
			continue;
		status = program_attach(&step->line, &step->attachment);
		step->no_program = status;
		if (status && !step->line.exist)
			return status;
		if (status)
			*partial = status;
	}
	return STATUS_OK;
}

/* After the commit, which cannot be undone any more. */
static void confirm_programs(struct transaction *t, int *partial)
{
	const struct step *step;
	int status;

	for (step = t->steps; step < steps_end(t); step++) {
		status = step->kind == STEP_ATTACH && !step->no_program ?
			 program_confirm(&step->line, &step->attachment) : STATUS_OK;
		if (status)
			*partial = status;
	}
}

static void tidy_programs(struct transaction *t)
{
	size_t i;

	for (i = 0; i < t->step_count; i++)
		if (t->steps[i].kind == STEP_ATTACH)
			program_tidy(t->tool, &t->steps[i].attachment, 1, false);
}

/* Whether the transaction changes a set that was there before: its entries, or which set has its name. */
static bool changes(const struct work *work)
{
	return !work->created && (work->destroyed || work->flushed || work->count);
}

/* Say which of the changes will not last. */
static void warn_all_kept(const struct transaction *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (changes(t->works[i]))
			warn_kept(t->tool, t->works[i]->set.name);
	for (i = 0; i < t->step_count; i++) {
		if (t->steps[i].kind != STEP_SWAP && t->steps[i].kind != STEP_RENAME)
			continue;
		warn_kept(t->tool, t->steps[i].from);
		if (t->steps[i].kind == STEP_SWAP)
			warn_kept(t->tool, t->steps[i].to);
	}
}

int transaction_apply(struct transaction *t, bool check)
{
	int status, partial = STATUS_OK;
	size_t i;

	for (i = 0; i < t->count; i++) {
		if (t->works[i]->plan != PLAN_MESSAGE)
			continue;
		if (!check) {
			status = send_message(t, t->works[i]);
			if (!status)
				warn_all_kept(t);
			return status;
		}
		/* A message cannot be checked; a commit with the same effect can. */
		t->works[i]->plan = PLAN_SHADOW;
	}
	status = fill_shadows(t);
	if (!status && !check)
		status = attach_programs(t, &partial);
	if (!status)
		status = commit(t, check);
	if (status && !check)
		tidy_programs(t);
	else if (!check)
		confirm_programs(t, &partial);
	program_unlock();
	/* A commit that was made has used them up. */
	if (status || check)
		drop_shadows(t);
	if (!status && partial)
		warn(t->tool, "all else was restored; attachments at xdp whose program is missing see no packets");
	if (!status && !check)
		warn_all_kept(t);
	return status ? status : partial;
}
