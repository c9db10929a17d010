// SPDX-License-Identifier: GPL-2.0-only
/*
 * A feed is fetched by a schedule, and believed if it looks right. What does not look right is kept
 * until somebody agrees or until the feed is fetched again, and the last good contents stay.
 *
 * Conditional requests: the ETag and Last-Modified of the last good answer are notes, and sent only
 * if the feed is still the same (url, format, limits), and there are contents.
 */
#include <stdlib.h>
#include <strings.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/conf/secret.h"
#include "daemon/feed/body.h"
#include "daemon/feed/csv.h"
#include "daemon/feed/feed.h"
#include "daemon/feed/format.h"
#include "daemon/feed/json_feed.h"
#include "daemon/feed/table.h"
#include "daemon/http/fetch.h"
#include "daemon/set/guard.h"
#include "lib/duration.h"

/* After a failure: first wait, in seconds; the longest one is the schedule. */
#define RETRY_LEAST	60

/* 1 GiB of IPv4 hosts, more than a set needs */
#define ENTRIES_MOST	(1u << 28)

/* A list may lose this many entries, whatever share they are: that of a short one says nothing. */
#define SHRINK_LEAST	20

/* Lists that another machine serves are fetched once in this many seconds at most. */
#define EVERY_LEAST	60

/* Feeds that are due when the daemon starts are not all fetched in the same second. */
#define START_SECONDS	5

/**
 * struct feed_source - a feed
 *
 * Read from the configuration:
 * @url:	where it is
 * @format:	how to read it
 * @every:	seconds between two fetches
 * @jitter:	up to this share of @every is added to it, at random
 * @max_size:	maximum number of bytes
 * @max_entries: maximum number of entries
 * @max_bad:	share of wrong lines above which it is refused
 * @max_shrink:	share of entries that may be missing of a sudden
 * @allow_empty: it may be empty
 * @min_length, @min_length6: length of the shortest prefixes that it may have
 * @connect_time, @time, @slow_time: time limits, in seconds
 * @ca_file, @cert_file, @key_file: files for TLS; NULL: the system's authorities, no certificate
 * @secret_file: a file with a key, which replaces "{key}" in @url and @headers, or is the
 *		password of @user
 * @user:	user of HTTP; NULL: none
 * @headers:	more headers, "Name: value"
 *
 * The rest:
 * @shown:	@url without what may be secret, for messages
 * @fetch:	the transfer; NULL if there is none
 * @timer:	starts the next one
 * @due_at:	when that is, in seconds since 1970
 * @fails:	number of failures since the last good answer
 * @body:	what arrives
 * @parsed:	its entries
 * @bad:	number of its wrong lines; of the last answer when it is over
 * @first_bad:	the first wrong line, for messages; NULL if there is none
 * @pending:	entries that wait until somebody agrees
 * @has_pending: there are such entries
 * @pending_result: the answer they came with
 * @size:	bytes of the last answer
 */
struct feed_source {
	struct source source;
	char *url;
	struct format format;
	uint64_t every;
	double jitter;
	uint64_t max_size;
	uint64_t max_entries;
	double max_bad;
	double max_shrink;
	bool allow_empty;
	uint64_t min_length;
	uint64_t min_length6;
	uint64_t connect_time;
	uint64_t time;
	uint64_t slow_time;
	char *ca_file;
	char *cert_file;
	char *key_file;
	char *secret_file;
	char *user;
	char **headers;

	char *shown;
	struct fetch *fetch;
	struct timer timer;
	uint32_t due_at;
	unsigned int fails;
	struct body *body;
	struct feed parsed;
	unsigned long bad;
	char *first_bad;
	struct packed pending;
	bool has_pending;
	struct fetch_result pending_result;
	uint64_t size;
};

static const struct meaning formats[] = {
	{ "plain", FORMAT_PLAIN }, { "csv", FORMAT_CSV }, { "json", FORMAT_JSON },
	{ "rir", FORMAT_RIR }, { "p2p", FORMAT_P2P }, { "ipfilter", FORMAT_IPFILTER },
	{ "deny", FORMAT_DENY }, { "ip-port", FORMAT_IP_PORT }, { "ndjson", FORMAT_JSON },
	{ "iptoasn", FORMAT_IPTOASN }, { "dbip", FORMAT_DBIP }, { "geolite", FORMAT_GEOLITE },
	{ NULL, 0 }
};

