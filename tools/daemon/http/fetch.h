/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfers by libcurl, on the event loop. */
#ifndef IPCUCKOOD_FETCH_H
#define IPCUCKOOD_FETCH_H

#include "daemon/base/daemon.h"
#include "daemon/conf/secret.h"

#include <stddef.h>
#include <stdint.h>

struct fetch_result;

/**
 * struct fetch_request - what to fetch, and how. Texts are copied
 * @url:	http, https or file
 * @etag:	ETag of the last answer; or NULL
 * @modified:	Last-Modified of the last answer, as the server wrote it; or NULL
 * @modified_at: for a file: when it was changed last, in seconds since 1970; 0: unknown
 * @headers:	more headers, "Name: value"; NULL, or ended by NULL
 * @post:	body of a POST request; NULL: it is a GET request
 * @user, @password: for HTTP; NULL: none
 * @secret:	URL, headers or password are secret: no redirection is followed, and without TLS no proxy is
 *		asked
 * @patient:	it may wait until fewer transfers run, and fewer from its host
 * @ca, @cert, @key: files for TLS; NULL: the system's authorities, no certificate
 * @connect_seconds: time limit of the connection
 * @seconds:	time limit of everything; 0: none
 * @slow_seconds: give up if nearly nothing arrives for this many seconds; 0: never
 * @data:	gets the body of a good answer, in parts. Return: false to give up
 * @done:	called once at the end, not after fetch_stop(). The fetch is gone then
 * @owner:	argument for @data and @done
 */
struct fetch_request {
	const char *url;
	const char *etag;
	const char *modified;
	uint32_t modified_at;
	const char *const *headers;
	const char *post;
	const char *user, *password;
	bool secret;
	bool patient;
	const char *ca, *cert, *key;
	uint64_t connect_seconds;
	uint64_t seconds;
	uint64_t slow_seconds;
	bool (*data)(void *owner, const char *data, size_t len);
	void (*done)(void *owner, const struct fetch_result *result);
	void *owner;
};

/**
 * struct fetch_result - how it ended
 * @good:	all of the body has arrived, if there was a change
 * @unchanged:	nothing has changed since the answer with @etag or @modified
 * @status:	status of HTTP; 0 if there was none
 * @why:	what went wrong, if not @good: "answered 404 (Not Found)"
 * @etag:	ETag of the answer; "" if it had none
 * @modified:	Last-Modified, as the server wrote it; "" if it had none
 * @modified_at: when the file was changed last; 0: unknown
 * @retry_after: the server asked not to be asked again for so many seconds; 0: it did not
 */
struct fetch_result {
	bool good;
	bool unchanged;
	long status;
	char why[SECRET_WHY_SIZE];
	char etag[256];
	char modified[64];
	uint32_t modified_at;
	uint32_t retry_after;
};

struct fetch;

/* Begin a transfer. Never calls @done itself. Return: NULL if that fails; then @why says what is
 * wrong.
 */
struct fetch *fetch_start(struct daemon *daemon, const struct fetch_request *request,
			  const char **why);
/* Give up a transfer. NULL is none. */
void fetch_stop(struct fetch *fetch);
/* The last thing, after all transfers: free what libcurl has. */
void fetch_end(void);

#endif /* IPCUCKOOD_FETCH_H */
