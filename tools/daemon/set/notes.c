// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/set/notes.h"

const char *notes_get(const struct note *notes, const char *key)
{
	for (; notes; notes = notes->next)
		if (!strcmp(notes->key, key))
			return notes->value;
	return NULL;
}

void notes_set(struct note **notes, const char *key, const char *value)
{
	struct note **at = notes, *note;

	while (*at && strcmp((*at)->key, key))
		at = &(*at)->next;
	note = *at;
	if (note) {
		*at = note->next;
		free(note->key);
		free(note->value);
		free(note);
	}
	if (!value)
		return;
	note = need_zeros(sizeof(*note));
	note->key = need_copy(key);
	note->value = need_copy(value);
	note->next = *notes;
	*notes = note;
}

void notes_free(struct note **notes)
{
	while (*notes)
		notes_set(notes, (*notes)->key, NULL);
}
