// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is to be written is a queue of jobs. One is at work at a time, so that changes arrive in
 * their order. A job that is interrupted because the connection is lost is done again: a script
 * remembers under a token what it has answered, so nothing is published twice.
 *
 * Changes that a client was told to wait are on disk (backlog.h) before it is told. It is told at
 * once if Redis is known to be away.
 */
#include <stdlib.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/backlog.h"
#include "daemon/redis/publisher.h"
#include "daemon/redis/queue.h"
#include "daemon/redis/script.h"

/* A client gets an answer after this many seconds at most; after so many times that if a whole list
 * is on its way.
 */
#define ANSWER_SECONDS	5
#define UPLOAD_FACTOR	24
/* The connection is closed when there was nothing to write for so many seconds. */
#define LINGER_SECONDS	5
/* Reports wait for this time or twice as long, at random, so that many changes make one report, and
 * not all hosts report in the same moment.
 */
#define REPORT_MS	150
/* A snapshot is sent in pieces of this size. */
#define PIECE_SIZE	(256u << 10)
/* The stream may be this many times longer than what it keeps, while nobody renews the snapshot. */
#define STREAM_FACTOR	8

/* A publication that may have arrived is not sent again when Redis may have forgotten its token. */
#define AGAIN_SECONDS	(SCRIPT_TOKEN_SECONDS - 600)

/**
 * struct publisher - what writes to a list
 * @config:	what it was made with
 * @conn:	the connection; NULL if there is none
 * @jobs:	the queue
 * @backlog:	what waits, on disk; NULL if there is no directory for it
 * @waiting:	number of changes in it
 * @report:	the last report
 * @report_due:	it has not been written yet
 * @report_refused: Redis refuses it, and that was said
 * @report_timer: writes the report
 * @linger:	closes the connection
 * @replica:	the server is a replica: it can be read, but what is written to it is lost
 * @listless:	the server has no list, and others are named
 * @refused:	Redis takes no changes now, and they wait
 * @busy:	a command was sent, and its reply has not come yet
 * @away:	the connection could not be made, or did not answer in time
 * @why:	why Redis cannot be used; "" if it can
 */
struct publisher {
	struct publisher_config config;
	struct conn *conn;
	struct job_queue jobs;
	struct backlog *backlog;
	uint64_t waiting;
	struct publisher_report report;
	bool report_due;
	bool report_refused;
	struct timer report_timer;
	struct timer linger;
	bool replica;
	bool listless;
	bool refused;
	bool busy;
	bool away;
	char why[640];
};

static void work(struct publisher *publisher);

static void free_job(struct publisher *publisher, struct job *job)
{
	TAILQ_REMOVE(&publisher->jobs, job, link);
	if (job->kind == JOB_CHANGE)
		publisher->waiting -= job->count;
	job_free(job);
}

/* Put changes on disk. Return: whether they are there. */
static bool store(struct publisher *publisher, struct job *job)
{
	struct backlog_change change = {
		.bytes = job->bytes, .count = job->count, .since = job->since,
		.sent_at = job->sent_at,
	};

	if (!job->stored && publisher->backlog) {
		memcpy(change.token, job->token, sizeof(change.token));
		job->stored = backlog_add(publisher->backlog, &change);
	}
	return job->stored;
}

/* A publication is sent; or, if @at is 0, it was refused, as if never sent. */
static void note_sent(struct publisher *publisher, struct job *job, uint32_t at)
{
	job->sent_at = at;
	/* What could not be stored may have been written since. */
	if (publisher->backlog)
		backlog_sent(publisher->backlog, job->token, at);
}

/* The first job is done, well or not. */
static void end_job(struct publisher *publisher)
{
	struct job *job = TAILQ_FIRST(&publisher->jobs);

	if (job->kind == JOB_CHANGE && publisher->backlog)
		backlog_done(publisher->backlog, job->token);
	free_job(publisher, job);
	work(publisher);
}

/* Every reply ends an attempt, so there was none to an earlier one. */
static void begin_attempt(struct publisher *publisher, struct job *job)
{
	if (job->sent_at)
		job->unknown = true;
	else
		note_sent(publisher, job, now_seconds());
}

/* Redis has not done what the first job sent last. Of an earlier attempt, this says nothing. */
static void note_refused(struct publisher *publisher, struct job *job)
{
	if (job && job->sent_at && !job->unknown)
		note_sent(publisher, job, 0);
}

