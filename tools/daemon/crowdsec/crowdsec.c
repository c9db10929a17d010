// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bouncer of CrowdSec: it asks the Local API for all decisions once, and then every few seconds
 * for what is new and what has ended.
 *
 * The Local API notes when each bouncer asked last, and sends what has changed since. It notes that
 * also if its answer never arrives; so after each failure, all decisions are asked for again. Two
 * more cases need that: the Local API leaves out a decision that it was still writing while it
 * answered, which happens when it writes many; and somebody else may ask with the same key. So all
 * decisions are asked for again after many new ones, and from time to time ("resync"). They are
 * compared with what is in force, and only the difference changes the set.
 *
 * When CrowdSec gets a list anew, it deletes older decisions about the same addresses from its
 * database without a word. Whoever deletes the decision that is left there unbans the address, but
 * here the older one remains. So all decisions are asked for again after a decision was deleted
 * whose entry has another one.
 *
 * By default the Local API sends only the longest of several decisions about an address, and says
 * nothing when that is deleted and a shorter one remains. "dedup=false" asks for all of them.
 */
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/conf/secret.h"
#include "daemon/crowdsec/answer.h"
#include "daemon/crowdsec/crowdsec.h"
#include "daemon/crowdsec/decisions.h"
#include "daemon/crowdsec/enforce.h"
#include "daemon/crowdsec/lapi.h"
#include "daemon/crowdsec/usage.h"

/* After a failure: first and longest wait, in seconds. The interval may be shorter, or longer. */
#define RETRY_LEAST	5
#define RETRY_MOST	60

/* So many new decisions at once are an import. */
#define IMPORT_LEAST	100

/* If half of at least so many entries is missing, CrowdSec is asked a second time, after this. */
#define DOUBT_LEAST	100
#define DOUBT_MS	2000

/* What has expired is removed from memory at most once in this many seconds. */
#define PURGE_SECONDS	60

/* If the clock jumps by more than this, somebody has set it. */
#define CLOCK_MS	5000

/* A decision that ends when it would have lasted so many seconds more was deleted. */
#define DELETED_SECONDS	10

#define NS_PER_SECOND	1000000000ll

/* Why decisions are left out. */
enum left_out { LEFT_TYPE, LEFT_WRONG, LEFT_UNFIT, LEFT_OUTS };

/**
 * struct crowdsec_source - a Local API
 *
 * Read from the configuration:
 * @lapi:	where it is, and how to ask it
 * @interval:	seconds between two requests
 * @resync:	seconds between two requests for all decisions
 * @origins, @with, @without: which decisions to ask for; NULL: all
 * @types:	types of decisions that are taken
 * @comment_from: what the comments of entries are: enum comment_from
 * @metrics_every: seconds between two usage metrics; 0: none are sent
 * @max_size:	maximum number of bytes of an answer
 * @max_entries: maximum number of decisions
 *
 * The rest:
 * @fetch:	the request that runs; NULL if there is none
 * @timer:	begins the next one
 * @due_at:	when that is, in seconds since 1970
 * @fails:	number of failures since the last good answer
 * @answer:	what arrives
 * @asked_at:	when it was asked for, in seconds since 1970
 * @whole:	it has all decisions
 * @synced:	changes are enough; otherwise all decisions have to come
 * @whole_at:	when all decisions were asked for, in seconds since 1970; 0: never
 * @offset:	how far the clock was ahead of the time since boot then, in milliseconds
 * @import:	the last answer had many new decisions
 * @doubted:	the last answer with all decisions had so few that it was not believed
 * @now:	the decisions that are in force
 * @labels:	where they are from
 * @new, @gone:	decisions in the answer that arrives
 * @new_labels:	where @new are from; the same as @labels if it has only changes
 * @parsed:	entries of the decision that is read
 * @stop:	why the answer is not read to its end; NULL if it is not so
 * @left_out:	number of decisions that were left out, by enum left_out
 * @warned:	a warning about them was logged, a bit for each
 * @size:	bytes of the last answer
 * @purged_at:	when expired entries were removed, in seconds since 1970
 * @usage:	reports; NULL if there are none
 */
