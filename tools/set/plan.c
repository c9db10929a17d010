// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans a transaction: computes the total effect of its changes of entries, and checks
 * that these are possible. Changes nothing. Whether names can change, and sets can be
 * attached, the kernel says when the changes are sent.
 */
#include <stdlib.h>

#include "nl/entry.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/mask.h"
#include "set/plan.h"

/* For up to this many changes of a set, the kernel is asked about each entry; for more,
 * the set is read. Fuzzers define a smaller number.
 */
#ifndef FEW
#define FEW	3000
#endif

/* The change with the lowest line number that the kernel would refuse, and the error. */
struct fault {
	int code;
	const struct work *work;
	const struct change *change;
};

/* Entries */

void forget_plan(struct work *work)
{
	packed_free(&work->add);
	packed_free(&work->del);
	packed_free(&work->plain);
	extended_free(&work->extended);
	packed_free(&work->fates.in);
	packed_free(&work->fates.holes);
	packed_free(&work->fates.out);
	work->updates = false;
	work->exceptions = false;
}

static int same_entry(const struct change *a, const struct change *b)
{
	return a->kind == b->kind &&
	       !memcmp(a->entry, b->entry, sizeof(a->entry));
}

static int order_entries(const void *x, const void *y)
{
	const struct change *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return memcmp(a->entry, b->entry, sizeof(a->entry));
}