/* What to do about a replica; nothing, if another server may be the primary. */
static const char *replica_hint(const struct publisher *publisher)
{
	const struct conn_config *conn = publisher->config.conn;

	return conn->finder || conn->servers[1] ? "" : "; let the line server name its primary, too";
}

/* Return: whether the reply is an error; then the job, if there is one, is over or is repeated. */
static bool take_error(struct publisher *publisher, struct job *job, const redisReply *reply)
{
	const char *bare;
	char *why;

	publisher->busy = false;
	if (reply->type != REDIS_REPLY_ERROR) {
		conn_good(publisher->conn);
		publisher->away = false;
		return false;
	}
	note_refused(publisher, job);
	/* Another address may be that of the primary; and one that starts will be there soon. */
	if (script_is_elsewhere(reply->str)) {
		bare = script_bare_error(reply->str);
		conn_fail(publisher->conn, "cannot be written to: %.150s%s", bare,
			  strncmp(bare, "READONLY", 8) ? "" : replica_hint(publisher));
		return true;
	}
	if (!job)
		return true;
	why = script_error(publisher->config.list, reply->str);
	/* Nobody hears of it any more, and somebody will mend it: the changes go on waiting. */
	if (job->kind == JOB_CHANGE && !job_is_awaited(job) && !script_is_final(reply->str)) {
		publisher->refused = true;
		conn_fail(publisher->conn, "takes no changes: %s", why);
		free(why);
		return true;
	}
	if (!job_is_awaited(job) && job->kind == JOB_CHANGE)
		log_error("[redis %s] %zu changes that waited were not published, and are lost: %s",
			  publisher->config.source, job->count, why);
	job_answer(job, STATUS_REFUSED, why);
	end_job(publisher);
	return true;
}