static const struct meaning separators[] = {
	{ "comma", ',' }, { "semicolon", ';' }, { "tab", '\t' }, { "pipe", '|' }, { "space", ' ' },
	{ NULL, 0 }
};

#define FIELD(name)	.offset = offsetof(struct feed_source, name)

static const struct config_key feed_keys[] = {
	{ "url", KEY_TEXT, FIELD(url), .needed = "url = https://example.org/list.txt" },
	{ "format", KEY_WORD, FIELD(format.kind), .preset = "plain", .words = formats },
	{ "separator", KEY_WORD, FIELD(format.separator), .preset = "comma", .words = separators },
	{ "field", KEY_TEXT, FIELD(format.field) },
	{ "field-to", KEY_TEXT, FIELD(format.to) },
	{ "field-count", KEY_TEXT, FIELD(format.count) },
	{ "field-mask", KEY_TEXT, FIELD(format.mask) },
	{ "field-wildcard", KEY_TEXT, FIELD(format.wildcard) },
	{ "integers", KEY_SWITCH, FIELD(format.integers), .preset = "no" },
	{ "match-field", KEY_TEXT, FIELD(format.match_field) },
	{ "match", KEY_LIST, FIELD(format.match) },
	{ "country", KEY_LIST, FIELD(format.country) },
	{ "not-country", KEY_LIST, FIELD(format.not_country) },
	{ "asn", KEY_LIST, FIELD(format.asn) },
	{ "where", KEY_TEXT, FIELD(format.where) },
	{ "filter", KEY_TEXT, FIELD(format.filter) },
	{ "member", KEY_TEXT, FIELD(format.member) },
	{ "archive-password-file", KEY_SECRET, FIELD(format.password_file) },
	{ "every", KEY_TIME, FIELD(every), .preset = "1h", .least = 1, .most = 366 * 86400 },
	{ "jitter", KEY_SHARE, FIELD(jitter), .preset = "10%" },
	{ "max-size", KEY_SIZE, FIELD(max_size), .preset = "64M", .least = 1 },
	{ "max-entries", KEY_NUMBER, FIELD(max_entries), .preset = "1000000", .least = 1,
	  .most = ENTRIES_MOST },
	{ "max-bad", KEY_SHARE, FIELD(max_bad), .preset = "5%" },
	{ "max-shrink", KEY_SHARE, FIELD(max_shrink), .preset = "50%" },
	{ "allow-empty", KEY_SWITCH, FIELD(allow_empty), .preset = "no" },
	{ "min-length", KEY_NUMBER, FIELD(min_length), .preset = "4", .most = 32 },
	{ "min-length6", KEY_NUMBER, FIELD(min_length6), .preset = "16", .most = 128 },
	{ "key-file", KEY_SECRET, FIELD(secret_file) },
	{ "user", KEY_TEXT, FIELD(user) },
	{ "header", KEY_LINES, FIELD(headers) },
	{ "connect-time", KEY_TIME, FIELD(connect_time), .preset = "15s", .least = 1,
	  .most = 3600 },
	{ "time", KEY_TIME, FIELD(time), .preset = "10m", .least = 1, .most = 86400 },
	{ "slow-time", KEY_TIME, FIELD(slow_time), .preset = "60s", .least = 1, .most = 86400 },
	{ "tls-ca", KEY_FILE, FIELD(ca_file) },
	{ "tls-cert", KEY_FILE, FIELD(cert_file) },
	{ "tls-key", KEY_SECRET, FIELD(key_file) },
	{ NULL }
};

static struct feed_source *feed_of(struct source *source)
{
	return (struct feed_source *)source;
}

/* The formats that have a key */
#define IN(kind)	(1u << FORMAT_##kind)

