// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/redis/follower.h"
#include "daemon/redis/publication.h"
#include "daemon/redis/publisher.h"
#include "daemon/redis/redis.h"
#include "daemon/redis/sentinel.h"
#include "daemon/set/guard.h"

/**
 * struct redis_source - a list
 *
 * Read from the configuration:
 * @conn:	where Redis is
 * @list:	name of the list
 * @host:	name of this host in reports
 * @heartbeat:	seconds without changes after which the list is compared, and the report repeated
 * @max_size:	maximum number of bytes of a snapshot
 * @max_entries: maximum number of entries
 * @queue:	maximum number of changes that wait to be published
 * @keep:	number of changes that the stream keeps
 * @publish:	publish, and renew the snapshot
 * @name_publisher: comments of what is published from here say so
 * @report:	report what is in force here
 *
 * The rest:
 * @follower:	what reads
 * @publisher:	what writes
 */
struct redis_source {
	struct source source;
	struct conn_config conn;
	char *list;
	char *host;
	uint64_t heartbeat;
	uint64_t max_size;
	uint64_t max_entries;
	uint64_t queue;
	uint64_t keep;
	bool publish;
	bool name_publisher;
	bool report;

	struct follower follower;
	struct publisher *publisher;
};

#define FIELD(name)	.offset = offsetof(struct redis_source, name)

static const struct config_key redis_keys[] = {
	{ "server", KEY_LIST, FIELD(conn.servers) },
	{ "sentinel", KEY_LIST, FIELD(conn.sentinel) },
	{ "sentinel-password-file", KEY_SECRET, FIELD(conn.sentinel_password_file) },
	{ "list", KEY_TEXT, FIELD(list) },
	{ "user", KEY_TEXT, FIELD(conn.user) },
	{ "password-file", KEY_SECRET, FIELD(conn.password_file) },
	{ "tls", KEY_SWITCH, FIELD(conn.tls), .preset = "no" },
	{ "tls-ca", KEY_FILE, FIELD(conn.ca_file) },
	{ "tls-name", KEY_TEXT, FIELD(conn.tls_name) },
	{ "tls-cert", KEY_FILE, FIELD(conn.cert_file) },
	{ "tls-key", KEY_SECRET, FIELD(conn.key_file) },
	{ "connect-time", KEY_TIME, FIELD(conn.connect_time), .preset = "15s", .least = 1,
	  .most = 3600 },
	{ "heartbeat", KEY_TIME, FIELD(heartbeat), .preset = "60s", .least = 1, .most = 86400 },
	{ "host", KEY_TEXT, FIELD(host) },
	{ "publish", KEY_SWITCH, FIELD(publish), .preset = "yes" },
	{ "name-publisher", KEY_SWITCH, FIELD(name_publisher), .preset = "no" },
	{ "report", KEY_SWITCH, FIELD(report), .preset = "yes" },
	{ "queue", KEY_NUMBER, FIELD(queue), .preset = "10000", .most = 1000000 },
	{ "keep", KEY_NUMBER, FIELD(keep), .preset = "100000", .least = 100, .most = 10000000 },
	{ "max-size", KEY_SIZE, FIELD(max_size), .preset = "64M", .least = 1 },
	{ "max-entries", KEY_NUMBER, FIELD(max_entries), .preset = "1000000", .least = 1,
	  .most = 1u << 28 },
	{ NULL }
};

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

static char *own_name(void)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) || !name[0])
		return need_copy("unnamed");
	return need_copy(name);
}

static void check_redis(struct source *source, struct section *section)
{
	struct redis_source *redis = redis_of(source);

	if (!redis->host)
		redis->host = own_name();
	redis->conn.finder = redis->conn.sentinel ? &sentinel_finder : NULL;
	conn_check_config(&redis->conn, section);
	if (!list_is_name(list_of(redis)))
		section_fault(section, "list",
			      "\"%.128s\" is no name of a list: it has letters, digits, \".\", \"_\" and \"-\", at most %d of them",
			      list_of(redis), LIST_NAME_MOST);
}

/* The publisher that goes on from before, or a new one. */
static void start_publisher(struct redis_source *redis)
{
	const struct source *source = &redis->source;
	const struct publisher_config config = {
		.event = source->daemon->event,
		.conn = &redis->conn,
		.source = source->name,
		.list = list_of(redis),
		.state_dir = source->daemon->dry_run ? NULL : source->daemon->state_dir,
		.host = redis->host,
		.queue = redis->queue,
		.keep = redis->keep,
		.heartbeat = redis->heartbeat,
	};

	if (redis->publisher)
		publisher_resume(redis->publisher, &config);
	else
		redis->publisher = publisher_new(&config);
}

static void start_follower(struct redis_source *redis)
{
	const struct follower_config config = {
		.conn = &redis->conn,
		.list = list_of(redis),
		.heartbeat = redis->heartbeat,
		.max_size = redis->max_size,
		.max_entries = redis->max_entries,
		.keep = redis->keep,
		.publisher = redis->publisher,
		.publish = redis->publish,
		.report = redis->report,
	};

	follower_start(&redis->follower, &redis->source, &config);
}

static void start_redis(struct source *source)
{
	struct redis_source *redis = redis_of(source);

	source->interval = redis->heartbeat;
	start_publisher(redis);
	start_follower(redis);
}

