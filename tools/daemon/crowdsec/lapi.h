/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests to CrowdSec's Local API (LAPI), as a bouncer. */
#ifndef IPCUCKOOD_LAPI_H
#define IPCUCKOOD_LAPI_H

#include "daemon/conf/section.h"
#include "daemon/http/fetch.h"

/**
 * struct lapi - a Local API, and how to ask it
 * @url:	where it is, "http://127.0.0.1:8080"
 * @key_file:	file whose first line is the API key; NULL: there is a certificate
 * @ca_file:	certificates of those who may sign that of the server; NULL: those of the system
 * @cert_file:	a certificate of this bouncer; or NULL
 * @tls_key_file: its private key
 * @connect_time, @time, @slow_time: time limits, in seconds
 */
struct lapi {
	char *url;
	char *key_file;
	char *ca_file;
	char *cert_file;
	char *tls_key_file;
	uint64_t connect_time;
	uint64_t time;
	uint64_t slow_time;
};

#define LAPI_WHY_SIZE	640

/* For the check of a section: call section_fault() for what is wrong. */
void lapi_check(const struct lapi *lapi, struct section *section);

/* Ask for @path, which begins with a slash; with @post as the body if it is not NULL. Of @request,
 * data, done and owner are set. Return: NULL if that cannot be begun; then @why says why, and what
 * to do.
 */
struct fetch *lapi_ask(struct daemon *daemon, const struct lapi *lapi, const char *path,
		       const char *post, struct fetch_request *request, char why[LAPI_WHY_SIZE]);

/* Say why a request failed, and what to do. */
void lapi_explain(const struct lapi *lapi, const struct fetch_result *result,
		  char why[LAPI_WHY_SIZE]);

/* A value for a query, as it has to be written there: words with commas between them. */
char *lapi_escape_list(char *const *words);

#endif /* IPCUCKOOD_LAPI_H */
