// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is to be written is a queue of jobs. One is at work at a time, so that changes arrive in
 * their order. A job that is interrupted because the connection is lost is done again: a script
 * remembers under a token what it has answered, so nothing is published twice.
 *
 * The scripts run in Redis, each in one step. They write nothing if they refuse.
 */
#include <stdlib.h>

#include "daemon/fleet.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/publisher.h"
#include "daemon/timer.h"

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

#define TOKEN_SIZE	33
#define WORDS_MOST	16

enum job_kind { JOB_CHANGE, JOB_REPLACE, JOB_RENEW, JOB_FLEET };

/**
 * struct job - something to write
 * @kind:	what it is
 * @next:	the next job
 * @bytes:	JOB_CHANGE: changes; JOB_REPLACE and JOB_RENEW: a snapshot
 * @count:	number of changes or entries
 * @token:	JOB_CHANGE, JOB_REPLACE: names the publication
 * @version:	JOB_REPLACE, JOB_RENEW: the version that the snapshot gets
 * @sent:	how much of the snapshot has been sent
 * @position:	JOB_RENEW: what is in the snapshot
 * @old:	JOB_RENEW: the version that it replaces
 * @fleet:	JOB_FLEET: what was read
 * @json:	JOB_FLEET: answer as JSON
 * @request:	the client that waits; NULL if nobody does
 * @expires:	answers the client
 * @waited:	how often that was put off
 * @publisher:	whose job it is
 */
struct job {
	enum job_kind kind;
	struct job *next;
	struct list_bytes bytes;
	size_t count;
	char token[TOKEN_SIZE];
	char version[LIST_VERSION_SIZE];
	size_t sent;
	struct list_position position;
	char old[LIST_VERSION_SIZE];
	struct fleet *fleet;
	bool json;
	struct request *request;
	sd_event_source *expires;
	unsigned int waited;
	struct publisher *publisher;
};

/**
 * struct publisher - what writes to a list
 * @config:	what it was made with
 * @engine:	the connection; NULL if there is none
 * @jobs:	the queue
 * @waiting:	number of changes in it
 * @report:	the last report
 * @report_due:	it has not been written yet
 * @report_refused: Redis refuses it, and that was said
 * @report_timer: writes the report
 * @linger:	closes the connection
 * @busy:	a command was sent, and its reply has not come yet
 * @why:	why Redis cannot be used; "" if it can
 */
struct publisher {
	struct publisher_config config;
	struct engine *engine;
	struct job *jobs;
	uint64_t waiting;
	struct publisher_report report;
	bool report_due;
	bool report_refused;
	sd_event_source *report_timer;
	sd_event_source *linger;
	bool busy;
	char why[512];
};

/* KEYS: head, changes, done. ARGV: format, most, changes */
static const char change_script[] =
	"local done = redis.call('GET', KEYS[3]) "
	"if done then return done end "
	"local format = redis.call('HGET', KEYS[1], 'format') "
	"if not format then return {err = 'NOLIST'} end "
	"if format ~= ARGV[1] then return {err = 'FORMAT ' .. format} end "
	"if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then return {err = 'FULL'} end "
	"local n = redis.call('HINCRBY', KEYS[1], 'seq', 1) "
	"redis.call('XADD', KEYS[2], '*', 'n', n, 'c', ARGV[3]) "
	"redis.call('SET', KEYS[3], tostring(n), 'EX', 3600) "
	"return tostring(n)";

/* KEYS: head, changes, done, the new snapshot. ARGV: format, version, size, keep, how keys of
 * snapshots begin
 */
