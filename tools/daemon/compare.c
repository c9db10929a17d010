// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/compare.h"
#include "daemon/config.h"
#include "daemon/set/aggregate.h"
#include "daemon/set/merged.h"
#include "daemon/set/store.h"
#include "daemon/set/target.h"
#include "daemon/status.h"
#include "lib/exposition.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "nl/set.h"

/* Instead of the number of a source */
enum { MANY = UINT32_MAX - 1, NOBODY = UINT32_MAX };

/* The longest way from a prefix to one inside it: each length of IPv6 once */
#define DEPTH_MOST	129

/* So many of the other sources are named in text. */
#define SHARED_MOST	3

/**
 * struct item - an entry of a source, or of the kernel's set
 * @key:	1 for IPv6, the address, the length: a prefix comes before those inside it
 * @source:	number of the source; NOBODY: it is of the kernel's set
 * @packets:	that it has matched there
 */
struct item {
	uint8_t key[1 + IPCUCKOO_HOST6_SIZE + 1];
	uint32_t source;
	uint64_t packets;
};

/**
 * struct worth - what is found out about a source
 * @entries:	its entries
 * @only:	those of them that no other source has, or covers by a prefix
 * @packets:	packets from addresses that it has
 * @only_packets: those of them that no other source would have matched
 */
struct worth {
	uint64_t entries;
	uint64_t only;
	uint64_t packets;
	uint64_t only_packets;
};

/* Entries of the same key, and all sources that have it or a prefix around it: one, MANY or NOBODY */
struct group {
	const struct item *from;
	const struct item *to;
	uint32_t owner;
};

/**
 * struct comparison - the sources of a set
 * @items:	entries of all sources, and of the kernel's set
 * @worth:	results, by the number of the source
 * @shared:	how many entries of the first source the second one has, too, or covers: a square
 * @seen:	for each source: the last question for which it was counted
 * @question:	their number
 * @known:	the kernel has the set, and says what its packets are
 * @counted:	it counts packets for each entry
 * @packets:	that the attachments of the set have matched
 */
struct comparison {
	const struct target *target;
	struct item *items;
	size_t count;
	size_t room;
	struct worth *worth;
	uint64_t *shared;
	uint64_t *seen;
	uint64_t question;
	bool known;
	bool counted;
	uint64_t packets;
};

static void add_item(struct comparison *all, enum entry_kind kind, const uint8_t *entry,
		     uint32_t source, uint64_t packets)
{
	unsigned int bytes = is_v6(kind) ? IPCUCKOO_HOST6_SIZE : IPCUCKOO_HOST4_SIZE;
	struct item item = { .key = { is_v6(kind) }, .source = source, .packets = packets };

	memcpy(item.key + 1, entry, bytes);
	item.key[sizeof(item.key) - 1] = is_net(kind) ? entry[bytes] : 8 * bytes;
	if (all->count == all->room) {
		all->room = all->room ? 2 * all->room : 1024;
		all->items = realloc(all->items, all->room * sizeof(item));
		need_memory(all->items ? 0 : -ENOMEM);
	}
	all->items[all->count++] = item;
}

static int compare_items(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((const struct item *)a)->key));
}

static bool covers(const struct item *prefix, const struct item *item)
{
	unsigned int length = prefix->key[sizeof(prefix->key) - 1];
	unsigned int bytes = 1 + length / 8, bits = length % 8;

	return !memcmp(prefix->key, item->key, bytes) &&
	       (!bits || !((prefix->key[bytes] ^ item->key[bytes]) >> (8 - bits)));
}

static uint32_t join(uint32_t a, uint32_t b)
{
	if (a == NOBODY || a == b)
		return b;
	return b == NOBODY ? a : MANY;
}

/* The sources of a group that have not been asked about yet: they have what @source has, too, or, for
 * NOBODY, packets have matched what they have.
 */
static void count_group(struct comparison *all, const struct group *group, uint32_t source,
			uint64_t packets)
{
	const struct item *item;

	for (item = group->from; item < group->to; item++) {
		if (item->source == NOBODY || all->seen[item->source] == all->question)
			continue;
		all->seen[item->source] = all->question;
		if (source == NOBODY)
			all->worth[item->source].packets += packets;
		else
			all->shared[source * all->target->source_count + item->source]++;
	}
}

static void ask(struct comparison *all, const struct group *around, size_t depth, uint32_t source,
		uint64_t packets)
{
	all->question++;
	if (source != NOBODY)
		all->seen[source] = all->question;
	while (depth--)
		count_group(all, around++, source, packets);
}

/* @around: the prefixes that cover the last one, which is the group itself */
static void judge_group(struct comparison *all, const struct group *around, size_t depth,
			uint64_t packets)
{
	const struct group *group = &around[depth - 1];
	const struct item *item;
	struct worth *worth;

	if (packets)
		ask(all, around, depth, NOBODY, packets);
	if (group->owner < MANY)
		all->worth[group->owner].only_packets += packets;
	for (item = group->from; item < group->to; item++) {
		if (item->source == NOBODY)
			continue;
		worth = &all->worth[item->source];
		worth->entries++;
		if (group->owner == item->source)
			worth->only++;
		else
			ask(all, around, depth, item->source, 0);
	}
}

