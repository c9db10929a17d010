// SPDX-License-Identifier: GPL-2.0-only
/*
 * libcurl's multi interface tells which file descriptors it waits for, and when it wants to be
 * called; sd_event does the waiting. libcurl is loaded and set up when the first transfer begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/http/fetch.h"
#include "daemon/http/libcurl.h"
#include "release.h"

#define REDIRECTS_MOST	5
/* So many patient transfers run at once, and so many from one host: some thousand lists of one publisher
 * shall not look like an attack.
 */
#define RUNNING_MOST	32
#define FROM_HOST_MOST	2
/* A server may ask for as much patience as this: a week. */
#define RETRY_AFTER_MOST	(7 * 86400)
/* Less than this many bytes a second is nearly nothing. */
#define SLOW_BYTES	100

/**
 * struct fetch - a transfer
 * @curl:	libcurl's handle
 * @headers:	the request's headers
 * @request:	what the caller wants
 * @result:	what it will get
 * @error:	libcurl's words for an error
 * @refused:	the caller gave up
 * @conditional: the answer may be that nothing has changed
 * @host:	host and port, part of the URL
 * @host_len:	their length
 * @added:	libcurl has it
 * @next:	the next one in curl.running or curl.waiting, which have the patient ones
 */
struct fetch {
	CURL *curl;
	struct curl_slist *headers;
	struct fetch_request request;
	struct fetch_result result;
	time_t begun;
	char date[64];
	char error[CURL_ERROR_SIZE];
	bool refused;
	bool conditional;
	const char *host;
	size_t host_len;
	bool added;
	struct fetch *next;
};

/* libcurl: one for all transfers. Of the patient ones, those that run, and those that wait, in the order
 * in which they came.
 */
static struct {
	CURLM *multi;
	sd_event *event;
	struct timer timer;
	struct fetch *running;
	struct fetch *waiting;
} curl;

/* Tell the owners of transfers that have ended. */
static void end_transfers(void);

static void on_timer(void *data)
{
	int running;

	(void)data;
	libcurl.multi_socket_action(curl.multi, CURL_SOCKET_TIMEOUT, 0, &running);
	end_transfers();
}

static int set_timer(CURLM *multi, long ms, void *data)
{
	(void)multi;
	(void)data;
	if (ms < 0)
		timer_stop(&curl.timer);
	else
		timer_start(curl.event, &curl.timer, ms, on_timer, NULL);
	return 0;
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *data)
{
	int mask = 0, running;

	(void)source;
	(void)data;
	if (events & EPOLLIN)
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		mask |= CURL_CSELECT_ERR;
	libcurl.multi_socket_action(curl.multi, fd, mask, &running);
	end_transfers();
	return 0;
}