static const char replace_script[] =
	"local done = redis.call('GET', KEYS[3]) "
	"if done then return done end "
	"local format = redis.call('HGET', KEYS[1], 'format') "
	"if format and format ~= ARGV[1] then return {err = 'FORMAT ' .. format} end "
	"if redis.call('STRLEN', KEYS[4]) ~= tonumber(ARGV[3]) then return {err = 'CUT'} end "
	"local old = redis.call('HGET', KEYS[1], 'version') "
	"local n = redis.call('HINCRBY', KEYS[1], 'seq', 1) "
	"local id = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '*', 'n', n, 'v', ARGV[2]) "
	"redis.call('PERSIST', KEYS[4]) "
	"redis.call('HSET', KEYS[1], 'format', ARGV[1], 'version', ARGV[2], 'bytes', ARGV[3], "
	"'snapshot-seq', n, 'snapshot-id', id) "
	"if old then redis.call('EXPIRE', ARGV[5] .. old, 600) end "
	"redis.call('SET', KEYS[3], tostring(n), 'EX', 3600) "
	"return tostring(n)";

/* KEYS: head, changes, the new snapshot. ARGV: format, version, size, keep, how keys of snapshots
 * begin, the old version, number and id of the last change in the snapshot
 */
static const char renew_script[] =
	"local head = redis.call('HMGET', KEYS[1], 'format', 'version') "
	"if head[1] ~= ARGV[1] or head[2] ~= ARGV[6] then return {err = 'OLD'} end "
	"local at = redis.call('XRANGE', KEYS[2], ARGV[8], ARGV[8]) "
	"if #at ~= 1 or at[1][2][1] ~= 'n' or at[1][2][2] ~= ARGV[7] then return {err = 'OLD'} end "
	"if redis.call('STRLEN', KEYS[3]) ~= tonumber(ARGV[3]) then return {err = 'CUT'} end "
	"redis.call('PERSIST', KEYS[3]) "
	"redis.call('HSET', KEYS[1], 'version', ARGV[2], 'bytes', ARGV[3], 'snapshot-seq', ARGV[7], "
	"'snapshot-id', ARGV[8]) "
	"redis.call('EXPIRE', ARGV[5] .. head[2], 600) "
	"redis.call('XTRIM', KEYS[2], 'MAXLEN', '~', ARGV[4]) "
	"return 'OK'";

/* A command that is being put together. Its words are freed when it was sent. */
struct command {
	char *words[WORDS_MOST];
	size_t sizes[WORDS_MOST];
	int count;
};

static void work(struct publisher *publisher);

static void add_word(struct command *command, char *word)
{
	command->words[command->count] = word;
	command->sizes[command->count++] = strlen(word);
}

static void add_key(const struct publisher *publisher, struct command *command, const char *rest)
{
	add_word(command, list_key(publisher->config.list, rest));
}

static void add_key_of(const struct publisher *publisher, struct command *command,
		       const char *rest, const char *name)
{
	char *whole = need_text("%s:%s", rest, name);

	add_key(publisher, command, whole);
	free(whole);
}

/* @data: the last word, which may have any bytes; or NULL */
static void send_command(struct publisher *publisher, struct command *command, const void *data,
			 size_t size, engine_reply_fn *reply)
{
	const char *words[WORDS_MOST + 1];
	int i;

	memcpy(words, command->words, sizeof(command->words));
	words[command->count] = data;
	command->sizes[command->count] = size;
	publisher->busy = true;
	engine_send(publisher->engine, reply, 0, command->count + !!data, words, command->sizes);
	for (i = 0; i < command->count; i++)
		free(command->words[i]);
}

static void random_hex(char *to, size_t bytes)
{
	for (; bytes; bytes--, to += 2)
		sprintf(to, "%02x", (unsigned int)random_upto(255));
}

static void answer(struct job *job, int status, char *text)
{
	if (job->request)
		request_answer(job->request, status, text);
	else
		free(text);
	job->request = NULL;
	timer_stop(&job->expires);
}

static void free_job(struct publisher *publisher, struct job *job)
{
	struct job **at = &publisher->jobs;

	while (*at && *at != job)
		at = &(*at)->next;
	if (*at)
		*at = job->next;
	if (job->kind == JOB_CHANGE)
		publisher->waiting -= job->count;
	if (job->request)
		answer(job, STATUS_REFUSED, need_copy("the daemon gave it up"));
	timer_stop(&job->expires);
	fleet_free(job->fleet);
	free(job->bytes.data);
	free(job);
}

