// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows a list in Redis (see list.h). When it connects, it asks for the head of the list, and
 * whether the last change that is in force here is still in the stream. If it is, it goes on behind
 * that change. If not, it reads the snapshot and the changes behind it, and delivers both in one
 * step, so that the set never goes back to what the snapshot had.
 *
 * A replica that lags shows an older list, which is not taken: only the primary is believed that
 * the list has gone back, because it was lost and made again, or restored from a backup.
 *
 * Then it waits for changes. When none came for a heartbeat, it compares the head with what it has.
 *
 * Version, number and id of the last change are notes, so they are stored with the contents.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/engine.h"
#include "daemon/list.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/publication.h"
#include "daemon/publisher.h"
#include "daemon/redis.h"
#include "daemon/timer.h"

/* Number of entries of the stream in a reply: each is at most LIST_CHANGES_MOST. */
#define ENTRIES_AT_ONCE	"64"
/* A snapshot is read in pieces of this size. So many are asked for before the first one has come,
 * so that the way to Redis and back does not count for each of them.
 */
#define PIECE_SIZE	(256u << 10)
#define PIECES_AHEAD	4
/* Firewalls do not all renew the snapshot at the same time: after up to so many milliseconds. */
#define RENEW_MS	5000
/* When there is no list, it is asked for again after so many seconds at most. */
#define AGAIN_MOST	10
/* The most words of a command */
#define WORDS_MOST	12
/* A server whose answers make us read the head more often than this in a second is not believed. */
#define HEADS_MOST	50

/* What is being read. */
enum step {
	AWAY,		/* nothing: there is no connection */
	HEAD,		/* the head */
	PRIMARY,	/* whether it is the primary that shows an older list */
	POSITION,	/* whether the last change in force is in the stream */
	SNAPSHOT,	/* the snapshot */
	CATCH_UP,	/* the changes behind the snapshot */
	FOLLOW,		/* changes, as they come */
};

/**
 * struct redis_source - a list
 *
 * Read from the configuration:
 * @engine:	where Redis is
 * @list:	name of the list
 * @host:	name of this host in reports
 * @heartbeat:	seconds without changes after which the list is compared, and the report repeated
 * @max_size:	maximum number of bytes of a snapshot
 * @max_entries: maximum number of entries
 * @queue:	maximum number of changes that wait to be published
 * @keep:	number of changes that the stream keeps
 * @publish:	publish, and renew the snapshot
 * @report:	report what is in force here
 *
 * The rest:
 * @reader:	the connection that follows
 * @publisher:	what writes
 * @step:	what is being read
 * @head:	the last head that was read
 * @here:	what is in force
 * @fresh:	what is being read: @here when it was read
 * @contents:	its contents
 * @snapshot:	the snapshot, as far as it has arrived
 * @asked_for:	how much of it has been asked for
 * @distrust:	read the snapshot, whatever is in force
 * @older:	a list was refused because it is older than what is in force
 * @accepted:	somebody has agreed that an older list is taken
 * @left_out:	entries that did not fit into the set
 * @warned:	a warning about @left_out was logged
 * @again:	asks for the head again, when there is no list
 * @renew:	makes @renew_due true
 * @renew_due:	renew the snapshot if the head says that this is necessary
 * @purged_at:	when expired entries were removed
 * @asked_at:	a second in which heads were read,
 * @asked:	and how many in it
 */
struct redis_source {
	struct source source;
	struct engine_config engine;
	char *list;
	char *host;
	uint64_t heartbeat;
	uint64_t max_size;
	uint64_t max_entries;
	uint64_t queue;
	uint64_t keep;
	bool publish;
	bool report;

	struct engine *reader;
	struct publisher *publisher;
	enum step step;
	struct list_head head;
	struct list_position here;
	struct list_position fresh;
	struct contents contents;
	struct list_bytes snapshot;
	uint64_t asked_for;
	bool distrust;
	bool older;
	bool accepted;
	uint64_t left_out;
	bool warned;
	sd_event_source *again;
	sd_event_source *renew;
	bool renew_due;
	uint32_t purged_at;
	uint32_t asked_at;
	unsigned int asked;
};

#define FIELD(name)	.offset = offsetof(struct redis_source, name)

