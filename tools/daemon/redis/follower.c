// SPDX-License-Identifier: GPL-2.0-only
/*
 * When it connects, it asks for the head of the list, and whether the last change that is in force
 * here is still in the stream. If it is, it goes on behind that change. If not, it reads the
 * snapshot and the changes behind it, and delivers both in one step, so that the set never goes
 * back to what the snapshot had.
 *
 * A replica that lags shows an older list, which is not taken: only the primary is believed that
 * the list has gone back, because it was lost and made again, or restored from a backup.
 *
 * Then it waits for changes. When none came for a heartbeat, it compares the head with what it has.
 * Every ten minutes it also compares the clocks of Redis and of this machine (clock.h).
 *
 * Version, number and id of the last change are notes, so they are stored with the contents.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/redis/follower.h"
#include "daemon/redis/position.h"
#include "daemon/redis/publisher.h"
#include "daemon/redis/stream.h"

/* With so many entries of the stream in a reply: each is at most LIST_CHANGES_MOST. */
#define READ		"XREAD COUNT 64 "
/* Firewalls do not all renew the snapshot at the same time: after up to so many milliseconds. */
#define RENEW_MS	5000
/* When there is no list, it is asked for again after so many seconds at most. */
#define AGAIN_MOST	10
/* A server whose answers make us read the head more often than this in a second is not believed. */
#define HEADS_MOST	50

static void ask_head(struct follower *follower);
static void follow(struct follower *follower);

/* --- what goes wrong --- */

/* The connection is of no use: try again later, and read the snapshot then if @distrust. */
static void give_up(struct follower *follower, bool distrust, const char *why)
{
	follower->distrust |= distrust;
	conn_fail(follower->reader, "has the list %s, but %s", follower->config.list, why);
}

/* Return: whether the reply is what it has to be. */
static bool expect(struct follower *follower, const redisReply *reply, bool right)
{
	char why[LIST_WHY_SIZE];

	if (reply->type == REDIS_REPLY_ERROR) {
		snprintf(why, sizeof(why), "refuses to show it: %.150s%s", reply->str,
			 strncmp(reply->str, "NOPERM", 6) ? "" :
			 "; let the user read ipcuckoo:*, see ipcuckood(8)");
		give_up(follower, false, why);
		return false;
	}
	if (!right)
		give_up(follower, true, "its answer makes no sense; is that Redis?");
	return right;
}

/* What is in force is what the list has, and the server has shown the stream. One that only shows
 * the head is of no use, and is not called good: another one may be.
 */
static void trust(struct follower *follower)
{
	follower->older = false;
	follower->accepted = false;
	conn_good(follower->reader);
}

/* --- the clock --- */

static void on_clock(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;

	clock_compare(&follower->clock, follower->source, conn_server(follower->reader), reply);
}

static void ask_clock(struct follower *follower)
{
	if (clock_due(&follower->clock))
		conn_send(follower->reader, on_clock, 0, "TIME");
}

/* --- what is in force --- */

static void report(struct follower *follower)
{
	struct publisher_report report = {
		.position = follower->here,
		.entries = contents_count(&follower->source->contents),
		.behind = follower->source->target->behind,
		.acts = follower->source->target->acts,
	};

	if (follower->config.report && !follower->source->daemon->dry_run)
		publisher_report(follower->config.publisher, &report);
}

/* Before the contents are delivered that belong to it. */
static void set_position(struct follower *follower, const struct list_position *position)
{
	follower->here = *position;
	position_store(follower->source, follower->config.list, position);
}

static void set_limits(const struct follower *follower, struct list_limits *limits)
{
	const struct target *target = follower->source->target;

	*limits = (struct list_limits){
		.family = target->family,
		.hosts_only = target->type == IPCUCKOO_TYPE_HASH_IP,
		.most = follower->config.max_entries,
	};
}