/* The first job is done, well or not. */
static void end_job(struct publisher *publisher)
{
	free_job(publisher, publisher->jobs);
	work(publisher);
}

/* What an error of Redis or of a script means, and what to do. */
static char *explain(const struct publisher *publisher, const char *error)
{
	const char *list = publisher->config.list;

	if (!strncmp(error, "NOLIST", 6))
		return need_text("there is no list %s in Redis; make it: ipcuckoo publish %s --file FILE",
				 list, list);
	if (!strncmp(error, "FORMAT", 6))
		return need_text("the list %s in Redis has another format (%.32s), and this ipcuckood knows format %d; update the older one",
				 list, error + strcspn(error, " "), LIST_FORMAT);
	if (!strncmp(error, "FULL", 4))
		return need_text("the stream of changes is full, because no daemon renews the snapshot; look at ipcuckood status where publish = yes, or publish all of the list: ipcuckoo publish %s --file FILE",
				 list);
	if (!strncmp(error, "CUT", 3))
		return need_copy("the list did not arrive as a whole; publish it again");
	if (!strncmp(error, "NOPERM", 6))
		return need_text("Redis does not let this user write: %.200s; give another user, or publish on another firewall",
				 error);
	if (!strncmp(error, "OOM", 3))
		return need_text("Redis has no memory left: %.200s; raise its maxmemory", error);
	return need_text("Redis refuses it: %.200s", error);
}

/* Return: whether the reply is an error; then the job, if there is one, is over or is repeated. */
static bool take_error(struct publisher *publisher, struct job *job, const redisReply *reply)
{
	char *why;

	publisher->busy = false;
	if (reply->type != REDIS_REPLY_ERROR) {
		engine_good(publisher->engine);
		return false;
	}
	/* Another address may be that of the primary; and one that starts will be there soon. */
	if (!strncmp(reply->str, "READONLY", 8) || !strncmp(reply->str, "LOADING", 7) ||
	    !strncmp(reply->str, "MASTERDOWN", 10) || !strncmp(reply->str, "CLUSTERDOWN", 11) ||
	    !strncmp(reply->str, "TRYAGAIN", 8) || !strncmp(reply->str, "NOREPLICAS", 10)) {
		engine_fail(publisher->engine, "cannot be written to: %.150s", reply->str);
		return true;
	}
	if (!job)
		return true;
	why = explain(publisher, reply->str);
	if (!job->request && job->kind != JOB_RENEW)
		log_error("[redis %s] %zu changes that waited were not published, and are lost: %s",
			  publisher->config.source, job->count, why);
	answer(job, STATUS_REFUSED, why);
	end_job(publisher);
	return true;
}

static void on_published(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = publisher->jobs;
	uint64_t seq;

	if (take_error(publisher, job, reply))
		return;
	if (reply->type != REDIS_REPLY_STRING || !list_number(reply->str, reply->len, &seq)) {
		engine_fail(publisher->engine, "answers a publication with nonsense");
		return;
	}
	if (!job->request)
		log_info("[redis %s] published what waited: change %llu, entries: %zu",
			 publisher->config.source, (unsigned long long)seq, job->count);
	answer(job, STATUS_OK,
	       need_text("published to %s: change %llu, entries: %zu", publisher->config.list,
			 (unsigned long long)seq, job->count));
	end_job(publisher);
}

static void send_change(struct publisher *publisher, struct job *job)
{
	struct command command = { .count = 0 };

	add_word(&command, need_copy("EVAL"));
	add_word(&command, need_copy(change_script));
	add_word(&command, need_copy("3"));
	add_key(publisher, &command, "head");
	add_key(publisher, &command, "changes");
	add_key_of(publisher, &command, "done", job->token);
	add_word(&command, need_text("%d", LIST_FORMAT));
	add_word(&command, need_text("%llu", (unsigned long long)publisher->config.keep *
				     STREAM_FACTOR));
	send_command(publisher, &command, job->bytes.data, job->bytes.size, on_published);
}

