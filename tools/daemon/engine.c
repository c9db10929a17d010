// SPDX-License-Identifier: GPL-2.0-only
/*
 * hiredis has the protocol, and tells by some hooks when it wants to read or write; they change the
 * events of one source of sd-event. It frees its context itself when a connection is lost, also
 * while it calls us: after each call, engine->redis says whether the context is still there.
 *
 * hiredis would look names of hosts up by waiting for the answer, so it gets addresses only.
 */
#include <errno.h>
#include <hiredis/async.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/engine.h"
#include "daemon/memory.h"
#include "daemon/resolve.h"
#include "daemon/secret.h"
#include "daemon/timer.h"
#include "daemon/tls.h"

/* Times between two attempts, in seconds */
#define RETRY_LEAST	1
#define RETRY_MOST	30

/* What an element of an array costs, at least */
#define ELEMENT_COST	96

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

/**
 * struct engine - a connection
 * @event:	the event loop
 * @config:	where to connect
 * @write:	to the primary
 * @user:	what uses it
 * @servers:	what Sentinel has answered; NULL if it has to be asked
 * @question:	the question where Redis is, while it is asked
 * @lookup:	the look-up of the server's name, while there is one
 * @redis:	the context of hiredis; NULL while there is none
 * @io:		its file descriptor in the event loop
 * @wanted:	events that hiredis waits for
 * @functions:	makes replies, with limits
 * @make:	makes replies
 * @cost:	memory of the reply that arrives
 * @expected:	number of replies that have not come yet
 * @deadline:	ends the connection if no reply comes
 * @limit_ms:	its time for the command that was sent last
 * @retry:	connects
 * @at:		index of the address
 * @tried:	number of addresses that failed since the last success
 * @attempts:	number of rounds that failed
 * @ready:	commands can be sent
 * @heard:	a reply has come by this connection
 * @good:	it was of use
 * @calling:	hiredis is at work, and its context must not be freed
 * @why:	why the connection is given up; "" if hiredis knows
 * @round:	why each address was given up that has failed since the last success
 * @closed:	engine_close() was called while hiredis was at work
 * @tls:	certificates and keys of the connection, or of the last one
 */
struct engine {
	sd_event *event;
	const struct engine_config *config;
	bool write;
	struct engine_user user;
	char **servers;
	void *question;
	struct resolve *lookup;
	redisAsyncContext *redis;
	sd_event_source *io;
	uint32_t wanted;
	redisReplyObjectFunctions functions;
	const redisReplyObjectFunctions *make;
	size_t cost;
	unsigned int expected;
	sd_event_source *deadline;
	uint64_t limit_ms;
	sd_event_source *retry;
	size_t at;
	size_t tried;
	unsigned int attempts;
	bool ready;
	bool heard;
	bool good;
	bool calling;
	char why[SECRET_WHY_SIZE];
	char round[600];
	bool closed;
	struct tls *tls;
};

/* A command that waits for its reply */
struct pending {
	struct engine *engine;
	engine_reply_fn *reply;
};

static int on_retry(sd_event_source *timer, uint64_t usec, void *data);

/* The addresses; NULL if Sentinel has to be asked. */
static char **servers_of(const struct engine *engine)
{
	return engine->config->finder ? engine->servers : engine->config->servers;
}

const char *engine_server(const struct engine *engine)
{
	return servers_of(engine) ? servers_of(engine)[engine->at] : "Sentinel";
}

bool engine_is_ready(const struct engine *engine)
{
	return engine && engine->ready;
}

/* Cut "HOST:PORT" or "[HOST]:PORT". Return: the host, allocated; NULL if it is neither. */
static char *split_server(const char *server, int *port)
{
	const char *colon = strrchr(server, ':');
	char *host, *end;
	size_t len;

	if (!colon || colon == server || strlen(server) > 255)
		return NULL;
	errno = 0;
	*port = strtol(colon + 1, &end, 10);
	if (errno || *end || colon[1] < '0' || colon[1] > '9' || *port < 1 || *port > 65535)
		return NULL;
	host = need_copy(server);
	len = colon - server;
	host[len] = '\0';
	if (*host == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		memmove(host, host + 1, len - 1);
	} else if (strchr(host, ':')) {
		free(host);
		return NULL;
	}
	return host;
}

const char *engine_check_server(const char *server)
{
	char *host;
	int port;

	if (*server == '/')
		return NULL;
	host = split_server(server, &port);
	if (!host)
		return "write HOST:PORT, [ADDRESS]:PORT for IPv6, or the path of a socket";
	free(host);
	return NULL;
}

