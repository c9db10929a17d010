// SPDX-License-Identifier: GPL-2.0-only
/*
 * hiredis has the protocol, and tells by some hooks when it wants to read or write; they change the
 * events of one source of sd-event. It frees its context itself when a connection is lost, also
 * while it calls us: after each call, conn->redis says whether the context is still there.
 *
 * hiredis would look names of hosts up by waiting for the answer, so it gets addresses only.
 */
#include <errno.h>
#include <hiredis/async.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/conf/secret.h"
#include "daemon/redis/conn.h"
#include "daemon/redis/resolve.h"
#include "daemon/redis/tls.h"

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
 * struct conn - a connection
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
 * @closed:	conn_close() was called while hiredis was at work
 * @tls:	certificates and keys of the connection, or of the last one
 */
struct conn {
	sd_event *event;
	const struct conn_config *config;
	bool write;
	struct conn_user user;
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
	struct timer deadline;
	uint64_t limit_ms;
	struct timer retry;
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
	struct conn *conn;
	conn_reply_fn *reply;
};

static void on_retry(void *data);

/* The addresses; NULL if Sentinel has to be asked. */
static char **servers_of(const struct conn *conn)
{
	return conn->config->finder ? conn->servers : conn->config->servers;
}

const char *conn_server(const struct conn *conn)
{
	return servers_of(conn) ? servers_of(conn)[conn->at] : "Sentinel";
}