static const struct config_key redis_keys[] = {
	{ "server", KEY_LIST, FIELD(engine.servers) },
	{ "sentinel", KEY_LIST, FIELD(engine.sentinel) },
	{ "sentinel-password-file", KEY_TEXT, FIELD(engine.sentinel_password_file) },
	{ "list", KEY_TEXT, FIELD(list) },
	{ "user", KEY_TEXT, FIELD(engine.user) },
	{ "password-file", KEY_TEXT, FIELD(engine.password_file) },
	{ "tls", KEY_SWITCH, FIELD(engine.tls), .preset = "no" },
	{ "tls-ca", KEY_TEXT, FIELD(engine.ca_file) },
	{ "tls-name", KEY_TEXT, FIELD(engine.tls_name) },
	{ "tls-cert", KEY_TEXT, FIELD(engine.cert_file) },
	{ "tls-key", KEY_TEXT, FIELD(engine.key_file) },
	{ "connect-time", KEY_TIME, FIELD(engine.connect_time), .preset = "15s", .least = 1,
	  .most = 3600 },
	{ "heartbeat", KEY_TIME, FIELD(heartbeat), .preset = "60s", .least = 1, .most = 86400 },
	{ "host", KEY_TEXT, FIELD(host) },
	{ "publish", KEY_SWITCH, FIELD(publish), .preset = "yes" },
	{ "report", KEY_SWITCH, FIELD(report), .preset = "yes" },
	{ "queue", KEY_NUMBER, FIELD(queue), .preset = "10000", .most = 1000000 },
	{ "keep", KEY_NUMBER, FIELD(keep), .preset = "100000", .least = 100, .most = 10000000 },
	{ "max-size", KEY_SIZE, FIELD(max_size), .preset = "64M", .least = 1 },
	{ "max-entries", KEY_NUMBER, FIELD(max_entries), .preset = "1000000", .least = 1,
	  .most = 1u << 28 },
	{ NULL }
};

static void ask_head(struct redis_source *redis);
static void follow(struct redis_source *redis);

static struct redis_source *redis_of(struct source *source)
{
	return (struct redis_source *)source;
}

/* The name of the list is that of the source if it is not given. */
static const char *list_of(const struct redis_source *redis)
{
	return redis->list ? redis->list : redis->source.name;
}

static const char *show_list(const struct source *source)
{
	return list_of((const struct redis_source *)source);
}

static void check_redis(struct source *source, struct section *section)
{
	const struct redis_source *redis = redis_of(source);

	engine_check_config(&redis->engine, section);
	if (!list_is_name(list_of(redis)))
		config_fault(section, "list",
			     "\"%.128s\" is no name of a list: it has letters, digits, \".\", \"_\" and \"-\", at most %d of them",
			     list_of(redis), LIST_NAME_MOST);
}

/* --- what goes wrong --- */

/* The connection is of no use: try again later, and read the snapshot then if @distrust. */
static void give_up(struct redis_source *redis, bool distrust, const char *why)
{
	redis->distrust |= distrust;
	engine_fail(redis->reader, "has the list %s, but %s", list_of(redis), why);
}

/* Return: whether the reply is what it has to be. */
static bool expect(struct redis_source *redis, const redisReply *reply, bool right)
{
	char why[LIST_WHY_SIZE];

	if (reply->type == REDIS_REPLY_ERROR) {
		snprintf(why, sizeof(why), "refuses to show it: %.150s%s", reply->str,
			 strncmp(reply->str, "NOPERM", 6) ? "" :
			 "; let the user read ipcuckoo:*, see ipcuckood(8)");
		give_up(redis, false, why);
		return false;
	}
	if (!right)
		give_up(redis, true, "its answer makes no sense; is that Redis?");
	return right;
}

static void send_words(struct redis_source *redis, engine_reply_fn *reply, unsigned int seconds,
		       const char *const *words, int count)
{
	size_t sizes[WORDS_MOST];
	int i;

	for (i = 0; i < count; i++)
		sizes[i] = strlen(words[i]);
	engine_send(redis->reader, reply, seconds, count, words, sizes);
}

/* What is in force is what the list has. */
static void trust(struct redis_source *redis)
{
	redis->older = false;
	redis->accepted = false;
	engine_good(redis->reader);
}

/* --- what is in force --- */

static void report(struct redis_source *redis)
{
	struct publisher_report report = {
		.position = redis->here,
		.entries = contents_count(&redis->source.contents),
		.behind = redis->source.target->behind,
	};

	if (redis->report && redis->publisher && !redis->source.daemon->dry_run)
		publisher_report(redis->publisher, &report);
}

static void set_number_note(struct source *source, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	source_set_note(source, key, text);
}

/* What the contents depend on: another list, or a set that takes other entries. */
static char *identity(const struct redis_source *redis)
{
	return need_text("%s %d %d", list_of(redis), redis->source.target->type,
			 redis->source.target->family);
}

static void set_identity(struct redis_source *redis)
{
	char *text = identity(redis);

	source_set_note(&redis->source, "list", text);
	free(text);
}

