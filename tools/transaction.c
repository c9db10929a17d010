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
 * What may fail for want of room comes before what cannot: new sets are made
 * under names that nobody uses, and shadows are filled; then entries are added,
 * shadows committed, entries deleted, names changed and sets attached. Each of
 * these steps can be taken back until the last shadow is committed, but for what
 * others change in the sets at the same time; and what becomes of names and new
 * sets, to the end.
 */
#include <stdlib.h>
#include <unistd.h>

#include "attachment.h"
#include "filter.h"
#include "transaction.h"

/* Changes of a set that are worth a question each. */
#define FEW	3000

#define ATTEMPTS	5

struct change {
	uint8_t kind;
	bool add;
	bool exist;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	unsigned long line;
	struct entry_value value;
};

/* The first line at fault. */
struct fault {
	int code;
	const struct work *work;
	const struct change *change;
};

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

static void forget_plan(struct work *work)
{
	packed_free(&work->add);
	packed_free(&work->del);
	packed_free(&work->say);
	valued_free(&work->valued);
	work->add = work->del = work->say = (struct packed) { 0 };
	work->updates = false;
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

/* What it comes to */

static int same_entry(const struct change *a, const struct change *b)
{
	return a->kind == b->kind &&
	       !memcmp(a->entry, b->entry, sizeof(a->entry));
}

/* Changes of the same entry stand together, in the order they came. */
static int order_changes(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	int order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = memcmp(a->entry, b->entry, sizeof(a->entry));
	if (order)
		return order;
	/* Those of one line are alike. */
	return a->line < b->line ? -1 : a->line > b->line;
}

static int pack(struct packed *entries, const struct change *change)
{
	struct entry_array *array = &entries->kind[change->kind];
	size_t size = entry_size[change->kind];

	if (packed_grow(entries, change->kind, 1))
		return -ENOMEM;
	memcpy(array->data + array->count++ * size, change->entry, size);
	return 0;
}

/* Is this very entry in the set? Return: 0, 1, or a negative errno. */
static int ask(struct transaction *t, const struct work *work,
	       const struct change *change)
{
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct packed one = { 0 };
	struct nl_test test;
	int err;

	memcpy(entry, change->entry, sizeof(entry));
	one.kind[change->kind].data = entry;
	one.kind[change->kind].count = 1;
	err = nl_entry_test(t->tool->nl, work->at, &one, &test);
	if (err)
		return err;
	if (is_approximate(&work->set))
		return test.found;
	/* A host is also found in a prefix; and an exception is there, too. */
	if (change->kind == ENTRY_HOST4 && test.prefix_len != 32)
		return false;
	if (change->kind == ENTRY_HOST6 && test.prefix_len != 128)
		return false;
	return test.found || test.nomatch;
}

static int compare_entry4(const void *a, const void *b)
{
	return memcmp(a, b, IPCUCKOO_HOST4_SIZE);
}

static int compare_net4(const void *a, const void *b)
{
	return memcmp(a, b, IPCUCKOO_NET4_SIZE);
}

static int compare_entry6(const void *a, const void *b)
{
	return memcmp(a, b, IPCUCKOO_HOST6_SIZE);
}

static int compare_net6(const void *a, const void *b)
{
	return memcmp(a, b, IPCUCKOO_NET6_SIZE);
}

static bool find(const struct packed *have, const struct change *change)
{
	static int (*const compare[])(const void *a, const void *b) = {
		[ENTRY_HOST4] = compare_entry4,
		[ENTRY_HOST6] = compare_entry6,
		[ENTRY_NET4] = compare_net4,
		[ENTRY_NET6] = compare_net6,
	};
	const struct entry_array *array = &have->kind[change->kind];

	return array->count &&
	       bsearch(change->entry, array->data, array->count,
		       entry_size[change->kind], compare[change->kind]);
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

/* A counter that is not told goes on where the entry is there; else it begins. */
static void follow_counter(uint64_t *count, uint64_t told, bool there)
{
	if (told != IPCUCKOO_COUNTER_KEEP)
		*count = told;
	else if (!there)
		*count = 0;
}

/* Follow one entry through its changes, and what is kept for it. Return: whether
 * it is there then.
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

/* What is said of an entry that will be there. Of one that is there already,
 * that it is added once more: what is kept for it becomes what is said now, and
 * it is no exception any more unless that is said again.
 */
static int plan_to_say(struct work *work, const struct change *change,
		       const struct entry_value *value, bool there)
{
	if (there && !work->told && work->set.type != IPCUCKOO_TYPE_HASH_NET)
		return 0;
	work->updates |= there;
	return work->told ?
	       valued_add(&work->valued, change->kind, change->entry, value) :
	       pack(&work->say, change);
}

/* Find what the changes of a set come to. @have is what it has, or NULL to ask
 * for each entry. Return: 0 or a negative errno.
 */
static int settle(struct transaction *t, struct work *work,
		  const struct packed *have, struct fault *fault)
{
	const struct change *change = work->changes, *end, *next;
	struct entry_value value;
	int there, err = 0;
	bool then;

	forget_plan(work);
	if (!work->count)
		return 0;
	end = change + work->count;
	for (; change < end && !err; change = next) {
		for (next = change + 1; next < end && same_entry(change, next); )
			next++;
		there = work->fresh || work->flushed ? 0 :
			have ? find(have, change) : ask(t, work, change);
		if (there < 0)
			return there;
		then = follow(work, change, next, there, &value, fault);
		if (then != there)
			err = pack(then ? &work->add : &work->del, change);
		if (!err && then)
			err = plan_to_say(work, change, &value, there);
	}
	return err;
}

/* Whether what is added goes where there is room for what is deleted only. */
static bool is_tight(const struct work *work)
{
	return work->set.maxelem && packed_count(&work->del) &&
	       work->set.entries + packed_count(&work->add) > work->set.maxelem;
}

/* Read a set, at a moment that its generation marks. */
static int read_set(struct transaction *t, struct work *work,
		    struct packed *have)
{
	int attempt, err = -ESTALE;

	for (attempt = 0; attempt < ATTEMPTS && err == -ESTALE; attempt++) {
		packed_free(have);
		*have = (struct packed) { 0 };
		err = nl_set_get(t->tool->nl, work->at, &work->set);
		if (err)
			return err;
		err = nl_entries(t->tool->nl, work->at, have);
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

/* Whether nothing else is to be done that might fail after a message. */
static bool is_alone(const struct transaction *t)
{
	size_t tasks = t->naming_count, i;

	for (i = 0; i < t->count; i++)
		tasks += t->works[i]->count || t->works[i]->flushed;
	return tasks == 1;
}

/* Make the plan for a set. Return: 0 or a negative errno. */
static int make_plan(struct transaction *t, struct work *work,
		     struct fault *fault)
{
	bool all = work->count > FEW && !is_approximate(&work->set);
	int err;

	if (!work->count && !work->flushed)
		return 0;
	if (work->count)
		qsort(work->changes, work->count, sizeof(*work->changes),
		      order_changes);
	if (work->fresh || work->flushed) {
		work->plan = PLAN_SHADOW;
		return settle(t, work, NULL, fault);
	}
	work->plan = PLAN_MESSAGES;
	err = all ? settle_all(t, work, fault) : settle(t, work, NULL, fault);
	if (err)
		return err;
	if (all || !nl_fits(&work->say) || !nl_fits(&work->del) || is_tight(work) ||
	    !nl_valued_fits(&work->valued) || (work->updates && !is_alone(t)))
		work->plan = PLAN_SHADOW;
	return 0;
}

static int fail_fault(struct tool *tool, const struct fault *fault)
{
	const struct change *change = fault->change;
	char text[ADDRESS_TEXT_SIZE];

	*entry_format(text, change->kind, change->entry) = '\0';
	tool->line = change->line;
	if (fault->code == -EEXIST)
		return fail(tool, STATUS_REFUSED,
			    "Element cannot be added to the set: it's already added (%s, set %s; nothing was changed; -exist accepts that)",
			    text, fault->work->set.name);
	return fail(tool, STATUS_REFUSED,
		    "Element cannot be deleted from the set: it's not added (%s, set %s; nothing was changed; -exist accepts that)",
		    text, fault->work->set.name);
}

int transaction_check(struct transaction *t)
{
	struct fault fault = { 0 };
	struct work *work;
	size_t i;

	for (i = 0; i < t->count; i++) {
		work = t->works[i];
		if (make_plan(t, work, &fault))
			return fail_kernel(t->tool, work->at, "cannot read set %s",
					   work->at);
	}
	if (fault.change)
		return fail_fault(t->tool, &fault);
	for (i = 0; i < t->count; i++) {
		work = t->works[i];
		if (work->plan == PLAN_SHADOW && (work->fresh || work->flushed) &&
		    work->set.maxelem && !(work->set.flags & IPCUCKOO_F_FORCEADD) &&
		    packed_count(&work->add) > work->set.maxelem)
			return fail(t->tool, STATUS_REFUSED,
				    "Hash is full, cannot add more elements (set %s; nothing was changed)",
				    work->set.name);
	}
	return STATUS_OK;
}

/* Doing it */

static int put_plain(struct transaction *t, const struct work *work)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(&work->say) > 0;

	while (more > 0)
		more = nl_shadow_add(t->tool->nl, work->shadow, &work->say, &cursor,
				     &change);
	return more;
}

static int put_valued(struct transaction *t, const struct work *work)
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
	return work->told ? put_valued(t, work) : put_plain(t, work);
}

static int fail_change(struct transaction *t, const struct work *work, int err)
{
	if (err == -ESTALE)
		return fail(t->tool, STATUS_REFUSED,
			    "others kept changing the set %s, %d times in a row; try again",
			    work->set.name, ATTEMPTS);
	if (err == -ENOSPC)
		return fail(t->tool, STATUS_REFUSED,
			    "Hash is full, cannot add more elements (set %s; nothing was changed)",
			    work->set.name);
	return fail_kernel(t->tool, work->at,
			   "cannot change the set %s; nothing was changed",
			   work->set.name);
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
		if (!err)
			return STATUS_OK;
		if (err != -ESTALE || attempt == ATTEMPTS - 1)
			break;
		nl_shadow_del(t->tool->nl, work->shadow);
		err = fill_shadow(t, work);
	}
	return fail_change(t, work, err);
}

/* What is gone already is as it shall be. */
static void del_entries(struct transaction *t, struct work *work)
{
	struct nl_change change;

	if (work->plan == PLAN_MESSAGES && packed_count(&work->del))
		nl_entry_del(t->tool->nl, work->at, &work->del, IPCUCKOO_F_EXIST,
			     &change);
}

/* Where a set is kept that is not made yet, or destroyed already. */
static void hidden_name(const struct transaction *t, const struct work *work,
			char name[IPCUCKOO_NAME_SIZE])
{
	size_t i = 0;

	while (t->works[i] != work)
		i++;
	snprintf(name, IPCUCKOO_NAME_SIZE, ".restore-%d-%zu", (int)getpid(), i);
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
	default:
		break;
	}
	return back ? nl_set_rename(t->tool->nl, to, from) :
		      nl_set_rename(t->tool->nl, from, to);
}