/* The answer to a publication that was done */
static char *published_text(const struct publisher *publisher, const struct job *job, uint64_t seq)
{
	struct json_object *object;

	if (!job->request || !job->request->json)
		return need_text("published to %s: change %llu, entries: %zu",
				 publisher->config.list, (unsigned long long)seq, job->count);
	object = json_object_new_object();
	json_add_string(object, "list", publisher->config.list);
	json_add_string(object, "state", "published");
	json_add_bool(object, "published", true);
	json_add_int(object, "change", seq);
	json_add_int(object, "entries", job->count);
	return need_json(object, JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void on_published(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = TAILQ_FIRST(&publisher->jobs);
	uint64_t seq;

	if (take_error(publisher, job, reply))
		return;
	if (reply->type != REDIS_REPLY_STRING || !list_number(reply->str, reply->len, &seq)) {
		conn_fail(publisher->conn, "answers a publication with nonsense");
		return;
	}
	if (!job->request)
		log_info("[redis %s] published what waited: change %llu, entries: %zu",
			 publisher->config.source, (unsigned long long)seq, job->count);
	publisher->refused = false;
	publisher->listless = false;
	job_answer(job, STATUS_OK, published_text(publisher, job, seq));
	end_job(publisher);
}

/* Redis may have done it, and does not remember that any more. */
static void give_up_change(struct publisher *publisher, struct job *job)
{
	log_error("[redis %s] %zu changes that waited were sent hours ago, and Redis has not answered; whether they were published is not known: publish them again",
		  publisher->config.source, job->count);
	job_answer(job, STATUS_REFUSED,
		   need_copy("whether it was published is not known; publish it again"));
	end_job(publisher);
}

static void send_change(struct publisher *publisher, struct job *job)
{
	const char *list = publisher->config.list;
	uint32_t now = now_seconds();

	if (job->sent_at && now > job->sent_at && now - job->sent_at > AGAIN_SECONDS) {
		give_up_change(publisher, job);
		return;
	}
	begin_attempt(publisher, job);
	publisher->busy = true;
	conn_send(publisher->conn, on_published, 0,
		  "EVAL %s 3 " LIST_KEY "head " LIST_KEY "changes " LIST_KEY "done:%s %d %llu %b",
		  script_change, list, list, list, job->token, LIST_FORMAT,
		  (unsigned long long)publisher->config.keep * STREAM_FACTOR, job->bytes.data,
		  job->bytes.size);
}

static void on_renewed(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	/* Somebody else may have renewed it, which is as good. */
	if (!take_error(publisher, TAILQ_FIRST(&publisher->jobs), reply))
		end_job(publisher);
}

static void send_renewal(struct publisher *publisher, const struct job *job)
{
	const char *list = publisher->config.list;

	publisher->busy = true;
	conn_send(publisher->conn, on_renewed, 0,
		  "EVAL %s 3 " LIST_KEY "head " LIST_KEY "changes " LIST_KEY "snapshot:%s %d %s %llu %llu "
		  LIST_KEY "snapshot: %s %llu %s",
		  script_renew, list, list, list, job->version, LIST_FORMAT, job->version,
		  (unsigned long long)job->bytes.size, (unsigned long long)publisher->config.keep, list,
		  job->old, (unsigned long long)job->position.seq, job->position.id);
}

static void send_replacement(struct publisher *publisher, struct job *job)
{
	const char *list = publisher->config.list;

	begin_attempt(publisher, job);
	publisher->busy = true;
	conn_send(publisher->conn, on_published, 0,
		  "EVAL %s 4 " LIST_KEY "head " LIST_KEY "changes " LIST_KEY "done:%s " LIST_KEY
		  "snapshot:%s %d %s %llu %llu " LIST_KEY "snapshot:",
		  script_replace, list, list, list, job->token, list, job->version, LIST_FORMAT,
		  job->version, (unsigned long long)job->bytes.size,
		  (unsigned long long)publisher->config.keep, list);
}

static void on_piece(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = TAILQ_FIRST(&publisher->jobs);

	if (take_error(publisher, job, reply))
		return;
	job->sent += PIECE_SIZE;
	work(publisher);
}

/* The snapshot is gone in ten minutes if it is never committed. */
static void send_piece(struct publisher *publisher, struct job *job)
{
	size_t left = job->bytes.size - job->sent;

	publisher->busy = true;
	conn_send(publisher->conn, on_piece, 0,
		  job->sent ? "APPEND " LIST_KEY "snapshot:%s %b" : "SETEX " LIST_KEY "snapshot:%s 600 %b",
		  publisher->config.list, job->version, job->bytes.data + job->sent,
		  left < PIECE_SIZE ? left : (size_t)PIECE_SIZE);
}

static void answer_fleet(struct publisher *publisher, const redisReply *reply)
{
	struct job *job = TAILQ_FIRST(&publisher->jobs);
	char *text;
	size_t i;
	bool all;

	for (i = 0; i + 1 < reply->elements; i += 2)
		if (reply->element[i]->type == REDIS_REPLY_STRING &&
		    reply->element[i + 1]->type == REDIS_REPLY_STRING)
			fleet_add(job->fleet, reply->element[i]->str, reply->element[i + 1]->str);
	text = fleet_show(job->fleet, job->request && job->request->json, &all);
	job_answer(job, all ? STATUS_OK : STATUS_NO, text);
}

static void on_fleet(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	if (take_error(publisher, TAILQ_FIRST(&publisher->jobs), reply))
		return;
	if (reply->type != REDIS_REPLY_ARRAY) {
		conn_fail(publisher->conn, "answers HGETALL with nonsense");
		return;
	}
	answer_fleet(publisher, reply);
	end_job(publisher);
}

static void on_fleet_role(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	publisher->busy = false;
	if (conn_leave_listless(publisher->conn, reply, publisher->config.list))
		return;
	job_answer(TAILQ_FIRST(&publisher->jobs), STATUS_REFUSED,
		   script_error(publisher->config.list, "NOLIST"));
	end_job(publisher);
}

static void on_fleet_seq(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = TAILQ_FIRST(&publisher->jobs);
	uint64_t seq;

	if (reply->type == REDIS_REPLY_NIL) {
		conn_send(publisher->conn, on_fleet_role, 0, "ROLE");
		return;
	}
	if (take_error(publisher, job, reply))
		return;
	if (reply->type != REDIS_REPLY_STRING || !list_number(reply->str, reply->len, &seq)) {
		conn_fail(publisher->conn, "answers HGET with nonsense");
		return;
	}
	fleet_free(job->fleet);
	job->fleet = fleet_new(publisher->config.list, seq);
	work(publisher);
}

static void send_fleet(struct publisher *publisher, struct job *job)
{
	publisher->busy = true;
	conn_send(publisher->conn, job->fleet ? on_fleet : on_fleet_seq, 0,
		  job->fleet ? "HGETALL " LIST_KEY "fleet" : "HGET " LIST_KEY "head seq",
		  publisher->config.list);
}

static void on_reported(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	if (!take_error(publisher, NULL, reply)) {
		publisher->report_refused = false;
	} else if (conn_is_ready(publisher->conn) && !publisher->report_refused) {
		log_warning("[redis %s] Redis refuses the report of what is in force here: %.200s; let the user write ipcuckoo:{%s}:fleet, or say report = no",
			    publisher->config.source, reply->str, publisher->config.list);
		publisher->report_refused = true;
	}
	if (conn_is_ready(publisher->conn))
		work(publisher);
}

static void send_report(struct publisher *publisher)
{
	char *report = fleet_report(&publisher->report, publisher->config.heartbeat);

	publisher->report_due = false;
	publisher->busy = true;
	conn_send(publisher->conn, on_reported, 0, "HSET " LIST_KEY "fleet %s %s",
		  publisher->config.list, publisher->config.host, report);
	free(report);
}

static void close_conn(struct publisher *publisher)
{
	conn_close(publisher->conn);
	publisher->conn = NULL;
	publisher->busy = false;
	publisher->away = false;
}

static void on_linger(void *data)
{
	struct publisher *publisher = data;

	if (!publisher->busy && !TAILQ_FIRST(&publisher->jobs) && !publisher->report_due)
		close_conn(publisher);
}

static void send_job(struct publisher *publisher, struct job *job)
{
	if (job->kind == JOB_CHANGE)
		send_change(publisher, job);
	else if (job->kind == JOB_FLEET)
		send_fleet(publisher, job);
	else if (job->sent < job->bytes.size)
		send_piece(publisher, job);
	else if (job->kind == JOB_RENEW)
		send_renewal(publisher, job);
	else
		send_replacement(publisher, job);
}

/* What was at work is done again, from its beginning. */
static void on_role(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = TAILQ_FIRST(&publisher->jobs);
	const char *role = conn_role(reply);

	publisher->busy = false;
	publisher->replica = role && !strcmp(role, "slave");
	/* A whole list makes it. */
	if (publisher->listless && !(job && job->kind == JOB_REPLACE) &&
	    conn_leave_listless(publisher->conn, reply, publisher->config.list))
		return;
	publisher->why[0] = '\0';
	if (job && (job->kind == JOB_REPLACE || job->kind == JOB_RENEW)) {
		job->sent = 0;
		/* No piece that is refused says anything of an earlier attempt. */
		job->unknown = job->sent_at;
		job_new_version(job);
	}
	work(publisher);
}

static void on_format(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	publisher->listless = reply->type == REDIS_REPLY_NIL;
}

/* The connection can be used. A replica may take what is written to it, and then it is lost: see
 * replica-read-only in redis.conf. Reports to a server without a list would be lost, too.
 */
static void on_ready(void *owner)
{
	struct publisher *publisher = owner;

	publisher->busy = true;
	/* Until that is answered, what was known of the last server counts. */
	if (conn_has_others(publisher->conn))
		conn_send(publisher->conn, on_format, 0, "HGET " LIST_KEY "head format",
			  publisher->config.list);
	else
		publisher->listless = false;
	conn_send(publisher->conn, on_role, 0, "ROLE");
}

static const char *reason(const struct publisher *publisher)
{
	return publisher->why[0] ? publisher->why : "Redis does not answer";
}

/* The answer to a change that is published later. @ends: the daemon ends */
static char *waits_text(const struct publisher *publisher, const struct job *job, bool ends)
{
	const char *why = ends ? "the daemon ends, or does not have the list any more" :
				 reason(publisher);
	struct json_object *object;

	if (!job->request || !job->request->json || !job->stored)
		return need_text("not published yet: %s; it is published as soon as %sRedis answers%s; changes that wait: %llu, at most %llu",
				 why, ends ? "the daemon has it and " : "",
				 job->stored ? "" :
				 ", but is lost if the daemon ends before, as it cannot be stored",
				 (unsigned long long)publisher->waiting,
				 (unsigned long long)publisher->config.queue);
	object = json_object_new_object();
	json_add_string(object, "list", publisher->config.list);
	json_add_string(object, "state", "waits");
	json_add_bool(object, "published", false);
	json_add_string(object, "why", why);
	json_add_int(object, "entries", job->count);
	json_add_int(object, "waiting", publisher->waiting);
	return need_json(object, JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* What could not be stored may get lost: nobody is to rely on it. */
static void answer_waits(struct publisher *publisher, struct job *job, bool ends)
{
	bool stored = store(publisher, job);

	job_answer(job, stored ? STATUS_WAITS : STATUS_REFUSED, waits_text(publisher, job, ends));
}

/* The client waits no longer, and the job is not of use without it. */
static void give_up(struct publisher *publisher, struct job *job)
{
	job_answer(job, STATUS_REFUSED,
		   need_text("%s; %s", reason(publisher), job->sent_at ?
			     "the list may have been published or not: look at ipcuckoo fleet status, or publish it again" :
			     "nothing was done, try again"));
	free_job(publisher, job);
}

/* The follower says that Redis is away. A whole list that may have been published is sent again, as
 * long as its client waits.
 */
static void on_lost(void *owner, const char *why)
{
	struct publisher *publisher = owner;
	char *printable = need_printable(why);
	struct job *job, *next;

	publisher->busy = false;
	publisher->away = true;
	snprintf(publisher->why, sizeof(publisher->why), "%s", printable);
	free(printable);
	for (job = TAILQ_FIRST(&publisher->jobs); job; job = next) {
		next = TAILQ_NEXT(job, link);
		if (job->kind == JOB_CHANGE && job->request)
			answer_waits(publisher, job, false);
		else if (job->request && !job->sent_at)
			give_up(publisher, job);
	}
	work(publisher);
}

/* Send what is to be sent next, or connect, or close the connection later. */
static void work(struct publisher *publisher)
{
	const struct conn_user user = { publisher, on_ready, on_lost };
	struct job *job = TAILQ_FIRST(&publisher->jobs);

	if (publisher->busy)
		return;
	if (!job && !publisher->report_due) {
		if (publisher->conn)
			timer_start(publisher->config.event, &publisher->linger,
				    LINGER_SECONDS * 1000, on_linger, publisher);
		return;
	}
	if (!publisher->conn)
		publisher->conn = conn_open(publisher->config.event, publisher->config.conn,
					    true, &user);
	if (!conn_is_ready(publisher->conn))
		return;
	if (publisher->replica && !(job && job->kind == JOB_FLEET))
		conn_fail(publisher->conn, "is a replica, and cannot be written to%s",
			  replica_hint(publisher));
	else if (job)
		send_job(publisher, job);
	else
		send_report(publisher);
}

/* The client has waited long enough. Changes wait on; all else is given up. */
static void on_expires(void *data)
{
	struct job *job = data;
	struct publisher *publisher = job->publisher;
	bool at_work = TAILQ_FIRST(&publisher->jobs) == job && publisher->busy;

	if (job->kind == JOB_CHANGE) {
		publisher->away = true;
		answer_waits(publisher, job, false);
		return;
	}
	if (job->kind != JOB_FLEET && conn_is_ready(publisher->conn) &&
	    ++job->waited < UPLOAD_FACTOR) {
		timer_start(publisher->config.event, &job->expires, ANSWER_SECONDS * 1000,
			    on_expires, job);
		return;
	}
	/* Its reply may be on the way. */
	if (at_work)
		close_conn(publisher);
	give_up(publisher, job);
	work(publisher);
}

static struct job *add_job(struct publisher *publisher, enum job_kind kind,
			   struct list_bytes *bytes, size_t count, struct request *request)
{
	struct job *job = job_new(kind);

	job->publisher = publisher;
	job->count = count;
	job->request = request;
	if (bytes) {
		job->bytes = *bytes;
		memset(bytes, 0, sizeof(*bytes));
	}
	TAILQ_INSERT_TAIL(&publisher->jobs, job, link);
	/* Redis may be there again: try now, not when the time of the next attempt comes. */
	if (request && kind != JOB_CHANGE && publisher->away && !conn_is_ready(publisher->conn))
		close_conn(publisher);
	if (request || kind == JOB_RENEW)
		timer_start(publisher->config.event, &job->expires, ANSWER_SECONDS * 1000,
			    on_expires, job);
	return job;
}

void publisher_change(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		      struct request *request)
{
	struct job *job;

	if (publisher->waiting + count > publisher->config.queue) {
		request_answer(request, STATUS_REFUSED,
			       need_text("not published: %s, and %llu changes wait already; the limit is queue = %llu",
					 reason(publisher), (unsigned long long)publisher->waiting,
					 (unsigned long long)publisher->config.queue));
		free(bytes->data);
		return;
	}
	publisher->waiting += count;
	job = add_job(publisher, JOB_CHANGE, bytes, count, request);
	job_new_token(job);
	if (publisher->away)
		answer_waits(publisher, job, false);
	work(publisher);
}

void publisher_replace(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		       struct request *request)
{
	struct job *job = add_job(publisher, JOB_REPLACE, bytes, count, request);

	job_new_token(job);
	job_new_version(job);
	/* A whole list is what mends it if changes are refused, or if there is no list: it does not
	 * wait behind them.
	 */
	if (publisher->refused || publisher->listless) {
		TAILQ_REMOVE(&publisher->jobs, job, link);
		TAILQ_INSERT_HEAD(&publisher->jobs, job, link);
		close_conn(publisher);
	}
	work(publisher);
}

void publisher_renew(struct publisher *publisher, struct list_bytes *bytes,
		     const struct list_position *position, const char *old)
{
	struct job *job = add_job(publisher, JOB_RENEW, bytes, 0, NULL);

	job_new_version(job);
	job->position = *position;
	snprintf(job->old, sizeof(job->old), "%s", old);
	work(publisher);
}

void publisher_fleet(struct publisher *publisher, struct request *request)
{
	add_job(publisher, JOB_FLEET, NULL, 0, request);
	work(publisher);
}

static void on_report(void *data)
{
	work(data);
}

void publisher_report(struct publisher *publisher, const struct publisher_report *report)
{
	publisher->report = *report;
	if (publisher->report_due)
		return;
	publisher->report_due = true;
	timer_start(publisher->config.event, &publisher->report_timer,
		    REPORT_MS + random_upto(REPORT_MS), on_report, publisher);
}

const char *publisher_problem(const struct publisher *publisher)
{
	return publisher && publisher->conn && publisher->why[0] ? publisher->why : NULL;
}

uint64_t publisher_waiting(const struct publisher *publisher)
{
	return publisher ? publisher->waiting : 0;
}

/* What waited when the daemon ended */
static void load_backlog(struct publisher *publisher)
{
	const struct publisher_config *config = &publisher->config;
	struct backlog_change change;
	struct job *job;

	publisher->backlog = backlog_open(config->state_dir, config->source, config->list);
	while (backlog_take(publisher->backlog, &change)) {
		job = add_job(publisher, JOB_CHANGE, &change.bytes, change.count, NULL);
		memcpy(job->token, change.token, sizeof(job->token));
		job->since = change.since;
		job->sent_at = change.sent_at;
		job->stored = true;
		publisher->waiting += change.count;
	}
	if (publisher->waiting)
		log_info("[redis %s] changes that waited to be published when the daemon ended: %llu; they are published as soon as Redis answers",
			 config->source, (unsigned long long)publisher->waiting);
}

struct publisher *publisher_new(const struct publisher_config *config)
{
	struct publisher *publisher = need_zeros(sizeof(*publisher));

	publisher->config = *config;
	TAILQ_INIT(&publisher->jobs);
	if (config->state_dir)
		load_backlog(publisher);
	work(publisher);
	return publisher;
}

void publisher_pause(struct publisher *publisher)
{
	if (!publisher)
		return;
	close_conn(publisher);
	timer_stop(&publisher->report_timer);
	timer_stop(&publisher->linger);
	publisher->report_due = false;
}

void publisher_resume(struct publisher *publisher, const struct publisher_config *config)
{
	publisher->config = *config;
	work(publisher);
}

void publisher_free(struct publisher *publisher)
{
	uint64_t lost = 0;
	struct job *job;

	if (!publisher)
		return;
	publisher_pause(publisher);
	while ((job = TAILQ_FIRST(&publisher->jobs))) {
		if (job->kind == JOB_CHANGE && !store(publisher, job))
			lost += job->count;
		if (job->kind == JOB_CHANGE && job->request && job->stored)
			answer_waits(publisher, job, true);
		free_job(publisher, job);
	}
	if (lost)
		log_error("[redis %s] changes that waited to be published are lost: %llu; publish them again",
			  publisher->config.source, (unsigned long long)lost);
	backlog_close(publisher->backlog);
	free(publisher);
}
