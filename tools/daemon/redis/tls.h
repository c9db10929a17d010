/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS for connections to Redis. hiredis moves the data; what it does not do is done here: the name
 * in the server's certificate is compared, and what went wrong is said.
 */
#ifndef IPCUCKOOD_TLS_H
#define IPCUCKOOD_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/redis/conn.h"

struct redisContext;
struct tls;

/* Whether this program was built with TLS. */
bool tls_is_built(void);
/* Read certificates and keys. Return: NULL if that fails; @why says what is wrong. */
struct tls *tls_new(const struct conn_config *config, char *why, size_t size);
void tls_free(struct tls *tls);
/* Begin TLS on a connection to @host, a name or an address; NULL: a socket, which has no name.
 * Return: whether it has begun.
 */
bool tls_start(struct tls *tls, struct redisContext *redis, const char *host);
/* Whether both sides have agreed. */
bool tls_is_up(const struct tls *tls);
/* Why TLS has failed, and what to do, while the connection that has failed is still there. Return:
 * whether it was TLS that failed.
 */
bool tls_problem(const struct tls *tls, char *why, size_t size);

#endif /* IPCUCKOOD_TLS_H */