static int attach_named(struct transaction *t, struct naming *naming)
{
	struct tool line = *t->tool;
	struct nl_set set;

	line.line = naming->line;
	line.exist = naming->exist;
	return attach_set(&line, &naming->attachment, &set, &naming->id);
}

static int do_naming(struct transaction *t, struct naming *naming)
{
	if (naming->kind == NAMING_ATTACH)
		return attach_named(t, naming);
	if (!change_name(t, naming, false))
		return STATUS_OK;
	t->tool->line = naming->line;
	return fail_kernel(t->tool, NULL, "the name of a set cannot be changed");
}

static void undo_naming(struct transaction *t, const struct naming *naming)
{
	const struct nl_attachment from = { .id = naming->id };
	uint32_t detached;

	if (naming->kind != NAMING_ATTACH)
		change_name(t, naming, true);
	else if (naming->id)
		nl_detach(t->tool->nl, &from, &detached);
}

static int change_names(struct transaction *t)
{
	int status = STATUS_OK;
	size_t i;

	for (i = 0; i < t->naming_count && !status; i++)
		status = do_naming(t, &t->namings[i]);
	/* The last one did nothing. */
	for (i--; status && i--; )
		undo_naming(t, &t->namings[i]);
	return status;
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

static void undo_adds(struct transaction *t)
{
	struct nl_change change;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->works[i]->done)
			nl_entry_del(t->tool->nl, t->works[i]->at,
				     &t->works[i]->add, IPCUCKOO_F_EXIST,
				     &change);
}

typedef int (*step_fn)(struct transaction *t, struct work *work);

int transaction_apply(struct transaction *t)
{
	static const step_fn steps[] = { prepare, add_entries, commit };
	int status = STATUS_OK;
	size_t step, i;

	for (i = 0; i < t->count; i++)
		if (t->works[i]->fresh)
			hidden_name(t, t->works[i], t->works[i]->at);
	for (step = 0; step < sizeof(steps) / sizeof(steps[0]); step++)
		for (i = 0; i < t->count && !status; i++)
			status = steps[step](t, t->works[i]);
	if (status) {
		undo_adds(t);
	} else {
		for (i = 0; i < t->count; i++)
			del_entries(t, t->works[i]);
		status = change_names(t);
	}
	destroy_hidden(t, status);
	return status;
}