static void check_keys(const struct format *format, struct section *section)
{
	const struct {
		const char *key;
		unsigned int formats;
		const char *words;
		const char *column;
		bool given;
	} keys[] = {
		{ "separator", IN(CSV), "csv", .given = format->separator != ',' },
		{ "field", IN(CSV) | IN(JSON), "csv or json", .column = format->field },
		{ "field-to", IN(CSV) | IN(JSON), "csv or json", .column = format->to },
		{ "field-count", IN(CSV), "csv", .column = format->count },
		{ "field-mask", IN(CSV), "csv", .column = format->mask },
		{ "field-wildcard", IN(CSV), "csv", .column = format->wildcard },
		{ "integers", IN(CSV), "csv", .given = format->integers },
		{ "match-field", IN(CSV) | IN(RIR) | IN(JSON), "csv, rir or json",
		  .column = format->match_field },
		{ "where", IN(CSV) | IN(RIR), "csv or rir", .given = format->where },
		{ "filter", IN(JSON), "json", .given = format->filter },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!keys[i].given && !keys[i].column)
			continue;
		if (!(keys[i].formats & 1u << format->kind))
			section_fault(section, keys[i].key, "it is of no use here; say format = %s",
				      keys[i].words);
		else if (format->kind != FORMAT_JSON && keys[i].column &&
			 !csv_is_column(keys[i].column))
			section_fault(section, keys[i].key,
				      "the column %s is not read; it is a heading, or a number from 1 to %d",
				      keys[i].column, CSV_COLUMNS_MOST);
	}
}

static void check_format(struct format *format, struct section *section)
{
	char *why = format->filter ? json_feed_check(format->filter) : NULL;

	check_keys(format, section);
	table_check(format, section);
	if (format->kind == FORMAT_CSV && !format->field)
		section_fault(section, "format",
			      "a line is missing that says where the address is, such as: field = 1");
	if (format->kind == FORMAT_JSON && !format->field && !format->filter)
		section_fault(section, "format",
			      "a line is missing that says where the address is, such as: filter = .prefixes[].ip_prefix");
	if (format->filter && (format->field || format->to || format->match_field))
		section_fault(section, "filter",
			      "it is instead of field, field-to and match-field; let it do what they say");
	if (!!format->to + !!format->count + !!format->mask + !!format->wildcard > 1)
		section_fault(section, "field",
			      "a range has one of field-to, field-count, field-mask and field-wildcard");
	if (!format->match_field != !format->match)
		section_fault(section, format->match_field ? "match-field" : "match",
			      "match-field and match go together: the field, and the values it may have");
	if (format->where && !csv_is_condition(format->where))
		section_fault(section, "where",
			      "\"%.128s\" is not a column, one of >= > <= < = !=, and a value, such as: where = score >= 90",
			      format->where);
	if (why)
		section_fault(section, "filter", "%.256s", why);
	free(why);
}

/* Does a key go where it shall, and nowhere else? */
static void check_access(const struct feed_source *feed, struct section *section)
{
	bool used = feed->user || (feed->url && strstr(feed->url, SECRET_PLACE));
	size_t i, name;

	for (i = 0; feed->headers && feed->headers[i]; i++) {
		name = strcspn(feed->headers[i], ": \t");
		if (!name || feed->headers[i][name] != ':')
			section_fault(section, "header",
				      "\"%.128s\" is no name, colon and value, such as: Key: " SECRET_PLACE,
				      feed->headers[i]);
		used |= !!strstr(feed->headers[i], SECRET_PLACE);
	}
	if (feed->secret_file && !used)
		section_fault(section, "key-file",
			      "nothing uses the key; write " SECRET_PLACE " where it goes, in url or header, or say user = NAME if it is a password");
	if (!feed->secret_file && used)
		section_fault(section, feed->user ? "user" : "url",
			      "a line is missing that says where the key or password is, such as: key-file = /etc/ipcuckood.key");
	if (feed->secret_file && feed->url && !strncasecmp(feed->url, "http:", 5) &&
	    !url_is_loopback(feed->url))
		section_fault(section, "key-file",
			      "everybody on the way could read the key; the url has to begin with https://");
}