/* hiredis makes a reply as its parts arrive, by these functions. They refuse what is too large, and
 * what nobody asked for: hiredis would end the program if it got such a reply. It takes a refusal
 * for a lack of memory, and ends the connection.
 */
static bool pay(struct engine *engine, size_t cost)
{
	if (cost > ENGINE_REPLY_MOST || engine->cost + cost > ENGINE_REPLY_MOST) {
		snprintf(engine->why, sizeof(engine->why),
			 "sent a reply that needs more than %u MB; that is no Redis, or not a list of ipcuckoo",
			 ENGINE_REPLY_MOST >> 20);
		return false;
	}
	engine->cost += cost;
	return true;
}

/* A part of a reply may be made. */
static bool may_make(const redisReadTask *task, size_t cost)
{
	struct engine *engine = task->privdata;

	if (!task->parent && !engine->expected) {
		if (!engine->why[0])
			snprintf(engine->why, sizeof(engine->why),
				 "sent a reply that nobody asked for; is that Redis?");
		return false;
	}
	return pay(engine, cost);
}

static const redisReplyObjectFunctions *make_of(const redisReadTask *task)
{
	const struct engine *engine = task->privdata;

	return engine->make;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
	return may_make(task, len) ? make_of(task)->createString(task, text, len) : NULL;
}

static void *make_array(const redisReadTask *task, array_size count)
{
	size_t cost = SIZE_MAX;

	if ((size_t)count <= ENGINE_REPLY_MOST / ELEMENT_COST)
		cost = (size_t)count * ELEMENT_COST;
	return may_make(task, cost) ? make_of(task)->createArray(task, count) : NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
	return may_make(task, 0) ? make_of(task)->createInteger(task, number) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	return may_make(task, 0) ? make_of(task)->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double number, char *text, size_t len)
{
	return may_make(task, len) ? make_of(task)->createDouble(task, number, text, len) : NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
	return may_make(task, 0) ? make_of(task)->createBool(task, value) : NULL;
}
#endif

static void limit_replies(struct engine *engine)
{
	redisReader *reader = engine->redis->c.reader;

	engine->make = reader->fn;
	engine->functions = *reader->fn;
	engine->functions.createString = make_string;
	engine->functions.createArray = make_array;
	engine->functions.createInteger = make_integer;
	engine->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
	engine->functions.createDouble = make_double;
	engine->functions.createBool = make_bool;
#endif
	reader->fn = &engine->functions;
	reader->privdata = engine;
}

static void set_events(struct engine *engine, uint32_t wanted)
{
	engine->wanted = wanted;
	if (engine->io)
		sd_event_source_set_io_events(engine->io, wanted);
}

static void add_read(void *data)
{
	struct engine *engine = data;

	set_events(engine, engine->wanted | EPOLLIN);
}

static void del_read(void *data)
{
	struct engine *engine = data;

	set_events(engine, engine->wanted & ~EPOLLIN);
}

static void add_write(void *data)
{
	struct engine *engine = data;

	set_events(engine, engine->wanted | EPOLLOUT);
}

static void del_write(void *data)
{
	struct engine *engine = data;

	set_events(engine, engine->wanted & ~EPOLLOUT);
}

/* hiredis frees its context. */
static void clean_up(void *data)
{
	struct engine *engine = data;

	engine->io = sd_event_source_disable_unref(engine->io);
	engine->redis = NULL;
	engine->ready = false;
	timer_stop(&engine->deadline);
}

static void forget_servers(struct engine *engine)
{
	size_t i;

	for (i = 0; engine->servers && engine->servers[i]; i++)
		free(engine->servers[i]);
	free(engine->servers);
	engine->servers = NULL;
	engine->at = 0;
}

static void free_engine(struct engine *engine)
{
	if (engine->question)
		engine->config->finder->give_up(engine->question);
	resolve_stop(engine->lookup);
	forget_servers(engine);
	timer_stop(&engine->deadline);
	timer_stop(&engine->retry);
	tls_free(engine->tls);
	free(engine);
}

/* All addresses have failed. */
static void wait_long(struct engine *engine)
{
	char why[sizeof(engine->round)];

	engine->tried = 0;
	forget_servers(engine);
	timer_start(engine->event, &engine->retry,
		    backoff_ms(++engine->attempts, RETRY_LEAST, RETRY_MOST), on_retry, engine);
	memcpy(why, engine->round, sizeof(why));
	engine->round[0] = '\0';
	/* The user may close the connection, and then it is gone. */
	engine->user.lost(engine->user.owner, why);
}

