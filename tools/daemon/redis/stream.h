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

/* The entries in a reply to XREAD, an array; NULL if it is no such reply */
const redisReply *stream_entries(const redisReply *reply);

/* Read entries of the stream; @batch->at is the position in front of them, and then behind those
 * that were read, also if no change fits into the set (@limits). It ends in front of an entry that
 * replaces the list, and of one whose number is not the next one: if that is the first one, the
 * position stays as it was. Return: NULL, or what is wrong with the entry behind the position; @why
 * is room for it.
 */
const char *stream_read(struct stream_batch *batch, const redisReply *entries,
			struct list_limits *limits, char why[LIST_WHY_SIZE]);
void stream_free(struct stream_batch *batch);

#endif /* IPCUCKOOD_STREAM_H */