/* Remember a position, before the contents are delivered that belong to it. */
static void set_position(struct redis_source *redis, const struct list_position *position)
{
	struct source *source = &redis->source;

	redis->here = *position;
	set_identity(redis);
	set_number_note(source, "seq", position->seq);
	source_set_note(source, "id", position->id);
	source_set_note(source, "version", position->version);
	snprintf(source->version, sizeof(source->version), "%llu %s",
		 (unsigned long long)position->seq, position->id);
}

/* How long ago the last change was published; clocks may differ. */
static void note_lag(struct redis_source *redis)
{
	struct source *source = &redis->source;
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!list_parse_id(redis->here.id, strlen(redis->here.id), &ms))
		return;
	source->lag = now.tv_sec + now.tv_nsec / 1e9 - ms / 1000.0;
	if (source->lag < 0)
		source->lag = 0;
}

/* What the notes say; nothing if they are not those of this list. */
static void load_position(struct redis_source *redis)
{
	const struct source *source = &redis->source;
	const char *list = source_note(source, "list"), *seq = source_note(source, "seq");
	const char *id = source_note(source, "id"), *version = source_note(source, "version");
	struct list_position *here = &redis->here;
	char *same = identity(redis);
	uint64_t ms;

	memset(here, 0, sizeof(*here));
	if (!source->delivered || !list || !seq || !id || !version || strcmp(list, same) ||
	    !list_number(seq, strlen(seq), &here->seq) || !list_parse_id(id, strlen(id), &ms) ||
	    !list_is_version(version, strlen(version))) {
		memset(here, 0, sizeof(*here));
		redis->distrust = true;
	} else {
		strcpy(here->id, id);
		strcpy(here->version, version);
	}
	free(same);
}

static void set_limits(const struct redis_source *redis, struct list_limits *limits)
{
	const struct target *target = redis->source.target;

	*limits = (struct list_limits){
		.family = target->family,
		.hosts_only = target->type == IPCUCKOO_TYPE_HASH_IP,
		.most = redis->max_entries,
	};
}

static void note_left_out(struct redis_source *redis, uint64_t count)
{
	redis->left_out += count;
	if (!count || redis->warned)
		return;
	redis->warned = true;
	log_warning("[redis %s] entries of the list do not fit into the set %s, and are left out; a set with type = hash:net and family = any takes all of them",
		    redis->source.name, redis->source.target->name);
}

/* --- the snapshot --- */

static void forget_snapshot(struct redis_source *redis)
{
	free(redis->snapshot.data);
	memset(&redis->snapshot, 0, sizeof(redis->snapshot));
	redis->asked_for = 0;
}

static void forget_fresh(struct redis_source *redis)
{
	contents_free(&redis->contents);
	forget_snapshot(redis);
}

/* Snapshot and changes have been read: they are in force now. */
static void deliver_fresh(struct redis_source *redis)
{
	size_t before = contents_count(&redis->source.contents);

	contents_purge(&redis->contents, now_seconds());
	log_info("[redis %s] has %zu entries now, and had %zu before: change %llu of the list %s",
		 redis->source.name, contents_count(&redis->contents), before,
		 (unsigned long long)redis->fresh.seq, list_of(redis));
	redis->distrust = false;
	set_position(redis, &redis->fresh);
	trust(redis);
	source_deliver(&redis->source, &redis->contents);
	report(redis);
	redis->step = FOLLOW;
	follow(redis);
}

static void end_snapshot(struct redis_source *redis)
{
	struct list_limits limits;
	char why[LIST_WHY_SIZE] = "its snapshot needs more memory than there is", text[400];
	int err;

	set_limits(redis, &limits);
	err = list_parse_snapshot(redis->snapshot.data, redis->snapshot.size, &limits,
				  &redis->contents, why);
	forget_snapshot(redis);
	if (err) {
		snprintf(text, sizeof(text), "its snapshot is wrong: %.200s; publish all of it again: ipcuckoo publish %s --file FILE",
			 why, list_of(redis));
		give_up(redis, true, text);
		return;
	}
	redis->left_out = 0;
	note_left_out(redis, limits.left_out);
	redis->fresh = redis->head.snapshot;
	redis->step = CATCH_UP;
	follow(redis);
}

static void ask_pieces(struct redis_source *redis);