/* Sort by entry, and changes of the same entry by line. */
static int order_changes(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	int order = order_entries(a, b);

	if (order)
		return order;
	/* Changes of the same entry in one line are equal. */
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Ask the kernel whether this very entry is in the set; a prefix that covers it does not
 * count. Return: 1 if it is in the set, and then @nomatch says whether it is an exception;
 * 0 if not; or a negative errno.
 */
static int ask(struct tool *tool, const struct work *work,
	       const struct change *change, bool *nomatch)
{
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct packed one = packed_one(change->kind, entry);
	struct nl_test test;
	int err;

	memcpy(entry, change->entry, sizeof(entry));
	err = nl_entry_test(tool->nl, work->set.name, &one, &test);
	if (err)
		return err;
	*nomatch = test.nomatch;
	if (is_approximate(&work->set))
		return test.found;
	/* A host is also found if a prefix covers it. Exceptions are entries, too. */
	if (change->kind == ENTRY_HOST4 && test.prefix_len != 32)
		return false;
	if (change->kind == ENTRY_HOST6 && test.prefix_len != 128)
		return false;
	return test.found || test.nomatch;
}

static void note_fault(struct fault *fault, const struct work *work,
		       const struct change *change, int code)
{
	if (fault->change && fault->change->line <= change->line)
		return;
	fault->code = code;
	fault->work = work;
	fault->change = change;
}

/* A counter without a given value goes on if the entry exists, and else begins at 0. */
static void follow_counter(uint64_t *count, uint64_t given, bool there)
{
	if (given != IPCUCKOO_COUNTER_KEEP)
		*count = given;
	else if (!there)
		*count = 0;
}

/* Apply all changes of one entry, from @change up to @end, one after the other. @there:
 * whether the entry is in the set before. Sets @value to the extensions that it has
 * afterwards; notes in @fault the first change, by line, that the kernel would refuse.
 * Return: whether the entry is in the set afterwards.
 */
static bool follow(const struct work *work, const struct change *change,
		   const struct change *end, bool there,
		   struct entry_value *value, struct fault *fault)
{
	uint64_t packets = IPCUCKOO_COUNTER_KEEP, bytes = IPCUCKOO_COUNTER_KEEP;

	for (; change < end; change++) {
		if (there == change->add && !change->exist)
			note_fault(fault, work, change,
				   change->add ? -EEXIST : -ENOENT);
		follow_counter(&packets, change->value.packets, there);
		follow_counter(&bytes, change->value.bytes, there);
		*value = change->value;
		there = change->add;
	}
	value->packets = packets;
	value->bytes = bytes;
	return there;
}

/* Plan to send an entry that will be in the set. If it is in the set already (@there),
 * it is added again: it then gets the new extensions instead of those it had, and is an
 * exception only if the new ones say so.
 */
static int plan_to_send(struct work *work, const struct change *change,
		       const struct entry_value *value, bool there)
{
	if (there && !work->extensions && work->set.type != IPCUCKOO_TYPE_HASH_NET)
		return 0;
	work->updates |= there;
	return work->extensions ?
	       extended_add(&work->extended, change->kind, change->entry, value) :
	       packed_add(&work->plain, change->kind, change->entry);
}

/* Compute the total effect of the changes of a set. @have: the entries of the set; NULL
 * to ask the kernel about each entry. Return: 0 or a negative errno.
 */
static int settle(struct transaction *t, struct work *work,
		  const struct packed *have, struct fault *fault)
{
	const struct change *change = work->changes, *end, *next;
	struct entry_value value;
	bool then, nomatch = false;
	int there, err = 0;

	forget_plan(work);
	if (!work->count)
		return 0;
	end = change + work->count;
	for (; change < end && !err; change = next) {
		for (next = change + 1; next < end && same_entry(change, next); )
			next++;
		there = work->created || work->flushed ? 0 :
			have ? packed_has(have, change->kind, change->entry) :
			ask(t->tool, work, change, &nomatch);
		if (there < 0)
			return there;
		then = follow(work, change, next, there, &value, fault);
		work->exceptions |= (then && value.nomatch) || (there && nomatch);
		if (then != there)
			err = packed_add(then ? &work->add : &work->del, change->kind,
					 change->entry);
		if (!err && then)
			err = plan_to_send(work, change, &value, there);
	}
	return err;
}

/* Read a set and its entries. Start again if the set changes during the dump. */
static int read_set(struct transaction *t, struct work *work,
		    struct packed *have)
{
	int attempt, err = -ESTALE;
	struct nl_set set;

	for (attempt = 0; attempt < NL_ATTEMPTS && err == -ESTALE; attempt++) {
		packed_free(have);
		err = nl_set_get(t->tool->nl, work->set.name, &set);
		if (err)
			return err;
		work->set = set;
		err = nl_entries(t->tool->nl, set.name, have);
		if (err > 0)
			err = -ESTALE;
	}
	packed_sort(have);
	return err;
}

static int settle_all(struct transaction *t, struct work *work,
		      struct fault *fault)
{
	struct packed have = { 0 };
	int err = read_set(t, work, &have);

	if (!err)
		err = settle(t, work, &have, fault);
	packed_free(&have);
	return err;
}

/* Whether these changes of entries are all that the transaction has to do. */
static bool is_alone(const struct transaction *t)
{
	size_t tasks = t->step_count, i;

	for (i = 0; i < t->count; i++)
		tasks += t->works[i]->count || t->works[i]->flushed;
	return tasks == 1;
}

static bool is_one_message(const struct work *work)
{
	/* Entries of a message change one after the other. Between an exception and the entry
	 * that it is an exception of, packets would see the wrong one.
	 */
	if (work->exceptions && work->count > 1)
		return false;
	if (work->count > FEW || !nl_fits(&work->plain) || !nl_fits(&work->del) ||
	    !nl_extended_fits(&work->extended))
		return false;
	return !packed_count(&work->del) ||
	       (!packed_count(&work->plain) && !work->extended.count);
}

static enum plan choose_plan(const struct transaction *t, const struct work *work)
{
	if (work->destroyed)
		return PLAN_NOTHING;
	if (work->flushed && !work->created)
		return work->count ? PLAN_SHADOW : PLAN_FLUSH;
	if (!packed_count(&work->plain) && !packed_count(&work->del) &&
	    !work->extended.count)
		return PLAN_NOTHING;
	return !work->created && is_alone(t) && is_one_message(work) ?
	       PLAN_MESSAGE : PLAN_SHADOW;
}

/* Plan the changes of a set. Return: 0 or a negative errno. */
static int make_plan(struct transaction *t, struct work *work,
		     struct fault *fault)
{
	bool all = work->count > FEW && !is_approximate(&work->set) &&
		   !work->created && !work->flushed;
	int err;

	if (work->count)
		qsort(work->changes, work->count, sizeof(*work->changes),
		      order_changes);
	err = all ? settle_all(t, work, fault) : settle(t, work, NULL, fault);
	if (!err)
		work->plan = choose_plan(t, work);
	return err;
}

static int fail_fault(const struct transaction *t, const struct fault *fault)
{
	const struct change *change = fault->change;
	const char *name = transaction_name(t, fault->work, change->line);
	char text[ADDRESS_TEXT_SIZE];
	struct tool *tool = t->tool;

	*entry_format(text, change->kind, change->entry) = '\0';
	tool->line = change->line;
	if (fault->code == -EEXIST)
		return fail(tool, STATUS_REFUSED,
			    "Element cannot be added to the set: it's already added (%s, set %s; nothing was changed; -exist accepts that)",
			    text, name);
	return fail(tool, STATUS_REFUSED,
		    "Element cannot be deleted from the set: it's not added (%s, set %s; nothing was changed; -exist accepts that)",
		    text, name);
}

/* Number of entries that are in the set now and will stay. */
static size_t count_kept(const struct work *work)
{
	size_t less = packed_count(&work->del);

	if (work->created || work->flushed || work->set.entries < less)
		return 0;
	return work->set.entries - less;
}

/* Whether the set will have more entries than maxelem after the changes. False for sets
 * with forceadd, which evict other entries; and for existing sets with timeouts, unless
 * the transaction flushes them, because entries may expire before it is applied.
 */
static bool is_overfull(const struct work *work)
{
	if (!work->created && !work->flushed && work->set.options & IPCUCKOO_O_TIMEOUT)
		return false;
	return work->plan != PLAN_NOTHING && work->set.maxelem &&
	       !(work->set.flags & IPCUCKOO_F_FORCEADD) &&
	       count_kept(work) + packed_count(&work->add) > work->set.maxelem;
}

static int order_lines(const void *x, const void *y)
{
	unsigned long a = *(const unsigned long *)x, b = *(const unsigned long *)y;

	return a < b ? -1 : a > b;
}

/* The line that adds the first entry for which there is no room, even after all
 * deletions.
 */
static unsigned long find_full_line(const struct work *work)
{
	size_t kept = count_kept(work), count = 0, i;
	unsigned long *lines, line = 0;

	lines = calloc(work->count + 1, sizeof(*lines));
	if (!lines)
		return 0;
	for (i = 0; i < work->count; i++)
		if (work->changes[i].add &&
		    (i + 1 == work->count ||
		     !same_entry(&work->changes[i], &work->changes[i + 1])) &&
		    packed_has(&work->add, work->changes[i].kind,
			       work->changes[i].entry))
			lines[count++] = work->changes[i].line;
	qsort(lines, count, sizeof(*lines), order_lines);
	i = kept < work->set.maxelem ? work->set.maxelem - kept : 0;
	if (i < count)
		line = lines[i];
	free(lines);
	return line;
}

static int fail_full(const struct transaction *t, const struct work *work)
{
	t->tool->line = find_full_line(work);
	return fail(t->tool, STATUS_REFUSED,
		    "Hash is full, cannot add more elements (set %s, maxelem %u; nothing was changed)",
		    transaction_name(t, work, t->tool->line), work->set.maxelem);
}

static int check_entries(struct transaction *t)
{
	struct fault fault = { 0 };
	struct work *work;
	size_t i;

	for (i = 0; i < t->count; i++) {
		work = t->works[i];
		if (make_plan(t, work, &fault))
			return fail_kernel(t->tool, work->set.name,
					   "cannot read set %s", work->set.name);
	}
	if (fault.change)
		return fail_fault(t, &fault);
	for (i = 0; i < t->count; i++) {
		work = t->works[i];
		if (is_overfull(work))
			return fail_full(t, work);
	}
	return STATUS_OK;
}

/* The guard */

/* The last change of an entry, or NULL. work->changes is sorted. */
static const struct change *find_change(const struct work *work,
					const struct change *entry)
{
	const struct change *end, *at;

	if (!work->count)
		return NULL;
	end = work->changes + work->count;
	at = bsearch(entry, work->changes, work->count, sizeof(*at), order_entries);
	while (at && at + 1 < end && same_entry(at, at + 1))
		at++;
	return at;
}

/* For struct guard_set.where */
static void find_line(struct tool *tool, const void *data, enum entry_kind kind,
		      const uint8_t *entry, char *text, size_t size)
{
	struct change key = { .kind = kind };
	const struct change *change;

	(void)text;
	(void)size;
	memcpy(key.entry, entry, entry_size[kind]);
	change = find_change(data, &key);
	if (change)
		tool->line = change->line;
}

/* Sort the entries that change by what becomes of them. Return: 0 or -ENOMEM. */
static int fill_fates(struct work *work)
{
	const struct change *change = work->changes, *end;
	int err = 0;

	if (!work->count)
		return 0;
	end = change + work->count;
	for (; change < end && !err; change++) {
		if (change + 1 < end && same_entry(change, change + 1))
			continue;
		err = packed_add(!change->add ? &work->fates.out : change->value.nomatch ?
				 &work->fates.holes : &work->fates.in, change->kind, change->entry);
	}
	return err;
}

static void fill_guard_set(const struct work *work, struct guard_set *set)
{
	strcpy(set->name, work->created || work->flushed ? "" : work->set.name);
	if (!work->count)
		return;
	set->kind = &work->set;
	set->in = &work->fates.in;
	set->holes = &work->fates.holes;
	set->out = &work->fates.out;
	set->where = find_line;
	set->data = work;
}

/* Find the set that attachments of the name @from will look up after the steps from @step on.
 * @work: the set that has this name before them. Attachments follow a set that is renamed,
 * but stay with the names if two are swapped.
 */
static const struct work *follow_steps(const struct transaction *t, const struct step *step,
				       const char *from, const struct work *work)
{
	char name[IPCUCKOO_NAME_SIZE];

	strcpy(name, from);
	for (; work && step < steps_end(t); step++) {
		if (step->kind == STEP_RENAME && step->work == work)
			strcpy(name, step->to);
		else if (step->kind == STEP_SWAP && !strcmp(step->from, name))
			work = step->other;
		else if (step->kind == STEP_SWAP && !strcmp(step->to, name))
			work = step->work;
	}
	return work;
}

/* Find the set that attachments of the name @from will look up after the transaction. Return:
 * NULL if no set has this name now.
 */
static const struct work *last_work(const struct transaction *t, const char *from)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (!t->works[i]->created && !strcmp(t->works[i]->set.name, from))
			return follow_steps(t, t->steps, from, t->works[i]);
	return NULL;
}

