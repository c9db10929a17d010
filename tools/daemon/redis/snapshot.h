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

/**
 * snapshot_ask() - ask for the next pieces
 * @snapshot:	the snapshot; zeros before the first call
 * @reader:	the connection
 * @list:	name of the list
 * @head:	which snapshot it is; the same in each call
 * @reply:	takes each piece, and gives it to snapshot_add()
 *
 * Nothing is asked for if enough pieces are on their way.
 */
void snapshot_ask(struct snapshot *snapshot, struct conn *reader, const char *list,
		  const struct list_head *head, conn_reply_fn *reply);

/**
 * snapshot_room() - the largest piece that can come now
 * @snapshot:	the snapshot
 *
 * Return: number of bytes.
 */
size_t snapshot_room(const struct snapshot *snapshot);

/**
 * snapshot_add() - append a piece
 * @snapshot:	the snapshot
 * @data:	the piece
 * @size:	number of bytes, at most snapshot_room()
 *
 * Return: NULL, or why the snapshot cannot be read.
 */
const char *snapshot_add(struct snapshot *snapshot, const char *data, size_t size);

/**
 * snapshot_is_whole() - has all of it arrived?
 * @snapshot:	the snapshot
 *
 * Return: whether it has.
 */
bool snapshot_is_whole(const struct snapshot *snapshot);

/**
 * snapshot_forget() - forget what has arrived
 * @snapshot:	the snapshot: it can be used for another one afterwards
 */
void snapshot_forget(struct snapshot *snapshot);

#endif /* IPCUCKOOD_SNAPSHOT_H */