static void note_left_out(struct follower *follower, uint64_t count)
{
	follower->left_out += count;
	if (!count || follower->warned)
		return;
	follower->warned = true;
	log_warning("[redis %s] entries of the list do not fit into the set %s, and are left out; a set with type = hash:net and family = any takes all of them",
		    follower->source->name, follower->source->target->name);
}

/* --- the snapshot --- */

static void forget_fresh(struct follower *follower)
{
	contents_free(&follower->contents);
	snapshot_forget(&follower->snapshot);
}

/* Return: true if there are, and then the connection is given up. */
static bool too_many(struct follower *follower, size_t count)
{
	char why[LIST_WHY_SIZE];

	if (count <= follower->config.max_entries)
		return false;
	snprintf(why, sizeof(why), "it has grown to more than %llu entries; allow more with max-entries",
		 (unsigned long long)follower->config.max_entries);
	give_up(follower, true, why);
	return true;
}

/* Snapshot and changes have been read: they are in force now. */
static void deliver_fresh(struct follower *follower)
{
	size_t before = contents_count(&follower->source->contents);

	if (too_many(follower, contents_purge(&follower->contents, now_seconds())))
		return;
	log_info("[redis %s] has %zu entries now, and had %zu before: change %llu of the list %s",
		 follower->source->name, contents_count(&follower->contents), before,
		 (unsigned long long)follower->fresh.seq, follower->config.list);
	follower->distrust = false;
	set_position(follower, &follower->fresh);
	trust(follower);
	source_deliver(follower->source, &follower->contents);
	report(follower);
	follower->step = FOLLOW;
	follow(follower);
}

static void end_snapshot(struct follower *follower)
{
	struct list_limits limits;
	char why[LIST_WHY_SIZE] = "its snapshot needs more memory than there is", text[400];
	int err;

	set_limits(follower, &limits);
	err = list_parse_snapshot(follower->snapshot.bytes.data, follower->snapshot.bytes.size,
				  &limits, &follower->contents, why);
	snapshot_forget(&follower->snapshot);
	if (err) {
		snprintf(text, sizeof(text), "its snapshot is wrong: %.200s; publish all of it again: ipcuckoo publish %s --file FILE",
			 why, follower->config.list);
		give_up(follower, true, text);
		return;
	}
	follower->left_out = 0;
	note_left_out(follower, limits.left_out);
	follower->fresh = follower->head.snapshot;
	follower->step = CATCH_UP;
	follow(follower);
}

static void on_piece(void *owner, const redisReply *reply);

static void ask_pieces(struct follower *follower)
{
	snapshot_ask(&follower->snapshot, follower->reader, follower->config.list, &follower->head,
		     on_piece);
}

static void on_piece(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;
	const char *wrong;

	if (!expect(follower, reply, reply->type == REDIS_REPLY_STRING &&
		    reply->len <= snapshot_room(&follower->snapshot)))
		return;
	wrong = snapshot_add(&follower->snapshot, reply->str, reply->len);
	if (wrong)
		give_up(follower, true, wrong);
	else if (snapshot_is_whole(&follower->snapshot))
		end_snapshot(follower);
	else
		ask_pieces(follower);
}

static void begin_snapshot(struct follower *follower)
{
	char why[LIST_WHY_SIZE];

	forget_fresh(follower);
	if (follower->head.bytes > follower->config.max_size) {
		snprintf(why, sizeof(why), "its snapshot has %llu bytes; allow more with max-size",
			 (unsigned long long)follower->head.bytes);
		give_up(follower, true, why);
		return;
	}
	follower->step = SNAPSHOT;
	if (follower->head.bytes)
		ask_pieces(follower);
	else
		end_snapshot(follower);
}

/* --- the head --- */

static void on_again(void *data)
{
	ask_head(data);
}

/* If the head says that nothing is new, what is in force is what the list has. Until the server has
 * shown the stream, take_silence() does this.
 */