static void check_feed(struct source *source, struct section *section)
{
	static const char *const schemes[] = { "https://", "http://", "file:///", NULL };
	struct feed_source *feed = feed_of(source);
	size_t i;

	feed->shown = feed->url ? url_shown(feed->url) : NULL;
	for (i = 0; feed->url && schemes[i]; i++)
		if (!strncasecmp(feed->url, schemes[i], strlen(schemes[i])))
			break;
	if (feed->url && !schemes[i])
		section_fault(section, "url",
			      "\"%.128s\" does not begin with https://, http:// or file:///",
			      feed->shown);
	if (feed->url && strpbrk(feed->url, " \t"))
		section_fault(section, "url",
			      "\"%.128s\" has a blank, which no url has; in its place it has %%20",
			      feed->shown);
	if (feed->url && feed->every < EVERY_LEAST && !strncasecmp(feed->url, "http", 4) &&
	    !url_is_loopback(feed->url))
		section_fault(section, "every",
			      "publishers lock out machines that fetch a list more often than once a minute; say 1m or more, such as 1h");
	check_format(&feed->format, section);
	check_access(feed, section);
	if (!feed->cert_file != !feed->key_file)
		section_fault(section, feed->cert_file ? "tls-cert" : "tls-key",
			      "tls-cert and tls-key go together");
}

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3;
	return hash;
}

/* What the last answer is good for: changed settings mean another feed. A hash of them, as the URL may
 * have a secret.
 */
static char *identity(const struct feed_source *feed)
{
	const struct format *format = &feed->format;
	char *text = need_text("%s %d %d %s %s %s", feed->url, format->kind, format->separator,
			       format->field ? : "-", format->to ? : "-",
			       format->match_field ? : "-");
	const char *const more[] = {
		format->count, format->mask, format->wildcard, format->integers ? "integers" : NULL,
		format->where, format->filter, format->member, format->except ? "except" : NULL,
	};
	uint64_t hash;
	size_t i;

	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i])
			need_more(&text, " %zu:%s", i, more[i]);
	for (i = 0; format->match && format->match[i]; i++)
		need_more(&text, " %s", format->match[i]);
	hash = hash_text(text);
	free(text);
	return need_text("%016llx", (unsigned long long)hash);
}

static void on_due(void *data);

static void schedule(struct feed_source *feed, uint64_t ms)
{
	feed->due_at = now_seconds() + ms / 1000;
	timer_start(feed->source.daemon->event, &feed->timer, ms, on_due, feed);
}

/* The next time by the schedule */
static uint64_t regular_ms(const struct feed_source *feed)
{
	return feed->every * 1000 + random_upto(feed->every * 1000 * feed->jitter);
}

/* @retry_after: the server wants to be asked in so many seconds at the earliest */
static void schedule_next(struct feed_source *feed, bool good, uint32_t retry_after)
{
	uint64_t most = feed->every > RETRY_LEAST ? feed->every : RETRY_LEAST;
	uint64_t least = feed->every < RETRY_LEAST ? feed->every : RETRY_LEAST, ms;

	feed->fails = good ? 0 : feed->fails + 1;
	ms = good ? regular_ms(feed) : backoff_ms(feed->fails, least, most);
	if (ms < retry_after * 1000ull)
		ms = retry_after * 1000ull + random_upto(least * 1000);
	schedule(feed, ms);
}

static void forget_body(struct feed_source *feed)
{
	body_free(feed->body);
	feed->body = NULL;
	feed_free(&feed->parsed);
	free(feed->parsed.origin);
	feed->parsed.origin = NULL;
}

static void forget_pending(struct feed_source *feed)
{
	packed_free(&feed->pending);
	feed->has_pending = false;
}

/* Remember the first wrong line. struct feed is part of struct feed_source. */
static void note_bad_line(const struct feed *parsed, const struct feed_fault *fault)
{
	struct feed_source *feed = (struct feed_source *)((char *)parsed -
							  offsetof(struct feed_source, parsed));

	if (!feed->first_bad)
		feed->first_bad = need_text("%s %lu, \"%s\": %s", parsed->unit, fault->line,
					    fault->text, fault->why);
}

static bool take_data(void *owner, const char *data, size_t len)
{
	struct feed_source *feed = owner;

	return body_push(feed->body, data, len);
}

/* Notes of the answer with which the contents came. */
static void note_answer(struct feed_source *feed, const struct fetch_result *result)
{
	struct source *source = &feed->source;
	char *same = identity(feed), *modified_at = need_text("%u", result->modified_at);

	notes_set(&source->notes, "feed", same);
	notes_set(&source->notes, "etag", result->etag[0] ? result->etag : NULL);
	notes_set(&source->notes, "modified", result->modified[0] ? result->modified : NULL);
	notes_set(&source->notes, "modified-at", result->modified_at ? modified_at : NULL);
	snprintf(source->version, sizeof(source->version), "%.127s",
		 result->etag[0] ? result->etag : result->modified);
	free(modified_at);
	free(same);
}

