// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "daemon/lapi.h"
#include "daemon/memory.h"

/* CrowdSec's keys have 32 to 72 characters; whoever makes his own may use more. */
#define KEY_SIZE	512

#define UNRESERVED	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

static bool has_scheme(const char *url, const char *scheme)
{
	return !strncasecmp(url, scheme, strlen(scheme));
}

static void check_url(const struct lapi *lapi, struct section *section)
{
	const char *url = lapi->url;

	if (!has_scheme(url, "https://") && !has_scheme(url, "http://"))
		config_fault(section, "url",
			     "\"%.128s\" does not begin with https:// or http://", url);
	else if (strpbrk(url, "?# \t"))
		config_fault(section, "url",
			     "\"%.128s\" has to be the address of the Local API only, such as http://127.0.0.1:8080",
			     url);
}

void lapi_check(const struct lapi *lapi, struct section *section)
{
	bool tls = has_scheme(lapi->url, "https://");

	check_url(lapi, section);
	if (!lapi->key_file && !lapi->cert_file)
		config_fault(section, "key-file",
			     "a line is missing that says where the API key is, such as: key-file = /etc/ipcuckood.crowdsec; cscli bouncers add NAME makes a key");
	if (!lapi->cert_file != !lapi->tls_key_file)
		config_fault(section, lapi->cert_file ? "tls-cert" : "tls-key",
			     "tls-cert and tls-key go together");
	if (!tls && (lapi->ca_file || lapi->cert_file || lapi->tls_key_file))
		config_fault(section, lapi->ca_file ? "tls-ca" :
				      lapi->cert_file ? "tls-cert" : "tls-key",
			     "this has no effect unless the url begins with https://");
}

/* A key must not end the header. */
static bool is_key(const char *key)
{
	size_t i;

	for (i = 0; key[i]; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return i;
}

static bool fail_read(const char *path, char why[LAPI_WHY_SIZE])
{
	snprintf(why, LAPI_WHY_SIZE, "needs the API key in %.200s, which cannot be read: %s", path,
		 strerror(errno));
	return false;
}

/* The first line of the file. Return: false, with the reason, if it cannot be used. */
static bool read_key(const char *path, char key[KEY_SIZE], char why[LAPI_WHY_SIZE])
{
	FILE *f = fopen(path, "re");
	struct stat status;
	bool good;

	key[0] = '\0';
	if (!f)
		return fail_read(path, why);
	good = !fstat(fileno(f), &status) && !(status.st_mode & S_IRWXO);
	if (!good)
		snprintf(why, LAPI_WHY_SIZE,
			 "needs the API key in %.200s, which every user of this machine can read; run: chmod o= %.200s, and make a new key",
			 path, path);
	if (good && fgets(key, KEY_SIZE, f))
		key[strcspn(key, "\r\n")] = '\0';
	else if (good && ferror(f))
		good = fail_read(path, why);
	fclose(f);
	if (good && !is_key(key)) {
		snprintf(why, LAPI_WHY_SIZE,
			 "needs the API key in %.200s, but the first line of that is no key; cscli bouncers add NAME makes one",
			 path);
		good = false;
	}
	return good;
}

/* "http://host:8080/" and "/v1" */
static char *join(const char *url, const char *path)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	return need_text("%.*s%s", (int)len, url, path);
}

struct fetch *lapi_ask(struct daemon *daemon, const struct lapi *lapi, const char *path,
		       const char *post, struct fetch_request *request, char why[LAPI_WHY_SIZE])
{
	char key[KEY_SIZE] = "", header[KEY_SIZE + 16];
	const char *headers[] = { "Content-Type: application/json", header, NULL };
	const char *problem;
	struct fetch *fetch;
	char *url;

	if (lapi->key_file && !read_key(lapi->key_file, key, why))
		return NULL;
	snprintf(header, sizeof(header), "X-Api-Key: %s", key);
	if (!lapi->key_file)
		headers[1] = NULL;
	url = join(lapi->url, path);
	request->url = url;
	request->headers = post ? headers : headers + 1;
	request->post = post;
	request->secret = true;
	request->ca = lapi->ca_file;
	request->cert = lapi->cert_file;
	request->key = lapi->tls_key_file;
	request->connect_seconds = lapi->connect_time;
	request->seconds = lapi->time;
	request->slow_seconds = lapi->slow_time;
	fetch = fetch_start(daemon, request, &problem);
	if (!fetch)
		snprintf(why, LAPI_WHY_SIZE, "cannot be asked: %s", problem);
	explicit_bzero(key, sizeof(key));
	explicit_bzero(header, sizeof(header));
	free(url);
	return fetch;
}

void lapi_explain(const struct lapi *lapi, const struct fetch_result *result,
		  char why[LAPI_WHY_SIZE])
{
	if ((result->status == 401 || result->status == 403) && lapi->key_file)
		snprintf(why, LAPI_WHY_SIZE,
			 "refuses the API key in %.200s (status %ld); cscli bouncers add NAME makes one",
			 lapi->key_file, result->status);
	else if (result->status == 401 || result->status == 403)
		snprintf(why, LAPI_WHY_SIZE,
			 "refuses the certificate in %.200s (status %ld); see bouncers_allowed_ou in the configuration of crowdsec",
			 lapi->cert_file, result->status);
	else if (result->status == 404)
		snprintf(why, LAPI_WHY_SIZE,
			 "was answered with status 404; is that the url of CrowdSec's Local API?");
	else
		snprintf(why, LAPI_WHY_SIZE, "%s", result->why[0] ? result->why :
			 "was answered that nothing has changed, which was not the question");
}

/* A word as a part of a query: what RFC 3986 does not call unreserved is escaped. Allocated. */
static char *escape(const char *word)
{
	char *text = need_zeros(3 * strlen(word) + 1), *end = text;

	for (; *word; word++) {
		if (strchr(UNRESERVED, *word))
			*end++ = *word;
		else
			end += sprintf(end, "%%%02X", (unsigned char)*word);
	}
	return text;
}

char *lapi_escape_list(char *const *words)
{
	char *list = need_copy(""), *longer, *escaped;
	size_t i;

	for (i = 0; words && words[i]; i++) {
		escaped = escape(words[i]);
		longer = need_text("%s%s%s", list, i ? "%2C" : "", escaped);
		free(escaped);
		free(list);
		list = longer;
	}
	return list;
}