struct crowdsec_source {
	struct source source;
	struct lapi lapi;
	uint64_t interval;
	uint64_t resync;
	char **origins;
	char **with;
	char **without;
	char **types;
	int comment_from;
	uint64_t metrics_every;
	uint64_t max_size;
	uint64_t max_entries;

	struct fetch *fetch;
	struct timer timer;
	uint32_t due_at;
	unsigned int fails;
	struct answer *answer;
	uint32_t asked_at;
	bool whole;
	bool synced;
	uint32_t whole_at;
	int64_t offset;
	bool import;
	bool doubted;
	struct decisions now;
	struct labels *labels;
	struct decisions new;
	struct decisions gone;
	struct labels *new_labels;
	struct packed parsed;
	const char *stop;
	uint64_t left_out[LEFT_OUTS];
	unsigned int warned;
	uint64_t size;
	uint32_t purged_at;
	struct usage *usage;
};

static const struct meaning comments[] = {
	{ "none", COMMENT_NONE }, { "origin", COMMENT_ORIGIN }, { "scenario", COMMENT_SCENARIO },
	{ NULL, 0 }
};

#define FIELD(name)	.offset = offsetof(struct crowdsec_source, name)

static const struct config_key crowdsec_keys[] = {
	{ "url", KEY_TEXT, FIELD(lapi.url), .preset = "http://127.0.0.1:8080" },
	{ "key-file", KEY_SECRET, FIELD(lapi.key_file) },
	{ "tls-ca", KEY_FILE, FIELD(lapi.ca_file) },
	{ "tls-cert", KEY_FILE, FIELD(lapi.cert_file) },
	{ "tls-key", KEY_SECRET, FIELD(lapi.tls_key_file) },
	{ "interval", KEY_TIME, FIELD(interval), .preset = "10s", .least = 1, .most = 3600 },
	{ "resync", KEY_TIME, FIELD(resync), .preset = "1h", .least = 1, .most = 7 * 86400 },
	{ "origins", KEY_LIST, FIELD(origins) },
	{ "scenarios-containing", KEY_LIST, FIELD(with) },
	{ "scenarios-not-containing", KEY_LIST, FIELD(without) },
	{ "types", KEY_LIST, FIELD(types), .preset = "ban" },
	{ "comment-from", KEY_WORD, FIELD(comment_from), .preset = "none", .words = comments },
	{ "metrics-every", KEY_TIME, FIELD(metrics_every), .preset = "30m", .most = 7 * 86400 },
	{ "max-size", KEY_SIZE, FIELD(max_size), .preset = "512M", .least = 1 },
	{ "max-entries", KEY_NUMBER, FIELD(max_entries), .preset = "1000000", .least = 1,
	  .most = 1u << 28 },
	{ "connect-time", KEY_TIME, FIELD(lapi.connect_time), .preset = "15s", .least = 1,
	  .most = 3600 },
	{ "time", KEY_TIME, FIELD(lapi.time), .preset = "10m", .least = 1, .most = 86400 },
	{ "slow-time", KEY_TIME, FIELD(lapi.slow_time), .preset = "2m", .least = 1,
	  .most = 86400 },
	{ NULL }
};

static struct crowdsec_source *crowdsec_of(struct source *source)
{
	return (struct crowdsec_source *)source;
}

static void check_crowdsec(struct source *source, struct section *section)
{
	const struct crowdsec_source *crowdsec = crowdsec_of(source);

	lapi_check(&crowdsec->lapi, section);
	if (source->timeout)
		section_fault(section, "timeout",
			      "decisions of CrowdSec have durations of their own; set them in its profiles.yaml");
	if (source->comment && crowdsec->comment_from)
		section_fault(section, "comment",
			      "comment and comment-from do not go together; leave one of them out");
}

