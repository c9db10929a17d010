/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes to a list in Redis: publishes changes and whole lists, renews the snapshot, and reports
 * what this host has in force. Changes wait while Redis is away, up to a limit, also if the daemon
 * ends.
 *
 * It has a connection of its own, since that of the follower waits for changes. The connection is
 * made when there is something to write, and closed when there was nothing for some time.
 */
#ifndef IPCUCKOOD_PUBLISHER_H
#define IPCUCKOOD_PUBLISHER_H

#include "daemon/base/request.h"
#include "daemon/redis/conn.h"
#include "daemon/redis/list.h"

/**
 * struct publisher_config - what a publisher needs to know
 * @event:	the event loop
 * @conn:	where Redis is
 * @source:	name of the source, for messages
 * @list:	name of the list
 * @state_dir:	directory for what waits; NULL: it is lost when the daemon ends
 * @host:	name of this host
 * @queue:	maximum number of changes that wait
 * @keep:	number of changes that the stream keeps
 * @heartbeat:	seconds between two reports
 */
struct publisher_config {
	sd_event *event;
	const struct conn_config *conn;
	const char *source;
	const char *list;
	const char *state_dir;
	const char *host;
	uint64_t queue;
	uint64_t keep;
	uint64_t heartbeat;
};

/* What a host has in force. */
struct publisher_report {
	struct list_position position;
	size_t entries;
	bool behind;
	bool acts;
};

struct publisher;

struct publisher *publisher_new(const struct publisher_config *config);
/* Stop to write; and go on later, perhaps with another configuration. NULL is ignored. */
void publisher_pause(struct publisher *publisher);
void publisher_resume(struct publisher *publisher, const struct publisher_config *config);
/* What waits is published when there is a publisher for this list again. NULL is ignored. */
void publisher_free(struct publisher *publisher);

/* Publish changes in one step. @bytes are the changes, packed; they are empty afterwards. */
void publisher_change(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		      struct request *request);
/* Publish a whole list, a packed snapshot, in one step. */
void publisher_replace(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		       struct request *request);
/* Put a newer snapshot into the place of that of @old: what the list is at @position. */
void publisher_renew(struct publisher *publisher, struct list_bytes *bytes,
		     const struct list_position *position, const char *old);
/* Report what this host has in force, soon. */
void publisher_report(struct publisher *publisher, const struct publisher_report *report);
/* Answer who has what in force. */
void publisher_fleet(struct publisher *publisher, struct request *request);
/* Why nothing can be written; NULL if it can, or nothing is to be written. */
const char *publisher_problem(const struct publisher *publisher);
/* Number of changes that wait. */
uint64_t publisher_waiting(const struct publisher *publisher);

#endif /* IPCUCKOOD_PUBLISHER_H */
