/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection to Redis, or to what speaks its protocol, such as Valkey. It connects, says the
 * password, and tries again when it is lost: the addresses in turn, then after a time that doubles.
 * The addresses are those of the configuration, or Sentinel is asked for them, each time anew.
 *
 * Nothing that arrives is believed: a reply is bounded, and a command has a time limit.
 */
#ifndef IPCUCKOOD_CONN_H
#define IPCUCKOOD_CONN_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* A connection ends if a reply needs more memory than this. */
#define CONN_REPLY_MOST	(32u << 20)

struct conn_config;

/* The answer: addresses to try in turn, allocated, NULL ends them; or NULL, and why there are none.
 * The answer comes once; the question is over then.
 */
typedef void conn_found_fn(void *owner, char **servers, const char *why);

/**
 * struct conn_finder - whom to ask where Redis is, if the configuration does not say it
 * @ask:	ask for the primary, if @write, otherwise for its replicas, in any order, and then the
 *		primary. The configuration has to stay. Return: the question
 * @give_up:	give the question up
 */
struct conn_finder {
	void *(*ask)(sd_event *event, const struct conn_config *config, bool write,
		     conn_found_fn *found, void *owner);
	void (*give_up)(void *question);
};

/**
 * struct conn_config - where Redis is
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
struct conn_config {
	char **servers;
	char **sentinel;
	const struct conn_finder *finder;
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

struct conn;
struct section;

/* A reply. It is freed afterwards. The function is not called if the connection is lost. */
typedef void conn_reply_fn(void *owner, const redisReply *reply);

/**
 * struct conn_user - what uses a connection
 * @owner:	argument of the functions
 * @ready:	the connection can be used. Replies to what was sent before do not come any more
 * @lost:	no address can be used. It is tried again later
 */
struct conn_user {
	void *owner;
	void (*ready)(void *owner);
	void (*lost)(void *owner, const char *why);
};

/* Begin to connect. The configuration has to stay. @write: to the primary, if Sentinel is asked;
 * otherwise to a replica, and to the primary if there is none.
 */
struct conn *conn_open(sd_event *event, const struct conn_config *config, bool write,
		       const struct conn_user *user);
/* Close it. Can be called at any time, also by the functions of the user. NULL is ignored. */
void conn_close(struct conn *conn);

/* Send a command, as redisCommand() of hiredis has it: %s and %b (data and size_t) are part of one
 * word, and the other formats are those of printf() without "z" and "j". The reply has to come
 * within @seconds and connect_time. Replies come in the order of the commands.
 */
void conn_send(struct conn *conn, conn_reply_fn *reply, unsigned int seconds, const char *format, ...);
/* Give the connection up, and try again, with the next address. */
void conn_fail(struct conn *conn, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The connection is of use: the time until the next attempt is short again. */
void conn_good(struct conn *conn);
/* @reply is the answer to ROLE, [role, ...]. Return: the role, or NULL if the server does not say it,
 * because the user may not run ROLE, for instance.
 */
const char *conn_role(const redisReply *reply);
/* The end of a message if conn_role() is NULL */
#define CONN_ALLOW_ROLE \
	"; it does not say whether it is the primary: let the user run ROLE (+role)"
/* Whether the configuration names several servers. Those that Sentinel names have one primary. */
bool conn_has_others(const struct conn *conn);
/* The server has no list of this name, and @reply is its answer to ROLE. If another server may have
 * it, call conn_fail(), so that the next address is tried: if this is a replica that is not
 * connected to its primary, or does not say what it is, or if the configuration names other
 * servers. Return: whether that was done.
 */
bool conn_leave_listless(struct conn *conn, const redisReply *reply, const char *list);
bool conn_is_ready(const struct conn *conn);
/* The address in use, or the one that is tried; "Sentinel" while that is asked. */
const char *conn_server(const struct conn *conn);

/* Call section_fault() for what is wrong in a configuration (conn_config.c). */
void conn_check_config(const struct conn_config *config, struct section *section);
/* Why an address is wrong; NULL if it is right. */
const char *conn_check_server(const char *server);

#endif /* IPCUCKOOD_CONN_H */