/* --- reading an answer --- */

static const char *const left_out_texts[LEFT_OUTS] = {
	[LEFT_TYPE] = "decisions of the type %s are left out; to take them, name it behind: types = ban",
	[LEFT_WRONG] = "a decision is left out: %s",
	[LEFT_UNFIT] = "decisions do not fit into the set and are left out, such as %s; a set with type = hash:net and family = any takes all of them",
};

/* Count a decision that is left out, and say so once. Return: 0. */
static int leave_out(struct crowdsec_source *crowdsec, const struct answer_decision *decision,
		     enum left_out reason, const char *text, const char *why)
{
	char quoted[64], message[320], what[240];

	/* What has ended was counted when it was new. */
	if (decision->deleted)
		return 0;
	crowdsec->left_out[reason]++;
	if (crowdsec->warned & 1u << reason)
		return 0;
	crowdsec->warned |= 1u << reason;
	address_quote(quoted, sizeof(quoted), text, strlen(text));
	snprintf(what, sizeof(what), "\"%s\"%s%s", quoted, why ? ": " : "", why ? why : "");
	snprintf(message, sizeof(message), left_out_texts[reason], what);
	log_warning("[crowdsec %s] %s", crowdsec->source.name, message);
	return 0;
}

static bool is_wanted_type(const struct crowdsec_source *crowdsec, const char *type)
{
	size_t i;

	for (i = 0; crowdsec->types[i]; i++)
		if (!strcasecmp(crowdsec->types[i], type))
			return true;
	return false;
}

/* The second at which a decision ends that lasts @ns from now on; not before it does. */
static uint32_t end_of(int64_t ns)
{
	struct timespec now;
	int64_t end;

	clock_gettime(CLOCK_REALTIME, &now);
	if (__builtin_add_overflow(now.tv_sec * NS_PER_SECOND + now.tv_nsec + NS_PER_SECOND - 1, ns,
				   &end))
		return UINT32_MAX;
	end /= NS_PER_SECOND;
	return end < UINT32_MAX ? end : UINT32_MAX;
}

/* Add a decision for each entry of its range. Return: 0 or a negative errno. */
static int add_decision(struct crowdsec_source *crowdsec, const struct address_range *range,
			struct decision *decision, struct decisions *list)
{
	bool hosts_only = crowdsec->source.target->type == IPCUCKOO_TYPE_HASH_IP;
	struct packed *parsed = &crowdsec->parsed;
	struct entry_ref ref;
	int err;

	packed_clear(parsed);
	err = packed_add_range(parsed, range, hosts_only);
	if (!err && list->count + packed_count(parsed) > crowdsec->max_entries)
		err = -EFBIG;
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < parsed->kind[ref.kind].count && !err; ref.index++) {
			decision->kind = ref.kind;
			memset(decision->entry, 0, sizeof(decision->entry));
			memcpy(decision->entry, entry_at(parsed, ref), entry_size[ref.kind]);
			err = decisions_add(list, decision);
		}
	}
	if (err)
		crowdsec->stop = err == -EFBIG ?
			"has more decisions than max-entries allows; if that is right, raise it" :
			"has more decisions than there is memory for";
	return err;
}