bool conn_is_ready(const struct conn *conn)
{
	return conn && conn->ready;
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

const char *conn_check_server(const char *server)
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
static bool pay(struct conn *conn, size_t cost)
{
	if (cost > CONN_REPLY_MOST || conn->cost + cost > CONN_REPLY_MOST) {
		snprintf(conn->why, sizeof(conn->why),
			 "sent a reply that needs more than %u MB; that is no Redis, or not a list of ipcuckoo",
			 CONN_REPLY_MOST >> 20);
		return false;
	}
	conn->cost += cost;
	return true;
}

/* A part of a reply may be made. */
static bool may_make(const redisReadTask *task, size_t cost)
{
	struct conn *conn = task->privdata;

	if (!task->parent && !conn->expected) {
		if (!conn->why[0])
			snprintf(conn->why, sizeof(conn->why),
				 "sent a reply that nobody asked for; is that Redis?");
		return false;
	}
	return pay(conn, cost);
}

static const redisReplyObjectFunctions *make_of(const redisReadTask *task)
{
	const struct conn *conn = task->privdata;

	return conn->make;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
	return may_make(task, len) ? make_of(task)->createString(task, text, len) : NULL;
}

static void *make_array(const redisReadTask *task, array_size count)
{
	size_t cost = SIZE_MAX;

	if ((size_t)count <= CONN_REPLY_MOST / ELEMENT_COST)
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

static void limit_replies(struct conn *conn)
{
	redisReader *reader = conn->redis->c.reader;

	conn->make = reader->fn;
	conn->functions = *reader->fn;
	conn->functions.createString = make_string;
	conn->functions.createArray = make_array;
	conn->functions.createInteger = make_integer;
	conn->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
	conn->functions.createDouble = make_double;
	conn->functions.createBool = make_bool;
#endif
	reader->fn = &conn->functions;
	reader->privdata = conn;
}

static void set_events(struct conn *conn, uint32_t wanted)
{
	conn->wanted = wanted;
	if (conn->io)
		sd_event_source_set_io_events(conn->io, wanted);
}

static void add_read(void *data)
{
	struct conn *conn = data;

	set_events(conn, conn->wanted | EPOLLIN);
}

static void del_read(void *data)
{
	struct conn *conn = data;

	set_events(conn, conn->wanted & ~EPOLLIN);
}

static void add_write(void *data)
{
	struct conn *conn = data;

	set_events(conn, conn->wanted | EPOLLOUT);
}

static void del_write(void *data)
{
	struct conn *conn = data;

	set_events(conn, conn->wanted & ~EPOLLOUT);
}

/* hiredis frees its context. */
static void clean_up(void *data)
{
	struct conn *conn = data;

	conn->io = sd_event_source_disable_unref(conn->io);
	conn->redis = NULL;
	conn->ready = false;
	timer_stop(&conn->deadline);
}

static void forget_servers(struct conn *conn)
{
	size_t i;

	for (i = 0; conn->servers && conn->servers[i]; i++)
		free(conn->servers[i]);
	free(conn->servers);
	conn->servers = NULL;
	conn->at = 0;
}

static void free_conn(struct conn *conn)
{
	if (conn->question)
		conn->config->finder->give_up(conn->question);
	resolve_stop(conn->lookup);
	forget_servers(conn);
	timer_stop(&conn->deadline);
	timer_stop(&conn->retry);
	tls_free(conn->tls);
	free(conn);
}

/* All addresses have failed. */
static void wait_long(struct conn *conn)
{
	char why[sizeof(conn->round)];

	conn->tried = 0;
	forget_servers(conn);
	timer_start(conn->event, &conn->retry,
		    backoff_ms(++conn->attempts, RETRY_LEAST, RETRY_MOST), on_retry, conn);
	memcpy(why, conn->round, sizeof(why));
	conn->round[0] = '\0';
	/* The user may close the connection, and then it is gone. */
	conn->user.lost(conn->user.owner, why);
}

/* Try the next address at once, and wait when all have failed. What Sentinel said before a
 * connection was of use may be out of date: it is asked again.
 */
static void lose(struct conn *conn)
{
	size_t count = 0, len = strlen(conn->round);
	char **servers = servers_of(conn);

	while (servers[count])
		count++;
	snprintf(conn->round + len, sizeof(conn->round) - len, "%s%.200s %.400s",
		 len ? "; " : "", conn_server(conn),
		 conn->why[0] ? conn->why : "closed the connection");
	conn->why[0] = '\0';
	conn->at = (conn->at + 1) % count;
	if (conn->config->finder && conn->good)
		forget_servers(conn);
	else
		conn->tried++;
	if (conn->tried < count)
		timer_start(conn->event, &conn->retry, 1, on_retry, conn);
	else
		wait_long(conn);
}

/* Sentinel has answered, or cannot be asked. */
static void on_servers(void *owner, char **servers, const char *why)
{
	struct conn *conn = owner;

	conn->question = NULL;
	conn->servers = servers;
	if (servers) {
		timer_start(conn->event, &conn->retry, 0, on_retry, conn);
		return;
	}
	snprintf(conn->round, sizeof(conn->round), "Sentinel cannot be asked: %.500s", why);
	wait_long(conn);
}

/* After each call of hiredis: is the connection given up, or lost? */
static void settle(struct conn *conn)
{
	redisAsyncContext *redis = conn->redis;

	conn->calling = false;
	if (redis && (conn->closed || conn->why[0])) {
		/* It calls clean_up(). */
		redisAsyncFree(redis);
		conn->redis = NULL;
	}
	if (conn->closed)
		free_conn(conn);
	else if (!conn->redis && !timer_exists(&conn->retry))
		lose(conn);
}

static void note_error(struct conn *conn, const redisAsyncContext *redis)
{
	bool connected = redis->c.flags & REDIS_CONNECTED || tls_is_up(conn->tls);

	if (conn->why[0] ||
	    (connected && tls_problem(conn->tls, conn->why, sizeof(conn->why))) ||
	    !redis->errstr || !redis->errstr[0])
		return;
	/* It may have gone away before we have read what it refuses. */
	if (connected && conn->tls && !conn->heard)
		snprintf(conn->why, sizeof(conn->why),
			 "closed the connection before it has answered (%s); does it want another certificate? See tls-cert and tls-key",
			 redis->errstr);
	else
		snprintf(conn->why, sizeof(conn->why), "cannot be used: %s", redis->errstr);
}

void conn_fail(struct conn *conn, const char *format, ...)
{
	va_list args;

	if (!conn->redis)
		return;
	va_start(args, format);
	vsnprintf(conn->why, sizeof(conn->why), format, args);
	va_end(args);
	conn->ready = false;
	if (!conn->calling)
		settle(conn);
}

const char *conn_role(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements &&
	       reply->element[0]->type == REDIS_REPLY_STRING ? reply->element[0]->str : NULL;
}

bool conn_has_others(const struct conn *conn)
{
	return !conn->config->finder && conn->config->servers[1];
}

/* What keeps a replica from having what its primary has; NULL: nothing. The answer of a replica to
 * ROLE is ["slave", address, port, state, ...].
 */
static const char *replica_state(const redisReply *reply)
{
	const redisReply *state = reply->elements < 4 ? NULL : reply->element[3];

	return strcmp(conn_role(reply), "slave") || !state || state->type != REDIS_REPLY_STRING ||
	       !strcmp(state->str, "connected") ? NULL : state->str;
}

bool conn_leave_listless(struct conn *conn, const redisReply *reply, const char *list)
{
	if (!conn_role(reply))
		conn_fail(conn, "has no list %s%s", list, CONN_ALLOW_ROLE);
	else if (replica_state(reply))
		conn_fail(conn,
			  "is a replica that is not connected to its primary (%.20s), and has no list %s",
			  replica_state(reply), list);
	else if (conn_has_others(conn))
		conn_fail(conn,
			  "has no list %s; if it was lost, or never made: ipcuckoo publish %s --file FILE",
			  list, list);
	else
		return false;
	return true;
}

void conn_good(struct conn *conn)
{
	conn->good = true;
	conn->tried = 0;
	conn->attempts = 0;
	conn->round[0] = '\0';
}

/* There is no address to connect to. */
static void give_up_name(struct conn *conn, const char *why)
{
	snprintf(conn->why, sizeof(conn->why),
		 "cannot be looked up: %s; an address needs no nameserver", why);
	settle(conn);
}

static void on_deadline(void *data)
{
	struct conn *conn = data;

	if (conn->lookup) {
		resolve_stop(conn->lookup);
		conn->lookup = NULL;
		give_up_name(conn, "no nameserver answers in time");
		return;
	}
	if (conn->config->tls && conn->redis && conn->redis->c.flags & REDIS_CONNECTED &&
	    !tls_is_up(conn->tls))
		conn_fail(conn, "does not answer by TLS in time; is that its tls-port?");
	else
		conn_fail(conn,
			  "does not answer in time; is it running, and does the network reach it?");
}

static void on_pending(redisAsyncContext *redis, void *data, void *privdata)
{
	struct pending *pending = privdata;
	struct conn *conn = pending->conn;
	conn_reply_fn *reply = pending->reply;

	free(pending);
	conn->cost = 0;
	conn->expected--;
	/* NULL: the connection is being closed. */
	if (!data || conn->why[0] || conn->closed) {
		note_error(conn, redis);
		return;
	}
	conn->heard = true;
	/* The next reply has its time from now on. */
	if (conn->expected)
		timer_start(conn->event, &conn->deadline, conn->limit_ms, on_deadline,
			    conn);
	else
		timer_stop(&conn->deadline);
	reply(conn->user.owner, data);
}

void conn_send(struct conn *conn, conn_reply_fn *reply, unsigned int seconds, const char *format, ...)
{
	struct pending *pending;
	va_list args;
	int result;

	if (!conn->redis || conn->why[0])
		return;
	pending = need_zeros(sizeof(*pending));
	pending->conn = conn;
	pending->reply = reply;
	va_start(args, format);
	result = redisvAsyncCommand(conn->redis, on_pending, pending, format, args);
	va_end(args);
	if (result != REDIS_OK) {
		free(pending);
		conn_fail(conn, "cannot be used any more");
		return;
	}
	conn->expected++;
	conn->limit_ms = (seconds + conn->config->connect_time) * 1000;
	timer_start(conn->event, &conn->deadline, conn->limit_ms, on_deadline, conn);
}

static void start_deadline(struct conn *conn)
{
	timer_start(conn->event, &conn->deadline, conn->config->connect_time * 1000,
		    on_deadline, conn);
}

static void become_ready(struct conn *conn)
{
	conn->ready = true;
	conn->user.ready(conn->user.owner);
}

static void on_auth(redisAsyncContext *redis, void *data, void *privdata)
{
	const redisReply *reply = data;
	struct conn *conn = privdata;

	conn->cost = 0;
	conn->expected--;
	if (!reply || conn->why[0]) {
		note_error(conn, redis);
		return;
	}
	timer_stop(&conn->deadline);
	conn->heard = true;
	if (reply->type == REDIS_REPLY_ERROR)
		conn_fail(conn,
			  "refuses user or password: %.150s; see user and password-file",
			  reply->str);
	else
		become_ready(conn);
}

static void authenticate(struct conn *conn)
{
	const struct conn_config *config = conn->config;
	char password[SECRET_SIZE];
	const char *words[] = { "AUTH", config->user ? config->user : password, password };

	if (!config->password_file) {
		become_ready(conn);
		return;
	}
	if (!secret_read(config->password_file, "password", password, conn->why))
		return;
	conn->expected++;
	redisAsyncCommandArgv(conn->redis, on_auth, conn, config->user ? 3 : 2, words, NULL);
	explicit_bzero(password, sizeof(password));
}

static void on_connected(const redisAsyncContext *redis, int status)
{
	struct conn *conn = redis->data;

	if (conn->closed || conn->why[0])
		return;
	if (status == REDIS_OK)
		authenticate(conn);
	else
		note_error(conn, redis);
}

static void on_disconnected(const redisAsyncContext *redis, int status)
{
	if (status != REDIS_OK)
		note_error(redis->data, redis);
}

static int on_io(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct conn *conn = data;

	(void)io;
	(void)fd;
	conn->calling = true;
	/* An error is found by reading. Before it is connected, hiredis waits for writing. */
	if (events & EPOLLOUT)
		redisAsyncHandleWrite(conn->redis);
	if (conn->redis && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		redisAsyncHandleRead(conn->redis);
	if (conn->redis && conn->redis->c.reader->len > CONN_REPLY_MOST)
		pay(conn, SIZE_MAX);
	settle(conn);
	return 0;
}

/* Return: whether it worked; otherwise conn->why says what did not. */
static bool start_tls(struct conn *conn)
{
	char *host;
	bool begun;
	int port;

	if (!conn->config->tls)
		return true;
	/* The files are read each time: certificates are renewed while the daemon runs. */
	tls_free(conn->tls);
	conn->tls = tls_new(conn->config, conn->why, sizeof(conn->why));
	if (!conn->tls)
		return false;
	host = split_server(conn_server(conn), &port);
	begun = tls_start(conn->tls, &conn->redis->c, host);
	free(host);
	if (!begun && !tls_problem(conn->tls, conn->why, sizeof(conn->why)))
		note_error(conn, conn->redis);
	return begun;
}

/* Let hiredis connect, without waiting. @port: 0 if @address is a path. Return: whether it has
 * begun.
 */
static bool begin(struct conn *conn, const char *address, int port)
{
	redisAsyncContext *redis = port ? redisAsyncConnect(address, port) :
					  redisAsyncConnectUnix(address);

	if (!redis || redis->err) {
		snprintf(conn->why, sizeof(conn->why), "cannot be reached: %.150s",
			 redis ? redis->errstr : "out of memory");
		if (redis)
			redisAsyncFree(redis);
		return false;
	}
	conn->redis = redis;
	redis->data = conn;
	redis->ev.data = conn;
	redis->ev.addRead = add_read;
	redis->ev.delRead = del_read;
	redis->ev.addWrite = add_write;
	redis->ev.delWrite = del_write;
	redis->ev.cleanup = clean_up;
	conn->wanted = 0;
	conn->cost = 0;
	conn->expected = 0;
	conn->heard = false;
	conn->good = false;
	limit_replies(conn);
	if (sd_event_add_io(conn->event, &conn->io, redis->c.fd, 0, on_io, conn) < 0)
		return false;
	return start_tls(conn);
}

static void connect_to(struct conn *conn, const char *address, int port)
{
	conn->calling = true;
	if (begin(conn, address, port)) {
		redisAsyncSetConnectCallback(conn->redis, on_connected);
		redisAsyncSetDisconnectCallback(conn->redis, on_disconnected);
		start_deadline(conn);
	} else if (!conn->why[0]) {
		snprintf(conn->why, sizeof(conn->why), "cannot be reached");
	}
	settle(conn);
}

static void on_address(void *owner, const char *address, const char *why)
{
	struct conn *conn = owner;
	int port;

	conn->lookup = NULL;
	timer_stop(&conn->deadline);
	free(split_server(conn_server(conn), &port));
	if (address)
		connect_to(conn, address, port);
	else
		give_up_name(conn, why);
}

static void on_retry(void *data)
{
	struct conn *conn = data;
	const char *server;
	int port = 0;
	char *host;

	timer_stop(&conn->retry);
	if (!servers_of(conn)) {
		conn->question = conn->config->finder->ask(conn->event, conn->config,
							   conn->write, on_servers, conn);
		return;
	}
	server = conn_server(conn);
	host = *server == '/' ? need_copy(server) : split_server(server, &port);
	if (!port || resolve_is_address(host)) {
		connect_to(conn, host, port);
	} else {
		conn->lookup = resolve_start(conn->event, host, on_address, conn);
		if (conn->lookup)
			start_deadline(conn);
		else
			give_up_name(conn, "too many files are open");
	}
	free(host);
}

struct conn *conn_open(sd_event *event, const struct conn_config *config, bool write,
		       const struct conn_user *user)
{
	struct conn *conn = need_zeros(sizeof(*conn));

	conn->event = event;
	conn->config = config;
	conn->write = write;
	conn->user = *user;
	timer_start(event, &conn->retry, 0, on_retry, conn);
	return conn;
}

void conn_close(struct conn *conn)
{
	if (!conn)
		return;
	conn->closed = true;
	conn->ready = false;
	if (!conn->calling)
		settle(conn);
}
