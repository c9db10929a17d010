/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows a list in Redis (see list.h): what the list has is delivered as the contents of a source.
 */
#ifndef IPCUCKOOD_FOLLOWER_H
#define IPCUCKOOD_FOLLOWER_H

#include "daemon/base/timer.h"
#include "daemon/redis/clock.h"
#include "daemon/redis/conn.h"
#include "daemon/redis/list.h"
#include "daemon/redis/snapshot.h"

struct publisher;

/**
 * struct follower_config - what a follower needs to know
 * @conn:	where Redis is
 * @list:	name of the list
 * @heartbeat:	seconds without changes after which the list is compared, and the report repeated
 * @max_size:	maximum number of bytes of a snapshot
 * @max_entries: maximum number of entries
 * @keep:	number of changes that the stream keeps
 * @publisher:	takes reports, and snapshots to be renewed
 * @publish:	renew the snapshot
 * @report:	report what is in force here
 */
struct follower_config {
	const struct conn_config *conn;
	const char *list;
	uint64_t heartbeat;
	uint64_t max_size;
	uint64_t max_entries;
	uint64_t keep;
	struct publisher *publisher;
	bool publish;
	bool report;
};

/* What is being read. */
enum follower_step {
	AWAY,		/* nothing: there is no connection */
	HEAD,		/* the head */
	PRIMARY,	/* whether it is the primary that shows an older list, or none */
	POSITION,	/* whether the last change in force is in the stream */
	SNAPSHOT,	/* the snapshot */
	CATCH_UP,	/* the changes behind the snapshot */
	FOLLOW,		/* changes, first those that are there, then as they come */
};

/**
 * struct follower - a list that is followed
 *
 * For others to read:
 * @here:	what is in force
 * @left_out:	number of entries that did not fit into the set
 * @older:	a list was refused because it is older than what is in force
 *
 * The rest:
 * @source:	the source
 * @config:	what it needs to know
 * @reader:	the connection
 * @clock:	compares the clocks of Redis and of this machine
 * @step:	what is being read
 * @head:	the last head that was read
 * @fresh:	what is being read: @here when it was read
 * @contents:	its contents
 * @snapshot:	the snapshot, as far as it has arrived
 * @distrust:	read the snapshot, whatever is in force
 * @accepted:	somebody has agreed that an older list is taken
 * @streams:	the server has shown the stream since it was connected
 * @warned:	a warning about @left_out was logged
 * @too_large:	the snapshot is not renewed because it would be too large, and that was said
 * @again:	asks for the head again, when there is no list
 * @renew:	makes @renew_due true
 * @renew_due:	renew the snapshot if the head says that this is necessary
 * @purged_at:	when expired entries were removed
 * @asked_at:	a second in which heads were read,
 * @asked:	and how many in it
 */
struct follower {
	struct list_position here;
	uint64_t left_out;
	bool older;

	struct source *source;
	struct follower_config config;
	struct conn *reader;
	struct clock_check clock;
	enum follower_step step;
	struct list_head head;
	struct list_position fresh;
	struct contents contents;
	struct snapshot snapshot;
	bool distrust;
	bool accepted;
	bool streams;
	bool warned;
	bool too_large;
	struct timer again;
	struct timer renew;
	bool renew_due;
	uint32_t purged_at;
	uint32_t asked_at;
	unsigned int asked;
};

/* Begin to follow, or go on after follower_stop(). @follower: zeros before the first call. @source:
 * has the contents and notes from before. What @config points to has to stay.
 */
void follower_start(struct follower *follower, struct source *source,
		    const struct follower_config *config);
/* Nothing is left to be freed then. */
void follower_stop(struct follower *follower);
/* Just after follower_start(): read the snapshot, whatever is in force; with @accept also if it is
 * older.
 */
void follower_distrust(struct follower *follower, bool accept);
/* The address from which it reads, see conn_server(); NULL if it does not follow. */
const char *follower_server(const struct follower *follower);

#endif /* IPCUCKOOD_FOLLOWER_H */
