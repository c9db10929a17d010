// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/redis/snapshot.h"

/* A snapshot is read in pieces of this size. So many are asked for before the first one has come,
 * so that the way to Redis and back does not count for each of them.
 */
#define PIECE_SIZE	(256u << 10)
#define PIECES_AHEAD	4

void snapshot_ask(struct snapshot *snapshot, struct conn *reader, const char *list,
		  const struct list_head *head, conn_reply_fn *reply)
{
	snapshot->whole = head->bytes;
	for (; snapshot->asked_for < snapshot->whole &&
	       snapshot->asked_for - snapshot->bytes.size < PIECES_AHEAD * PIECE_SIZE;
	     snapshot->asked_for += PIECE_SIZE)
		conn_send(reader, reply, 0, "GETRANGE " LIST_KEY "snapshot:%s %llu %llu", list,
			  head->snapshot.version, (unsigned long long)snapshot->asked_for,
			  (unsigned long long)snapshot->asked_for + PIECE_SIZE - 1);
}

size_t snapshot_room(const struct snapshot *snapshot)
{
	uint64_t left = snapshot->whole - snapshot->bytes.size;

	return left < PIECE_SIZE ? left : PIECE_SIZE;
}

const char *snapshot_add(struct snapshot *snapshot, const char *data, size_t size)
{
	struct list_bytes *bytes = &snapshot->bytes;
	uint8_t *grown;

	/* It may just have been replaced by a newer one. */
	if (size < snapshot_room(snapshot))
		return "its snapshot is not there as a whole; if that stays so, publish all of it again";
	grown = realloc(bytes->data, bytes->size + size + 1);
	if (!grown)
		return "its snapshot needs more memory than there is";
	bytes->data = grown;
	memcpy(grown + bytes->size, data, size);
	bytes->size += size;
	return NULL;
}

bool snapshot_is_whole(const struct snapshot *snapshot)
{
	return snapshot->bytes.size == snapshot->whole;
}

void snapshot_forget(struct snapshot *snapshot)
{
	free(snapshot->bytes.data);
	memset(snapshot, 0, sizeof(*snapshot));
}