/* A decision of the answer. */
static int take_decision(void *owner, const struct answer_decision *from)
{
	struct crowdsec_source *crowdsec = owner;
	struct feed limits = { 0 };
	struct address_range range;
	struct decision decision = { .id = from->id };
	char why[ADDRESS_WHY_SIZE];
	int64_t ns = 0;

	/* Whoever asks for all has none of those that have ended. */
	if (from->deleted && crowdsec->whole)
		return 0;
	if (strcasecmp(from->scope, "ip") && strcasecmp(from->scope, "range"))
		return leave_out(crowdsec, from, LEFT_WRONG, from->scope,
				 "that is none of the scopes that were asked for, ip and range");
	if (!is_wanted_type(crowdsec, from->type))
		return leave_out(crowdsec, from, LEFT_TYPE, from->type, NULL);
	if (address_parse(from->value, strlen(from->value), &range, why))
		return leave_out(crowdsec, from, LEFT_WRONG, from->value, why);
	if (!from->id)
		return leave_out(crowdsec, from, LEFT_WRONG, from->value, "it has no id");
	target_prepare(crowdsec->source.target, &limits);
	if (address_fit(&range, limits.family, why) ||
	    (limits.hosts_only && address_count(&range) > limits.expand_limit))
		return leave_out(crowdsec, from, LEFT_UNFIT, from->value, NULL);
	if (from->deleted)
		return add_decision(crowdsec, &range, &decision, &crowdsec->gone);
	if (!answer_parse_duration(from->duration, &ns))
		return leave_out(crowdsec, from, LEFT_WRONG, from->duration,
				 "that is no duration such as 3h59m57.1s");
	if (ns <= 0)
		return 0;
	decision.expires = end_of(ns);
	decision.label = labels_add(crowdsec->new_labels, from->origin, from->scenario);
	return add_decision(crowdsec, &range, &decision, &crowdsec->new);
}

static bool take_data(void *owner, const char *data, size_t len)
{
	struct crowdsec_source *crowdsec = owner;

	return answer_push(crowdsec->answer, data, len);
}

static void forget_answer(struct crowdsec_source *crowdsec)
{
	answer_free(crowdsec->answer);
	crowdsec->answer = NULL;
	crowdsec->stop = NULL;
	decisions_free(&crowdsec->new);
	decisions_free(&crowdsec->gone);
	packed_free(&crowdsec->parsed);
	if (crowdsec->new_labels != crowdsec->labels)
		labels_free(crowdsec->new_labels);
	crowdsec->new_labels = NULL;
}

/* --- what is in force --- */

/* Expired entries are not in the kernel any more. */
static void purge(struct crowdsec_source *crowdsec)
{
	static const struct decisions none;
	uint32_t now = now_seconds();

	if (crowdsec->purged_at <= now && now - crowdsec->purged_at < PURGE_SECONDS)
		return;
	crowdsec->purged_at = now;
	decisions_remove(&crowdsec->now, &none, now);
	contents_purge(&crowdsec->source.contents, now);
}

/* The contents become what the decisions say. Return: 0 or -ENOMEM. */
static int change_contents(struct crowdsec_source *crowdsec, const struct decisions *touched)
{
	uint32_t now = now_seconds(), asked_at = crowdsec->asked_at;
	const struct enforcement what = {
		.now = &crowdsec->now, .labels = crowdsec->labels,
		.comment = crowdsec->comment_from, .spread = now > asked_at ? now - asked_at : 0,
	};

	return enforce(&crowdsec->source, &what, touched);
}

/* All decisions have arrived. Return: 0 or -ENOMEM. */
static int take_whole(struct crowdsec_source *crowdsec)
{
	decisions_sort(&crowdsec->new);
	decisions_free(&crowdsec->now);
	crowdsec->now = crowdsec->new;
	memset(&crowdsec->new, 0, sizeof(crowdsec->new));
	labels_free(crowdsec->labels);
	crowdsec->labels = crowdsec->new_labels;
	return change_contents(crowdsec, NULL);
}

/* New decisions, and some that have ended: a decision in both lists has ended. Return: 0 or
 * -ENOMEM.
 */
static int take_changes(struct crowdsec_source *crowdsec)
{
	struct decisions *new = &crowdsec->new, *gone = &crowdsec->gone;
	size_t i;
	int err;

	decisions_sort(new);
	decisions_sort(gone);
	err = decisions_merge(&crowdsec->now, new);
	if (err)
		return err;
	if (decisions_outlived(&crowdsec->now, gone, now_seconds() + DELETED_SECONDS))
		crowdsec->synced = false;
	decisions_remove(&crowdsec->now, gone, now_seconds());
	/* All entries that are touched */
	for (i = 0; i < new->count && !err; i++)
		err = decisions_add(gone, &new->at[i]);
	if (err)
		return err;
	decisions_sort(gone);
	return change_contents(crowdsec, gone);
}