static void confirm(struct follower *follower)
{
	if (!follower->streams || follower->head.seq != follower->here.seq)
		return;
	trust(follower);
	source_confirm(follower->source);
	report(follower);
}

static void on_position(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;
	const redisReply *entry, *fields;
	uint64_t seq = 0;

	if (!expect(follower, reply, reply->type == REDIS_REPLY_ARRAY && reply->elements <= 1))
		return;
	entry = reply->elements ? reply->element[0] : NULL;
	fields = entry && entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 ?
		 entry->element[1] : NULL;
	if (fields && fields->type == REDIS_REPLY_ARRAY && fields->elements >= 2 &&
	    fields->element[1]->type == REDIS_REPLY_STRING &&
	    list_number(fields->element[1]->str, fields->element[1]->len, &seq) &&
	    seq == follower->here.seq) {
		confirm(follower);
		follow(follower);
		return;
	}
	log_info("[redis %s] the change that is in force here, %llu, is not in the stream any more: the snapshot is read",
		 follower->source->name, (unsigned long long)follower->here.seq);
	begin_snapshot(follower);
}

static void ask_position(struct follower *follower)
{
	follower->step = POSITION;
	conn_send(follower->reader, on_position, 0, "XRANGE " LIST_KEY "changes %s %s",
		  follower->config.list, follower->here.id, follower->here.id);
}

/* Whether the snapshot lacks half of the changes that the stream keeps. What is in force here can
 * replace it only if the set takes all entries of the list.
 */
static bool needs_renewal(const struct follower *follower)
{
	const struct target *target = follower->source->target;

	return follower->config.publish && !follower->source->daemon->dry_run &&
	       !follower->left_out &&
	       target->type == IPCUCKOO_TYPE_HASH_NET && target->family == IPCUCKOO_FAMILY_ANY &&
	       follower->here.seq > follower->head.snapshot.seq &&
	       follower->here.seq - follower->head.snapshot.seq > follower->config.keep / 2;
}

/* A firewall that is new would not take a snapshot that is too large, and would have nothing. The
 * old snapshot and the changes behind it are the same list.
 */
static bool may_renew(struct follower *follower, size_t size)
{
	bool may = size <= follower->config.max_size;
	char *warning;

	if (!may && !follower->too_large) {
		warning = need_text("the snapshot of the list %s in Redis is not renewed: it would have %zu bytes, and max-size allows %llu; raise max-size on all firewalls, or delete entries, before the stream of changes is full",
				    follower->config.list, size,
				    (unsigned long long)follower->config.max_size);
		source_set_warning(follower->source, warning);
		log_error("[redis %s] %s", follower->source->name, follower->source->warning);
	} else if (may && follower->too_large) {
		source_set_warning(follower->source, NULL);
	}
	follower->too_large = !may;
	return may;
}

static void renew(struct follower *follower)
{
	struct list_bytes bytes = { 0 };

	follower->renew_due = false;
	if (follower->distrust || !needs_renewal(follower))
		return;
	if (!list_pack_snapshot(&bytes, &follower->source->contents, now_seconds()) &&
	    may_renew(follower, bytes.size))
		publisher_renew(follower->config.publisher, &bytes, &follower->here,
				follower->head.snapshot.version);
	else
		free(bytes.data);
	/* Until the head is read again */
	follower->head.snapshot.seq = follower->here.seq;
}

static void on_renew(void *data)
{
	struct follower *follower = data;

	follower->renew_due = true;
}

/* Somebody else may do it before: the head says that. */
static void renew_later(struct follower *follower)
{
	if (!follower->renew_due && needs_renewal(follower) && follower->head.snapshot.seq)
		timer_start(follower->source->daemon->event, &follower->renew, random_upto(RENEW_MS),
			    on_renew, follower);
}

