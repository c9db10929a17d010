// SPDX-License-Identifier: GPL-2.0-only
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/memory.h"
#include "daemon/crowdsec/decisions.h"

/* The label of decisions that have no label of their own */
#define NO_LABEL	"other"

static int compare_entries(const struct decision *a, enum entry_kind kind, const uint8_t *entry)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	return memcmp(a->entry, entry, entry_size[kind]);
}

static int compare(const struct decision *a, const struct decision *b)
{
	int order = compare_entries(a, b->kind, b->entry);

	return order ? order : a->id < b->id ? -1 : a->id > b->id;
}

static int compare_for_sort(const void *a, const void *b)
{
	return compare(a, b);
}

static int grow(struct decisions *list, size_t count)
{
	size_t room = list->room + list->room / 2;
	struct decision *at;

	if (count <= list->room)
		return 0;
	if (room < count)
		room = count < 16 ? 16 : count;
	at = realloc(list->at, room * sizeof(*at));
	if (!at)
		return -ENOMEM;
	list->at = at;
	list->room = room;
	return 0;
}

int decisions_add(struct decisions *list, const struct decision *decision)
{
	if (grow(list, list->count + 1))
		return -ENOMEM;
	list->at[list->count++] = *decision;
	return 0;
}

void decisions_sort(struct decisions *list)
{
	size_t from, to = 0;

	if (list->count)
		qsort(list->at, list->count, sizeof(*list->at), compare_for_sort);
	for (from = 0; from < list->count; from++)
		if (!to || compare(&list->at[to - 1], &list->at[from]))
			list->at[to++] = list->at[from];
	list->count = to;
}

void decisions_remove(struct decisions *list, const struct decisions *gone, uint32_t now)
{
	size_t from, to = 0, at = 0;

	for (from = 0; from < list->count; from++) {
		while (at < gone->count && compare(&gone->at[at], &list->at[from]) < 0)
			at++;
		if (list->at[from].expires <= now ||
		    (at < gone->count && !compare(&gone->at[at], &list->at[from])))
			continue;
		if (to != from)
			list->at[to] = list->at[from];
		to++;
	}
	list->count = to;
}

int decisions_merge(struct decisions *list, const struct decisions *more)
{
	size_t old = list->count, new = more->count, to = old + new, at;

	if (grow(list, to))
		return -ENOMEM;
	/* From the end, so that nothing is overwritten that is still needed. */
	while (new) {
		if (old && compare(&list->at[old - 1], &more->at[new - 1]) > 0)
			list->at[--to] = list->at[--old];
		else
			list->at[--to] = more->at[--new];
	}
	/* A decision that was sent twice is the one that came last. */
	list->count += more->count;
	for (at = to = 0; at < list->count; at++) {
		if (to && !compare(&list->at[to - 1], &list->at[at]))
			to--;
		if (to != at)
			list->at[to] = list->at[at];
		to++;
	}
	list->count = to;
	return 0;
}

/* The longest of the decisions from number @from on that concern the same entry. @end: the number
 * behind them.
 */
static const struct decision *longest(const struct decisions *list, size_t from, size_t *end)
{
	const struct decision *first = &list->at[from], *found = first;

	for (*end = from + 1; *end < list->count; (*end)++) {
		if (compare_entries(&list->at[*end], first->kind, first->entry))
			break;
		if (list->at[*end].expires > found->expires)
			found = &list->at[*end];
	}
	return found;
}

bool decisions_outlived(const struct decisions *list, const struct decisions *gone, uint32_t until)
{
	const struct decision *entry, *decision;
	size_t at = 0, i = 0, next;
	bool deleted, other;

	while (i < gone->count) {
		entry = &gone->at[i];
		longest(gone, i, &next);
		deleted = other = false;
		for (; at < list->count; at++) {
			decision = &list->at[at];
			if (compare_entries(decision, entry->kind, entry->entry) > 0)
				break;
			while (i < next && compare(&gone->at[i], decision) < 0)
				i++;
			if (i < next && !compare(&gone->at[i], decision))
				deleted |= decision->expires > until;
			else if (!compare_entries(decision, entry->kind, entry->entry))
				other |= decision->expires > until;
		}
		if (deleted && other)
			return true;
		i = next;
	}
	return false;
}