/* --- requests --- */

static void on_due(void *data);

static void schedule(struct crowdsec_source *crowdsec, uint64_t ms)
{
	crowdsec->due_at = now_seconds() + ms / 1000;
	timer_start(crowdsec->source.daemon->event, &crowdsec->timer, ms, on_due, crowdsec);
}

/* The next request; many firewalls that were started together do not ask together for long. */
static void schedule_next(struct crowdsec_source *crowdsec)
{
	uint64_t ms = crowdsec->interval * 1000;

	schedule(crowdsec, ms - random_upto(ms / 10));
}

/* The answer may have been lost, so all decisions have to come. */
static void give_up(struct crowdsec_source *crowdsec, const char *why)
{
	char *shown = url_shown(crowdsec->lapi.url);
	uint64_t interval = crowdsec->interval;

	crowdsec->synced = false;
	crowdsec->doubted = false;
	source_fail(&crowdsec->source, "%s %s; it is asked again, at least every %llu seconds",
		    shown, why,
		    (unsigned long long)(interval > RETRY_MOST ? interval : RETRY_MOST));
	free(shown);
	schedule(crowdsec, backoff_ms(++crowdsec->fails,
				      interval < RETRY_LEAST ? interval : RETRY_LEAST,
				      interval > RETRY_MOST ? interval : RETRY_MOST));
}

/* A Local API whose database fails in the middle of an answer may end it as if that was all. */
static bool is_doubtful(const struct crowdsec_source *crowdsec)
{
	size_t before = contents_count(&crowdsec->source.contents);

	return crowdsec->whole && !crowdsec->doubted && !crowdsec->source.daemon->dry_run &&
	       before >= DOUBT_LEAST && crowdsec->new.count < before / 2;
}

static void doubt(struct crowdsec_source *crowdsec)
{
	log_info("[crowdsec %s] has %zu decisions now, less than half of the %zu entries before: it is asked once more before that is believed",
		 crowdsec->source.name, crowdsec->new.count,
		 contents_count(&crowdsec->source.contents));
	crowdsec->doubted = true;
	crowdsec->synced = false;
	schedule(crowdsec, DOUBT_MS);
}

/* An answer that is complete. Return: what is wrong with it, or NULL. */
static const char *take_answer(struct crowdsec_source *crowdsec)
{
	size_t count = crowdsec->new.count;
	int err;

	crowdsec->size = answer_size(crowdsec->answer);
	if (!crowdsec->whole && crowdsec->now.count + count > crowdsec->max_entries)
		return "has more decisions than max-entries allows; if that is right, raise it";
	purge(crowdsec);
	if (is_doubtful(crowdsec)) {
		doubt(crowdsec);
		return NULL;
	}
	crowdsec->fails = 0;
	crowdsec->doubted = false;
	crowdsec->synced = true;
	schedule_next(crowdsec);
	err = crowdsec->whole ? take_whole(crowdsec) : take_changes(crowdsec);
	if (err)
		return "has more decisions than there is memory for";
	/* When an import is over, ask for what the answers left out meanwhile. */
	if (!crowdsec->whole && crowdsec->import && count < IMPORT_LEAST)
		crowdsec->synced = false;
	crowdsec->import = !crowdsec->whole && count >= IMPORT_LEAST;
	return NULL;
}