/* Try the next address at once, and wait when all have failed. What Sentinel said before a
 * connection was of use may be out of date: it is asked again.
 */
static void lose(struct engine *engine)
{
	size_t count = 0, len = strlen(engine->round);
	char **servers = servers_of(engine);

	while (servers[count])
		count++;
	snprintf(engine->round + len, sizeof(engine->round) - len, "%s%.200s %.400s",
		 len ? "; " : "", engine_server(engine),
		 engine->why[0] ? engine->why : "closed the connection");
	engine->why[0] = '\0';
	engine->at = (engine->at + 1) % count;
	if (engine->config->finder && engine->good)
		forget_servers(engine);
	else
		engine->tried++;
	if (engine->tried < count)
		timer_start(engine->event, &engine->retry, 1, on_retry, engine);
	else
		wait_long(engine);
}

/* Sentinel has answered, or cannot be asked. */
static void on_servers(void *owner, char **servers, const char *why)
{
	struct engine *engine = owner;

	engine->question = NULL;
	engine->servers = servers;
	if (servers) {
		timer_start(engine->event, &engine->retry, 0, on_retry, engine);
		return;
	}
	snprintf(engine->round, sizeof(engine->round), "Sentinel cannot be asked: %.500s", why);
	wait_long(engine);
}

/* After each call of hiredis: is the connection given up, or lost? */
static void settle(struct engine *engine)
{
	redisAsyncContext *redis = engine->redis;

	engine->calling = false;
	if (redis && (engine->closed || engine->why[0])) {
		/* It calls clean_up(). */
		redisAsyncFree(redis);
		engine->redis = NULL;
	}
	if (engine->closed)
		free_engine(engine);
	else if (!engine->redis && !engine->retry)
		lose(engine);
}

static void note_error(struct engine *engine, const redisAsyncContext *redis)
{
	bool connected = redis->c.flags & REDIS_CONNECTED || tls_is_up(engine->tls);

	if (engine->why[0] ||
	    (connected && tls_problem(engine->tls, engine->why, sizeof(engine->why))) ||
	    !redis->errstr || !redis->errstr[0])
		return;
	/* It may have gone away before we have read what it refuses. */
	if (connected && engine->tls && !engine->heard)
		snprintf(engine->why, sizeof(engine->why),
			 "closed the connection before it has answered (%s); does it want another certificate? See tls-cert and tls-key",
			 redis->errstr);
	else
		snprintf(engine->why, sizeof(engine->why), "cannot be used: %s", redis->errstr);
}

void engine_fail(struct engine *engine, const char *format, ...)
{
	va_list args;

	if (!engine->redis)
		return;
	va_start(args, format);
	vsnprintf(engine->why, sizeof(engine->why), format, args);
	va_end(args);
	engine->ready = false;
	if (!engine->calling)
		settle(engine);
}

const char *engine_role(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements &&
	       reply->element[0]->type == REDIS_REPLY_STRING ? reply->element[0]->str : NULL;
}

bool engine_has_others(const struct engine *engine)
{
	return !engine->config->finder && engine->config->servers[1];
}

/* What keeps a replica from having what its primary has; NULL: nothing. The answer of a replica to
 * ROLE is ["slave", address, port, state, ...].
 */
static const char *replica_state(const redisReply *reply)
{
	const redisReply *state = reply->elements < 4 ? NULL : reply->element[3];

	return strcmp(engine_role(reply), "slave") || !state || state->type != REDIS_REPLY_STRING ||
	       !strcmp(state->str, "connected") ? NULL : state->str;
}

bool engine_leave_listless(struct engine *engine, const redisReply *reply, const char *list)
{
	if (!engine_role(reply))
		engine_fail(engine, "has no list %s%s", list, ENGINE_ALLOW_ROLE);
	else if (replica_state(reply))
		engine_fail(engine,
			    "is a replica that is not connected to its primary (%.20s), and has no list %s",
			    replica_state(reply), list);
	else if (engine_has_others(engine))
		engine_fail(engine,
			    "has no list %s; if it was lost, or never made: ipcuckoo publish %s --file FILE",
			    list, list);
	else
		return false;
	return true;
}

