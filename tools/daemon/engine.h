/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection to Redis, or to what speaks its protocol, such as Valkey. It connects, says the
 * password, and tries again when it is lost: the addresses in turn, then after a time that doubles.
 * The addresses are those of the configuration, or Sentinel is asked for them, each time anew.
 *
 * Nothing that arrives is believed: a reply is bounded, and a command has a time limit.
 */
#ifndef IPCUCKOOD_ENGINE_H
#define IPCUCKOOD_ENGINE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* A connection ends if a reply needs more memory than this. */
#define ENGINE_REPLY_MOST	(32u << 20)

struct engine_config;

/* The answer: addresses to try in turn, allocated, NULL ends them; or NULL, and why there are none.
 * The answer comes once; the question is over then.
 */
typedef void engine_found_fn(void *owner, char **servers, const char *why);

/**
 * struct engine_finder - whom to ask where Redis is, if the configuration does not say it
 * @ask:	ask for the primary, if @write, otherwise for its replicas, in any order, and then the
 *		primary. The configuration has to stay. Return: the question
 * @give_up:	give the question up
 */
struct engine_finder {
	void *(*ask)(sd_event *event, const struct engine_config *config, bool write,
		     engine_found_fn *found, void *owner);
	void (*give_up)(void *question);
};

/**
 * struct engine_config - where Redis is
 * @servers:	addresses, "HOST:PORT", "[HOST]:PORT" or a path that begins with "/"; NULL ends them
 * @sentinel:	instead of @servers: the name that Sentinel has for the primary, and the addresses of
 *		sentinels; NULL ends them
 * @finder:	asks @sentinel; NULL without @sentinel
 * @sentinel_password_file: file whose first line is the password of the sentinels, or NULL
 * @user:	user, or NULL
 * @password_file: file whose first line is the password, or NULL
 * @tls:	use TLS
 * @ca_file:	certificates of those who may sign that of the server; needed with @tls
 * @tls_name:	the name that the certificate of the server needs to have; NULL: its address in
 *		@servers
 * @cert_file:	certificate of this machine, or NULL
 * @key_file:	its private key, or NULL
 * @connect_time: time limit of connecting and of a command, in seconds
 */
struct engine_config {
	char **servers;
	char **sentinel;
	const struct engine_finder *finder;
	char *sentinel_password_file;
	char *user;
	char *password_file;
	bool tls;
	char *ca_file;
	char *tls_name;
	char *cert_file;
	char *key_file;
	uint64_t connect_time;
};

struct engine;
struct section;

/* A reply. It is freed afterwards. The function is not called if the connection is lost. */
typedef void engine_reply_fn(void *owner, const redisReply *reply);

/**
 * struct engine_user - what uses a connection
 * @owner:	argument of the functions
 * @ready:	the connection can be used. Replies to what was sent before do not come any more
 * @lost:	no address can be used. It is tried again later
 */
struct engine_user {
	void *owner;
	void (*ready)(void *owner);
	void (*lost)(void *owner, const char *why);
};

/* Begin to connect. The configuration has to stay. @write: to the primary, if Sentinel is asked;
 * otherwise to a replica, and to the primary if there is none.
 */
struct engine *engine_open(sd_event *event, const struct engine_config *config, bool write,
			   const struct engine_user *user);
/* Close it. Can be called at any time, also by the functions of the user. NULL is ignored. */
void engine_close(struct engine *engine);

/* Send a command of @count words. The reply has to come within @seconds and connect_time. Replies
 * come in the order of the commands.
 */
void engine_send(struct engine *engine, engine_reply_fn *reply, unsigned int seconds, int count,
		 const char *const *words, const size_t *sizes);
/* Give the connection up, and try again, with the next address. */
void engine_fail(struct engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The connection is of use: the time until the next attempt is short again. */
void engine_good(struct engine *engine);
/* @reply is the answer to ROLE, [role, ...]. Return: the role, or NULL if the server does not say it,
 * because the user may not run ROLE, for instance.
 */
const char *engine_role(const redisReply *reply);
/* The end of a message if engine_role() is NULL */
#define ENGINE_ALLOW_ROLE \
	"; it does not say whether it is the primary: let the user run ROLE (+role)"
/* Whether the configuration names several servers. Those that Sentinel names have one primary. */
bool engine_has_others(const struct engine *engine);
/* The server has no list of this name, and @reply is its answer to ROLE. If another server may have
 * it, call engine_fail(), so that the next address is tried: if this is a replica that is not
 * connected to its primary, or does not say what it is, or if the configuration names other
 * servers. Return: whether that was done.
 */
bool engine_leave_listless(struct engine *engine, const redisReply *reply, const char *list);
bool engine_is_ready(const struct engine *engine);
/* The address in use, or the one that is tried; "Sentinel" while that is asked. */
const char *engine_server(const struct engine *engine);

/* Call section_fault() for what is wrong in a configuration (engine_config.c). */
void engine_check_config(const struct engine_config *config, struct section *section);
/* Why an address is wrong; NULL if it is right. */
const char *engine_check_server(const char *server);

#endif /* IPCUCKOOD_ENGINE_H */