static void end_answer(void *owner, const struct fetch_result *result)
{
	struct crowdsec_source *crowdsec = owner;
	char why[LAPI_WHY_SIZE] = "";
	const char *wrong = why;

	crowdsec->fetch = NULL;
	if (crowdsec->stop)
		wrong = crowdsec->stop;
	else if (answer_why(crowdsec->answer)[0])
		wrong = answer_why(crowdsec->answer);
	else if (!result->good || result->unchanged)
		lapi_explain(&crowdsec->lapi, result, why);
	else if (!answer_end(crowdsec->answer))
		wrong = answer_why(crowdsec->answer);
	else
		wrong = take_answer(crowdsec);
	if (wrong) {
		purge(crowdsec);
		give_up(crowdsec, wrong);
	}
	forget_answer(crowdsec);
}

/* Add a parameter to a path. */
static void add_list(char **path, const char *name, char *const *words)
{
	char *list = lapi_escape_list(words);

	if (words)
		need_more(path, "&%s=%s", name, list);
	free(list);
}

/* What to ask for. A dry run asks for the list: whoever asks for the stream has the Local API note
 * that, and the daemon that runs with the same key would miss what had changed until then.
 */
static char *make_path(const struct crowdsec_source *crowdsec)
{
	char *path;

	if (crowdsec->source.daemon->dry_run)
		path = need_copy("/v1/decisions?scopes=ip%2Crange");
	else
		path = need_text("/v1/decisions/stream?startup=%s&scopes=ip%%2Crange&dedup=false",
				 crowdsec->whole ? "true" : "false");
	add_list(&path, "origins", crowdsec->origins);
	add_list(&path, "scenarios_containing", crowdsec->with);
	add_list(&path, "scenarios_not_containing", crowdsec->without);
	return path;
}

/* If the clock was set, the seconds at which decisions end are wrong. */
static bool is_whole_due(const struct crowdsec_source *crowdsec)
{
	return !crowdsec->synced || now_seconds() - crowdsec->whole_at >= crowdsec->resync ||
	       llabs(clock_ahead_ms() - crowdsec->offset) > CLOCK_MS;
}

static void begin_answer(struct crowdsec_source *crowdsec)
{
	forget_answer(crowdsec);
	crowdsec->asked_at = now_seconds();
	crowdsec->whole = is_whole_due(crowdsec);
	crowdsec->new_labels = crowdsec->labels;
	if (crowdsec->whole) {
		crowdsec->whole_at = crowdsec->asked_at;
		crowdsec->offset = clock_ahead_ms();
		crowdsec->new_labels = labels_new();
		memset(crowdsec->left_out, 0, sizeof(crowdsec->left_out));
	}
	crowdsec->answer = answer_new(crowdsec->source.daemon->dry_run, crowdsec->max_size,
				      take_decision, crowdsec);
}

static void ask(struct crowdsec_source *crowdsec)
{
	struct fetch_request request = {
		.data = take_data, .done = end_answer, .owner = crowdsec,
	};
	char why[LAPI_WHY_SIZE] = "cannot be asked: out of memory", *path;

	begin_answer(crowdsec);
	path = make_path(crowdsec);
	if (crowdsec->answer)
		crowdsec->fetch = lapi_ask(crowdsec->source.daemon, &crowdsec->lapi, path, NULL,
					   &request, why);
	free(path);
	if (crowdsec->fetch)
		return;
	give_up(crowdsec, why);
	forget_answer(crowdsec);
}

static void on_due(void *data)
{
	struct crowdsec_source *crowdsec = data;

	if (!crowdsec->fetch)
		ask(crowdsec);
}

/* --- the kind --- */

static void start_crowdsec(struct source *source)
{
	struct crowdsec_source *crowdsec = crowdsec_of(source);
	const struct usage_config config = {
		.daemon = source->daemon, .lapi = &crowdsec->lapi, .source = source->name,
		.every = crowdsec->metrics_every, .now = &crowdsec->now,
		.labels = &crowdsec->labels,
	};

	source->interval = crowdsec->interval;
	if (crowdsec->metrics_every && !source->daemon->dry_run)
		crowdsec->usage = usage_start(&config);
	schedule(crowdsec, 0);
}