static void on_piece(void *owner, const redisReply *reply)
{
	struct redis_source *redis = owner;
	struct list_bytes *snapshot = &redis->snapshot;
	uint64_t left = redis->head.bytes - snapshot->size;
	uint8_t *grown;

	if (!expect(redis, reply, reply->type == REDIS_REPLY_STRING && reply->len <= PIECE_SIZE &&
		    reply->len <= left))
		return;
	/* It may just have been replaced by a newer one. */
	if (reply->len < PIECE_SIZE && reply->len < left) {
		give_up(redis, true, "its snapshot is not there as a whole; if that stays so, publish all of it again");
		return;
	}
	grown = realloc(snapshot->data, snapshot->size + reply->len + 1);
	if (!grown) {
		give_up(redis, true, "its snapshot needs more memory than there is");
		return;
	}
	snapshot->data = grown;
	memcpy(grown + snapshot->size, reply->str, reply->len);
	snapshot->size += reply->len;
	if (snapshot->size == redis->head.bytes)
		end_snapshot(redis);
	else
		ask_pieces(redis);
}

static void ask_pieces(struct redis_source *redis)
{
	char *rest = need_text("snapshot:%s", redis->head.snapshot.version);
	char *key = list_key(list_of(redis), rest), first[24], last[24];
	const char *const words[] = { "GETRANGE", key, first, last };

	while (redis->asked_for < redis->head.bytes &&
	       redis->asked_for - redis->snapshot.size < PIECES_AHEAD * PIECE_SIZE) {
		snprintf(first, sizeof(first), "%llu", (unsigned long long)redis->asked_for);
		redis->asked_for += PIECE_SIZE;
		snprintf(last, sizeof(last), "%llu", (unsigned long long)redis->asked_for - 1);
		send_words(redis, on_piece, 0, words, 4);
	}
	free(key);
	free(rest);
}

static void begin_snapshot(struct redis_source *redis)
{
	char why[LIST_WHY_SIZE];

	forget_fresh(redis);
	if (redis->head.bytes > redis->max_size) {
		snprintf(why, sizeof(why), "its snapshot has %llu bytes; allow more with max-size",
			 (unsigned long long)redis->head.bytes);
		give_up(redis, true, why);
		return;
	}
	redis->step = SNAPSHOT;
	if (redis->head.bytes)
		ask_pieces(redis);
	else
		end_snapshot(redis);
}

/* --- the head --- */

static int on_again(sd_event_source *timer, uint64_t usec, void *data)
{
	(void)timer;
	(void)usec;
	ask_head(data);
	return 0;
}

/* What is in force is what the list has: nothing is new. */
static void confirm(struct redis_source *redis)
{
	trust(redis);
	source_confirm(&redis->source);
	report(redis);
}

static void on_position(void *owner, const redisReply *reply)
{
	struct redis_source *redis = owner;
	const redisReply *entry, *fields;
	uint64_t seq = 0;

	if (!expect(redis, reply, reply->type == REDIS_REPLY_ARRAY && reply->elements <= 1))
		return;
	entry = reply->elements ? reply->element[0] : NULL;
	fields = entry && entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 ?
		 entry->element[1] : NULL;
	if (fields && fields->type == REDIS_REPLY_ARRAY && fields->elements >= 2 &&
	    fields->element[1]->type == REDIS_REPLY_STRING &&
	    list_number(fields->element[1]->str, fields->element[1]->len, &seq) &&
	    seq == redis->here.seq) {
		if (seq == redis->head.seq)
			confirm(redis);
		follow(redis);
		return;
	}
	log_info("[redis %s] the change that is in force here, %llu, is not in the stream any more: the snapshot is read",
		 redis->source.name, (unsigned long long)redis->here.seq);
	begin_snapshot(redis);
}

static void ask_position(struct redis_source *redis)
{
	char *key = list_key(list_of(redis), "changes");
	const char *const words[] = { "XRANGE", key, redis->here.id, redis->here.id };

	redis->step = POSITION;
	send_words(redis, on_position, 0, words, 4);
	free(key);
}

static bool is_same(const struct list_position *a, const struct list_position *b)
{
	return a->seq == b->seq && !strcmp(a->id, b->id) && !strcmp(a->version, b->version);
}

/* Whether the snapshot lacks half of the changes that the stream keeps. What is in force here can
 * replace it only if the set takes all entries of the list.
 */
static bool needs_renewal(const struct redis_source *redis)
{
	const struct target *target = redis->source.target;

	return redis->publish && !redis->source.daemon->dry_run && !redis->left_out &&
	       target->type == IPCUCKOO_TYPE_HASH_NET && target->family == IPCUCKOO_FAMILY_ANY &&
	       redis->here.seq > redis->head.snapshot.seq &&
	       redis->here.seq - redis->head.snapshot.seq > redis->keep / 2;
}