/* The list here is newer than the one of the server. */
static void on_role_of_older(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;
	const char *role = conn_role(reply);

	if (role && !strcmp(role, "master")) {
		log_info("[redis %s] the primary has gone back to change %llu of the list %s, from %llu: the snapshot is read",
			 follower->source->name, (unsigned long long)follower->head.seq,
			 follower->config.list, (unsigned long long)follower->here.seq);
		begin_snapshot(follower);
		return;
	}
	follower->older = true;
	conn_fail(follower->reader,
		  "is behind: it has change %llu of the list %s, and %llu is in force here%s",
		  (unsigned long long)follower->head.seq, follower->config.list,
		  (unsigned long long)follower->here.seq,
		  role ? "" : CONN_ALLOW_ROLE);
}

static void no_list(struct follower *follower)
{
	uint64_t seconds = follower->config.heartbeat;

	source_fail(follower->source,
		    "there is no list %s in Redis at %s; if it was lost there, or was never there, publish all of it: ipcuckoo publish %s --file FILE",
		    follower->config.list, conn_server(follower->reader), follower->config.list);
	timer_start(follower->source->daemon->event, &follower->again,
		    (seconds < AGAIN_MOST ? seconds : AGAIN_MOST) * 1000, on_again, follower);
}

static void on_role_of_listless(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;

	if (!conn_leave_listless(follower->reader, reply, follower->config.list))
		no_list(follower);
}

static void ask_role(struct follower *follower, conn_reply_fn *answered)
{
	follower->step = PRIMARY;
	conn_send(follower->reader, answered, 0, "ROLE");
}

static void judge_head(struct follower *follower)
{
	const struct list_head *head = &follower->head;
	bool older = head->seq < follower->here.seq;

	if (follower->renew_due)
		renew(follower);
	if (older && !follower->accepted) {
		ask_role(follower, on_role_of_older);
	} else if (follower->distrust || older) {
		begin_snapshot(follower);
	} else if (position_is_same(&follower->here, &head->snapshot)) {
		confirm(follower);
		follow(follower);
	} else {
		ask_position(follower);
	}
}

static void on_head(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;
	const char *text[LIST_HEAD_FIELDS] = { NULL };
	size_t len[LIST_HEAD_FIELDS] = { 0 };
	char why[LIST_WHY_SIZE];
	const redisReply *field;
	size_t i;
	int err;

	if (!expect(follower, reply, reply->type == REDIS_REPLY_ARRAY &&
		    reply->elements == LIST_HEAD_FIELDS))
		return;
	for (i = 0; i < LIST_HEAD_FIELDS; i++) {
		field = reply->element[i];
		if (!expect(follower, field, field->type == REDIS_REPLY_STRING ||
			    field->type == REDIS_REPLY_NIL))
			return;
		if (field->type == REDIS_REPLY_STRING) {
			text[i] = field->str;
			len[i] = field->len;
		}
	}
	err = list_parse_head(text, len, &follower->head, why);
	if (err == -ENOENT)
		ask_role(follower, on_role_of_listless);
	else if (err)
		give_up(follower, true, why);
	else
		judge_head(follower);
}

static void ask_head(struct follower *follower)
{
	follower->step = HEAD;
	if (follower->asked_at != now_seconds())
		follower->asked = 0;
	follower->asked_at = now_seconds();
	if (++follower->asked > HEADS_MOST)
		give_up(follower, true, "its answers contradict each other; is that Redis?");
	ask_clock(follower);
	conn_send(follower->reader, on_head, 0, "HMGET " LIST_KEY "head " LIST_HEAD_NAMES,
		  follower->config.list);
}

/* --- the stream --- */

/* Read the entries of a reply to XREAD. Return: whether all is right. */
static bool read_batch(struct follower *follower, const redisReply *reply,
		       struct stream_batch *batch)
{
	const redisReply *entries = stream_entries(reply);
	char why[LIST_WHY_SIZE], text[600];
	struct list_limits limits;
	const char *wrong;

