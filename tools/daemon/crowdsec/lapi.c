// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/base/memory.h"
#include "daemon/conf/secret.h"
#include "daemon/crowdsec/lapi.h"

static bool has_scheme(const char *url, const char *scheme)
{
	return !strncasecmp(url, scheme, strlen(scheme));
}

static void check_url(const struct lapi *lapi, struct section *section)
{
	char *shown = url_shown(lapi->url);

	if (!has_scheme(lapi->url, "https://") && !has_scheme(lapi->url, "http://"))
		section_fault(section, "url",
			      "\"%.128s\" does not begin with https:// or http://", shown);
	else if (strpbrk(lapi->url, "?# \t"))
		section_fault(section, "url",
			      "\"%.128s\" has to be the address of the Local API only, such as http://127.0.0.1:8080",
			      shown);
	free(shown);
}

void lapi_check(const struct lapi *lapi, struct section *section)
{
	bool tls = has_scheme(lapi->url, "https://");

	check_url(lapi, section);
	if (!lapi->key_file && !lapi->cert_file)
		section_fault(section, "key-file",
			      "a line is missing that says where the API key is, such as: key-file = /etc/ipcuckood.crowdsec; cscli bouncers add NAME makes a key");
	if (!lapi->cert_file != !lapi->tls_key_file)
		section_fault(section, lapi->cert_file ? "tls-cert" : "tls-key",
			      "tls-cert and tls-key go together");
	if (!tls && (lapi->ca_file || lapi->cert_file || lapi->tls_key_file))
		section_fault(section, lapi->ca_file ? "tls-ca" :
				       lapi->cert_file ? "tls-cert" : "tls-key",
			      "this has no effect unless the url begins with https://");
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
	char key[SECRET_SIZE] = "", header[SECRET_SIZE + 16], problem_of_key[SECRET_WHY_SIZE];
	const char *headers[] = { "Content-Type: application/json", header, NULL };
	const char *problem;
	struct fetch *fetch;
	char *url;

	if (lapi->key_file && !secret_read_key(lapi->key_file, key, problem_of_key)) {
		snprintf(why, LAPI_WHY_SIZE, "%s; cscli bouncers add NAME makes one", problem_of_key);
		return NULL;
	}
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
		snprintf(why, LAPI_WHY_SIZE, "%s", result->why);
}

char *lapi_escape_list(char *const *words)
{
	char *list = need_copy(""), *escaped;
	size_t i;

	for (i = 0; words && words[i]; i++) {
		escaped = url_escape(words[i]);
		need_more(&list, "%s%s", i ? "%2C" : "", escaped);
		free(escaped);
	}
	return list;
}
