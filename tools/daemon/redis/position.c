// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/base/memory.h"
#include "daemon/redis/position.h"

/* What the contents depend on: another list, or a set that takes other entries. */
static char *identity(const struct source *source, const char *list)
{
	return need_text("%s %d %d", list, source->target->type, source->target->family);
}

static void set_identity(struct source *source, const char *list)
{
	char *text = identity(source, list);

	notes_set(&source->notes, "list", text);
	free(text);
}

static void set_number_note(struct source *source, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	notes_set(&source->notes, key, text);
}

void position_store(struct source *source, const char *list, const struct list_position *position)
{
	set_identity(source, list);
	set_number_note(source, "seq", position->seq);
	notes_set(&source->notes, "id", position->id);
	notes_set(&source->notes, "version", position->version);
	snprintf(source->version, sizeof(source->version), "%llu %s",
		 (unsigned long long)position->seq, position->id);
}

bool position_load(const struct source *source, const char *list, struct list_position *position)
{
	const char *stored = notes_get(source->notes, "list"), *seq = notes_get(source->notes, "seq");
	const char *id = notes_get(source->notes, "id"), *version = notes_get(source->notes, "version");
	char *same = identity(source, list);
	uint64_t number, ms;
	bool found;

	found = source->delivered && stored && seq && id && version && !strcmp(stored, same) &&
		list_number(seq, strlen(seq), &number) && list_parse_id(id, strlen(id), &ms) &&
		list_is_version(version, strlen(version));
	memset(position, 0, sizeof(*position));
	if (found) {
		position->seq = number;
		strcpy(position->id, id);
		strcpy(position->version, version);
	}
	free(same);
	return found;
}

bool position_is_same(const struct list_position *a, const struct list_position *b)
{
	return a->seq == b->seq && !strcmp(a->id, b->id) && !strcmp(a->version, b->version);
}

void position_note_lag(struct source *source, const struct list_position *position)
{
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!list_parse_id(position->id, strlen(position->id), &ms))
		return;
	source->lag = now.tv_sec + now.tv_nsec / 1e9 - ms / 1000.0;
	if (source->lag < 0)
		source->lag = 0;
}