	if (!expect(follower, reply, entries))
		return false;
	set_limits(follower, &limits);
	wrong = stream_read(batch, entries, &limits, why);
	if (wrong) {
		snprintf(text, sizeof(text), "a change behind number %llu is wrong: %.200s; publish all of it again: ipcuckoo publish %s --file FILE",
			 (unsigned long long)batch->at.seq, wrong, follower->config.list);
		give_up(follower, true, text);
		return false;
	}
	note_left_out(follower, limits.left_out);
	return true;
}

static int apply_fresh(struct follower *follower, const struct list_changes *changes)
{
	const struct member *member;
	size_t i;
	int err = 0;

	for (i = 0; i < changes->count && !err; i++) {
		member = &changes->at[i].member;
		if (changes->at[i].del)
			contents_del(&follower->contents, member->kind, member->entry);
		else
			err = contents_add(&follower->contents, member);
	}
	return err;
}

/* Whether changes make too many entries of those in force. Most are far from that: then it is not
 * looked at each of them.
 */
static bool are_too_many(struct follower *follower, const struct list_changes *changes)
{
	struct contents *contents = &follower->source->contents;

	if (contents_count(contents) + changes->count <= follower->config.max_entries)
		return false;
	contents_purge(contents, now_seconds());
	return too_many(follower, source_count_after(contents, changes->at, changes->count));
}

/* Remove expired entries: not often, because that looks at all entries. */
static void purge(struct follower *follower, bool now)
{
	uint32_t at = now_seconds();

	if (!now && follower->purged_at <= at && at - follower->purged_at < follower->config.heartbeat)
		return;
	follower->purged_at = at;
	contents_purge(&follower->source->contents, at);
}

/* Changes of the list that is in force. */
static void take_changes(struct follower *follower, struct stream_batch *batch)
{
	purge(follower, false);
	if (are_too_many(follower, &batch->changes))
		return;
	trust(follower);
	/* If some of the changes are missing then, all come again: twice is like once. */
	if (source_change(follower->source, batch->changes.at, batch->changes.count, batch->atomic)) {
		give_up(follower, true, "there is not enough memory for its changes");
		return;
	}
	set_position(follower, &batch->at);
	position_note_lag(follower->source, &follower->here);
	report(follower);
	renew_later(follower);
}

static void give_up_gap(struct follower *follower)
{
	give_up(follower, true, "changes behind its snapshot are missing; publish all of it again");
}

/* There are changes that the stream does not have. */
static void miss_changes(struct follower *follower)
{
	log_info("[redis %s] changes behind number %llu are missing in the stream: the snapshot is read",
		 follower->source->name, (unsigned long long)follower->here.seq);
	follower->distrust = true;
}

/* @missing: the batch is empty, because the next change is missing in the stream. */
static void take_batch(struct follower *follower, struct stream_batch *batch, bool missing)
{
	bool fresh = follower->step == CATCH_UP;

	follower->streams = true;
	if (fresh && apply_fresh(follower, &batch->changes)) {
		give_up(follower, true, "there is not enough memory for its changes");
		return;
	}
	/* Changes behind these may delete some. */
	if (fresh && contents_count(&follower->contents) / 2 > follower->config.max_entries &&
	    too_many(follower, SIZE_MAX))
		return;
	if (fresh)
		follower->fresh = batch->at;
	else if (batch->at.seq != follower->here.seq)
		take_changes(follower, batch);
	if (!conn_is_ready(follower->reader))
		return;
	if (!missing && !batch->replaced) {
		/* Do not wait for silence: a busy list has none. */
		if (fresh && follower->fresh.seq >= follower->head.seq)
			deliver_fresh(follower);
		else if (follower->renew_due && !fresh)
			ask_head(follower);
		else
			follow(follower);
		return;
	}
	/* The snapshot was read just now: to read it again at once would lead here again. */
	if (missing && fresh) {
		give_up_gap(follower);
		return;
	}
	if (missing)
		miss_changes(follower);
	follower->distrust = true;
	ask_head(follower);
}

