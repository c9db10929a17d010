// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/redis/fleet.h"
#include "lib/escape.h"

/* A host that did not report for so many of its heartbeats is not heard of any more. */
#define MISSED_MOST	3

#define HOST_MOST	255

enum host_state { IN_FORCE, LAGS, BEHIND, IDLE, SILENT, DAMAGED };

/* For people, and for JSON */
static const char *const state_words[] = {
	[IN_FORCE] = "in force",
	[LAGS] = "lags",
	[BEHIND] = "kernel refuses",
	[IDLE] = "not attached",
	[SILENT] = "not heard of",
	[DAMAGED] = "report cannot be read",
};

/* What a host reports. */
struct host {
	char *name;
	enum host_state state;
	uint64_t seq;
	uint64_t entries;
	uint64_t at;
};

struct fleet {
	char *list;
	uint64_t seq;
	struct host **hosts;
	size_t count;
};

char *fleet_report(const struct publisher_report *report, uint64_t heartbeat)
{
	struct json_object *object = json_object_new_object();

	json_add_int(object, "seq", report->position.seq);
	json_add_string(object, "id", report->position.id);
	json_add_string(object, "version", report->position.version);
	json_add_int(object, "entries", report->entries);
	json_add_bool(object, "behind", report->behind);
	json_add_bool(object, "acts", report->acts);
	json_add_int(object, "at", now_seconds());
	json_add_int(object, "heartbeat", heartbeat);
	return need_json(object, JSON_C_TO_STRING_PLAIN);
}

struct fleet *fleet_new(const char *list, uint64_t seq)
{
	struct fleet *fleet = need_zeros(sizeof(*fleet));

	fleet->list = need_copy(list);
	fleet->seq = seq;
	return fleet;
}

/* A number of an object that is not negative. */
static bool get_number(struct json_object *object, const char *key, uint64_t *number)
{
	struct json_object *value;
	int64_t got;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	got = json_object_get_int64(value);
	*number = got;
	return got >= 0;
}

static void read_report(const struct fleet *fleet, struct host *host, const char *text)
{
	struct json_object *object = json_tokener_parse(text), *behind = NULL, *acts = NULL;
	uint32_t now = now_seconds();
	uint64_t heartbeat = 0;

	host->state = DAMAGED;
	if (object && json_object_is_type(object, json_type_object) &&
	    get_number(object, "seq", &host->seq) && get_number(object, "at", &host->at) &&
	    get_number(object, "entries", &host->entries) &&
	    get_number(object, "heartbeat", &heartbeat) && heartbeat <= 86400 * 7) {
		json_object_object_get_ex(object, "behind", &behind);
		json_object_object_get_ex(object, "acts", &acts);
		host->state = IN_FORCE;
		if (host->at + MISSED_MOST * heartbeat < now)
			host->state = SILENT;
		else if (json_object_get_boolean(behind))
			host->state = BEHIND;
		else if (host->seq != fleet->seq)
			host->state = LAGS;
		/* Older versions do not say this. */
		else if (acts && !json_object_get_boolean(acts))
			host->state = IDLE;
	}
	json_object_put(object);
}

void fleet_add(struct fleet *fleet, const char *name, const char *report)
{
	struct host *host = need_zeros(sizeof(*host));
	char *cut = need_text("%.*s", HOST_MOST, name);

	/* It goes to a terminal, into a column. */
	host->name = escape_text(cut, " ", "\\x", need_zeros(ESCAPED_SIZE(strlen(cut))));
	free(cut);
	read_report(fleet, host, report);
	fleet->hosts = need_room(fleet->hosts, fleet->count);
	fleet->hosts[fleet->count++] = host;
}

static int compare_hosts(const void *a, const void *b)
{
	return strcmp((*(struct host *const *)a)->name, (*(struct host *const *)b)->name);
}

static char *show_json(const struct fleet *fleet, bool all)
{
	struct json_object *object = json_object_new_object();
	struct json_object *hosts = json_object_new_array(), *one;
	const struct host *host;
	size_t i;

	json_add_string(object, "list", fleet->list);
	json_add_int(object, "seq", fleet->seq);
	json_add_bool(object, "all", all);
	json_object_object_add(object, "hosts", hosts);
	for (i = 0; i < fleet->count; i++) {
		host = fleet->hosts[i];
		one = json_object_new_object();
		json_add_string(one, "name", host->name);
		json_add_string(one, "state", state_words[host->state]);
		json_add_int(one, "seq", host->seq);
		json_add_int(one, "entries", host->entries);
		json_add_int(one, "at", host->at);
		json_object_array_add(hosts, one);
	}
	return need_json(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void print_host(FILE *f, const struct fleet *fleet, const struct host *host)
{
	uint64_t now = now_seconds(), age = host->at < now ? now - host->at : 0;

	fprintf(f, "  %-24s %s", host->name, state_words[host->state]);
	if (host->state == LAGS && host->seq < fleet->seq)
		fprintf(f, " by %llu changes", (unsigned long long)(fleet->seq - host->seq));
	if (host->state != DAMAGED)
		fprintf(f, ", change %llu, %llu entries, reported %llu seconds ago",
			(unsigned long long)host->seq, (unsigned long long)host->entries,
			(unsigned long long)age);
	fputc('\n', f);
}

char *fleet_show(struct fleet *fleet, bool json, bool *all)
{
	size_t size, good = 0, i;
	char *text = NULL;
	FILE *f;

	if (fleet->count)
		qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), compare_hosts);
	for (i = 0; i < fleet->count; i++)
		good += fleet->hosts[i]->state == IN_FORCE;
	*all = fleet->count && good == fleet->count;
	if (json)
		return show_json(fleet, *all);
	f = open_memstream(&text, &size);
	if (f) {
		fprintf(f, "list %s: change %llu, in force on %zu of %zu hosts\n", fleet->list,
			(unsigned long long)fleet->seq, good, fleet->count);
		for (i = 0; i < fleet->count; i++)
			print_host(f, fleet, fleet->hosts[i]);
	}
	if (!f || fclose(f))
		return need_copy("out of memory");
	return text;
}

void fleet_free(struct fleet *fleet)
{
	size_t i;

	if (!fleet)
		return;
	for (i = 0; i < fleet->count; i++) {
		free(fleet->hosts[i]->name);
		free(fleet->hosts[i]);
	}
	free(fleet->hosts);
	free(fleet->list);
	free(fleet);
}