static void renew(struct redis_source *redis)
{
	struct list_bytes bytes = { 0 };

	redis->renew_due = false;
	if (redis->distrust || !needs_renewal(redis))
		return;
	if (!list_pack_snapshot(&bytes, &redis->source.contents, now_seconds()))
		publisher_renew(redis->publisher, &bytes, &redis->here,
				redis->head.snapshot.version);
	else
		free(bytes.data);
	/* Until the head is read again */
	redis->head.snapshot.seq = redis->here.seq;
}

static int on_renew(sd_event_source *timer, uint64_t usec, void *data)
{
	struct redis_source *redis = data;

	(void)timer;
	(void)usec;
	redis->renew_due = true;
	return 0;
}

/* Somebody else may do it before: the head says that. */
static void renew_later(struct redis_source *redis)
{
	if (!redis->renew_due && needs_renewal(redis) && redis->head.snapshot.seq)
		timer_start(redis->source.daemon->event, &redis->renew, random_upto(RENEW_MS),
			    on_renew, redis);
}

/* The answer is [role, ...]. */
static void on_role(void *owner, const redisReply *reply)
{
	struct redis_source *redis = owner;
	const char *role = reply->type == REDIS_REPLY_ARRAY && reply->elements &&
			   reply->element[0]->type == REDIS_REPLY_STRING ?
			   reply->element[0]->str : NULL;

	if (role && !strcmp(role, "master")) {
		log_info("[redis %s] the primary has gone back to change %llu of the list %s, from %llu: the snapshot is read",
			 redis->source.name, (unsigned long long)redis->head.seq, list_of(redis),
			 (unsigned long long)redis->here.seq);
		begin_snapshot(redis);
		return;
	}
	redis->older = true;
	engine_fail(redis->reader,
		    "is behind: it has change %llu of the list %s, and %llu is in force here%s",
		    (unsigned long long)redis->head.seq, list_of(redis),
		    (unsigned long long)redis->here.seq,
		    role ? "" :
		    "; it does not say whether it is the primary: let the user run ROLE (+role)");
}

static void ask_role(struct redis_source *redis)
{
	const char *const words[] = { "ROLE" };

	redis->step = PRIMARY;
	send_words(redis, on_role, 0, words, 1);
}

static void judge_head(struct redis_source *redis)
{
	const struct list_head *head = &redis->head;
	bool older = head->seq < redis->here.seq;

	if (redis->renew_due)
		renew(redis);
	if (older && !redis->accepted) {
		ask_role(redis);
	} else if (redis->distrust || older) {
		begin_snapshot(redis);
	} else if (is_same(&redis->here, &head->snapshot)) {
		if (head->seq == redis->here.seq)
			confirm(redis);
		follow(redis);
	} else {
		ask_position(redis);
	}
}

static void no_list(struct redis_source *redis)
{
	source_fail(&redis->source,
		    "there is no list %s in Redis at %s; if it was lost there, or was never there, publish all of it: ipcuckoo publish %s --file FILE",
		    list_of(redis), engine_server(redis->reader), list_of(redis));
	timer_start(redis->source.daemon->event, &redis->again,
		    (redis->heartbeat < AGAIN_MOST ? redis->heartbeat : AGAIN_MOST) * 1000,
		    on_again, redis);
}

static void on_head(void *owner, const redisReply *reply)
{
	struct redis_source *redis = owner;
	const char *text[LIST_HEAD_FIELDS] = { NULL };
	size_t len[LIST_HEAD_FIELDS] = { 0 };
	char why[LIST_WHY_SIZE];
	const redisReply *field;
	size_t i;
	int err;

	if (!expect(redis, reply, reply->type == REDIS_REPLY_ARRAY &&
		    reply->elements == LIST_HEAD_FIELDS))
		return;
	for (i = 0; i < LIST_HEAD_FIELDS; i++) {
		field = reply->element[i];
		if (!expect(redis, field, field->type == REDIS_REPLY_STRING ||
			    field->type == REDIS_REPLY_NIL))
			return;
		if (field->type == REDIS_REPLY_STRING) {
			text[i] = field->str;
			len[i] = field->len;
		}
	}
	err = list_parse_head(text, len, &redis->head, why);
	if (err == -ENOENT)
		no_list(redis);
	else if (err)
		give_up(redis, true, why);
	else
		judge_head(redis);
}

static void ask_head(struct redis_source *redis)
{
	char *key = list_key(list_of(redis), "head");
	const char *words[2 + LIST_HEAD_FIELDS] = { "HMGET", key };

	memcpy(words + 2, list_head_fields, sizeof(list_head_fields));
	redis->step = HEAD;
	if (redis->asked_at != now_seconds())
		redis->asked = 0;
	redis->asked_at = now_seconds();
	if (++redis->asked > HEADS_MOST)
		give_up(redis, true, "its answers contradict each other; is that Redis?");
	send_words(redis, on_head, 0, words, 2 + LIST_HEAD_FIELDS);
	free(key);
}