/* For struct guard_change */
static void becomes(const void *data, const char *name, struct guard_set *set)
{
	const struct work *work = last_work(data, name);

	if (work)
		fill_guard_set(work, set);
}

/* Whether anything is attached, or will be. */
static bool has_attachments(const struct transaction *t)
{
	bool any = false;
	size_t i;

	for (i = 0; i < t->count; i++)
		any |= t->works[i]->set.attachments;
	for (i = 0; i < t->step_count; i++)
		any |= t->steps[i].kind == STEP_ATTACH;
	return any;
}

static int guard_all(struct transaction *t)
{
	struct guard_change change = { .becomes = becomes, .data = t };
	struct guard_attach *attach = calloc(t->step_count + 1, sizeof(*attach));
	const struct step *step;
	int status;
	size_t i;

	for (i = 0; attach && i < t->count; i++)
		if (fill_fates(t->works[i])) {
			free(attach);
			attach = NULL;
		}
	if (!attach)
		return fail_memory(t->tool);
	change.attach = attach;
	for (step = t->steps; step < steps_end(t); step++) {
		if (step->kind != STEP_ATTACH)
			continue;
		attach[change.count].attachment = &step->attachment;
		attach[change.count].line = &step->line;
		fill_guard_set(follow_steps(t, step + 1, step->attachment.set, step->work),
			       &attach[change.count++].set);
	}
	status = guard(t->tool, &change);
	free(attach);
	return status;
}

int transaction_plan(struct transaction *t)
{
	int status = check_entries(t);

	if (status || t->tool->force || !has_attachments(t))
		return status;
	return guard_all(t);
}