static void stop_redis(struct source *source)
{
	struct redis_source *redis = redis_of(source);

	follower_stop(&redis->follower);
	publisher_pause(redis->publisher);
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
	const char *server = follower_server(&redis->follower);

	json_add_string(object, "list", list_of(redis));
	json_add_string(object, "server", server);
	json_add_int(object, "seq", redis->follower.here.seq);
	json_add_int(object, "left_out", redis->follower.left_out);
	json_add_string(object, "publish_problem", problem);
}

static uint64_t count_waiting(const struct source *source)
{
	return publisher_waiting(((const struct redis_source *)source)->publisher);
}

/* Connect again, and read the snapshot; also an older one if @accept. */
static void read_again(struct redis_source *redis, bool accept)
{
	stop_redis(&redis->source);
	start_redis(&redis->source);
	follower_distrust(&redis->follower, accept);
}

/* Entries expire by the clock. If it was ahead, some may have been removed that have not expired. */
static void set_clock(struct source *source, int64_t seconds)
{
	if (seconds < 0)
		read_again(redis_of(source), false);
}

/* "refresh": connect again, and compare. "accept": take also an older list. */
static char *do_command(struct source *source, const char *command, bool *done)
{
	struct redis_source *redis = redis_of(source);
	bool accept = strcmp(command, "refresh");

	*done = !accept || redis->follower.older;
	if (!*done)
		return need_text("redis %s: nothing waits to be accepted", source->name);
	read_again(redis, accept);
	return need_text("redis %s is read again; ipcuckood status shows the result", source->name);
}

/* How many entries the list has after changes; 0 if that is not known. */
static size_t count_after(const struct redis_source *redis, const struct list_bytes *bytes)
{
	struct list_limits limits = { .family = IPCUCKOO_FAMILY_ANY, .most = UINT64_MAX };
	const struct contents *contents = &redis->source.contents;
	struct list_changes changes = { 0 };
	char why[LIST_WHY_SIZE];
	size_t count = 0;

	if (redis->source.delivered &&
	    !list_parse_changes(bytes->data, bytes->size, &limits, &changes, why))
		count = source_count_after(contents, changes.at, changes.count);
	list_free_changes(&changes);
	return count;
}

/* Whether a snapshot behind these changes may be larger than followers take. A change has no fewer
 * bytes than its entry in a snapshot.
 */
static bool is_too_large(const struct redis_source *redis, const struct list_bytes *changes)
{
	const struct contents *contents = &redis->source.contents;
	struct list_bytes all = { 0 };
	bool too_large;

	if (!redis->source.delivered ||
	    list_snapshot_most(contents) + changes->size <= redis->max_size)
		return false;
	too_large = !list_pack_snapshot(&all, contents, now_seconds()) &&
		    all.size + changes->size > redis->max_size;
	free(all.data);
	return too_large;
}

/* What followers would refuse; NULL if they would not. */
static char *find_too_many(const struct redis_source *redis, const struct request *request,
			   const struct list_bytes *bytes, size_t count)
{
	const char *name = redis->source.name;

	if (bytes->size > redis->max_size)
		return need_text("the list has %zu bytes when it is packed, more than max-size of redis %s allows; followers would refuse it",
				 bytes->size, name);
	/* A deletion makes less, whatever there is. */
	if (!strcmp(request->how, "add")) {
		if (is_too_large(redis, bytes))
			return need_text("the list would have more bytes than max-size of redis %s allows when it is packed; firewalls that are new would refuse it",
					 name);
		count = count_after(redis, bytes);
	} else if (!publication_is_whole(request)) {
		count = 0;
	}
	if (count <= redis->max_entries)
		return NULL;
	return need_text("the list would have more than %llu entries, which max-entries of redis %s does not allow; followers would refuse it",
			 (unsigned long long)redis->max_entries, name);
}

/* What followers would leave out; NULL if they would not. */
static char *find_harm(const struct source *source, const struct request *request,
		       const struct packed *added)
{
	struct member named;
	bool whole = publication_is_whole(request);
	char *doubt = request->force ? NULL : guard_doubt(source, added, whole, &named), *text;

	if (!doubt)
		return NULL;
	text = need_text("%s; nothing was published, because firewalls would not put that into their sets (--force does it all the same)",
			 doubt);
	free(doubt);
	return text;
}

static void request_redis(struct source *source, struct request *request)
{
	struct redis_source *redis = redis_of(source);
	struct list_bytes bytes = { 0 };
	struct packed added = { 0 };
	char *wrong = NULL;
	size_t count;

	if (!strcmp(request->command, "fleet")) {
		publisher_fleet(redis->publisher, request);
		return;
	}
	if (!redis->publish)
		wrong = need_text("redis %s: publish = no in the configuration of ipcuckood; publish on another firewall",
				  source->name);
	if (!wrong)
		wrong = publication_read(request, redis->name_publisher ? redis->host : NULL, &bytes,
					 &count, &added);
	if (!wrong)
		wrong = find_too_many(redis, request, &bytes, count);
	if (!wrong)
		wrong = find_harm(source, request, &added);
	packed_free(&added);
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
	.clock_set = set_clock,
	.inherit = inherit_redis,
	.free = free_redis,
};