/* libcurl begins or ends to wait for a socket; @data is what was assigned to it. */
static int set_socket(CURL *easy, curl_socket_t fd, int what, void *unused, void *data)
{
	sd_event_source *source = data;
	uint32_t events = 0;

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(source);
		libcurl.multi_assign(curl.multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (source)
		return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
	if (sd_event_add_io(curl.event, &source, fd, events, on_socket, NULL) < 0)
		return -1;
	libcurl.multi_assign(curl.multi, fd, source);
	return 0;
}

/* Return: NULL, or why there can be no transfers. */
static const char *set_up(struct daemon *daemon)
{
	const char *problem;

	if (curl.multi)
		return NULL;
	problem = libcurl_load();
	if (problem)
		return problem;
	libcurl.global_init(CURL_GLOBAL_DEFAULT);
	curl.event = daemon->event;
	curl.multi = libcurl.multi_init();
	if (!curl.multi)
		return "libcurl cannot be set up";
	libcurl.multi_setopt(curl.multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	libcurl.multi_setopt(curl.multi, CURLMOPT_TIMERFUNCTION, set_timer);
	/* Feeds are fetched hours apart: no connection is worth keeping. */
	libcurl.multi_setopt(curl.multi, CURLMOPT_MAXCONNECTS, 1L);
	return NULL;
}

void fetch_end(void)
{
	timer_stop(&curl.timer);
	if (!curl.multi)
		return;
	libcurl.multi_cleanup(curl.multi);
	curl.multi = NULL;
	libcurl.global_cleanup();
}

/* Copy the value of a header, without blanks around it. */
static void copy_header(const char *data, size_t len, const char *name, char *to, size_t size)
{
	size_t name_len = strlen(name);

	if (len <= name_len || strncasecmp(data, name, name_len))
		return;
	for (data += name_len, len -= name_len; len && (*data == ' ' || *data == '\t'); len--)
		data++;
	while (len && strchr("\r\n \t", data[len - 1]))
		len--;
	/* Half an ETag would never match. */
	if (len < size) {
		memcpy(to, data, len);
		to[len] = '\0';
	}
}

static size_t take_header(char *data, size_t size, size_t count, void *owner)
{
	struct fetch *fetch = owner;
	size_t len = size * count;

	/* Another answer begins, after a redirection. */
	if (len > 5 && !strncmp(data, "HTTP/", 5)) {
		fetch->result.etag[0] = '\0';
		fetch->result.modified[0] = '\0';
		fetch->date[0] = '\0';
	}
	copy_header(data, len, "Date:", fetch->date, sizeof(fetch->date));
	copy_header(data, len, "ETag:", fetch->result.etag, sizeof(fetch->result.etag));
	copy_header(data, len, "Last-Modified:", fetch->result.modified,
		    sizeof(fetch->result.modified));
	return len;
}

/* Does an answer of this status have all of what was asked for? 0 is the status of a file; 206 has a
 * part, which was not asked for.
 */
static bool is_whole(long status)
{
	return !status || (status >= 200 && status <= 299 && status != 206);
}

/* Only the body of a good answer is of interest. */
static size_t take_data(char *data, size_t size, size_t count, void *owner)
{
	struct fetch *fetch = owner;
	long status = 0;

	libcurl.easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status);
	if (!is_whole(status))
		return size * count;
	if (fetch->request.data(fetch->request.owner, data, size * count))
		return size * count;
	fetch->refused = true;
	return 0;
}

/* libcurl would wait for whoever writes into a pipe, and read a device without end. */
static bool check_file(struct fetch *fetch)
{
	static const char scheme[] = "file://";
	struct stat status = { 0 };
	char *path;
	int err = 0;

	if (strncasecmp(fetch->request.url, scheme, strlen(scheme)))
		return true;
	path = libcurl.easy_unescape(fetch->curl, fetch->request.url + strlen(scheme), 0, NULL);
	if (!path || stat(path, &status))
		err = errno;
	libcurl.free(path);
	if (err)
		snprintf(fetch->result.why, sizeof(fetch->result.why), "cannot be opened: %s",
			 strerror(err));
	else if (!S_ISREG(status.st_mode))
		snprintf(fetch->result.why, sizeof(fetch->result.why), "is not a regular file");
	return !fetch->result.why[0];
}

/* A private key is read by libcurl. */
static bool check_key(struct fetch *fetch)
{
	return !fetch->request.key ||
	       secret_check(fetch->request.key, "private key", fetch->result.why);
}

static void add_header(struct fetch *fetch, const char *name, const char *value)
{
	char *header = need_text("%s%s", name, value);

	fetch->headers = libcurl.slist_append(fetch->headers, header);
	free(header);
}

static void set_headers(struct fetch *fetch, const struct fetch_request *request)
{
	size_t i;

	fetch->conditional = request->etag || request->modified || request->modified_at;
	if (request->etag)
		add_header(fetch, "If-None-Match: ", request->etag);
	if (request->modified)
		add_header(fetch, "If-Modified-Since: ", request->modified);
	for (i = 0; request->headers && request->headers[i]; i++)
		add_header(fetch, request->headers[i], "");
	if (fetch->headers)
		libcurl.easy_setopt(fetch->curl, CURLOPT_HTTPHEADER, fetch->headers);
}

/* Whoever asks by TLS is not sent elsewhere without. */
static void set_protocols(CURL *easy, bool tls)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	libcurl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https,file");
	libcurl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, tls ? "https" : "http,https");
#else
	libcurl.easy_setopt(easy, CURLOPT_PROTOCOLS,
			 (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
	libcurl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS,
			 tls ? (long)CURLPROTO_HTTPS : (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static void set_limits(CURL *easy, const struct fetch_request *request)
{
	libcurl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)request->connect_seconds);
	libcurl.easy_setopt(easy, CURLOPT_TIMEOUT, (long)request->seconds);
	libcurl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	libcurl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)request->slow_seconds);
	/* libcurl would send the headers to whoever the redirection names. */
	libcurl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, request->secret ? 0L : 1L);
	libcurl.easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MOST);
}