/* Take over entries as the contents of the feed. */
static void accept_entries(struct feed_source *feed, struct packed *entries,
			   const struct fetch_result *result)
{
	struct contents contents = { 0 };
	size_t before = contents_count(&feed->source.contents);

	contents_take(&contents, entries);
	note_answer(feed, result);
	log_info("[feed %s] has %zu entries now, and had %zu before; wrong lines left out: %lu",
		 feed->source.name, contents_count(&contents), before, feed->bad);
	source_deliver(&feed->source, &contents);
}

/* A prefix that would block too much: an error of whoever publishes the list, or its last line, of
 * which a digit was cut off. One that is in force was agreed to. Return: why it is refused, or
 * NULL.
 */
static char *find_short_prefix(const struct feed_source *feed, struct member *named)
{
	struct contents_cursor cursor = { .kind = ENTRY_NET4 };
	const struct contents parsed = { .plain = feed->parsed.entries };
	char text[ADDRESS_TEXT_SIZE];
	struct member member;
	uint64_t least;
	bool v6;

	while (contents_next(&parsed, &cursor, named)) {
		v6 = is_v6(named->kind);
		least = v6 ? feed->min_length6 : feed->min_length;
		if (named->entry[entry_size[named->kind] - 1] >= least ||
		    contents_find(&feed->source.contents, named->kind, named->entry, &member))
			continue;
		*entry_format(text, named->kind, named->entry) = '\0';
		return need_text("%s would block too much: it is shorter than min-length%s allows", text,
				 v6 ? "6" : "");
	}
	return NULL;
}

/* An entry that must not be in the list. @added: the entries in the order of the list */
static char *find_wrong_entry(const struct feed_source *feed, const struct packed *added)
{
	const struct feed *parsed = &feed->parsed;
	struct member named;
	char *why = find_short_prefix(feed, &named) ? : guard_doubt(&feed->source, &parsed->entries, true, &named);
	unsigned long line = why ? origin_line(parsed->origin, added, named.kind, named.entry) : 0;
	char *text;

	if (!line)
		return why;
	text = need_text("%s %lu: %s", parsed->unit, line, why);
	free(why);
	return text;
}

/* Why an answer does not look right; NULL if it does. */
static char *find_doubt(const struct feed_source *feed, const struct packed *added)
{
	size_t count = packed_count(&feed->parsed.entries);
	size_t before = contents_count(&feed->source.contents);
	const struct feed *parsed = &feed->parsed;
	unsigned long lines = parsed->lines - parsed->blank;

	if (parsed->skipped && parsed->skipped > lines * feed->max_bad)
		return need_text("%lu of its %lu %ss are wrong, more than max-bad allows (%s)",
				 parsed->skipped, lines, parsed->unit, feed->first_bad);
	if (!count && !feed->allow_empty)
		return need_copy("it is empty");
	if (count < before * (1 - feed->max_shrink) && before - count > SHRINK_LEAST &&
	    !(feed->allow_empty && !count))
		return need_text("it has only %zu entries, and had %zu: it shrank by more than max-shrink allows",
				 count, before);
	return find_wrong_entry(feed, added);
}

/* The body is complete. */
static void judge(struct feed_source *feed, const struct fetch_result *result)
{
	struct packed *entries = &feed->parsed.entries, added = { 0 };
	const char *missing;
	char *doubt;

	need_memory(packed_append(&added, entries));
	packed_unique(entries);
	feed->size = body_size(feed->body);
	feed->bad = feed->parsed.skipped;
	missing = table_missing(&feed->format);
	source_set_warning(&feed->source, missing ?
			   need_text("no line of it has %s; is that what it is called there?", missing) : NULL);
	doubt = find_doubt(feed, &added);
	packed_free(&added);
	forget_pending(feed);
	if (!doubt) {
		accept_entries(feed, entries, result);
		return;
	}
	feed->pending = *entries;
	feed->has_pending = true;
	feed->pending_result = *result;
	memset(entries, 0, sizeof(*entries));
	source_refuse(&feed->source,
		      "%s is refused: %s; if that is right, run: ipcuckood accept %s; else ask who publishes it",
		      feed->shown, doubt, feed->source.name);
	free(doubt);
}

