// SPDX-License-Identifier: GPL-2.0-only
/*
 * stats --prometheus: prints the text exposition format of Prometheus, version 0.0.4,
 * which the textfile collector of node_exporter reads. HELP and TYPE of a metric come
 * first, then all its samples.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/tool.h"
#include "cmd/stats.h"
#include "lib/exposition.h"
#include "set/attachment.h"

/**
 * struct metric - a metric of sets or attachments
 * @name:	name without the prefix; names of counters end in _total
 * @help:	description
 * @offset:	offset of the number in struct nl_set or nl_attachment
 * @size:	size of the number: 4 or 8 bytes
 */
struct metric {
	const char *name;
	const char *help;
	size_t offset;
	size_t size;
};

#define FIELD(type, field)	\
	offsetof(struct type, field), sizeof(((struct type *)0)->field)

static const struct metric set_metrics[] = {
	{ "entries", "Entries in the set.", FIELD(nl_set, entries) },
	{ "hosts", "Entries that are hosts.", FIELD(nl_set, hosts) },
	{ "maxelem", "Entries the set may have, 0 for no limit.",
	  FIELD(nl_set, maxelem) },
	{ "memory_bytes", "Memory that the set takes.", FIELD(nl_set, memory) },
	{ "slots", "Places for entries in the tables.", FIELD(nl_set, slots) },
	{ "attachments", "How often the set is attached.",
	  FIELD(nl_set, attachments) },
	{ "rules", "Rules of iptables that refer to the set.",
	  FIELD(nl_set, rules) },
	{ "growths_total", "Tables replaced by tables of another size.",
	  FIELD(nl_set, growths) },
	{ "rekeys_total", "Tables replaced by tables with another hash key.",
	  FIELD(nl_set, rekeys) },
	{ "displacements_total", "Entries moved to their other bucket.",
	  FIELD(nl_set, displaced) },
	{ "reader_retries_total", "Look-ups that were started again because of a writer.",
	  FIELD(nl_set, retries) },
	{ "reader_fallbacks_total",
	  "Look-ups that took the lock, after all their retries.",
	  FIELD(nl_set, fallbacks) },
	{ "expired_total", "Expired entries that were removed.", FIELD(nl_set, expired) },
	{ NULL, NULL, 0, 0 }
};

static const struct metric attachment_metrics[] = {
	{ "matched_packets_total", "Packets that matched.",
	  FIELD(nl_attachment, packets) },
	{ "matched_bytes_total", "Bytes of packets that matched, from the IP header on.",
	  FIELD(nl_attachment, bytes) },
	{ NULL, NULL, 0, 0 }
};

static unsigned long long value_of(const struct metric *metric, const void *object)
{
	const char *field = (const char *)object + metric->offset;

	return metric->size == 4 ? *(const uint32_t *)field :
				   *(const uint64_t *)field;
}

static void print_set_labels(const struct nl_set *set)
{
	exposition_label(stdout, "set", set->name, ",");
	exposition_label(stdout, "type", meaning_word(type_words, set->type), ",");
	exposition_label(stdout, "family", meaning_word(family_words, set->family), "");
}

static void print_set_metrics(const struct stats *stats)
{
	const struct metric *metric;
	size_t i;
	int why;

	for (metric = set_metrics; metric->name; metric++) {
		exposition_head(stdout, "ipcuckoo_set_", metric->name, metric->help);
		for (i = 0; i < stats->set_count; i++) {
			printf("ipcuckoo_set_%s{", metric->name);
			print_set_labels(&stats->sets[i]);
			printf("} %llu\n", value_of(metric, &stats->sets[i]));
		}
	}
	exposition_head(stdout, "ipcuckoo_set_", "load_ratio", "Entries by slots.");
	for (i = 0; i < stats->set_count; i++) {
		printf("ipcuckoo_set_load_ratio{");
		print_set_labels(&stats->sets[i]);
		printf("} %.4f\n",
		       ratio(stats->sets[i].entries, stats->sets[i].slots));
	}
	exposition_head(stdout, "ipcuckoo_set_", "failed_adds_total",
			"Requests to add that failed, by reason.");
	for (i = 0; i < stats->set_count; i++) {
		for (why = 0; why < FAILURES; why++) {
			printf("ipcuckoo_set_failed_adds_total{");
			print_set_labels(&stats->sets[i]);
			putchar(',');
			exposition_label(stdout, "reason", failure_words[why], "");
			printf("} %llu\n",
			       (unsigned long long)stats->sets[i].failed[why]);
		}
	}
}

/* Print the labels of an attachment. Its id is among them, because several attachments can
 * have the same other labels.
 */
static void print_attachment_labels(const struct nl_attachment *attachment)
{
	printf("attachment=\"%u\",", attachment->id);
	exposition_label(stdout, "set", attachment->set, ",");
	exposition_label(stdout, "direction",
			 meaning_word(direction_words, attachment->direction), ",");
	exposition_label(stdout, "verdict", meaning_word(verdict_words, attachment->verdict), ",");
	exposition_label(stdout, "place", place_text(attachment), ",");
	exposition_label(stdout, "device", attachment->dev, "");
}

static void print_attachment_metrics(const struct stats *stats)
{
	const struct metric *metric;
	size_t i;

	for (metric = attachment_metrics; metric->name; metric++) {
		exposition_head(stdout, "ipcuckoo_", metric->name, metric->help);
		for (i = 0; i < stats->attachment_count; i++) {
			if (!counts_packets(&stats->attachments[i]))
				continue;
			printf("ipcuckoo_%s{", metric->name);
			print_attachment_labels(&stats->attachments[i]);
			printf("} %llu\n",
			       value_of(metric, &stats->attachments[i]));
		}
	}
	exposition_head(stdout, "ipcuckoo_", "attachment_active",
			"Whether it sees packets: 0 if there is no such device, no hook or no program.");
	for (i = 0; i < stats->attachment_count; i++) {
		printf("ipcuckoo_attachment_active{");
		print_attachment_labels(&stats->attachments[i]);
		printf("} %d\n", is_active(&stats->attachments[i]));
	}
}

void print_prometheus(const struct stats *stats)
{
	exposition_head(stdout, "ipcuckoo_", "info", "The version of the module.");
	printf("ipcuckoo_info{");
	exposition_label(stdout, "version", stats->info.version, "} 1\n");
	exposition_head(stdout, "ipcuckoo_", "memory_bytes", "Memory of all tables.");
	printf("ipcuckoo_memory_bytes %llu\n",
	       (unsigned long long)stats->info.memory);
	exposition_head(stdout, "ipcuckoo_", "memory_limit_bytes",
			"Memory that all tables may take, 0 for no limit.");
	printf("ipcuckoo_memory_limit_bytes %llu\n",
	       (unsigned long long)stats->info.memory_limit);
	print_set_metrics(stats);
	print_attachment_metrics(stats);
}