/* --- the stream --- */

/**
 * struct batch - changes of one reply
 * @at:		where they lead
 * @changes:	the changes
 * @atomic:	some of them were published in one step
 * @replaced:	the list was replaced behind them
 */
struct batch {
	struct list_position at;
	struct list_changes changes;
	bool atomic;
	bool replaced;
};

/* What read_entry() returns if the number of a change does not follow that of the one before */
static const char gap[] = "changes are missing before it";

/* The text of a reply that must be a string; NULL otherwise. */
static const char *string_of(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
}

/* Read an entry: [id, ["n", number, "c" or "v", data]]. Return: NULL, or what is wrong. */
static const char *read_entry(const redisReply *entry,
			      struct batch *batch, struct list_limits *limits,
			      char why[LIST_WHY_SIZE])
{
	const redisReply *id, *fields, *data;
	size_t i, before = batch->changes.count;
	uint64_t seq, ms;
	int err;

	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
		return "it is no entry of a stream";
	id = entry->element[0];
	fields = entry->element[1];
	if (!string_of(id) || !list_parse_id(id->str, id->len, &ms))
		return "it has no id";
	if (fields->type != REDIS_REPLY_ARRAY || fields->elements != 4)
		return "it has not the two fields of a change";
	for (i = 0; i < 4; i++)
		if (!string_of(fields->element[i]))
			return "it has not the two fields of a change";
	data = fields->element[3];
	if (strcmp(fields->element[0]->str, "n") ||
	    !list_number(fields->element[1]->str, fields->element[1]->len, &seq))
		return "it has no number";
	if (seq != batch->at.seq + 1)
		return gap;
	batch->replaced = !strcmp(fields->element[2]->str, "v");
	if (!batch->replaced && strcmp(fields->element[2]->str, "c"))
		return "it has a field that this ipcuckood does not know; update ipcuckood";
	err = batch->replaced ? 0 :
	      list_parse_changes((const uint8_t *)data->str, data->len, limits, &batch->changes,
				 why);
	if (err)
		return err == -ENOMEM ? "there is not enough memory for it" : why;
	batch->atomic |= batch->changes.count > before + 1;
	memset(batch->at.id, 0, sizeof(batch->at.id));
	memcpy(batch->at.id, id->str, id->len);
	batch->at.seq = seq;
	return NULL;
}

/* Read the entries of a reply to XREAD: [[key, entries]]. Return: whether all is right. */
static bool read_batch(struct redis_source *redis, const redisReply *reply, struct batch *batch)
{
	const redisReply *stream, *entries = NULL;
	char why[LIST_WHY_SIZE], text[600];
	struct list_limits limits;
	const char *wrong;
	size_t i;

	if (reply->elements == 1) {
		stream = reply->element[0];
		if (stream->type == REDIS_REPLY_ARRAY && stream->elements == 2)
			entries = stream->element[1];
	}
	if (!expect(redis, reply, entries && entries->type == REDIS_REPLY_ARRAY))
		return false;
	set_limits(redis, &limits);
	for (i = 0; i < entries->elements && !batch->replaced; i++) {
		wrong = read_entry(entries->element[i], batch, &limits, why);
		if (!wrong)
			continue;
		if (wrong == gap)
			return true;
		snprintf(text, sizeof(text), "a change behind number %llu is wrong: %.200s; publish all of it again: ipcuckoo publish %s --file FILE",
			 (unsigned long long)batch->at.seq, wrong, list_of(redis));
		give_up(redis, true, text);
		return false;
	}
	note_left_out(redis, limits.left_out);
	return true;
}

static int apply_fresh(struct redis_source *redis, const struct list_changes *changes)
{
	const struct member *member;
	size_t i;
	int err = 0;

	for (i = 0; i < changes->count && !err; i++) {
		member = &changes->at[i].member;
		if (changes->at[i].del)
			contents_del(&redis->contents, member->kind, member->entry);
		else
			err = contents_add(&redis->contents, member);
	}
	return err;
}

static bool too_many(struct redis_source *redis, const struct contents *contents,
		     const struct list_changes *changes)
{
	char why[LIST_WHY_SIZE];
	size_t i, more = 0;

	for (i = 0; i < changes->count; i++)
		more += !changes->at[i].del;
	if (contents_count(contents) + more <= redis->max_entries)
		return false;
	snprintf(why, sizeof(why), "it has grown to more than %llu entries; allow more with max-entries",
		 (unsigned long long)redis->max_entries);
	give_up(redis, true, why);
	return true;
}