void engine_good(struct engine *engine)
{
	engine->good = true;
	engine->tried = 0;
	engine->attempts = 0;
	engine->round[0] = '\0';
}

/* There is no address to connect to. */
static void give_up_name(struct engine *engine, const char *why)
{
	snprintf(engine->why, sizeof(engine->why),
		 "cannot be looked up: %s; an address needs no nameserver", why);
	settle(engine);
}

static int on_deadline(sd_event_source *timer, uint64_t usec, void *data)
{
	struct engine *engine = data;

	(void)timer;
	(void)usec;
	if (engine->lookup) {
		resolve_stop(engine->lookup);
		engine->lookup = NULL;
		give_up_name(engine, "no nameserver answers in time");
		return 0;
	}
	if (engine->config->tls && engine->redis && engine->redis->c.flags & REDIS_CONNECTED &&
	    !tls_is_up(engine->tls))
		engine_fail(engine, "does not answer by TLS in time; is that its tls-port?");
	else
		engine_fail(engine,
			    "does not answer in time; is it running, and does the network reach it?");
	return 0;
}

static void on_pending(redisAsyncContext *redis, void *data, void *privdata)
{
	struct pending *pending = privdata;
	struct engine *engine = pending->engine;
	engine_reply_fn *reply = pending->reply;

	free(pending);
	engine->cost = 0;
	engine->expected--;
	/* NULL: the connection is being closed. */
	if (!data || engine->why[0] || engine->closed) {
		note_error(engine, redis);
		return;
	}
	engine->heard = true;
	/* The next reply has its time from now on. */
	if (engine->expected)
		timer_start(engine->event, &engine->deadline, engine->limit_ms, on_deadline,
			    engine);
	else
		timer_stop(&engine->deadline);
	reply(engine->user.owner, data);
}

void engine_send(struct engine *engine, engine_reply_fn *reply, unsigned int seconds, int count,
		 const char *const *words, const size_t *sizes)
{
	struct pending *pending;

	if (!engine->redis || engine->why[0])
		return;
	pending = need_zeros(sizeof(*pending));
	pending->engine = engine;
	pending->reply = reply;
	if (redisAsyncCommandArgv(engine->redis, on_pending, pending, count, (const char **)words,
				  sizes) != REDIS_OK) {
		free(pending);
		engine_fail(engine, "cannot be used any more");
		return;
	}
	engine->expected++;
	engine->limit_ms = (seconds + engine->config->connect_time) * 1000;
	timer_start(engine->event, &engine->deadline, engine->limit_ms, on_deadline, engine);
}

static void start_deadline(struct engine *engine)
{
	timer_start(engine->event, &engine->deadline, engine->config->connect_time * 1000,
		    on_deadline, engine);
}

static void become_ready(struct engine *engine)
{
	engine->ready = true;
	engine->user.ready(engine->user.owner);
}

static void on_auth(redisAsyncContext *redis, void *data, void *privdata)
{
	const redisReply *reply = data;
	struct engine *engine = privdata;

	engine->cost = 0;
	engine->expected--;
	if (!reply || engine->why[0]) {
		note_error(engine, redis);
		return;
	}
	timer_stop(&engine->deadline);
	engine->heard = true;
	if (reply->type == REDIS_REPLY_ERROR)
		engine_fail(engine,
			    "refuses user or password: %.150s; see user and password-file",
			    reply->str);
	else
		become_ready(engine);
}

static void authenticate(struct engine *engine)
{
	const struct engine_config *config = engine->config;
	char password[SECRET_SIZE];
	const char *words[] = { "AUTH", config->user ? config->user : password, password };

	if (!config->password_file) {
		become_ready(engine);
		return;
	}
	if (!secret_read(config->password_file, "password", password, engine->why))
		return;
	engine->expected++;
	redisAsyncCommandArgv(engine->redis, on_auth, engine, config->user ? 3 : 2, words, NULL);
	explicit_bzero(password, sizeof(password));
}

static void on_connected(const redisAsyncContext *redis, int status)
{
	struct engine *engine = redis->data;

	if (engine->closed || engine->why[0])
		return;
	if (status == REDIS_OK)
		authenticate(engine);
	else
		note_error(engine, redis);
}

static void on_disconnected(const redisAsyncContext *redis, int status)
{
	if (status != REDIS_OK)
		note_error(redis->data, redis);
}