static void on_renewed(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	/* Somebody else may have renewed it, which is as good. */
	if (!take_error(publisher, publisher->jobs, reply))
		end_job(publisher);
}

static void send_commit(struct publisher *publisher, struct job *job)
{
	struct command command = { .count = 0 };
	bool renew = job->kind == JOB_RENEW;

	add_word(&command, need_copy("EVAL"));
	add_word(&command, need_copy(renew ? renew_script : replace_script));
	add_word(&command, need_copy(renew ? "3" : "4"));
	add_key(publisher, &command, "head");
	add_key(publisher, &command, "changes");
	if (!renew)
		add_key_of(publisher, &command, "done", job->token);
	add_key_of(publisher, &command, "snapshot", job->version);
	add_word(&command, need_text("%d", LIST_FORMAT));
	add_word(&command, need_copy(job->version));
	add_word(&command, need_text("%zu", job->bytes.size));
	add_word(&command, need_text("%llu", (unsigned long long)publisher->config.keep));
	add_key(publisher, &command, "snapshot:");
	if (renew) {
		add_word(&command, need_copy(job->old));
		add_word(&command, need_text("%llu", (unsigned long long)job->position.seq));
		add_word(&command, need_copy(job->position.id));
	}
	send_command(publisher, &command, NULL, 0, renew ? on_renewed : on_published);
}

static void on_piece(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = publisher->jobs;

	if (take_error(publisher, job, reply))
		return;
	job->sent += PIECE_SIZE;
	work(publisher);
}

/* The snapshot is gone in ten minutes if it is never committed. */
static void send_piece(struct publisher *publisher, struct job *job)
{
	size_t left = job->bytes.size - job->sent;
	struct command command = { .count = 0 };

	add_word(&command, need_copy(job->sent ? "APPEND" : "SETEX"));
	add_key_of(publisher, &command, "snapshot", job->version);
	if (!job->sent)
		add_word(&command, need_copy("600"));
	send_command(publisher, &command, job->bytes.data + job->sent,
		     left < PIECE_SIZE ? left : PIECE_SIZE, on_piece);
}

static void answer_fleet(struct publisher *publisher, const redisReply *reply)
{
	struct job *job = publisher->jobs;
	char *text;
	size_t i;
	bool all;

	for (i = 0; i + 1 < reply->elements; i += 2)
		if (reply->element[i]->type == REDIS_REPLY_STRING &&
		    reply->element[i + 1]->type == REDIS_REPLY_STRING)
			fleet_add(job->fleet, reply->element[i]->str, reply->element[i + 1]->str);
	text = fleet_show(job->fleet, job->json, &all);
	answer(job, all ? STATUS_OK : STATUS_NO, text);
}

static void on_fleet(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	if (take_error(publisher, publisher->jobs, reply))
		return;
	if (reply->type != REDIS_REPLY_ARRAY) {
		engine_fail(publisher->engine, "answers HGETALL with nonsense");
		return;
	}
	answer_fleet(publisher, reply);
	end_job(publisher);
}

static void on_fleet_seq(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;
	struct job *job = publisher->jobs;
	uint64_t seq;

	if (take_error(publisher, job, reply))
		return;
	if (reply->type == REDIS_REPLY_STRING && list_number(reply->str, reply->len, &seq)) {
		fleet_free(job->fleet);
		job->fleet = fleet_new(publisher->config.list, seq);
	} else {
		answer(job, STATUS_REFUSED, explain(publisher, "NOLIST"));
		end_job(publisher);
		return;
	}
	work(publisher);
}

static void send_fleet(struct publisher *publisher, struct job *job)
{
	struct command command = { .count = 0 };

	add_word(&command, need_copy(job->fleet ? "HGETALL" : "HGET"));
	add_key(publisher, &command, job->fleet ? "fleet" : "head");
	if (!job->fleet)
		add_word(&command, need_copy("seq"));
	send_command(publisher, &command, NULL, 0, job->fleet ? on_fleet : on_fleet_seq);
}

