// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/config.h"
#include "daemon/set/guard.h"
#include "daemon/set/source.h"
#include "daemon/set/target.h"
#include "daemon/status.h"
#include "lib/exposition.h"
#include "lib/json.h"

/* When the state is printed: asked for once, not for each of 1,000 sources */
static uint32_t now;

static double kept_out_count(const struct source *source)
{
	return source->left_out ? contents_count(&source->contents) : packed_count(&source->kept_out);
}

/* "3 minutes ago"; "never" */
static const char *ago(uint32_t at, char text[48])
{
	static const struct {
		uint32_t seconds;
		const char *unit;
	} units[] = { { 86400, "days" }, { 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" } };
	uint32_t age = at < now ? now - at : 0;
	size_t i = 0;

	if (!at)
		return strcpy(text, "never");
	while (i < 3 && age < 2 * units[i].seconds)
		i++;
	snprintf(text, 48, "%u %s ago", age / units[i].seconds, units[i].unit);
	return text;
}

/* Entries of a source that have not expired. */
static size_t living(const struct source *source)
{
	if (source->timeout && source->good_at + source->timeout <= now)
		return contents_count(&source->contents) - packed_count(&source->contents.plain);
	return contents_count(&source->contents);
}

static const char *set_state(const struct target *target)
{
	if (target->behind)
		return "behind";
	if (!target_complete(target))
		return "incomplete";
	if (target->contested)
		return "contested";
	return target->acts ? "good" : "not attached";
}

static void print_source(FILE *f, const struct source *source)
{
	char *kept_out = guard_text(source), *save = source_save_text(source);
	char good[48], changed[48];

	fprintf(f, "  %s %s: %s, %zu entries, ", source->kind->word, source->name,
		source_state_word(source), living(source));
	if (source != source->target->networks)
		fprintf(f, "last good answer %s, ", ago(source->good_at, good));
	fprintf(f, "last change %s\n", ago(source->changed_at, changed));
	if (source->problem)
		fprintf(f, "    %s\n", source->problem);
	if (source->warning)
		fprintf(f, "    warning: %s\n", source->warning);
	if (kept_out)
		fprintf(f, "    warning: %s\n", kept_out);
	if (save)
		fprintf(f, "    warning: %s\n", save);
	free(kept_out);
	free(save);
	if (source->kind->waiting && source->kind->waiting(source))
		fprintf(f, "    changes that wait to be published: %llu\n",
			(unsigned long long)source->kind->waiting(source));
}

static void print_text(FILE *f, const struct config *config)
{
	const struct target *target;
	char applied[48];
	size_t i, j;

	for (i = 0; i < config->target_count; i++) {
		target = config->targets[i];
		fprintf(f, "set %s: %s, %u entries, changed %s\n", target->name, set_state(target),
			target->entries, ago(target->applied_at, applied));
		if (target->problem)
			fprintf(f, "  %s\n", target->problem);
		if (target->contested)
			fputs("  somebody else changes it again and again; \"ipcuckoo monitor\" shows what they do\n",
			      f);
		if (target->idle)
			fprintf(f, "  %s\n", target->idle);
		if (!target_complete(target))
			fputs("  entries are only added until each source has answered once\n", f);
		for (j = 0; j < target->source_count; j++)
			print_source(f, target->sources[j]);
	}
	for (i = 0; config->left && config->left[i]; i++)
		fprintf(f, "changes wait to be published, and no section of the configuration has their list: %s\n",
			config->left[i]);
}

struct json_object *status_of_source(const struct source *source)
{
	struct json_object *object = json_object_new_object();
	char *kept_out = guard_text(source), *save = source_save_text(source);

	json_add_string(object, "name", source->name);
	json_add_string(object, "kind", source->kind->word);
	json_add_string(object, "set", source->target->name);
	json_add_string(object, "state", source_state_word(source));
	json_add_string(object, "problem", source->problem);
	json_add_string(object, "warning", source->warning);
	json_add_string(object, "kept_out_why", kept_out);
	json_add_string(object, "not_stored", save);
	free(kept_out);
	free(save);
	json_add_int(object, "kept_out", kept_out_count(source));
	json_add_int(object, "entries", living(source));
	json_add_int(object, "good_at", source->good_at);
	json_add_int(object, "changed_at", source->changed_at);
	json_add_int(object, "answers", source->answers);
	json_add_int(object, "deliveries", source->deliveries);
	json_add_int(object, "failures", source->failures);
	json_add_int(object, "refusals", source->refusals);
	if (source->version[0])
		json_add_string(object, "version", source->version);
	if (source->lag >= 0)
		json_object_object_add(object, "lag", json_object_new_double(source->lag));
	if (source->clock_difference >= 0)
		json_object_object_add(object, "clock_difference",
				       json_object_new_double(source->clock_difference));
	if (source->kind->waiting)
		json_add_int(object, "waiting", source->kind->waiting(source));
	if (source->kind->show)
		source->kind->show(source, object);
	return object;
}

struct json_object *status_of_target(const struct target *target)
{
	struct json_object *object = json_object_new_object();

	json_add_string(object, "name", target->name);
	json_add_string(object, "state", set_state(target));
	json_add_string(object, "problem", target->problem);
	json_add_bool(object, "acts", target->acts);
	json_add_string(object, "idle", target->idle);
	json_add_int(object, "entries", target->entries);
	json_add_int(object, "applied_at", target->applied_at);
	json_add_int(object, "repairs", target->repairs);
	json_add_int(object, "failures", target->failures);
	return object;
}

/* A name of a source in each line, for the completion of shells */
static void print_names(FILE *f, const struct config *config)
{
	char *name;
	size_t i;

	for (i = 0; i < config->source_count; i++) {
		name = need_printable(config->sources[i]->name);
		fprintf(f, "%s\n", name);
		free(name);
	}
}

/* Use up a value, and print it behind those before it. */
static void print_value(FILE *f, size_t before, struct json_object *value)
{
	char *text = need_json(value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);

	fprintf(f, "%s%s", before ? ",\n" : "\n", text);
	free(text);
}

/* Only one set or source at a time is in memory as an object. */
static void print_json(FILE *f, const struct config *config)
{
	size_t i;

	fputs("{\n\"sets\":[", f);
	for (i = 0; i < config->target_count; i++)
		print_value(f, i, status_of_target(config->targets[i]));
	fputs("\n],\n\"sources\":[", f);
	for (i = 0; i < config->source_count; i++)
		print_value(f, i, status_of_source(config->sources[i]));
	fputs("\n],\n\"left_waiting\":[", f);
	for (i = 0; config->left && config->left[i]; i++)
		print_value(f, i, json_new_text(config->left[i]));
	fputs("\n]\n}", f);
}

/* A metric of sources: its number, or a negative one if the source has none. */
struct source_metric {
	const char *name;
	const char *help;
	double (*value)(const struct source *source);
};

#define SOURCE_METRIC(name, number)	static double name(const struct source *source) { return number; }

SOURCE_METRIC(is_good, source->state == SOURCE_GOOD)
SOURCE_METRIC(good_seconds, source->good_at ? source->good_at : -1.0)
SOURCE_METRIC(age, source->good_at ? (double)now - source->good_at : -1.0)
SOURCE_METRIC(interval, source->interval ? source->interval : -1.0)
SOURCE_METRIC(changed_seconds, source->changed_at ? source->changed_at : -1.0)
SOURCE_METRIC(entries, living(source))
SOURCE_METRIC(answers, source->answers)
SOURCE_METRIC(deliveries, source->deliveries)
SOURCE_METRIC(failures, source->failures)
SOURCE_METRIC(refusals, source->refusals)
SOURCE_METRIC(lag, source->lag)
SOURCE_METRIC(clock_difference, source->clock_difference)
SOURCE_METRIC(waiting, source->kind->waiting ? source->kind->waiting(source) : -1.0)
SOURCE_METRIC(is_stored, source->daemon->state_dir ? !source->save_error : -1.0)

/* A checksum: with the version as a label, each version would begin a new time series. */
static double version(const struct source *source)
{
	const unsigned char *text = (const unsigned char *)source->version;

	return source->version[0] ? crc32(0, text, strlen(source->version)) : -1.0;
}

static const struct source_metric source_metrics[] = {
	{ "good", "Whether the last answer of the source was good.", is_good },
	{ "last_good_timestamp_seconds", "When the source was known to be up to date.",
	  good_seconds },
	{ "age_seconds", "How long ago that was.", age },
	{ "interval_seconds", "Longest time between two good answers, if all is well.", interval },
	{ "last_change_timestamp_seconds", "When its contents changed.", changed_seconds },
	{ "entries", "Entries that the source has.", entries },
	{ "answers_total", "Answers of the source, good or not.", answers },
	{ "deliveries_total", "Good answers that changed the contents.", deliveries },
	{ "failures_total", "Answers that failed.", failures },
	{ "refusals_total", "Answers that were refused, because they did not look right.",
	  refusals },
	{ "lag_seconds", "Time between a change at the source and here.", lag },
	{ "clock_difference_seconds",
	  "Difference between the clocks of the source and of this machine.", clock_difference },
	{ "version", "CRC-32 of the version of the contents.", version },
	{ "waiting", "Changes that wait to be published.", waiting },
	{ "kept_out", "Entries that the guard keeps out of the kernel.", kept_out_count },
	{ "stored", "Whether the contents could be stored on disk.", is_stored },
	{ NULL, NULL, NULL }
};

void status_print_sample(FILE *f, const struct source *source, const char *metric, double value)
{
	fprintf(f, "ipcuckood_source_%s{", metric);
	exposition_label(f, "source", source->name, ",");
	exposition_label(f, "kind", source->kind->word, ",");
	exposition_label(f, "set", source->target->name, "} ");
	fprintf(f, "%.15g\n", value);
}

static void print_source_metrics(FILE *f, const struct config *config)
{
	const struct source_metric *metric;
	double value;
	size_t i;

	for (metric = source_metrics; metric->name; metric++) {
		exposition_head(f, "ipcuckood_source_", metric->name, metric->help);
		for (i = 0; i < config->source_count; i++) {
			value = metric->value(config->sources[i]);
			if (value < 0)
				continue;
			status_print_sample(f, config->sources[i], metric->name, value);
		}
	}
}

static void print_set_metric(FILE *f, const struct config *config, const char *name,
			     const char *help, double (*value)(const struct target *target))
{
	size_t i;

	exposition_head(f, "ipcuckood_set_", name, help);
	for (i = 0; i < config->target_count; i++) {
		fprintf(f, "ipcuckood_set_%s{", name);
		exposition_label(f, "set", config->targets[i]->name, "} ");
		fprintf(f, "%.15g\n", value(config->targets[i]));
	}
}

#define SET_METRIC(name, number)	static double name(const struct target *target) { return number; }

SET_METRIC(set_behind, target->behind)
SET_METRIC(set_good, !strcmp(set_state(target), "good"))
SET_METRIC(set_repairs, target->repairs)
SET_METRIC(set_failures, target->failures)
SET_METRIC(set_applied, target->applied_at)

/* Version 0.0.4 of the format */
static void print_prometheus(FILE *f, const struct config *config)
{
	print_set_metric(f, config, "behind", "Whether the kernel's set is not what the sources say.",
			 set_behind);
	print_set_metric(f, config, "good",
			 "Whether the kernel has exactly what the sources say, and acts on packets by it.",
			 set_good);
	print_set_metric(f, config, "repairs_total", "How often somebody else had changed the set.",
			 set_repairs);
	print_set_metric(f, config, "failures_total", "Changes that the kernel refused.", set_failures);
	print_set_metric(f, config, "applied_timestamp_seconds",
			 "When the set was changed last, 0 for never.", set_applied);
	print_source_metrics(f, config);
}

void status_begin(void)
{
	now = now_seconds();
}

char *status_as(const struct config *config, const char *format)
{
	static const struct {
		const char *format;
		void (*print)(FILE *f, const struct config *config);
	} formats[] = {
		{ "status", print_text }, { "names", print_names },
		{ "json", print_json }, { "prometheus", print_prometheus },
	};
	char *text = NULL;
	size_t size, i = 0;
	FILE *f;

	while (strcmp(formats[i].format, format))
		if (++i == sizeof(formats) / sizeof(formats[0]))
			return NULL;
	status_begin();
	f = open_memstream(&text, &size);
	if (f)
		formats[i].print(f, config);
	need_memory(!f || fclose(f));
	return text;
}