static void end_fetch(void *owner, const struct fetch_result *result)
{
	struct feed_source *feed = owner;
	struct source *source = &feed->source;
	char when[DURATION_TEXT_SIZE + 32] = "later";
	const char *why = result->why;
	bool good = result->good;

	feed->fetch = NULL;
	if (good && result->unchanged) {
		forget_pending(feed);
		source_confirm(source);
	} else if (good && body_end(feed->body)) {
		judge(feed, result);
	} else {
		if (!why[0])
			why = body_why(feed->body);
		good = false;
	}
	/* The schedule goes on also if what came is refused. */
	if (result->retry_after) {
		strcpy(when, "as the server wants, in ");
		duration_format(result->retry_after, when + strlen(when));
	}
	if (!good)
		source_fail(source, "%s %s; it is tried again %s, ipcuckood refresh %s tries at once",
			    feed->shown, why, when, source->name);
	schedule_next(feed, good, result->retry_after);
	forget_body(feed);
}

/* Ask only for what has changed since the contents were fetched. */
static void set_condition(const struct feed_source *feed, struct fetch_request *request)
{
	const struct source *source = &feed->source;
	const char *before = notes_get(source->notes, "feed"), *modified_at;
	char *same = identity(feed);

	if (source->delivered && before && !strcmp(before, same)) {
		request->etag = notes_get(source->notes, "etag");
		request->modified = notes_get(source->notes, "modified");
		modified_at = notes_get(source->notes, "modified-at");
		if (!strncasecmp(feed->url, "file:", 5) && modified_at)
			request->modified_at = strtoul(modified_at, NULL, 10);
	}
	free(same);
}

/* Put the key into URL, headers or password, and begin. Return: NULL, or what is wrong, allocated. */
static char *start_fetch(struct feed_source *feed, struct fetch_request *request)
{
	char secret[SECRET_SIZE] = "", why[SECRET_WHY_SIZE], **headers;
	const char *problem = NULL;
	char *url, *text = NULL;
	size_t count = 0, i;

	if (feed->secret_file && !(feed->user ?
				   secret_read(feed->secret_file, "password", secret, why) :
				   secret_read_key(feed->secret_file, secret, why)))
		return need_copy(why);
	while (feed->headers && feed->headers[count])
		count++;
	headers = need_zeros((count + 1) * sizeof(*headers));
	for (i = 0; i < count; i++)
		headers[i] = secret_insert(feed->headers[i], secret, false);
	url = secret_insert(feed->url, secret, true);
	request->url = url;
	request->headers = (const char *const *)headers;
	request->user = feed->user;
	request->password = feed->user ? secret : NULL;
	request->secret = feed->secret_file;
	feed->fetch = fetch_start(feed->source.daemon, request, &problem);
	if (!feed->fetch)
		text = need_text("cannot be fetched: %s", problem);
	for (i = 0; i < count; i++)
		free(headers[i]);
	free(headers);
	free(url);
	explicit_bzero(secret, sizeof(secret));
	return text;
}

static void fetch(struct feed_source *feed)
{
	struct fetch_request request = {
		.data = take_data, .done = end_fetch, .owner = feed, .patient = true,
		.connect_seconds = feed->connect_time, .seconds = feed->time,
		.slow_seconds = feed->slow_time,
		.ca = feed->ca_file, .cert = feed->cert_file, .key = feed->key_file,
	};
	char *why = NULL;

	if (feed->fetch)
		return;
	free(feed->first_bad);
	feed->first_bad = NULL;
	table_begin(&feed->format);
	memset(&feed->parsed, 0, sizeof(feed->parsed));
	target_prepare(feed->source.target, &feed->parsed);
	feed->parsed.limit = feed->max_entries;
	feed->parsed.report = note_bad_line;
	feed->parsed.origin = need_zeros(sizeof(*feed->parsed.origin));
	feed->body = body_new(&feed->format, &feed->parsed, feed->max_size);
	set_condition(feed, &request);
	if (feed->body)
		why = start_fetch(feed, &request);
	if (feed->fetch)
		return;
	forget_body(feed);
	source_fail(&feed->source, "%s %s", feed->shown, why ? why : "cannot be fetched: out of memory");
	schedule_next(feed, false, 0);
	free(why);
}

