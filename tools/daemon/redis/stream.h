/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of a list, as the stream in Redis has them. */
#ifndef IPCUCKOOD_STREAM_H
#define IPCUCKOOD_STREAM_H

#include <hiredis/hiredis.h>

#include "daemon/redis/list.h"

/**
 * struct stream_batch - changes of one reply
 * @at:		where they lead: behind the last change that was read
 * @changes:	the changes; comments point into the reply
 * @atomic:	some of them were published in one step
 * @replaced:	the list was replaced behind them
 */
struct stream_batch {
	struct list_position at;
	struct list_changes changes;
	bool atomic;
	bool replaced;
};

/**
 * stream_entries() - find the entries in a reply to XREAD
 * @reply:	the reply
 *
 * Return: the entries, an array; NULL if it is no such reply.
 */
const redisReply *stream_entries(const redisReply *reply);

/**
 * stream_read() - read entries of the stream
 * @batch:	result; its position is that in front of the entries when it is called
 * @entries:	the entries
 * @limits:	which entries of the list are of use
 * @why:	room for a reason
 *
 * It ends in front of an entry that replaces the list, and of one whose number is not the next one:
 * if that is the first one, the position stays as it was. The position also moves when no change
 * fits into the set.
 *
 * Return: NULL, or what is wrong with the entry behind the position.
 */
const char *stream_read(struct stream_batch *batch, const redisReply *entries,
			struct list_limits *limits, char why[LIST_WHY_SIZE]);

/**
 * stream_free() - free the changes
 * @batch:	the changes
 */
void stream_free(struct stream_batch *batch);

#endif /* IPCUCKOOD_STREAM_H */
