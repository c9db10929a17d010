// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats: prints attachments with their counters, sets with their tables, and memory.
 */
#include <stdlib.h>

#include "cli/kept.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "cmd/stats.h"
#include "set/attachment.h"
#include "set/filter.h"

const char *const failure_words[FAILURES] = {
	[FAILURE_FULL] = "full",
	[FAILURE_COPIES] = "copies",
	[FAILURE_QUOTA] = "quota",
	[FAILURE_MEMORY] = "memory",
	[FAILURE_EXIST] = "exist",
	[FAILURE_PENDING] = "pending",
};

static uint64_t failed(const struct nl_set *set)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < FAILURES; i++)
		sum += set->failed[i];
	return sum;
}

static void print_attachments(const struct stats *stats)
{
	static const struct column columns[] = {
		{ "ID", true }, { "ORDER", true }, { "SET", false },
		{ "DIRECTION", false }, { "VERDICT", false },
		{ "PLACE", false }, { "PRIORITY", true }, { "DEVICE", false },
		{ "LOOPBACK", false }, { "ONLY", false }, { "STATE", false },
		{ "PACKETS", true }, { "BYTES", true }, { NULL, false }
	};
	struct table table = { .columns = columns };
	char verdict[VERDICT_TEXT_SIZE], state[STATE_TEXT_SIZE], only[ONLY_TEXT_SIZE];
	size_t i;

	puts("\nAttachments, in the order they run:");
	if (!stats->attachment_count) {
		puts("none: no packet is looked at");
		return;
	}
	for (i = 0; i < stats->attachment_count; i++) {
		const struct nl_attachment *a = &stats->attachments[i];

		table_add(&table, "%u", a->id);
		table_add(&table, "%d", a->order);
		table_add_name(&table, a->set);
		table_add(&table, "%s",
			  meaning_word(direction_words, a->direction));
		table_add(&table, "%s", verdict_text(a, verdict));
		table_add(&table, "%s", place_text(a));
		table_add(&table, "%d", a->priority);
		table_add_name(&table, a->dev[0] ? a->dev : "-");
		table_add(&table, "%s",
			  a->flags & IPCUCKOO_F_LOOPBACK ? "seen" : "exempt");
		table_add(&table, "%s", is_limited(a) ? only_text(a, only) : "-");
		table_add(&table, "%s", state_text(a, state));
		if (!counts_packets(a)) {
			table_add(&table, "-");
			table_add(&table, "-");
			continue;
		}
		table_add(&table, "%llu", (unsigned long long)a->packets);
		table_add(&table, "%llu", (unsigned long long)a->bytes);
	}
	table_print(&table);
}

static void print_sets(const struct stats *stats)
{
	static const struct column columns[] = {
		{ "NAME", false }, { "TYPE", false }, { "FAMILY", false },
		{ "ENTRIES", true }, { "MEMORY", true }, { "BYTES/ENTRY", true },
		{ "LOAD", true }, { "GROWTHS", true }, { "REKEYS", true },
		{ "DISPLACED", true }, { "RETRIES", true }, { "FALLBACKS", true },
		{ "EXPIRED", true }, { "FAILED", true }, { "OWNER", false },
		{ NULL, false }
	};
	struct table table = { .columns = columns };
	char size[SIZE_TEXT_SIZE];
	const char *owner;
	size_t i;

	puts("\nSets:");
	if (!stats->set_count) {
		puts("none");
		return;
	}
	for (i = 0; i < stats->set_count; i++) {
		const struct nl_set *s = &stats->sets[i];

		table_add_name(&table, s->name);
		table_add(&table, "%s", meaning_word(type_words, s->type));
		table_add(&table, "%s", meaning_word(family_words, s->family));
		table_add(&table, "%u", s->entries);
		table_add(&table, "%s", size_text(s->memory, size));
		table_add(&table, "%.2f", ratio(s->memory, s->entries));
		table_add(&table, "%.2f", ratio(s->entries, s->slots));
		table_add(&table, "%u", s->growths);
		table_add(&table, "%u", s->rekeys);
		table_add(&table, "%llu", (unsigned long long)s->displaced);
		table_add(&table, "%llu", (unsigned long long)s->retries);
		table_add(&table, "%llu", (unsigned long long)s->fallbacks);
		table_add(&table, "%llu", (unsigned long long)s->expired);
		table_add(&table, "%llu", (unsigned long long)failed(s));
		owner = set_owner(s);
		table_add(&table, "%s", owner ? owner : "-");
	}
	table_print(&table);
}

