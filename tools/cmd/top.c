// SPDX-License-Identifier: GPL-2.0-only
/*
 * top: prints the entries of sets with counters that most packets matched.
 */
#include <stdlib.h>

#include "cli/output.h"
#include "cmd/commands.h"
#include "nl/entry.h"

#define FIRST		10
#define FIRST_MOST	1000

/**
 * struct hit - an entry that packets matched
 * @set:	its set
 * @entry:	the entry as text
 * @packets:	number of packets that matched
 * @bytes:	bytes of these packets
 */
struct hit {
	const char *set;
	char entry[ADDRESS_TEXT_SIZE];
	uint64_t packets;
	uint64_t bytes;
};

/* The entries with most packets so far, in order; at most @most of them. */
struct ranking {
	struct hit *hits;
	size_t count;
	size_t most;
};

static bool comes_before(const struct hit *a, const struct hit *b)
{
	return a->packets != b->packets ? a->packets > b->packets :
					  a->bytes > b->bytes;
}

static void rank(struct ranking *ranking, const char *set,
		 const struct extended_entry *entry)
{
	struct hit hit = {
		.set = set, .packets = entry->value.packets, .bytes = entry->value.bytes,
	};
	size_t at = ranking->count;

	if (!hit.packets ||
	    (at == ranking->most && !comes_before(&hit, &ranking->hits[at - 1])))
		return;
	*entry_format(hit.entry, entry->kind, entry->entry) = '\0';
	if (at == ranking->most)
		at--;
	else
		ranking->count++;
	for (; at && comes_before(&hit, &ranking->hits[at - 1]); at--)
		ranking->hits[at] = ranking->hits[at - 1];
	ranking->hits[at] = hit;
}

/* Add the entries of a set to the ranking. Unless the user @named the set, it is no error
 * if it has been destroyed since the sets were listed.
 */
static int rank_set(struct tool *tool, struct ranking *ranking, const char *set,
		    bool named)
{
	struct extended entries = { 0 };
	size_t i;
	int err;

	err = nl_extended_entries(tool->nl, set, &entries);
	if (err < 0) {
		extended_free(&entries);
		return err == -ENOENT && !named ? STATUS_OK :
		       fail_kernel(tool, set, "cannot list set %s", set);
	}
	for (i = 0; i < entries.count; i++)
		rank(ranking, set, &entries.at[i]);
	extended_free(&entries);
	return STATUS_OK;
}

static void print_ranking(const struct ranking *ranking)
{
	static const struct column columns[] = {
		{ "PACKETS", true }, { "BYTES", true }, { "SET", false },
		{ "ENTRY", false }, { NULL, false }
	};
	struct table table = { .columns = columns };
	size_t i;

	for (i = 0; i < ranking->count; i++) {
		const struct hit *hit = &ranking->hits[i];

		table_add(&table, "%llu", (unsigned long long)hit->packets);
		table_add(&table, "%llu", (unsigned long long)hit->bytes);
		table_add_name(&table, hit->set);
		table_add(&table, "%s", hit->entry);
	}
	table_print(&table);
}

static void print_json_ranking(const struct ranking *ranking)
{
	struct json_object *all = json_object_new_array(), *object;
	size_t i;

	for (i = 0; i < ranking->count; i++) {
		object = json_object_new_object();
		json_add_string(object, "set", ranking->hits[i].set);
		json_add_string(object, "elem", ranking->hits[i].entry);
		json_add_uint(object, "packets", ranking->hits[i].packets);
		json_add_uint(object, "bytes", ranking->hits[i].bytes);
		json_object_array_add(all, object);
	}
	json_print(all);
}

static int rank_sets(struct tool *tool, struct ranking *ranking,
		     const struct nl_set *sets, size_t count, bool named)
{
	bool any = false;
	int status = STATUS_OK;
	size_t i;

	ranking->hits = calloc(ranking->most, sizeof(*ranking->hits));
	if (!ranking->hits)
		return fail_memory(tool);
	for (i = 0; i < count && !status; i++) {
		if (!(sets[i].options & IPCUCKOO_O_COUNTERS))
			continue;
		any = true;
		status = rank_set(tool, ranking, sets[i].name, named);
	}
	if (!status && !any)
		status = fail(tool, STATUS_REFUSED,
			      "no packets are counted for entries: only sets made with counters do that, as in: create feed hash:net counters");
	if (status)
		return status;
	if (tool->json)
		print_json_ranking(ranking);
	else
		print_ranking(ranking);
	return STATUS_OK;
}

int run_top(struct tool *tool, struct words *words)
{
	const char *first = NULL;
	const struct keyword keywords[] = {
		{ .word = "--first", .value = &first },
		{ .word = NULL }
	};
	struct ranking ranking = { 0 };
	struct nl_set *sets = NULL, set;
	long long most = FIRST;
	size_t count = 1;
	int status;

	status = parse_words(tool, words, keywords, 0, 1);
	if (!status && first)
		status = parse_number(tool, "first", first, 1, FIRST_MOST, &most);
	if (!status)
		status = words->count ? find_set(tool, words->word[0], &set) :
					connect_module(tool);
	if (status)
		return status;
	ranking.most = most;
	if (!words->count && nl_sets(tool->nl, &sets, &count) < 0)
		status = fail_kernel(tool, NULL, "cannot list the sets");
	else
		status = rank_sets(tool, &ranking, sets ? sets : &set, count,
				   words->count);
	free(ranking.hits);
	free(sets);
	return status;
}
