// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/timer.h"
#include "daemon/crowdsec/usage.h"
#include "release.h"

/* CrowdSec may have been updated: ask again whether it takes metrics, after a day. */
#define AGAIN_SECONDS	86400

/**
 * struct usage - reports
 * @config:	whom to tell, and what
 * @started_at:	when this began, in seconds since 1970
 * @timer:	sends the next report
 * @fetch:	the request that runs; or NULL
 * @state:	"waiting" and so on
 */
struct usage {
	struct usage_config config;
	uint32_t started_at;
	struct timer timer;
	struct fetch *fetch;
	const char *state;
};

static const char waiting[] = "waiting", sent[] = "sent", failing[] = "failing";
static const char not_taken[] = "not taken";

static void on_due(void *data);

static void schedule(struct usage *usage)
{
	uint64_t seconds = usage->state == not_taken ? AGAIN_SECONDS : usage->config.every;

	timer_start(usage->config.daemon->event, &usage->timer, seconds * 1000, on_due, usage);
}

static void add_active(struct json_object *items, const char *origin, const char *family,
		       uint64_t count)
{
	struct json_object *item = json_object_new_object(), *labels = json_object_new_object();

	json_add_string(labels, "origin", origin);
	json_add_string(labels, "ip_type", family);
	json_add_string(item, "name", "active_decisions");
	json_add_string(item, "unit", "ip");
	json_add_int(item, "value", count);
	json_object_object_add(item, "labels", labels);
	json_object_array_add(items, item);
}

/* The number of the first label with the same origin; lists have a name, too. */
static size_t first_label(const struct labels *labels, size_t number)
{
	const struct label *label = labels_get(labels, number), *other;
	size_t i;

	for (i = 0; i < number; i++) {
		other = labels_get(labels, i);
		if (!strcmp(other->origin, label->origin) &&
		    (strcmp(label->origin, "lists") || !strcmp(other->scenario, label->scenario)))
			break;
	}
	return i;
}

/* Count the decisions that are in force, by origin and family. */
static void add_counts(const struct decisions *now, const struct labels *labels,
		       struct json_object *items)
{
	size_t count = labels_count(labels), i, first;
	uint64_t (*counts)[2] = need_zeros(count * sizeof(*counts));
	const struct label *label;
	char *origin;
	int v6;

	for (i = 0; i < now->count; i++)
		counts[now->at[i].label][is_v6(now->at[i].kind)]++;
	/* From the end: all with the same origin have been added when the first of them comes. */
	for (i = count; i-- > 0;) {
		first = first_label(labels, i);
		label = labels_get(labels, i);
		origin = strcmp(label->origin, "lists") ? need_copy(label->origin) :
							  need_text("lists:%s", label->scenario);
		for (v6 = 0; v6 < 2; v6++) {
			if (first < i)
				counts[first][v6] += counts[i][v6];
			else if (counts[i][v6])
				add_active(items, origin, v6 ? "ipv6" : "ipv4", counts[i][v6]);
		}
		free(origin);
	}
	free(counts);
}

/* The report: {"remediation_components": [{..., "metrics": [{"items": [...], "meta": {...}}]}]} */
static struct json_object *make_report(const struct usage *usage)
{
	struct json_object *report = json_object_new_object(), *metrics = json_object_new_object();
	struct json_object *bouncer = json_object_new_object(), *meta = json_object_new_object();
	struct json_object *items = json_object_new_array(), *list;

	if (*usage->config.labels)
		add_counts(usage->config.now, *usage->config.labels, items);
	json_add_int(meta, "utc_now_timestamp", now_seconds());
	json_add_int(meta, "window_size_seconds", usage->config.every);
	json_object_object_add(metrics, "items", items);
	json_object_object_add(metrics, "meta", meta);
	list = json_object_new_array();
	json_object_array_add(list, metrics);
	json_add_string(bouncer, "type", "ipcuckood");
	json_add_string(bouncer, "version", IPCUCKOO_VERSION);
	json_object_object_add(bouncer, "feature_flags", json_object_new_array());
	json_add_int(bouncer, "utc_startup_timestamp", usage->started_at);
	json_object_object_add(bouncer, "metrics", list);
	list = json_object_new_array();
	json_object_array_add(list, bouncer);
	json_object_object_add(report, "remediation_components", list);
	json_object_object_add(report, "log_processors", json_object_new_array());
	return report;
}

/* The answer has nothing in it. */
static bool take_data(void *owner, const char *data, size_t len)
{
	(void)owner;
	(void)data;
	(void)len;
	return true;
}

static void note_failure(struct usage *usage, const char *why)
{
	if (usage->state != failing)
		log_warning("[crowdsec %s] usage metrics are not sent: %s %s; they are tried again later, and the set is not affected",
			    usage->config.source, usage->config.lapi->url, why);
	usage->state = failing;
}

static void on_done(void *owner, const struct fetch_result *result)
{
	struct usage *usage = owner;
	char why[LAPI_WHY_SIZE];

	usage->fetch = NULL;
	if (result->good) {
		usage->state = sent;
	} else if (result->status == 404) {
		if (usage->state != not_taken)
			log_info("[crowdsec %s] CrowdSec at %s takes no usage metrics, which is so before version 1.6.3: they are not sent",
				 usage->config.source, usage->config.lapi->url);
		usage->state = not_taken;
	} else {
		lapi_explain(usage->config.lapi, result, why);
		note_failure(usage, why);
	}
	schedule(usage);
}

static void on_due(void *data)
{
	struct usage *usage = data;
	struct fetch_request request = { .data = take_data, .done = on_done, .owner = usage };
	struct json_object *report = make_report(usage);
	char why[LAPI_WHY_SIZE];

	usage->fetch = lapi_ask(usage->config.daemon, usage->config.lapi, "/v1/usage-metrics",
				json_object_to_json_string_ext(report, JSON_C_TO_STRING_PLAIN),
				&request, why);
	json_object_put(report);
	if (!usage->fetch) {
		note_failure(usage, why);
		schedule(usage);
	}
}

struct usage *usage_start(const struct usage_config *config)
{
	struct usage *usage = need_zeros(sizeof(*usage));

	usage->config = *config;
	usage->started_at = now_seconds();
	usage->state = waiting;
	schedule(usage);
	return usage;
}

void usage_stop(struct usage *usage)
{
	if (!usage)
		return;
	fetch_stop(usage->fetch);
	timer_stop(&usage->timer);
	free(usage);
}

const char *usage_state(const struct usage *usage)
{
	return usage ? usage->state : "off";
}