static void print_stats(const struct stats *stats)
{
	char limit[SIZE_TEXT_SIZE], size[SIZE_TEXT_SIZE];

	printf("ipcuckoo %s: %zu set%s, %zu attachment%s, %s in tables",
	       stats->info.version, stats->set_count,
	       stats->set_count == 1 ? "" : "s", stats->attachment_count,
	       stats->attachment_count == 1 ? "" : "s",
	       size_text(stats->info.memory, size));
	if (stats->info.memory_limit)
		printf(" (limit %s)",
		       size_text(stats->info.memory_limit, limit));
	puts("");
	print_attachments(stats);
	print_sets(stats);
}

static struct json_object *json_set(const struct nl_set *s)
{
	struct json_object *object = json_object_new_object();
	struct json_object *failed = json_object_new_object();
	int i;

	json_add_string(object, "name", s->name);
	json_add_string(object, "type", meaning_word(type_words, s->type));
	json_add_string(object, "family",
			meaning_word(family_words, s->family));
	json_add_string(object, "owner", set_owner(s));
	json_add_uint(object, "maxelem", s->maxelem);
	if (is_approximate(s)) {
		json_add_uint(object, "bits", s->bits);
		json_add_uint(object, "capacity", s->capacity);
		json_add_bool(object, "multi", is_multi(s));
		json_add_rate(object, "fppnow", filter_rate_now(s));
		json_add_rate(object, "fppfull", filter_rate_full(s));
	}
	json_add_uint(object, "entries", s->entries);
	json_add_uint(object, "hosts", s->hosts);
	json_add_uint(object, "memory", s->memory);
	json_add_uint(object, "slots", s->slots);
	json_add_ratio(object, "loadfactor", ratio(s->entries, s->slots));
	json_add_uint(object, "attachments", s->attachments);
	json_add_uint(object, "rules", s->rules);
	json_add_uint(object, "generation", s->generation);
	json_add_uint(object, "growths", s->growths);
	json_add_uint(object, "rekeys", s->rekeys);
	json_add_uint(object, "displaced", s->displaced);
	json_add_uint(object, "retries", s->retries);
	json_add_uint(object, "fallbacks", s->fallbacks);
	json_add_uint(object, "expired", s->expired);
	for (i = 0; i < FAILURES; i++)
		json_add_uint(failed, failure_words[i], s->failed[i]);
	json_object_object_add(object, "failed", failed);
	return object;
}

static void print_json_stats(const struct stats *stats)
{
	struct json_object *attachments = json_object_new_array();
	struct json_object *object = json_object_new_object();
	struct json_object *sets = json_object_new_array();
	size_t i;

	for (i = 0; i < stats->attachment_count; i++)
		json_object_array_add(attachments,
				      json_attachment(&stats->attachments[i]));
	for (i = 0; i < stats->set_count; i++)
		json_object_array_add(sets, json_set(&stats->sets[i]));
	json_add_string(object, "version", stats->info.version);
	json_add_uint(object, "memory", stats->info.memory);
	json_add_uint(object, "memory_limit", stats->info.memory_limit);
	json_object_object_add(object, "attachments", attachments);
	json_object_object_add(object, "sets", sets);
	json_print(object);
}

int run_stats(struct tool *tool, struct words *words)
{
	bool prometheus = false;
	const struct keyword keywords[] = {
		{ .word = "--prometheus", .flag = &prometheus },
		{ .word = NULL }
	};
	struct stats stats = { 0 };
	int status;

	status = parse_words(tool, words, keywords, 0, 0);
	if (!status && prometheus && tool->json)
		status = fail(tool, STATUS_USAGE,
			      "--prometheus and -j are two formats: give one");
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_info(tool->nl, &stats.info) ||
	    nl_attachments(tool->nl, &stats.attachments,
			   &stats.attachment_count) < 0 ||
	    nl_sets(tool->nl, &stats.sets, &stats.set_count) < 0)
		status = fail_kernel(tool, NULL, "cannot read the statistics");
	else if (prometheus)
		print_prometheus(&stats);
	else if (tool->json)
		print_json_stats(&stats);
	else
		print_stats(&stats);
	free(stats.attachments);
	free(stats.sets);
	return status;
}
