// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "lib/extended.h"

/**
 * extended_add - add an entry with its extensions
 * @entries:	the entries to add to
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 * @value:	the extensions
 *
 * Return: 0 or -ENOMEM.
 */
int extended_add(struct extended *entries, enum entry_kind kind, const uint8_t *entry,
		 const struct entry_value *value)
{
	struct extended_entry *at = entries->at;
	size_t room = entries->room ? 2 * entries->room : 64;

	if (entries->count == entries->room) {
		at = realloc(at, room * sizeof(*at));
		if (!at)
			return -ENOMEM;
		entries->at = at;
		entries->room = room;
	}
	at += entries->count;
	*at = (struct extended_entry){ .kind = kind, .value = *value };
	memcpy(at->entry, entry, entry_size[kind]);
	if (value->comment) {
		at->value.comment = strdup(value->comment);
		if (!at->value.comment)
			return -ENOMEM;
	}
	entries->count++;
	return 0;
}

/**
 * extended_add_packed - add entries that have the same extensions
 * @entries:	the entries to add to
 * @packed:	the new entries
 * @value:	the extensions of each of them
 *
 * Return: 0 or -ENOMEM.
 */
int extended_add_packed(struct extended *entries, const struct packed *packed,
			const struct entry_value *value)
{
	const struct entry_array *array;
	size_t i;
	int kind, err;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &packed->kind[kind];
		for (i = 0; i < array->count; i++) {
			err = extended_add(entries, kind,
					   array->data + i * entry_size[kind], value);
			if (err)
				return err;
		}
	}
	return 0;
}

void extended_free(struct extended *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		free(entries->at[i].value.comment);
	free(entries->at);
	memset(entries, 0, sizeof(*entries));
}

/* As for packed_walk(), a prefix comes before a host with the same address. */
static int compare(const struct extended_entry *a, const struct extended_entry *b)
{
	size_t size = is_v6(a->kind) ? IPCUCKOO_HOST6_SIZE : IPCUCKOO_HOST4_SIZE;
	int order = is_v6(a->kind) - is_v6(b->kind);

	if (!order)
		order = memcmp(a->entry, b->entry, size);
	if (!order)
		order = is_net(b->kind) - is_net(a->kind);
	if (!order && is_net(a->kind))
		order = a->entry[size] - b->entry[size];
	return order;
}

/* Compares pointers last, so that equal entries stay in their order. */
static int compare_places(const void *a, const void *b)
{
	const struct extended_entry *const *x = a, *const *y = b;
	int order = compare(*x, *y);

	return order ? order : (*x > *y) - (*x < *y);
}

/**
 * extended_sort - sort by family, address and length, and remove repeated entries
 * @entries:	the entries; of equal entries, the last one stays
 *
 * Return: 0 or -ENOMEM.
 */
int extended_sort(struct extended *entries)
{
	struct extended_entry **order, *sorted;
	size_t i, kept = 0;

	if (entries->count < 2)
		return 0;
	order = malloc(entries->count * sizeof(*order));
	sorted = malloc(entries->count * sizeof(*sorted));
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < entries->count; i++)
		order[i] = &entries->at[i];
	qsort(order, entries->count, sizeof(*order), compare_places);
	for (i = 0; i < entries->count; i++) {
		if (i + 1 < entries->count && !compare(order[i], order[i + 1]))
			free(order[i]->value.comment);
		else
			sorted[kept++] = *order[i];
	}
	free(order);
	free(entries->at);
	entries->at = sorted;
	entries->room = entries->count;
	entries->count = kept;
	return 0;
}

/**
 * extended_size - maximum number of bytes that an entry takes in a message
 * @entry:	the entry
 */
size_t extended_size(const struct extended_entry *entry)
{
	const char *comment = entry->value.comment;

	return entry_size[entry->kind] + IPCUCKOO_TIMEOUT_SIZE +
	       IPCUCKOO_COUNTERS_SIZE + IPCUCKOO_SKBINFO_SIZE +
	       IPCUCKOO_NOMATCH_SIZE + (comment ? strlen(comment) : 0) + 1;
}