static void judge_all(struct comparison *all)
{
	const struct item *item = all->items, *end = item + all->count;
	struct group around[DEPTH_MOST], *group;
	uint64_t packets;
	size_t depth = 0;

	qsort(all->items, all->count, sizeof(*all->items), compare_items);
	while (item < end) {
		while (depth && !covers(around[depth - 1].from, item))
			depth--;
		group = &around[depth];
		group->from = item;
		group->owner = depth ? around[depth - 1].owner : NOBODY;
		for (packets = 0; item < end && !compare_items(item, group->from); item++) {
			group->owner = join(group->owner, item->source);
			packets += item->packets;
		}
		group->to = item;
		judge_group(all, around, ++depth, packets);
	}
}

static void add_source(struct comparison *all, uint32_t number)
{
	const struct source *source = all->target->sources[number];
	struct contents_cursor cursor = { 0 };
	uint32_t now = now_seconds();
	struct member member;

	while (contents_next(&source->contents, &cursor, &member)) {
		merged_complete(source, &member);
		if (!member_expired(&member, now))
			add_item(all, member.kind, member.entry, number, 0);
	}
}

/* What the kernel has counted. Return: 0 or a negative errno. */
static int add_kernel(struct comparison *all, struct nl *nl)
{
	struct nl_attachment *attachments = NULL;
	struct extended entries = { 0 };
	struct nl_set set = { 0 };
	size_t count = 0, i;
	int err = nl_set_get(nl, all->target->name, &set);

	all->counted = !err && (set.options & IPCUCKOO_O_COUNTERS);
	if (!err)
		err = nl_attachments(nl, &attachments, &count);
	for (i = 0; !err && i < count; i++)
		if (!strcmp(attachments[i].set, all->target->name))
			all->packets += attachments[i].packets;
	free(attachments);
	if (!err && all->counted)
		err = nl_extended_entries(nl, all->target->name, &entries);
	for (i = 0; !err && i < entries.count; i++)
		if (!entries.at[i].value.nomatch)
			add_item(all, entries.at[i].kind, entries.at[i].entry, NOBODY,
				 entries.at[i].value.packets);
	extended_free(&entries);
	all->known = !err;
	all->counted &= !err;
	return err;
}

/* The source that shares the most with @number, and then the next one: *@most begins with UINT64_MAX, *@which
 * with -1. Return: false if there is none.
 */
static bool next_shared(const struct comparison *all, size_t number, uint64_t *most, size_t *which)
{
	const uint64_t *shared = &all->shared[number * all->target->source_count];
	uint64_t below = *most, best = 0;
	size_t from = *which + 1, i;

	for (i = 0; i < all->target->source_count; i++) {
		if (shared[i] > best && (shared[i] < below || (shared[i] == below && i >= from))) {
			best = shared[i];
			*which = i;
		}
	}
	*most = best;
	return best;
}

static void print_text(FILE *f, const struct comparison *all)
{
	const struct target *target = all->target;
	const struct worth *worth;
	size_t i, which, named;
	uint64_t most;

	fprintf(f, "set %s:", target->name);
	if (all->known)
		fprintf(f, " its attachments have matched %llu packets",
			(unsigned long long)all->packets);
	putc('\n', f);
	for (i = 0; i < target->source_count; i++) {
		worth = &all->worth[i];
		fprintf(f, "  %s %s: %llu entries, %llu of them only here", target->sources[i]->kind->word,
			target->sources[i]->name, (unsigned long long)worth->entries,
			(unsigned long long)worth->only);
		most = UINT64_MAX;
		which = -1;
		for (named = 0; named < SHARED_MOST && next_shared(all, i, &most, &which); named++)
			fprintf(f, ", %llu also in %s", (unsigned long long)most,
				target->sources[which]->name);
		if (all->counted)
			fprintf(f, "; %llu packets, %llu of them only by this source",
				(unsigned long long)worth->packets,
				(unsigned long long)worth->only_packets);
		putc('\n', f);
	}
	if (all->known && !all->counted && target->source_count > 1)
		fprintf(f, "  to count packets for each source: counters = yes in [set %s]\n",
			target->name);
}

static struct json_object *source_object(const struct comparison *all, size_t number)
{
	struct json_object *object = json_object_new_object(), *shared = json_object_new_object();
	const struct target *target = all->target;
	const struct worth *worth = &all->worth[number];
	uint64_t count;
	size_t i;

