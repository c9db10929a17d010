/* SPDX-License-Identifier: GPL-2.0-only */
/* What a publisher has to write to a list, one after the other. */
#ifndef IPCUCKOOD_QUEUE_H
#define IPCUCKOOD_QUEUE_H

#include <sys/queue.h>

#include "daemon/base/request.h"
#include "daemon/base/timer.h"
#include "daemon/redis/fleet.h"
#include "daemon/redis/backlog.h"

struct publisher;

enum job_kind { JOB_CHANGE, JOB_REPLACE, JOB_RENEW, JOB_FLEET };

/**
 * struct job - something to write
 * @kind:	what it is
 * @link:	in the queue
 * @bytes:	JOB_CHANGE: changes; JOB_REPLACE and JOB_RENEW: a snapshot
 * @count:	number of changes or entries
 * @token:	JOB_CHANGE, JOB_REPLACE: names the publication
 * @since:	JOB_CHANGE: when it was queued, in seconds since 1970
 * @sent_at:	publications: when it was sent for the first time; 0: never, or each time it was refused
 * @unknown:	publications: an earlier attempt got no reply, and may have been done
 * @stored:	JOB_CHANGE: it is on disk
 * @version:	JOB_REPLACE, JOB_RENEW: the version that the snapshot gets
 * @sent:	how much of the snapshot has been sent
 * @position:	JOB_RENEW: what is in the snapshot
 * @old:	JOB_RENEW: the version that it replaces
 * @fleet:	JOB_FLEET: what was read
 * @request:	the client that waits; NULL if nobody does
 * @expires:	answers the client
 * @waited:	how often that was put off
 * @publisher:	whose job it is
 */
struct job {
	enum job_kind kind;
	TAILQ_ENTRY(job) link;
	struct list_bytes bytes;
	size_t count;
	char token[TOKEN_SIZE];
	uint32_t since;
	uint32_t sent_at;
	bool unknown;
	bool stored;
	char version[LIST_VERSION_SIZE];
	size_t sent;
	struct list_position position;
	char old[LIST_VERSION_SIZE];
	struct fleet *fleet;
	struct request *request;
	struct timer expires;
	unsigned int waited;
	struct publisher *publisher;
};

/* Jobs in their order. */
TAILQ_HEAD(job_queue, job);

/* A job that is in no queue, without a token and a version. */
struct job *job_new(enum job_kind kind);
/* Name the publication. */
void job_new_token(struct job *job);
/* Choose a version; another one if it is sent again, as parts of the old one may be in Redis. */
void job_new_version(struct job *job);
/* Whether a client waits for its answer. */
bool job_is_awaited(const struct job *job);
/* Answer the client, if one waits. @text is allocated. */
void job_answer(struct job *job, int status, char *text);
void job_free(struct job *job);

#endif /* IPCUCKOOD_QUEUE_H */