static void on_reported(void *owner, const redisReply *reply)
{
	struct publisher *publisher = owner;

	if (!take_error(publisher, NULL, reply)) {
		publisher->report_refused = false;
	} else if (engine_is_ready(publisher->engine) && !publisher->report_refused) {
		log_warning("[redis %s] Redis refuses the report of what is in force here: %.200s; let the user write ipcuckoo:{%s}:fleet, or say report = no",
			    publisher->config.source, reply->str, publisher->config.list);
		publisher->report_refused = true;
	}
	if (engine_is_ready(publisher->engine))
		work(publisher);
}

static void send_report(struct publisher *publisher)
{
	struct command command = { .count = 0 };

	add_word(&command, need_copy("HSET"));
	add_key(publisher, &command, "fleet");
	add_word(&command, need_copy(publisher->config.host));
	add_word(&command, fleet_report(&publisher->report, publisher->config.heartbeat));
	publisher->report_due = false;
	send_command(publisher, &command, NULL, 0, on_reported);
}

static void close_engine(struct publisher *publisher)
{
	engine_close(publisher->engine);
	publisher->engine = NULL;
	publisher->busy = false;
}

static int on_linger(sd_event_source *timer, uint64_t usec, void *data)
{
	struct publisher *publisher = data;

	(void)timer;
	(void)usec;
	if (!publisher->busy && !publisher->jobs && !publisher->report_due)
		close_engine(publisher);
	return 0;
}

static void send_job(struct publisher *publisher, struct job *job)
{
	if (job->kind == JOB_CHANGE)
		send_change(publisher, job);
	else if (job->kind == JOB_FLEET)
		send_fleet(publisher, job);
	else if (job->sent < job->bytes.size)
		send_piece(publisher, job);
	else
		send_commit(publisher, job);
}

/* The connection can be used: what was at work is done again, from its beginning. */
static void on_ready(void *owner)
{
	struct publisher *publisher = owner;
	struct job *job = publisher->jobs;

	publisher->busy = false;
	publisher->why[0] = '\0';
	if (job && (job->kind == JOB_REPLACE || job->kind == JOB_RENEW)) {
		job->sent = 0;
		random_hex(job->version, 12);
	}
	work(publisher);
}

/* The follower says that Redis is away. */
static void on_lost(void *owner, const char *why)
{
	struct publisher *publisher = owner;

	publisher->busy = false;
	snprintf(publisher->why, sizeof(publisher->why), "%s", why);
}

/* Send what is to be sent next, or connect, or close the connection later. */
static void work(struct publisher *publisher)
{
	const struct engine_user user = { publisher, on_ready, on_lost };

	if (publisher->busy)
		return;
	if (!publisher->jobs && !publisher->report_due) {
		if (publisher->engine)
			timer_start(publisher->config.event, &publisher->linger,
				    LINGER_SECONDS * 1000, on_linger, publisher);
		return;
	}
	if (!publisher->engine)
		publisher->engine = engine_open(publisher->config.event, publisher->config.engine,
						&user);
	if (!engine_is_ready(publisher->engine))
		return;
	if (publisher->jobs)
		send_job(publisher, publisher->jobs);
	else
		send_report(publisher);
}

static const char *reason(const struct publisher *publisher)
{
	return publisher->why[0] ? publisher->why : "Redis does not answer";
}