int decisions_walk(const struct decisions *list, decisions_fn *call, void *owner)
{
	const struct decision *found;
	size_t at = 0;
	int err = 0;

	while (at < list->count && !err) {
		found = longest(list, at, &at);
		err = call(owner, found, found->kind, found->entry);
	}
	return err;
}

int decisions_walk_touched(const struct decisions *list, const struct decisions *touched,
			   decisions_fn *call, void *owner)
{
	const struct decision *entry, *found;
	size_t at = 0, i, next;
	int err = 0;

	for (i = 0; i < touched->count && !err; i = next) {
		entry = &touched->at[i];
		longest(touched, i, &next);
		while (at < list->count && compare_entries(&list->at[at], entry->kind,
							   entry->entry) < 0)
			at++;
		found = NULL;
		if (at < list->count && !compare_entries(&list->at[at], entry->kind, entry->entry))
			found = longest(list, at, &at);
		err = call(owner, found, entry->kind, entry->entry);
	}
	return err;
}

const struct decision *decisions_find(const struct decisions *list, enum entry_kind kind,
				      const uint8_t *entry, size_t *count)
{
	size_t from = 0, to = list->count, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (compare_entries(&list->at[middle], kind, entry) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	*count = 0;
	while (from + *count < list->count &&
	       !compare_entries(&list->at[from + *count], kind, entry))
		++*count;
	return *count ? &list->at[from] : NULL;
}

void decisions_shift(struct decisions *list, int64_t seconds)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		list->at[i].expires = shift_time(list->at[i].expires, seconds);
}

void decisions_free(struct decisions *list)
{
	free(list->at);
	memset(list, 0, sizeof(*list));
}

/**
 * struct labels - labels
 * @at:		the labels, by their numbers
 * @count:	how many there are
 * @tree:	finds them: struct label_node
 */
struct labels {
	struct label at[LABELS_MOST];
	size_t count;
	void *tree;
};

/* The label comes first, so that labels are compared as nodes. */
struct label_node {
	struct label label;
	uint16_t number;
};

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int order = strcmp(x->origin, y->origin);

	return order ? order : strcmp(x->scenario, y->scenario);
}

struct labels *labels_new(void)
{
	struct labels *labels = need_zeros(sizeof(*labels));

	labels_add(labels, NO_LABEL, NO_LABEL);
	return labels;
}

uint16_t labels_add(struct labels *labels, const char *origin, const char *scenario)
{
	char cut[2][IPCUCKOO_COMMENT_MAX + 1];
	const struct label wanted = { cut[0], cut[1] };
	struct label_node *node, **found;

	snprintf(cut[0], sizeof(cut[0]), "%s", origin);
	snprintf(cut[1], sizeof(cut[1]), "%s", scenario);
	found = tfind(&wanted, &labels->tree, compare_labels);
	if (found)
		return (*found)->number;
	if (labels->count == LABELS_MOST)
		return 0;
	node = need_zeros(sizeof(*node));
	node->label.origin = need_copy(cut[0]);
	node->label.scenario = need_copy(cut[1]);
	node->number = labels->count;
	labels->at[labels->count++] = node->label;
	tsearch(node, &labels->tree, compare_labels);
	return node->number;
}

const struct label *labels_get(const struct labels *labels, uint16_t number)
{
	return &labels->at[number];
}

size_t labels_count(const struct labels *labels)
{
	return labels->count;
}

void labels_free(struct labels *labels)
{
	size_t i;

	if (!labels)
		return;
	tdestroy(labels->tree, free);
	for (i = 0; i < labels->count; i++) {
		free(labels->at[i].origin);
		free(labels->at[i].scenario);
	}
	free(labels);
}
