// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/base/memory.h"
#include "daemon/conf/secret.h"

#define UNRESERVED	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"

/* Return: the open file; NULL, with the reason, if it cannot be used. */
static FILE *open_secret(const char *path, const char *what, char why[SECRET_WHY_SIZE])
{
	/* To open a pipe would wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat status;

	if (!f || fstat(fd, &status)) {
		snprintf(why, SECRET_WHY_SIZE, "needs the %s in %.200s, which cannot be read: %s", what,
			 path, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		snprintf(why, SECRET_WHY_SIZE, "needs the %s in %.200s, which is no regular file", what, path);
	} else if (status.st_mode & S_IRWXO) {
		snprintf(why, SECRET_WHY_SIZE,
			 "needs the %s in %.200s, which every user of this machine can read; run: chmod o= %.200s, and make a new %s",
			 what, path, path, what);
	} else {
		return f;
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return NULL;
}

bool secret_check(const char *path, const char *what, char why[SECRET_WHY_SIZE])
{
	FILE *f = open_secret(path, what, why);

	if (f)
		fclose(f);
	return f;
}

bool secret_read(const char *path, const char *what, char secret[SECRET_SIZE],
		 char why[SECRET_WHY_SIZE])
{
	FILE *f = open_secret(path, what, why);
	const char *problem = NULL;

	secret[0] = '\0';
	if (!f)
		return false;
	if (!fgets(secret, SECRET_SIZE, f) && ferror(f))
		problem = strerror(errno);
	else if (strlen(secret) == SECRET_SIZE - 1 && !strchr(secret, '\n') && fgetc(f) != EOF)
		problem = "its first line is too long";
	secret[strcspn(secret, "\r\n")] = '\0';
	if (!problem && !secret[0])
		problem = "its first line is empty";
	if (problem)
		snprintf(why, SECRET_WHY_SIZE, "needs the %s in %.200s, which cannot be read: %s", what,
			 path, problem);
	fclose(f);
	return !problem;
}

bool secret_read_key(const char *path, char key[SECRET_SIZE], char why[SECRET_WHY_SIZE])
{
	size_t i;

	if (!secret_read(path, "key", key, why))
		return false;
	for (i = 0; key[i] > ' ' && key[i] <= '~'; i++)
		;
	if (key[i])
		snprintf(why, SECRET_WHY_SIZE,
			 "needs the key in %.200s, but the first line of that is no key: it has blanks or control characters",
			 path);
	return !key[i];
}

char *url_escape(const char *word)
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

char *secret_insert(const char *text, const char *secret, bool escape)
{
	char *value = escape ? url_escape(secret) : need_copy(secret), *whole = need_copy("");
	const char *place;

	for (; (place = strstr(text, SECRET_PLACE)); text = place + strlen(SECRET_PLACE))
		need_more(&whole, "%.*s%s", (int)(place - text), text, value);
	need_more(&whole, "%s", text);
	explicit_bzero(value, strlen(value));
	free(value);
	return whole;
}

const char *url_host(const char *url, size_t *len)
{
	const char *host = strstr(url, "://"), *at;

	host = host ? host + 3 : url;
	*len = strcspn(host, "/?#");
	at = memrchr(host, '@', *len);
	if (!at)
		return host;
	*len -= at + 1 - host;
	return at + 1;
}

/* One parameter of a query: its value, or all of it if it has none, is not shown. */
static char *show_parameter(char *to, const char *parameter, size_t len)
{
	const char *value = memchr(parameter, '=', len);
	size_t name = value ? value + 1 - parameter : 0;

	to = stpncpy(to, parameter, name);
	if (len - name == strlen(SECRET_PLACE) && !strncmp(parameter + name, SECRET_PLACE, len - name))
		return stpcpy(to, SECRET_PLACE);
	return stpcpy(to, "...");
}

char *url_shown(const char *url)
{
	/* Behind each "?" and "&" may come three dots that were not there. */
	char *shown = need_zeros(4 * strlen(url) + 1), *to = shown;
	const char *scheme_end = strstr(url, "://"), *host;
	size_t len;

	host = url_host(url, &len);
	if (scheme_end)
		to = stpncpy(to, url, scheme_end + 3 - url);
	url = host;
	len = strcspn(url, "?");
	to = stpncpy(to, url, len);
	for (url += len; *url; url += len) {
		*to++ = *url++;
		len = strcspn(url, "&");
		to = show_parameter(to, url, len);
	}
	return shown;
}

bool url_is_loopback(const char *url)
{
	struct in_addr address;
	char name[64];
	const char *host;
	size_t len;

	host = url_host(url, &len);
	snprintf(name, sizeof(name), "%.*s", (int)len, host);
	name[strcspn(name, *name == '[' ? "]" : ":")] = '\0';
	return !strcasecmp(name, "localhost") || !strcmp(name, "[::1") ||
	       (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}
