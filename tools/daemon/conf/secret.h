/* SPDX-License-Identifier: GPL-2.0-only */
/* Secrets: in files, and never in what is printed. */
#ifndef IPCUCKOOD_SECRET_H
#define IPCUCKOOD_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_SIZE	1024
#define SECRET_WHY_SIZE	512

/* Whether a file with a secret can be read, and not by everybody. @what: what the secret is, such
 * as "password". @why says what is wrong and what to do, as the end of a sentence: "needs the
 * password in FILE, ...".
 */
bool secret_check(const char *path, const char *what, char why[SECRET_WHY_SIZE]);
/* Read the first line of such a file. Return: false if it cannot be used. */
bool secret_read(const char *path, const char *what, char secret[SECRET_SIZE],
		 char why[SECRET_WHY_SIZE]);
/* The same, for a key: a line without blanks and control characters. */
bool secret_read_key(const char *path, char key[SECRET_SIZE], char why[SECRET_WHY_SIZE]);

#define SECRET_PLACE	"{key}"

/* A copy of a text in which each "{key}" is replaced by @secret, escaped for a URL if @escape. */
char *secret_insert(const char *text, const char *secret, bool escape);

/* A copy of a URL without its user and password and without the values of its query: they may be
 * secrets.
 */
char *url_shown(const char *url);

/* The host of a URL, with its port and without a user; @len: set to its length. */
const char *url_host(const char *url, size_t *len);

/* Whether the host of a URL is this machine itself, as that of http://127.0.0.1:8080/ is. */
bool url_is_loopback(const char *url);

/* A word as a part of a URL: what RFC 3986 does not call unreserved is escaped. Allocated. */
char *url_escape(const char *word);

#endif /* IPCUCKOOD_SECRET_H */