/* Nothing is behind the last change that was read. */
static void take_silence(struct follower *follower)
{
	bool first = !follower->streams;

	follower->streams = true;
	if (follower->step != CATCH_UP) {
		purge(follower, true);
		/* The head was read before: its changes would have come. */
		if (follower->head.seq > follower->here.seq)
			miss_changes(follower);
		if (first && !follower->distrust) {
			confirm(follower);
			follow(follower);
		} else {
			ask_head(follower);
		}
	} else if (follower->fresh.seq >= follower->head.seq) {
		deliver_fresh(follower);
	} else {
		give_up_gap(follower);
	}
}

static void on_changes(void *owner, const redisReply *reply)
{
	struct follower *follower = owner;
	struct stream_batch batch = {
		.at = follower->step == CATCH_UP ? follower->fresh : follower->here,
	};
	uint64_t before = batch.at.seq;

	if (reply->type == REDIS_REPLY_NIL) {
		take_silence(follower);
		return;
	}
	if (read_batch(follower, reply, &batch))
		take_batch(follower, &batch, batch.at.seq == before && !batch.replaced);
	stream_free(&batch);
}

/* Ask for changes. While it catches up, and the first time, without waiting for them. */
static void follow(struct follower *follower)
{
	const char *list = follower->config.list;
	uint64_t seconds = follower->config.heartbeat, ms;

	if (follower->step == CATCH_UP) {
		conn_send(follower->reader, on_changes, 0, READ "STREAMS " LIST_KEY "changes %s", list,
			  follower->fresh.id);
		return;
	}
	follower->step = FOLLOW;
	ask_clock(follower);
	/* Not all firewalls ask in the same moment when nothing has changed. */
	ms = seconds * 1000 - random_upto(seconds * 250);
	if (follower->streams)
		conn_send(follower->reader, on_changes, seconds,
			  READ "BLOCK %llu STREAMS " LIST_KEY "changes %s", (unsigned long long)ms, list,
			  follower->here.id);
	else
		conn_send(follower->reader, on_changes, 0, READ "STREAMS " LIST_KEY "changes %s", list,
			  follower->here.id);
}

/* --- the connection --- */

static void on_ready(void *owner)
{
	struct follower *follower = owner;

	timer_stop(&follower->again);
	forget_fresh(follower);
	follower->streams = false;
	ask_head(follower);
}

static void on_lost(void *owner, const char *why)
{
	struct follower *follower = owner;

	timer_stop(&follower->again);
	forget_fresh(follower);
	clock_forget(&follower->clock, follower->source);
	follower->step = AWAY;
	source_fail(follower->source, "%s; it is tried again, at least every 30 seconds%s%s", why,
		    follower->older ? "; if the list was published anew or restored, take it with: ipcuckood accept " : "",
		    follower->older ? follower->source->name : "");
}

void follower_start(struct follower *follower, struct source *source,
		    const struct follower_config *config)
{
	const struct conn_user user = { follower, on_ready, on_lost };

	follower->source = source;
	follower->config = *config;
	if (!position_load(source, config->list, &follower->here))
		follower->distrust = true;
	follower->reader = conn_open(source->daemon->event, config->conn, false, &user);
}

void follower_stop(struct follower *follower)
{
	conn_close(follower->reader);
	follower->reader = NULL;
	timer_stop(&follower->again);
	timer_stop(&follower->renew);
	forget_fresh(follower);
	clock_forget(&follower->clock, follower->source);
}

void follower_distrust(struct follower *follower, bool accept)
{
	follower->distrust = true;
	follower->accepted = accept;
}

const char *follower_server(const struct follower *follower)
{
	return follower->reader ? conn_server(follower->reader) : NULL;
}
