// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/memory.h"
#include "daemon/config.h"
#include "daemon/health.h"
#include "daemon/set/guard.h"
#include "daemon/set/source.h"
#include "daemon/set/target.h"

/**
 * struct report - what was found
 * @health:	the worst of it
 * @wanted:	only faults of this weight are printed
 * @to:		where they are printed
 */
struct report {
	enum health health;
	enum health wanted;
	FILE *to;
};

static void fault(struct report *report, enum health health, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(struct report *report, enum health health, const char *format, ...)
{
	va_list args;

	if (health > report->health)
		report->health = health;
	if (health != report->wanted)
		return;
	fputs(health == HEALTH_CRITICAL ? "CRITICAL: " : "WARNING: ", report->to);
	va_start(args, format);
	vfprintf(report->to, format, args);
	va_end(args);
	fputc('\n', report->to);
}

static void check_target(struct report *report, const struct target *target)
{
	const char *name = target->name;

	if (target->behind)
		fault(report, HEALTH_CRITICAL, "set %s is not what its sources say: %s", name,
		      target->problem ? target->problem : "the kernel was not asked yet");
	if (target->idle)
		fault(report, target->acts ? HEALTH_WARNING : HEALTH_CRITICAL, "set %s: %s", name,
		      target->idle);
	else if (!target->acts)
		fault(report, HEALTH_WARNING, "set %s: it is not known whether it acts on packets",
		      name);
	if (target->contested)
		fault(report, HEALTH_WARNING,
		      "set %s: somebody else changes it again and again; \"ipcuckoo monitor\" shows what they do",
		      name);
	if (!target->source_count)
		fault(report, HEALTH_WARNING, "set %s has no source", name);
}

static void check_source(struct report *report, const struct source *source)
{
	char *kept_out = guard_text(source), *save = source_save_text(source);
	const char *kind = source->kind->word, *name = source->name;
	uint64_t waiting = source->kind->waiting ? source->kind->waiting(source) : 0;

	if (source->problem && !source->delivered)
		fault(report, HEALTH_CRITICAL, "%s %s has no entries yet: %s", kind, name,
		      source->problem);
	else if (source->problem)
		fault(report, HEALTH_WARNING, "%s %s is %s: %s", kind, name,
		      source_state_word(source), source->problem);
	else if (!source->delivered)
		fault(report, HEALTH_WARNING,
		      "%s %s has not answered yet, so that entries of set %s are only added", kind,
		      name, source->target->name);
	if (source->warning)
		fault(report, HEALTH_WARNING, "%s %s: %s", kind, name, source->warning);
	if (kept_out)
		fault(report, HEALTH_WARNING, "%s %s: %s", kind, name, kept_out);
	if (save)
		fault(report, HEALTH_WARNING, "%s %s %s", kind, name, save);
	if (waiting)
		fault(report, HEALTH_WARNING, "%s %s: %llu changes wait to be published", kind, name,
		      (unsigned long long)waiting);
	free(kept_out);
	free(save);
}

static void check_all(struct report *report, const struct config *config)
{
	size_t i;

	for (i = 0; i < config->target_count; i++)
		check_target(report, config->targets[i]);
	for (i = 0; i < config->source_count; i++)
		check_source(report, config->sources[i]);
	for (i = 0; config->left && config->left[i]; i++)
		fault(report, HEALTH_WARNING,
		      "changes wait to be published, and no section of the configuration has their list: %s",
		      config->left[i]);
	if (!config->target_count)
		fault(report, HEALTH_WARNING, "the configuration has no set");
}

char *health_text(const struct config *config, enum health *health)
{
	struct report report = { .health = HEALTH_OK };
	char *text = NULL, *bar;
	size_t size;

	report.to = open_memstream(&text, &size);
	for (report.wanted = HEALTH_CRITICAL; report.to && report.wanted; report.wanted--)
		check_all(&report, config);
	if (report.to && report.health == HEALTH_OK)
		fprintf(report.to, "OK: all is in force: sets: %zu, sources: %zu\n",
			config->target_count, config->section_count);
	*health = report.health;
	if (!report.to || fclose(report.to)) {
		*health = HEALTH_UNKNOWN;
		return need_copy("out of memory");
	}
	/* For Nagios, performance data begins with it. */
	while ((bar = strchr(text, '|')))
		*bar = '/';
	return text;
}
