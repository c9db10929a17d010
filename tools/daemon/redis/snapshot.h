/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A snapshot of a list, as far as it has been read from Redis. It is read in pieces, since a reply
 * is bounded.
 */
#ifndef IPCUCKOOD_SNAPSHOT_H
#define IPCUCKOOD_SNAPSHOT_H

#include "daemon/redis/conn.h"
#include "daemon/redis/list.h"

/**
 * struct snapshot - a snapshot that is being read
 * @bytes:	what has arrived
 * @asked_for:	the number of bytes that have been asked for
 * @whole:	the number of bytes that it has
 */
struct snapshot {
	struct list_bytes bytes;
	uint64_t asked_for;
	uint64_t whole;
};

/* Ask for the next pieces, unless enough are on their way. @snapshot: zeros before the first call.
 * @head: which snapshot it is; the same in each call. @reply: takes each piece, and gives it to
 * snapshot_add()
 */
void snapshot_ask(struct snapshot *snapshot, struct conn *reader, const char *list,
		  const struct list_head *head, conn_reply_fn *reply);
/* The size of the largest piece that can come now */
size_t snapshot_room(const struct snapshot *snapshot);
/* Append a piece, of snapshot_room() bytes at most. Return: NULL, or why the snapshot cannot be
 * read.
 */
const char *snapshot_add(struct snapshot *snapshot, const char *data, size_t size);
bool snapshot_is_whole(const struct snapshot *snapshot);
/* Forget what has arrived; another snapshot may be read then. */
void snapshot_forget(struct snapshot *snapshot);

#endif /* IPCUCKOOD_SNAPSHOT_H */