static void stop_crowdsec(struct source *source)
{
	struct crowdsec_source *crowdsec = crowdsec_of(source);

	fetch_stop(crowdsec->fetch);
	crowdsec->fetch = NULL;
	crowdsec->synced = false;
	timer_stop(&crowdsec->timer);
	usage_stop(crowdsec->usage);
	crowdsec->usage = NULL;
	forget_answer(crowdsec);
}

/* LAPI says how long decisions last. When they end was computed with the clock as it was, and has to
 * be corrected. Decisions that were stored in an earlier run are replaced by the next answer, which
 * has all of them.
 */
static void set_clock(struct source *source, int64_t seconds)
{
	struct crowdsec_source *crowdsec = crowdsec_of(source);

	decisions_shift(&crowdsec->new, seconds);
	if (!source->good_here)
		return;
	decisions_shift(&crowdsec->now, seconds);
	contents_shift(&source->contents, seconds);
}

static void free_crowdsec(struct source *source)
{
	struct crowdsec_source *crowdsec = crowdsec_of(source);

	decisions_free(&crowdsec->now);
	labels_free(crowdsec->labels);
}

static void show_crowdsec(const struct source *source, struct json_object *object)
{
	static const char *const names[LEFT_OUTS] = {
		[LEFT_TYPE] = "other_types",
		[LEFT_WRONG] = "wrong",
		[LEFT_UNFIT] = "left_out",
	};
	const struct crowdsec_source *crowdsec = (const struct crowdsec_source *)source;
	char *shown = url_shown(crowdsec->lapi.url);
	int i;

	json_add_string(object, "url", shown);
	free(shown);
	json_add_int(object, "next_at", crowdsec->due_at);
	json_add_int(object, "resync_at", crowdsec->whole_at);
	json_add_int(object, "decisions", crowdsec->now.count);
	json_add_int(object, "bytes", crowdsec->size);
	for (i = 0; i < LEFT_OUTS; i++)
		json_add_int(object, names[i], crowdsec->left_out[i]);
	json_add_string(object, "usage_metrics", usage_state(crowdsec->usage));
}

/* The decisions that are the reason for an entry */
static void explain_crowdsec(const struct source *source, const struct member *member,
			     struct json_object *object)
{
	const struct crowdsec_source *crowdsec = (const struct crowdsec_source *)source;
	struct json_object *array = json_object_new_array(), *one;
	const struct decision *at;
	const struct label *label;
	size_t count;

	at = decisions_find(&crowdsec->now, member->kind, member->entry, &count);
	for (; count--; at++) {
		label = labels_get(crowdsec->labels, at->label);
		one = json_object_new_object();
		json_add_int(one, "id", at->id);
		json_add_string(one, "origin", label->origin);
		json_add_string(one, "scenario", label->scenario);
		json_add_int(one, "expires", at->expires);
		json_object_array_add(array, one);
	}
	json_object_object_add(object, "decisions", array);
}

/* "refresh": ask for all decisions now. */
static char *do_command(struct source *source, const char *command, bool *done)
{
	struct crowdsec_source *crowdsec = crowdsec_of(source);

	*done = !strcmp(command, "refresh");
	if (!*done)
		return need_text("crowdsec %s: nothing waits to be accepted", source->name);
	fetch_stop(crowdsec->fetch);
	crowdsec->fetch = NULL;
	crowdsec->synced = false;
	ask(crowdsec);
	return need_text("crowdsec %s is asked for all decisions; ipcuckood status shows the result",
			 source->name);
}

const struct source_kind crowdsec_kind = {
	.word = "crowdsec",
	.size = sizeof(struct crowdsec_source),
	.keys = crowdsec_keys,
	.check = check_crowdsec,
	.start = start_crowdsec,
	.stop = stop_crowdsec,
	.show = show_crowdsec,
	.explain = explain_crowdsec,
	.command = do_command,
	.clock_set = set_clock,
	.free = free_crowdsec,
};
