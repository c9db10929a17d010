// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/position.h"

/* What the contents depend on: another list, or a set that takes other entries. */
static char *identity(const struct source *source, const char *list)
{
	return need_text("%s %d %d", list, source->target->type, source->target->family);
}

void position_store(struct source *source, const char *list, const struct list_position *position)
{
	char *same = identity(source, list), *seq = need_text("%llu", (unsigned long long)position->seq);

	notes_set(&source->notes, "list", same);
	notes_set(&source->notes, "seq", seq);
	notes_set(&source->notes, "id", position->id);
	notes_set(&source->notes, "version", position->version);
	snprintf(source->version, sizeof(source->version), "%s %s", seq, position->id);
	free(seq);
	free(same);
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
	uint64_t ms, now = clock_ms(CLOCK_REALTIME);

	if (list_parse_id(position->id, strlen(position->id), &ms))
		source->lag = ms < now ? (now - ms) / 1000.0 : 0;
}