	json_add_string(object, "name", target->sources[number]->name);
	json_add_string(object, "kind", target->sources[number]->kind->word);
	json_add_int(object, "entries", worth->entries);
	json_add_int(object, "only", worth->only);
	for (i = 0; i < target->source_count; i++) {
		count = all->shared[number * target->source_count + i];
		if (count)
			json_add_int(shared, target->sources[i]->name, count);
	}
	json_object_object_add(object, "shared", shared);
	if (all->counted) {
		json_add_int(object, "packets", worth->packets);
		json_add_int(object, "only_packets", worth->only_packets);
	}
	return object;
}

static struct json_object *set_object(const struct comparison *all)
{
	struct json_object *object = json_object_new_object(), *sources = json_object_new_array();
	size_t i;

	json_add_string(object, "name", all->target->name);
	if (all->known)
		json_add_int(object, "packets", all->packets);
	for (i = 0; i < all->target->source_count; i++)
		json_object_array_add(sources, source_object(all, i));
	json_object_object_add(object, "sources", sources);
	return object;
}

static const struct {
	const char *name;
	const char *help;
	size_t offset;
	bool packets;
} metrics[] = {
	{ "compared_entries", "Entries of the source, when sources were compared.",
	  offsetof(struct worth, entries), false },
	{ "only_entries", "Those that no other source of the set has.",
	  offsetof(struct worth, only), false },
	{ "matched_packets", "Packets from addresses of the source, since its entries are in the set.",
	  offsetof(struct worth, packets), true },
	{ "only_matched_packets", "Those that no other source of the set would have matched.",
	  offsetof(struct worth, only_packets), true },
};

static void print_prometheus(FILE *f, const struct comparison *sets, size_t count)
{
	const struct source *source;
	size_t metric, i, j;

	for (metric = 0; metric < sizeof(metrics) / sizeof(metrics[0]); metric++) {
		exposition_head(f, "ipcuckood_source_", metrics[metric].name, metrics[metric].help);
		for (i = 0; i < count; i++) {
			for (j = 0; j < sets[i].target->source_count; j++) {
				source = sets[i].target->sources[j];
				if (!source->delivered || (metrics[metric].packets && !sets[i].counted))
					continue;
				status_print_sample(f, source, metrics[metric].name,
						    *(const uint64_t *)((const char *)&sets[i].worth[j] +
									metrics[metric].offset));
			}
		}
	}
}

static void print_all(const struct comparison *sets, size_t count, const char *format)
{
	struct json_object *array;
	char *text;
	size_t i;

	if (!strcmp(format, "prometheus")) {
		print_prometheus(stdout, sets, count);
		return;
	}
	if (strcmp(format, "json")) {
		for (i = 0; i < count; i++)
			print_text(stdout, &sets[i]);
		return;
	}
	array = json_object_new_array();
	for (i = 0; i < count; i++)
		json_object_array_add(array, set_object(&sets[i]));
	text = need_json(array, JSON_C_TO_STRING_PRETTY);
	puts(text);
	free(text);
}

static void compare_set(struct comparison *all, const struct target *target, struct nl *nl)
{
	size_t count = target->source_count, i;
	int err;

	all->target = target;
	all->worth = need_zeros((count + 1) * sizeof(*all->worth));
	all->shared = need_zeros((count * count + 1) * sizeof(*all->shared));
	all->seen = need_zeros((count + 1) * sizeof(*all->seen));
	for (i = 0; i < count; i++)
		add_source(all, i);
	err = nl ? add_kernel(all, nl) : 0;
	if (err)
		log_warning("[set %s] its packets are not counted: %s", target->name,
			    err == -ENOENT ? "the kernel has no such set" : strerror(-err));
	judge_all(all);
	free(all->items);
	free(all->seen);
}

bool compare_sources(struct config *config, const char *dir, const char *format)
{
	struct comparison *sets = need_zeros((config->target_count + 1) * sizeof(*sets));
	struct nl *nl = NULL;
	bool complete = true;
	size_t i;
	int err;

	/* Networks that are listed for their hosts have what the sources have. */
	for (i = 0; i < config->target_count; i++)
		config->targets[i]->source_count -= !!config->targets[i]->networks;
	for (i = 0; i < config->source_count; i++) {
		if (config->sources[i]->kind == &aggregate_kind)
			continue;
		config->sources[i]->delivered = store_load(config->sources[i], dir);
		complete &= config->sources[i]->delivered;
		if (!config->sources[i]->delivered)
			log_warning("[%s %s] has no stored contents in %s: no root, or it has not answered yet",
				    config->sources[i]->kind->word, config->sources[i]->name, dir);
	}
	err = nl_open(&nl, IPCUCKOO_FAMILY_NAME);
	if (err)
		log_warning("packets are not counted, as the kernel module does not answer: %s",
			    strerror(-err));
	for (i = 0; i < config->target_count; i++)
		compare_set(&sets[i], config->targets[i], nl);
	print_all(sets, config->target_count, format);
	for (i = 0; i < config->target_count; i++) {
		free(sets[i].worth);
		free(sets[i].shared);
	}
	free(sets);
	nl_close(nl);
	return complete;
}
