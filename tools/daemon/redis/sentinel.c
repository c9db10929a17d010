// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sentinel speaks the protocol of Redis, so a connection without a sentinel of its own connects to
 * it, tries the sentinels in turn, and limits what they say.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/sentinel.h"

/* More replicas than one primary has */
#define REPLICAS_MOST	1000

/**
 * struct sentinel - a question
 * @config:	where the sentinels are
 * @name:	the name that they have for the primary
 * @conn:	the connection
 * @write:	only the primary is asked for
 * @primary:	its address; NULL before it is known
 * @done:	takes the answer
 * @owner:	its argument
 */
struct sentinel {
	struct conn_config config;
	const char *name;
	struct conn *conn;
	bool write;
	char *primary;
	conn_found_fn *done;
	void *owner;
};

static void give_up(void *question)
{
	struct sentinel *sentinel = question;

	conn_close(sentinel->conn);
	free(sentinel->primary);
	free(sentinel);
}

static void finish(struct sentinel *sentinel, char **servers, const char *why)
{
	conn_found_fn *done = sentinel->done;
	void *owner = sentinel->owner;

	give_up(sentinel);
	done(owner, servers, why);
}

static const char *text_of(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
}

/* HOST:PORT as conn_check_server() wants it; NULL if it is none. Allocated. */
static char *address(const char *host, const char *port)
{
	char *text;

	if (!host || !port)
		return NULL;
	text = need_text(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	if (*text != '/' && !conn_check_server(text))
		return text;
	free(text);
	return NULL;
}

/* The value of a field in [field, value, field, value, ...]; NULL if it is not there. */
static const char *field(const redisReply *fields, const char *name)
{
	const char *key;
	size_t i;

	for (i = 0; i + 1 < fields->elements; i += 2) {
		key = text_of(fields->element[i]);
		if (key && !strcmp(key, name))
			return text_of(fields->element[i + 1]);
	}
	return NULL;
}

/* The address of a replica that works; NULL if it does not. Allocated. */
static char *replica_address(const redisReply *fields)
{
	const char *flags, *link;

	if (fields->type != REDIS_REPLY_ARRAY)
		return NULL;
	flags = field(fields, "flags");
	link = field(fields, "master-link-status");
	if (!flags || strstr(flags, "down") || strstr(flags, "disconnected") ||
	    (link && strcmp(link, "ok")))
		return NULL;
	return address(field(fields, "ip"), field(fields, "port"));
}

static void on_replicas(void *owner, const redisReply *reply)
{
	struct sentinel *sentinel = owner;
	char **servers = NULL, *server;
	size_t count = 0, i, other;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements > REPLICAS_MOST) {
		conn_fail(sentinel->conn, "does not say which replicas there are; is that Sentinel?");
		return;
	}
	for (i = 0; i < reply->elements; i++) {
		server = replica_address(reply->element[i]);
		if (!server)
			continue;
		servers = need_room(servers, count);
		/* Followers share the replicas, so each has an order of its own. */
		other = random_upto(count);
		servers[count++] = servers[other];
		servers[other] = server;
	}
	servers = need_room(servers, count);
	servers[count++] = sentinel->primary;
	servers[count] = NULL;
	sentinel->primary = NULL;
	finish(sentinel, servers, NULL);
}

static void on_primary(void *owner, const redisReply *reply)
{
	struct sentinel *sentinel = owner;
	char **servers;

	if (reply->type == REDIS_REPLY_NIL) {
		conn_fail(sentinel->conn, "knows no primary of the name %.64s; see sentinel",
			  sentinel->name);
		return;
	}
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
		sentinel->primary = address(text_of(reply->element[0]), text_of(reply->element[1]));
	if (!sentinel->primary) {
		conn_fail(sentinel->conn, "does not say where the primary is: %.100s",
			  reply->type == REDIS_REPLY_ERROR ? reply->str : "is that Sentinel?");
		return;
	}
	if (!sentinel->write) {
		conn_send(sentinel->conn, on_replicas, 0, "SENTINEL REPLICAS %s", sentinel->name);
		return;
	}
	servers = need_room(NULL, 1);
	servers[0] = sentinel->primary;
	servers[1] = NULL;
	sentinel->primary = NULL;
	finish(sentinel, servers, NULL);
}

static void on_ready(void *owner)
{
	struct sentinel *sentinel = owner;

	free(sentinel->primary);
	sentinel->primary = NULL;
	conn_send(sentinel->conn, on_primary, 0, "SENTINEL GET-MASTER-ADDR-BY-NAME %s",
		  sentinel->name);
}

static void on_lost(void *owner, const char *why)
{
	finish(owner, NULL, why);
}

static void *ask(sd_event *event, const struct conn_config *config, bool write,
		 conn_found_fn *done, void *owner)
{
	struct sentinel *sentinel = need_zeros(sizeof(*sentinel));
	const struct conn_user user = { sentinel, on_ready, on_lost };

	sentinel->config = *config;
	sentinel->config.sentinel = NULL;
	sentinel->config.finder = NULL;
	sentinel->config.servers = config->sentinel + 1;
	sentinel->config.user = NULL;
	sentinel->config.password_file = config->sentinel_password_file;
	sentinel->name = config->sentinel[0];
	sentinel->write = write;
	sentinel->done = done;
	sentinel->owner = owner;
	sentinel->conn = conn_open(event, &sentinel->config, write, &user);
	return sentinel;
}

const struct conn_finder sentinel_finder = {
	.ask = ask,
	.give_up = give_up,
};