/* Proxies come from the environment, as curl(1) has it: http_proxy, https_proxy, no_proxy. */
static void set_access(struct fetch *fetch, const struct fetch_request *request)
{
	bool tls = !strncasecmp(request->url, "https:", 6);

	if (request->user)
		libcurl.easy_setopt(fetch->curl, CURLOPT_USERNAME, request->user);
	if (request->password)
		libcurl.easy_setopt(fetch->curl, CURLOPT_PASSWORD, request->password);
	if (url_is_loopback(request->url) || (request->secret && !tls))
		libcurl.easy_setopt(fetch->curl, CURLOPT_PROXY, "");
}

static void set_options(struct fetch *fetch, const struct fetch_request *request)
{
	CURL *easy = fetch->curl;

	libcurl.easy_setopt(easy, CURLOPT_URL, request->url);
	libcurl.easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	libcurl.easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
	libcurl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* A look-up of a name that takes too long is left to its thread, not waited for. */
	libcurl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	libcurl.easy_setopt(easy, CURLOPT_USERAGENT, "ipcuckood/" IPCUCKOO_RELEASE);
	/* All that this libcurl can decompress */
	libcurl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	libcurl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
	libcurl.easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	libcurl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	libcurl.easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
	libcurl.easy_setopt(easy, CURLOPT_FILETIME, 1L);
	if (request->modified_at) {
		libcurl.easy_setopt(easy, CURLOPT_TIMECONDITION, (long)CURL_TIMECOND_IFMODSINCE);
		libcurl.easy_setopt(easy, CURLOPT_TIMEVALUE_LARGE, (curl_off_t)request->modified_at);
	}
	if (request->post)
		libcurl.easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->post);
	if (request->ca)
		libcurl.easy_setopt(easy, CURLOPT_CAINFO, request->ca);
	if (request->cert)
		libcurl.easy_setopt(easy, CURLOPT_SSLCERT, request->cert);
	if (request->key)
		libcurl.easy_setopt(easy, CURLOPT_SSLKEY, request->key);
	set_protocols(easy, !strncasecmp(request->url, "https:", 6));
	set_limits(easy, request);
	set_access(fetch, request);
	set_headers(fetch, request);
}

static void add(struct fetch *fetch)
{
	fetch->added = true;
	fetch->begun = time(NULL);
	libcurl.multi_add_handle(curl.multi, fetch->curl);
}

static bool may_run(const struct fetch *fetch)
{
	size_t running = 0, from_host = 0;
	const struct fetch *other;

	for (other = curl.running; other; other = other->next) {
		running++;
		from_host += other->host_len == fetch->host_len &&
			     !strncasecmp(other->host, fetch->host, fetch->host_len);
	}
	return running < RUNNING_MOST && from_host < FROM_HOST_MOST;
}

/* Begin the patient transfers that have waited longest, as far as there is room for them. */
static void start_waiting(void)
{
	struct fetch **at = &curl.waiting, *fetch;

	while ((fetch = *at)) {
		if (!may_run(fetch)) {
			at = &fetch->next;
			continue;
		}
		*at = fetch->next;
		fetch->next = curl.running;
		curl.running = fetch;
		add(fetch);
	}
}

static void wait_patiently(struct fetch *fetch)
{
	struct fetch **last = &curl.waiting;

	fetch->host = url_host(fetch->request.url, &fetch->host_len);
	while (*last)
		last = &(*last)->next;
	*last = fetch;
	start_waiting();
}

static void unlink_fetch(struct fetch **list, const struct fetch *fetch)
{
	while (*list && *list != fetch)
		list = &(*list)->next;
	if (*list)
		*list = fetch->next;
}

struct fetch *fetch_start(struct daemon *daemon, const struct fetch_request *request,
			  const char **why)
{
	struct fetch *fetch;

	*why = set_up(daemon);
	if (*why)
		return NULL;
	fetch = need_zeros(sizeof(*fetch));
	fetch->request = *request;
	fetch->request.url = need_copy(request->url);
	fetch->curl = libcurl.easy_init();
	if (!fetch->curl) {
		fetch_stop(fetch);
		*why = "out of memory";
		return NULL;
	}
	set_options(fetch, request);
	/* done() is called from the loop only, so read something that ends at once. */
	if (!check_file(fetch) || !check_key(fetch))
		libcurl.easy_setopt(fetch->curl, CURLOPT_URL, "file:///dev/null");
	if (request->patient)
		wait_patiently(fetch);
	else
		add(fetch);
	return fetch;
}

void fetch_stop(struct fetch *fetch)
{
	if (!fetch)
		return;
	unlink_fetch(fetch->added ? &curl.running : &curl.waiting, fetch);
	if (fetch->added)
		libcurl.multi_remove_handle(curl.multi, fetch->curl);
	if (fetch->curl)
		libcurl.easy_cleanup(fetch->curl);
	libcurl.slist_free_all(fetch->headers);
	free((char *)fetch->request.url);
	free(fetch);
	start_waiting();
}