/* The client has waited long enough. Changes wait on; all else is given up. */
static int on_expires(sd_event_source *timer, uint64_t usec, void *data)
{
	struct job *job = data;
	struct publisher *publisher = job->publisher;

	(void)timer;
	(void)usec;
	if (job->kind == JOB_CHANGE) {
		answer(job, STATUS_REFUSED,
		       need_text("not published yet: %s; it is published as soon as Redis answers; changes that wait: %llu, at most %llu",
				 reason(publisher), (unsigned long long)publisher->waiting,
				 (unsigned long long)publisher->config.queue));
		return 0;
	}
	if (job->kind != JOB_FLEET && engine_is_ready(publisher->engine) &&
	    ++job->waited < UPLOAD_FACTOR) {
		timer_start(publisher->config.event, &job->expires, ANSWER_SECONDS * 1000,
			    on_expires, job);
		return 0;
	}
	answer(job, STATUS_REFUSED,
	       need_text("%s; %s", reason(publisher),
			 publisher->jobs == job && publisher->busy && job->kind == JOB_REPLACE ?
			 "the list may have been published or not: look at ipcuckoo fleet status, or publish it again" :
			 "nothing was done, try again"));
	/* Its reply may be on the way. */
	if (publisher->jobs == job && publisher->busy)
		close_engine(publisher);
	free_job(publisher, job);
	work(publisher);
	return 0;
}

static struct job *add_job(struct publisher *publisher, enum job_kind kind,
			   struct list_bytes *bytes, size_t count, struct request *request)
{
	struct job *job = need_zeros(sizeof(*job)), **at = &publisher->jobs;

	job->kind = kind;
	job->publisher = publisher;
	job->count = count;
	job->request = request;
	if (bytes) {
		job->bytes = *bytes;
		memset(bytes, 0, sizeof(*bytes));
	}
	random_hex(job->token, 16);
	random_hex(job->version, 12);
	while (*at)
		at = &(*at)->next;
	*at = job;
	if (request || kind == JOB_RENEW)
		timer_start(publisher->config.event, &job->expires, ANSWER_SECONDS * 1000,
			    on_expires, job);
	return job;
}

void publisher_change(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		      struct request *request)
{
	if (publisher->waiting + count > publisher->config.queue) {
		request_answer(request, STATUS_REFUSED,
			       need_text("not published: %s, and %llu changes wait already; the limit is queue = %llu",
					 reason(publisher), (unsigned long long)publisher->waiting,
					 (unsigned long long)publisher->config.queue));
		free(bytes->data);
		return;
	}
	publisher->waiting += count;
	add_job(publisher, JOB_CHANGE, bytes, count, request);
	work(publisher);
}

void publisher_replace(struct publisher *publisher, struct list_bytes *bytes, size_t count,
		       struct request *request)
{
	add_job(publisher, JOB_REPLACE, bytes, count, request);
	work(publisher);
}

void publisher_renew(struct publisher *publisher, struct list_bytes *bytes,
		     const struct list_position *position, const char *old)
{
	struct job *job = add_job(publisher, JOB_RENEW, bytes, 0, NULL);

	job->position = *position;
	snprintf(job->old, sizeof(job->old), "%s", old);
	work(publisher);
}

void publisher_fleet(struct publisher *publisher, bool json, struct request *request)
{
	struct job *job = add_job(publisher, JOB_FLEET, NULL, 0, request);

	job->json = json;
	work(publisher);
}

static int on_report(sd_event_source *timer, uint64_t usec, void *data)
{
	(void)timer;
	(void)usec;
	work(data);
	return 0;
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
	return publisher && publisher->engine && publisher->why[0] ? publisher->why : NULL;
}

uint64_t publisher_waiting(const struct publisher *publisher)
{
	return publisher ? publisher->waiting : 0;
}

struct publisher *publisher_new(const struct publisher_config *config)
{
	struct publisher *publisher = need_zeros(sizeof(*publisher));

	publisher->config = *config;
	return publisher;
}

void publisher_pause(struct publisher *publisher)
{
	if (!publisher)
		return;
	close_engine(publisher);
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
	if (!publisher)
		return;
	if (publisher->waiting)
		log_error("[redis %s] changes that waited to be published are lost: %llu; publish them again",
			  publisher->config.source, (unsigned long long)publisher->waiting);
	publisher_pause(publisher);
	while (publisher->jobs)
		free_job(publisher, publisher->jobs);
	free(publisher);
}