/* Remove expired entries: not often, because that looks at all entries. */
static void purge(struct redis_source *redis, bool now)
{
	uint32_t at = now_seconds();

	if (!now && redis->purged_at <= at && at - redis->purged_at < redis->heartbeat)
		return;
	redis->purged_at = at;
	contents_purge(&redis->source.contents, at);
}

/* Changes of the list that is in force. */
static void take_changes(struct redis_source *redis, struct batch *batch)
{
	purge(redis, false);
	if (too_many(redis, &redis->source.contents, &batch->changes))
		return;
	set_position(redis, &batch->at);
	trust(redis);
	if (source_change(&redis->source, batch->changes.at, batch->changes.count, batch->atomic)) {
		give_up(redis, true, "there is not enough memory for its changes");
		return;
	}
	note_lag(redis);
	report(redis);
	renew_later(redis);
}

static void give_up_gap(struct redis_source *redis)
{
	give_up(redis, true, "changes behind its snapshot are missing; publish all of it again");
}

/* @missing: the batch is empty, because the next change is missing in the stream. */
static void take_batch(struct redis_source *redis, struct batch *batch, bool missing)
{
	bool fresh = redis->step == CATCH_UP;

	if (fresh && too_many(redis, &redis->contents, &batch->changes))
		return;
	if (fresh && apply_fresh(redis, &batch->changes)) {
		give_up(redis, true, "there is not enough memory for its changes");
		return;
	}
	if (fresh)
		redis->fresh = batch->at;
	else if (batch->changes.count)
		take_changes(redis, batch);
	if (!engine_is_ready(redis->reader))
		return;
	if (!missing && !batch->replaced) {
		if (redis->renew_due && !fresh)
			ask_head(redis);
		else
			follow(redis);
		return;
	}
	if (missing)
		log_info("[redis %s] changes behind number %llu are missing in the stream: the snapshot is read",
			 redis->source.name, (unsigned long long)batch->at.seq);
	/* The snapshot was read just now: to read it again at once would lead here again. */
	if (missing && fresh) {
		give_up_gap(redis);
		return;
	}
	redis->distrust = true;
	ask_head(redis);
}

/* Nothing is behind the last change that was read. */
static void take_silence(struct redis_source *redis)
{
	if (redis->step != CATCH_UP) {
		purge(redis, true);
		ask_head(redis);
	} else if (redis->fresh.seq >= redis->head.seq) {
		deliver_fresh(redis);
	} else {
		give_up_gap(redis);
	}
}

static void on_changes(void *owner, const redisReply *reply)
{
	struct redis_source *redis = owner;
	struct batch batch = {
		.at = redis->step == CATCH_UP ? redis->fresh : redis->here,
	};
	uint64_t before = batch.at.seq;
	bool whole;

	if (reply->type == REDIS_REPLY_NIL) {
		take_silence(redis);
		return;
	}
	if (!expect(redis, reply, reply->type == REDIS_REPLY_ARRAY))
		return;
	whole = read_batch(redis, reply, &batch);
	if (whole)
		take_batch(redis, &batch, batch.at.seq == before);
	list_free_changes(&batch.changes);
}

/* Ask for changes. While it catches up, without waiting for them. */
static void follow(struct redis_source *redis)
{
	bool catch_up = redis->step == CATCH_UP;
	char *key = list_key(list_of(redis), "changes");
	const char *words[WORDS_MOST] = { "XREAD", "COUNT", ENTRIES_AT_ONCE };
	int count = 3;
	char ms[24];

	if (!catch_up)
		redis->step = FOLLOW;
	/* Not all firewalls ask in the same moment when nothing has changed. */
	snprintf(ms, sizeof(ms), "%llu", (unsigned long long)(redis->heartbeat * 1000 -
							      random_upto(redis->heartbeat * 250)));
	if (!catch_up) {
		words[count++] = "BLOCK";
		words[count++] = ms;
	}
	words[count++] = "STREAMS";
	words[count++] = key;
	words[count++] = catch_up ? redis->fresh.id : redis->here.id;
	send_words(redis, on_changes, catch_up ? 0 : redis->heartbeat, words, count);
	free(key);
}

/* --- the kind --- */

static void on_ready(void *owner)
{
	struct redis_source *redis = owner;

	timer_stop(&redis->again);
	forget_fresh(redis);
	ask_head(redis);
}

static void on_lost(void *owner, const char *why)
{
	struct redis_source *redis = owner;

	timer_stop(&redis->again);
	forget_fresh(redis);
	redis->step = AWAY;
	source_fail(&redis->source, "%s; it is tried again, at least every 30 seconds%s%s", why,
		    redis->older ? "; if the list was published anew or restored, take it with: ipcuckood accept " : "",
		    redis->older ? redis->source.name : "");
}