/* libcurl has advice for programmers; these are for operators. */
static const struct {
	CURLcode code;
	const char *why;
} reasons[] = {
	{ CURLE_PARTIAL_FILE, "ended early: the server sent less than it announced" },
	{ CURLE_TOO_MANY_REDIRECTS, "is redirected again and again" },
	{ CURLE_BAD_CONTENT_ENCODING, "is compressed wrongly" },
	{ CURLE_UNSUPPORTED_PROTOCOL,
	  "redirects to a scheme that is not allowed: from https only to https" },
};

static void explain(struct fetch *fetch, CURLcode code)
{
	struct fetch_result *result = &fetch->result;
	const char *words = fetch->error[0] ? fetch->error : libcurl.easy_strerror(code);
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].code == code) {
			snprintf(result->why, sizeof(result->why), "%s", reasons[i].why);
			return;
		}
	}
	snprintf(result->why, sizeof(result->why), "cannot be fetched: %s%s", words,
		 code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ?
		 "; is tls-ca the authority that has signed its certificate?" :
		 code == CURLE_SSL_CERTPROBLEM ? "; see tls-cert and tls-key" : "");
}

/* Can a later transfer ask whether the file or page has changed since @modified? Such times have
 * whole seconds. If the file changes twice in one second, and is read between the two changes, both
 * versions have the same time, and the second one would stay unseen. So the time is of use only if
 * its second had passed when the file was read, and one more, as the kernel's time of a change may
 * be late: RFC 9110, 8.8.2.2. A web server says by its own clock, in the header Date, when it
 * answered.
 */
static bool tells_versions_apart(const struct fetch *fetch, curl_off_t modified)
{
	time_t date = fetch->date[0] ? libcurl.getdate(fetch->date, NULL) : -1;

	return modified + 1 < (date < 0 ? fetch->begun : date);
}

/* libcurl takes an error of reading a file, which has no status, for the end of the file. */
static void check_length(struct fetch *fetch)
{
	curl_off_t length = -1, got = 0;

	libcurl.easy_getinfo(fetch->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	libcurl.easy_getinfo(fetch->curl, CURLINFO_SIZE_DOWNLOAD_T, &got);
	if (!fetch->result.status && got < length)
		snprintf(fetch->result.why, sizeof(fetch->result.why),
			 "ended early: of its %lld bytes, %lld can be read; dmesg may say why",
			 (long long)length, (long long)got);
}

static void judge(struct fetch *fetch, CURLcode code)
{
	struct fetch_result *result = &fetch->result;
	curl_off_t modified = -1, after = 0;
	long unmet = 0;

	libcurl.easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &result->status);
	libcurl.easy_getinfo(fetch->curl, CURLINFO_CONDITION_UNMET, &unmet);
	libcurl.easy_getinfo(fetch->curl, CURLINFO_FILETIME_T, &modified);
	libcurl.easy_getinfo(fetch->curl, CURLINFO_RETRY_AFTER, &after);
	result->retry_after = after > RETRY_AFTER_MOST ? RETRY_AFTER_MOST : after > 0 ? after : 0;
	if (!tells_versions_apart(fetch, modified))
		result->modified[0] = '\0';
	else if (modified > 0)
		result->modified_at = modified;
	/* A file that cannot be read, or the caller knows why. */
	if (result->why[0] || fetch->refused)
		return;
	if (code != CURLE_OK)
		explain(fetch, code);
	else if (fetch->conditional && (result->status == 304 || unmet))
		result->unchanged = true;
	else if (!is_whole(result->status))
		snprintf(result->why, sizeof(result->why), "was answered with status %ld%s",
			 result->status,
			 result->status == 304 ? ": not changed since when? nothing is known of it yet" :
			 result->status == 206 ? ": only a part, and all of it was asked for" : "");
	else
		check_length(fetch);
	result->good = !result->why[0];
}

static void end_transfers(void)
{
	struct fetch_result result;
	struct fetch_request request;
	struct fetch *fetch;
	struct CURLMsg *message;
	int left;

	while ((message = libcurl.multi_info_read(curl.multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		libcurl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &fetch);
		judge(fetch, message->data.result);
		/* The owner may begin another transfer at once. */
		result = fetch->result;
		request = fetch->request;
		fetch_stop(fetch);
		request.done(request.owner, &result);
	}
}