static void on_due(void *data)
{
	fetch(data);
}

/* Contents from the last run are good until their time is over. */
static void start_feed(struct source *source)
{
	struct feed_source *feed = feed_of(source);
	char *same = identity(feed);
	const char *before = notes_get(source->notes, "feed");
	bool known = source->delivered && before && !strcmp(before, same);
	uint32_t now = now_seconds(), due = source->good_at + feed->every;

	free(same);
	source->interval = feed->every * (1 + feed->jitter);
	if (known && !source->version[0])
		snprintf(source->version, sizeof(source->version), "%.127s",
			 notes_get(source->notes, "etag") ? : notes_get(source->notes, "modified") ? : "");
	if (source->daemon->dry_run)
		schedule(feed, 0);
	else if (known && source->state != SOURCE_FAILING && source->good_at <= now && due > now)
		schedule(feed, (due - now) * 1000ull +
			       random_upto(feed->every * 1000 * feed->jitter));
	else
		schedule(feed, feed->jitter > 0 ? random_upto(START_SECONDS * 1000) : 0);
}

/* What was refused can still be accepted. If the section has changed, it is fetched and judged again. */
static void inherit_feed(struct source *source, struct source *old)
{
	struct feed_source *feed = feed_of(source), *before = feed_of(old);

	if (source->state == SOURCE_WAITING)
		return;
	feed->fails = before->fails;
	feed->bad = before->bad;
	feed->first_bad = before->first_bad;
	before->first_bad = NULL;
	feed->size = before->size;
	feed->pending = before->pending;
	before->pending = (struct packed){ 0 };
	feed->has_pending = before->has_pending;
	feed->pending_result = before->pending_result;
}

static void stop_feed(struct source *source)
{
	struct feed_source *feed = feed_of(source);

	fetch_stop(feed->fetch);
	feed->fetch = NULL;
	timer_stop(&feed->timer);
	forget_body(feed);
}

static void free_feed(struct source *source)
{
	struct feed_source *feed = feed_of(source);

	forget_pending(feed);
	free(feed->first_bad);
	free(feed->shown);
	free(feed->format.found);
}

static void show_feed(const struct source *source, struct json_object *object)
{
	const struct feed_source *feed = (const struct feed_source *)source;

	json_add_string(object, "url", feed->shown);
	json_add_int(object, "next_at", feed->due_at);
	json_add_int(object, "bytes", feed->size);
	json_add_int(object, "bad_lines", feed->bad);
	json_add_string(object, "first_bad_line", feed->first_bad);
	if (feed->has_pending)
		json_add_int(object, "refused_entries", packed_count(&feed->pending));
}

static char *accept_feed(struct feed_source *feed, bool *done)
{
	size_t count = packed_count(&feed->pending), agreed;

	*done = feed->has_pending;
	if (!feed->has_pending)
		return need_text("feed %s: nothing waits to be accepted%s%s", feed->source.name,
				 feed->source.problem ? ": " : "",
				 feed->source.problem ? feed->source.problem : "");
	guard_agree(&feed->source, &feed->pending);
	agreed = packed_count(&feed->source.agreed);
	accept_entries(feed, &feed->pending, &feed->pending_result);
	forget_pending(feed);
	if (agreed)
		return need_text("feed %s: %zu entries were accepted; %zu of them have addresses that this machine needs",
				 feed->source.name, count, agreed);
	return need_text("feed %s: %zu entries were accepted", feed->source.name, count);
}

static char *do_command(struct source *source, const char *command, bool *done)
{
	struct feed_source *feed = feed_of(source);

	if (!strcmp(command, "accept"))
		return accept_feed(feed, done);
	*done = true;
	fetch(feed);
	return need_text("feed %s is fetched; ipcuckood status shows the result", source->name);
}

const struct source_kind feed_kind = {
	.word = "feed",
	.doubts = true,
	.size = sizeof(struct feed_source),
	.keys = feed_keys,
	.check = check_feed,
	.start = start_feed,
	.stop = stop_feed,
	.show = show_feed,
	.command = do_command,
	.inherit = inherit_feed,
	.free = free_feed,
};