static int on_io(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct engine *engine = data;

	(void)io;
	(void)fd;
	engine->calling = true;
	/* An error is found by reading. Before it is connected, hiredis waits for writing. */
	if (events & EPOLLOUT)
		redisAsyncHandleWrite(engine->redis);
	if (engine->redis && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		redisAsyncHandleRead(engine->redis);
	if (engine->redis && engine->redis->c.reader->len > ENGINE_REPLY_MOST)
		pay(engine, SIZE_MAX);
	settle(engine);
	return 0;
}

/* Return: whether it worked; otherwise engine->why says what did not. */
static bool start_tls(struct engine *engine)
{
	char *host;
	bool begun;
	int port;

	if (!engine->config->tls)
		return true;
	/* The files are read each time: certificates are renewed while the daemon runs. */
	tls_free(engine->tls);
	engine->tls = tls_new(engine->config, engine->why, sizeof(engine->why));
	if (!engine->tls)
		return false;
	host = split_server(engine_server(engine), &port);
	begun = tls_start(engine->tls, &engine->redis->c, host);
	free(host);
	if (!begun && !tls_problem(engine->tls, engine->why, sizeof(engine->why)))
		note_error(engine, engine->redis);
	return begun;
}

/* Let hiredis connect, without waiting. @port: 0 if @address is a path. Return: whether it has
 * begun.
 */
static bool begin(struct engine *engine, const char *address, int port)
{
	redisAsyncContext *redis = port ? redisAsyncConnect(address, port) :
					  redisAsyncConnectUnix(address);

	if (!redis || redis->err) {
		snprintf(engine->why, sizeof(engine->why), "cannot be reached: %.150s",
			 redis ? redis->errstr : "out of memory");
		if (redis)
			redisAsyncFree(redis);
		return false;
	}
	engine->redis = redis;
	redis->data = engine;
	redis->ev.data = engine;
	redis->ev.addRead = add_read;
	redis->ev.delRead = del_read;
	redis->ev.addWrite = add_write;
	redis->ev.delWrite = del_write;
	redis->ev.cleanup = clean_up;
	engine->wanted = 0;
	engine->cost = 0;
	engine->expected = 0;
	engine->heard = false;
	engine->good = false;
	limit_replies(engine);
	if (sd_event_add_io(engine->event, &engine->io, redis->c.fd, 0, on_io, engine) < 0)
		return false;
	return start_tls(engine);
}

static void connect_to(struct engine *engine, const char *address, int port)
{
	engine->calling = true;
	if (begin(engine, address, port)) {
		redisAsyncSetConnectCallback(engine->redis, on_connected);
		redisAsyncSetDisconnectCallback(engine->redis, on_disconnected);
		start_deadline(engine);
	} else if (!engine->why[0]) {
		snprintf(engine->why, sizeof(engine->why), "cannot be reached");
	}
	settle(engine);
}

static void on_address(void *owner, const char *address, const char *why)
{
	struct engine *engine = owner;
	int port;

	engine->lookup = NULL;
	timer_stop(&engine->deadline);
	free(split_server(engine_server(engine), &port));
	if (address)
		connect_to(engine, address, port);
	else
		give_up_name(engine, why);
}

static int on_retry(sd_event_source *timer, uint64_t usec, void *data)
{
	struct engine *engine = data;
	const char *server;
	int port = 0;
	char *host;

	(void)timer;
	(void)usec;
	timer_stop(&engine->retry);
	if (!servers_of(engine)) {
		engine->question = engine->config->finder->ask(engine->event, engine->config,
							       engine->write, on_servers, engine);
		return 0;
	}
	server = engine_server(engine);
	host = *server == '/' ? need_copy(server) : split_server(server, &port);
	if (!port || resolve_is_address(host)) {
		connect_to(engine, host, port);
	} else {
		engine->lookup = resolve_start(engine->event, host, on_address, engine);
		if (engine->lookup)
			start_deadline(engine);
		else
			give_up_name(engine, "too many files are open");
	}
	free(host);
	return 0;
}

struct engine *engine_open(sd_event *event, const struct engine_config *config, bool write,
			   const struct engine_user *user)
{
	struct engine *engine = need_zeros(sizeof(*engine));

	engine->event = event;
	engine->config = config;
	engine->write = write;
	engine->user = *user;
	timer_start(event, &engine->retry, 0, on_retry, engine);
	return engine;
}

void engine_close(struct engine *engine)
{
	if (!engine)
		return;
	engine->closed = true;
	engine->ready = false;
	if (!engine->calling)
		settle(engine);
}