static char *own_name(void)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) || !name[0])
		return need_copy("unnamed");
	return need_copy(name);
}

static void start_redis(struct source *source)
{
	struct redis_source *redis = redis_of(source);
	const struct engine_user user = { redis, on_ready, on_lost };
	struct publisher_config config = {
		.event = source->daemon->event, .engine = &redis->engine, .source = source->name,
		.list = list_of(redis), .queue = redis->queue, .keep = redis->keep,
		.heartbeat = redis->heartbeat,
	};

	if (!redis->host)
		redis->host = own_name();
	config.host = redis->host;
	config.state_dir = source->daemon->dry_run ? NULL : source->daemon->state_dir;
	load_position(redis);
	if (redis->publisher)
		publisher_resume(redis->publisher, &config);
	else
		redis->publisher = publisher_new(&config);
	redis->reader = engine_open(source->daemon->event, &redis->engine, false, &user);
}

static void stop_redis(struct source *source)
{
	struct redis_source *redis = redis_of(source);

	engine_close(redis->reader);
	redis->reader = NULL;
	publisher_pause(redis->publisher);
	timer_stop(&redis->again);
	timer_stop(&redis->renew);
	forget_fresh(redis);
}

static void free_redis(struct source *source)
{
	publisher_free(redis_of(source)->publisher);
}

/* What waits to be published goes on waiting when the configuration is read again. */
static void inherit_redis(struct source *source, struct source *old)
{
	struct redis_source *redis = redis_of(source), *before = redis_of(old);

	if (strcmp(list_of(redis), list_of(before)))
		return;
	redis->publisher = before->publisher;
	before->publisher = NULL;
}

static void show_redis(const struct source *source, struct json_object *object)
{
	const struct redis_source *redis = (const struct redis_source *)source;
	const char *problem = publisher_problem(redis->publisher);

	json_object_object_add(object, "list", json_object_new_string(list_of(redis)));
	if (redis->reader)
		json_object_object_add(object, "server",
				       json_object_new_string(engine_server(redis->reader)));
	json_object_object_add(object, "seq", json_object_new_int64(redis->here.seq));
	json_object_object_add(object, "left_out", json_object_new_int64(redis->left_out));
	if (problem)
		json_object_object_add(object, "publish_problem", json_object_new_string(problem));
}

static uint64_t count_waiting(const struct source *source)
{
	return publisher_waiting(((const struct redis_source *)source)->publisher);
}

/* "refresh": connect again, and compare. "accept": take also an older list. */
static char *do_command(struct source *source, const char *command, bool *done)
{
	struct redis_source *redis = redis_of(source);
	bool accept = strcmp(command, "refresh");

	*done = !accept || redis->older;
	if (!*done)
		return need_text("redis %s: nothing waits to be accepted", source->name);
	stop_redis(source);
	start_redis(source);
	redis->distrust = true;
	redis->accepted = accept;
	return need_text("redis %s is read again; ipcuckood status shows the result", source->name);
}

static void request_redis(struct source *source, struct request *request)
{
	struct redis_source *redis = redis_of(source);
	struct list_bytes bytes = { 0 };
	char *wrong = NULL;
	size_t count;

	if (!strcmp(request->command, "fleet")) {
		publisher_fleet(redis->publisher, !strcmp(request->args, "json"), request);
		return;
	}
	if (!redis->publish)
		wrong = need_text("redis %s: publish = no in the configuration of ipcuckood; publish on another firewall",
				  source->name);
	if (!wrong)
		wrong = publication_read(request, &bytes, &count);
	if (!wrong && bytes.size > redis->max_size)
		wrong = need_text("the list has %zu bytes when it is packed, more than max-size of redis %s allows; followers would refuse it",
				  bytes.size, source->name);
	if (wrong) {
		free(bytes.data);
		request_answer(request, STATUS_REFUSED, wrong);
	} else if (publication_is_whole(request)) {
		publisher_replace(redis->publisher, &bytes, count, request);
	} else {
		publisher_change(redis->publisher, &bytes, count, request);
	}
}

const struct source_kind redis_kind = {
	.word = "redis",
	.size = sizeof(struct redis_source),
	.keys = redis_keys,
	.check = check_redis,
	.start = start_redis,
	.stop = stop_redis,
	.show = show_redis,
	.command = do_command,
	.request = request_redis,
	.list = show_list,
	.waiting = count_waiting,
	.inherit = inherit_redis,
	.free = free_redis,
};
