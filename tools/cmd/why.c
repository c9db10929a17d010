// SPDX-License-Identifier: GPL-2.0-only
/*
 * why: finds out what happens to the packets of an address, which sets have it, and what ipcuckood knows
 * about where its entries come from. All of it becomes one object of JSON, which is the output with -j;
 * why_text.c makes sentences of it.
 */
#include <stdlib.h>

#include "cli/daemon.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "cmd/why.h"
#include "layout/show.h"
#include "nl/entry.h"
#include "set/attachment.h"
#include "set/bulk.h"
#include "set/chain.h"
#include "set/filter.h"

/* ipcuckood answers at once, unless it changes a large set. */
#define PATIENCE_SECONDS	10

/* The device of the kernel's own connections */
#define LOOPBACK	"lo"

/**
 * struct why - one run of why
 * @tool:	the run
 * @end:	the address
 * @text:	the same as text
 * @sets:	all sets
 * @set_count:	their number
 * @attachments: all attachments, in the order in which packets meet them
 * @attachment_count: their number
 * @world:	those that decide on packets now
 * @dropped:	packets that come from the address are dropped somewhere, and packets to it
 * @kept:	they are not dropped everywhere
 * @accepted:	an attachment accepts packets that another one would drop
 * @listed:	a set has the address
 * @spared:	an attachment would drop its packets if its set had no exception for it
 * @rules:	rules of iptables look up a set that has it
 * @answer:	all of it as JSON
 * @found:	the sets in it
 */
struct why {
	struct tool *tool;
	struct end end;
	char text[ADDRESS_TEXT_SIZE];
	struct nl_set *sets;
	size_t set_count;
	struct nl_attachment *attachments;
	size_t attachment_count;
	struct world world;
	bool dropped[2];
	bool kept[2];
	bool accepted;
	bool listed;
	bool spared;
	bool rules;
	struct json_object *answer;
	struct json_object *found;
};

/* What is attached */

/* The first one that packets meet comes first. Compares pointers last: those of one chain and order have
 * come from the kernel in their order.
 */
static int compare_attachments(const void *a, const void *b)
{
	const struct nl_attachment *x = *(struct nl_attachment *const *)a;
	const struct nl_attachment *y = *(struct nl_attachment *const *)b;

	if (!same_place(x, y))
		return x->place > y->place ? -1 : 1;
	if (x->place != IPCUCKOO_PLACE_XDP && x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool sort_attachments(struct why *why)
{
	struct nl_attachment **order = calloc(why->attachment_count + 1, sizeof(*order));
	struct nl_attachment *sorted = calloc(why->attachment_count + 1, sizeof(*sorted));
	size_t i;

	for (i = 0; order && i < why->attachment_count; i++)
		order[i] = &why->attachments[i];
	if (order && sorted) {
		qsort(order, why->attachment_count, sizeof(*order), compare_attachments);
		for (i = 0; i < why->attachment_count; i++)
			sorted[i] = *order[i];
		free(why->attachments);
		why->attachments = sorted;
	} else {
		free(sorted);
	}
	free(order);
	return order && sorted;
}

static int read_attachments(struct why *why)
{
	struct seen *seen;
	size_t i;

	if (nl_attachments(why->tool->nl, &why->attachments, &why->attachment_count) < 0)
		return fail_kernel(why->tool, NULL, "cannot list what is attached");
	why->world.seen = calloc(why->attachment_count + 1, sizeof(*seen));
	if (!why->world.seen || !sort_attachments(why))
		return fail_memory(why->tool);
	for (i = 0; i < why->attachment_count; i++) {
		if (!decides(&why->attachments[i]) || !is_active(&why->attachments[i]))
			continue;
		seen = &why->world.seen[why->world.count++];
		seen->attachment = why->attachments[i];
		strcpy(seen->set.name, seen->attachment.set);
	}
	return STATUS_OK;
}

/* What happens to packets */

/* The packets that an address is in: those that arrive, and those that this machine sends. */
static const struct way {
	const char *word;
	bool out;
	bool to;
} ways[] = {
	{ "from", false, false },
	{ "through", false, true },
	{ "to", true, true },
	{ "own", true, false },
};

/* @like: as in struct packet */
static int add_packet(struct why *why, struct json_object *array, const struct way *way,
		      const char *dev, bool loopback, const struct nl_attachment *like)
{
	struct packet packet = {
		.out = way->out, .dev = dev, .loopback = loopback, .like = like,
	};
	char only[ONLY_TEXT_SIZE];
	struct json_object *object;
	char text[ATTACHMENT_TEXT_SIZE];
	const struct seen *decided;
	struct cause cause;
	int dropped;

	*(way->to ? &packet.destination : &packet.source) = why->end;
	dropped = chain_verdict(why->tool, &why->world, &packet, &cause);
	if (dropped < 0)
		return fail(why->tool, STATUS_REFUSED, "cannot find out what happens to packets: %s",
			    strerror(-dropped));
	decided = dropped ? cause.seen : cause.accept;
	/* This machine sends packets from the address only if it is one of its own. */
	if (way->to || !way->out) {
		why->dropped[way->to] |= dropped;
		why->kept[way->to] |= !dropped && !loopback;
		why->accepted |= decided && !dropped;
	}
	object = json_object_new_object();
	json_add_string(object, "packets", way->word);
	if (*dev)
		json_add_string(object, "dev", dev);
	if (like)
		json_add_string(object, "only", only_text(like, only));
	json_add_string(object, "verdict", dropped ? "drop" : decided ? "accept" : "pass");
	if (decided) {
		json_add_string(object, "set", decided->attachment.set);
		json_add_uint(object, "attachment", decided->attachment.id);
		json_add_string(object, "how", attachment_text(&decided->attachment, text));
	}
	json_object_array_add(array, object);
	return STATUS_OK;
}

/* Add packets of all kinds to which attachments are limited, and those of none. */
static int add_kinds(struct why *why, struct json_object *array, const struct way *way,
		     const char *dev, bool loopback)
{
	const struct nl_attachment *like = NULL;
	int status;

	do {
		status = add_packet(why, array, way, dev, loopback, like);
		like = next_kind(&why->world, like);
	} while (!status && like);
	return status;
}

/* The name of a device, if this is the first of the attachments that has it; "" otherwise. */
static const char *new_device(const struct world *world, size_t at)
{
	const char *dev = world->seen[at].attachment.dev;
	size_t i;

	for (i = 0; i < at; i++)
		if (same_device(world->seen[i].attachment.dev, dev))
			return "";
	return same_device(dev, LOOPBACK) ? "" : dev;
}

static int add_packets(struct why *why)
{
	struct json_object *array = json_object_new_array();
	const struct world *world = &why->world;
	bool loopback = false;
	int status = STATUS_OK;
	const char *dev;
	size_t i, at;

	json_object_object_add(why->answer, "packets", array);
	for (at = 0; at < world->count; at++)
		loopback |= world->seen[at].attachment.flags & IPCUCKOO_F_LOOPBACK;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]) && !status; i++) {
		for (at = 0; at < world->count && !status; at++) {
			dev = new_device(world, at);
			if (*dev)
				status = add_kinds(why, array, &ways[i], dev, false);
		}
		if (!status)
			status = add_kinds(why, array, &ways[i], "", false);
		if (!status && loopback)
			status = add_kinds(why, array, &ways[i], LOOPBACK, true);
	}
	return status;
}

/* What sets have */

static void add_entry(const struct nl_set *set, struct json_object *array, enum entry_kind kind,
		      const uint8_t *entry, const struct nl_test *test)
{
	struct json_object *object = json_object_new_object();
	char text[ADDRESS_TEXT_SIZE];

	*entry_format(text, kind, entry) = '\0';
	json_add_string(object, "elem", text);
	json_add_value(object, set, test);
	json_object_array_add(array, object);
}

/* Whether an attachment drops packets of what is in a set. */
static bool is_dropped(const struct why *why, const char *set)
{
	const struct seen *seen = why->world.seen;
	size_t i;

	for (i = 0; i < why->world.count; i++)
		if (!strcmp(seen[i].attachment.set, set) &&
		    seen[i].attachment.verdict == IPCUCKOO_VERDICT_DROP)
			return true;
	return false;
}

/* Add the entries that cover the address, the one that decides first. Return: whether the kernel could be
 * asked.
 */
static bool add_entries(struct why *why, const struct nl_set *set, const struct nl_test *first,
			struct json_object *array)
{
	unsigned int bits = why->end.family == IPCUCKOO_FAMILY_INET ? 32 : 128;
	bool nets = set->type == IPCUCKOO_TYPE_HASH_NET;
	const struct guard_set guarded = { .kind = set };
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct nl_test test = *first;
	struct packed one;
	enum entry_kind kind;
	int len = nets && first->prefix_len < bits ? first->prefix_len : bits;

	for (; len >= 0; len = nets ? len - 1 : -1) {
		kind = prefix_of(&guarded, &why->end, len, entry);
		one = packed_one(kind, entry);
		if (len < first->prefix_len &&
		    nl_entry_test(why->tool->nl, set->name, &one, &test))
			return false;
		if (test.found || test.nomatch)
			add_entry(set, array, kind, entry, &test);
		if (test.found && first->nomatch)
			why->spared |= is_dropped(why, set->name);
	}
	return true;
}

static int add_set(struct why *why, const struct nl_set *set)
{
	unsigned int bits = why->end.family == IPCUCKOO_FAMILY_INET ? 32 : 128;
	const struct guard_set none = { .name = "" };
	struct json_object *object, *entries;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct packed one;
	struct nl_test test;
	enum entry_kind kind;
	int err;

	kind = prefix_of(&none, &why->end, bits, entry);
	one = packed_one(kind, entry);
	err = nl_entry_test(why->tool->nl, set->name, &one, &test);
	/* The set cannot hold the address, or was destroyed meanwhile. */
	if (err == -EAFNOSUPPORT || err == -EOPNOTSUPP || err == -ENOENT)
		return STATUS_OK;
	if (err)
		return fail_kernel(why->tool, set->name, "cannot test set %s", set->name);
	if (!test.found && !test.nomatch)
		return STATUS_OK;
	object = json_object_new_object();
	json_object_array_add(why->found, object);
	json_add_string(object, "name", set->name);
	json_add_string(object, "type", meaning_word(type_words, set->type));
	json_add_string(object, "answer", !test.found ? "exception" :
			is_approximate(set) ? "maybe" : "listed");
	why->listed |= test.found;
	json_add_string(object, "owner", set_owner(set));
	if (set->rules)
		json_add_uint(object, "rules", set->rules);
	why->rules |= set->rules;
	if (is_approximate(set)) {
		json_add_rate(object, "fppnow", filter_rate_now(set));
		return STATUS_OK;
	}
	entries = json_object_new_array();
	json_object_object_add(object, "entries", entries);
	if (!add_entries(why, set, &test, entries))
		return fail_kernel(why->tool, set->name, "cannot test set %s", set->name);
	return STATUS_OK;
}

static int add_sets(struct why *why)
{
	int status = STATUS_OK;
	size_t i;

	if (nl_sets(why->tool->nl, &why->sets, &why->set_count) < 0)
		return fail_kernel(why->tool, NULL, "cannot list the sets");
	for (i = 0; i < why->set_count && !status; i++)
		status = add_set(why, &why->sets[i]);
	return status;
}

/* The set with this name in an array; NULL if it is not there. */
static struct json_object *find_in(struct json_object *array, const char *name)
{
	size_t i, count = json_object_array_length(array);
	struct json_object *set, *value;

	for (i = 0; i < count; i++) {
		set = json_object_array_get_idx(array, i);
		if (json_object_object_get_ex(set, "name", &value) &&
		    !strcmp(json_object_get_string(value), name))
			return set;
	}
	return NULL;
}

static void add_attached(const struct why *why)
{
	struct json_object *array = json_object_new_array(), *object;
	char text[ATTACHMENT_TEXT_SIZE];
	size_t i;

	json_object_object_add(why->answer, "attachments", array);
	for (i = 0; i < why->attachment_count; i++) {
		if (!find_in(why->found, why->attachments[i].set))
			continue;
		object = json_attachment(&why->attachments[i]);
		json_add_string(object, "how", attachment_text(&why->attachments[i], text));
		json_object_array_add(array, object);
	}
}

/* What ipcuckood knows */

/* Move a value from one object to another, if it is there. */
static void take(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *value;

	if (json_object_object_get_ex(from, key, &value))
		json_object_object_add(to, key, json_object_get(value));
}

static void add_kept(const struct why *why, struct json_object *kept)
{
	struct json_object *name, *sources, *set;

	if (!json_object_object_get_ex(kept, "name", &name) ||
	    !json_object_is_type(name, json_type_string) ||
	    !json_object_object_get_ex(kept, "sources", &sources) ||
	    !json_object_is_type(sources, json_type_array))
		return;
	set = find_in(why->found, json_object_get_string(name));
	if (!set && !json_object_array_length(sources))
		return;
	if (!set) {
		set = json_object_new_object();
		json_object_array_add(why->found, set);
		take(kept, set, "name");
		json_add_string(set, "answer", "not listed");
	}
	take(kept, set, "state");
	take(kept, set, "problem");
	take(kept, set, "except");
	take(kept, set, "sources");
}

/* Take over an answer of ipcuckood. Return: what it is worth. */
static const char *read_answer(const struct why *why, const char *text)
{
	struct json_object *answer = json_tokener_parse(text), *sets, *namespace;
	const char *word = "silent";
	size_t i;

	if (json_object_object_get_ex(answer, "sets", &sets) &&
	    json_object_is_type(sets, json_type_array) &&
	    json_object_object_get_ex(answer, "namespace", &namespace)) {
		word = "answers";
		if (json_object_get_uint64(namespace) != own_namespace())
			word = "elsewhere";
		for (i = 0; !strcmp(word, "answers") && i < json_object_array_length(sets); i++)
			add_kept(why, json_object_array_get_idx(sets, i));
	}
	json_object_put(answer);
	return word;
}

/* Ask ipcuckood, and add what it knows. Return: "answers"; "absent"; "silent", after a message;
 * "elsewhere": it runs in another network namespace.
 */
static const char *ask_daemon(const struct why *why, const char *control)
{
	const char *path = control ? control : CONTROL_PATH, *word = "silent";
	char line[ADDRESS_TEXT_SIZE + 8], *text = NULL;
	int fd = daemon_connect(path, PATIENCE_SECONDS);
	size_t size;
	FILE *out;

	if (!control && (fd == -ENOENT || fd == -ECONNREFUSED))
		return "absent";
	if (fd < 0) {
		warn(why->tool, "%s: no ipcuckood answers there, so it is not known where entries come from: %s",
		     path, strerror(-fd));
		return "silent";
	}
	out = open_memstream(&text, &size);
	snprintf(line, sizeof(line), "why %s", why->text);
	if (daemon_ask(fd, line, NULL, 0, out, why->tool->quiet ? NULL : stderr))
		warn(why->tool, "ipcuckood runs, but has not said where entries come from");
	else if (out && !fflush(out))
		word = read_answer(why, text);
	if (out)
		fclose(out);
	free(text);
	return word;
}

/* All of it */

static bool is_blocked(const struct why *why)
{
	return why->dropped[false] || why->dropped[true];
}

/* Why the address is not blocked */
static const char *reason(const struct why *why)
{
	if (why->accepted)
		return "an attachment accepts its packets before another one would drop them";
	if (why->listed && why->rules)
		return "no attachment drops its packets; rules of iptables may";
	if (why->listed)
		return "a set has it, but no attachment drops its packets";
	return why->spared ? "an exception spares it" : "no set has it";
}

static void add_verdict(const struct why *why)
{
	bool from = why->dropped[false], to = why->dropped[true];
	bool some = (from && why->kept[false]) || (to && why->kept[true]);
	char text[128];

	json_add_bool(why->answer, "blocked", is_blocked(why));
	snprintf(text, sizeof(text), "%spackets %s it are dropped", some ? "some " : "",
		 from && to ? "from and to" : from ? "from" : "to");
	json_add_string(why->answer, "why", is_blocked(why) ? text : reason(why));
}

static int collect(struct why *why, const char *control)
{
	int status;

	json_add_string(why->answer, "address", why->text);
	status = read_attachments(why);
	if (!status)
		status = add_sets(why);
	if (!status)
		status = add_packets(why);
	if (status)
		return status;
	add_verdict(why);
	add_attached(why);
	json_add_string(why->answer, "daemon", ask_daemon(why, control));
	json_object_object_add(why->answer, "sets", json_object_get(why->found));
	return STATUS_OK;
}

/* Read the address, or the name of a host. */
static int read_address(struct why *why, char **word)
{
	const struct nl_set any = { .type = IPCUCKOO_TYPE_HASH_NET, .family = IPCUCKOO_FAMILY_ANY };
	struct packed entries = { 0 };
	int status = bulk_read(why->tool, &any, word, 1, NULL, &entries);
	struct entry_ref ref;

	if (status)
		return status;
	ref = first_entry(&entries);
	if (packed_count(&entries) != 1 || is_net(ref.kind)) {
		status = fail(why->tool, STATUS_USAGE, "%s is not one address; why takes one at a time",
			      *word);
	} else {
		why->end.family = is_v6(ref.kind) ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET;
		memcpy(why->end.address, entry_at(&entries, ref), entry_size[ref.kind]);
		entry_text(&entries, ref, why->text);
	}
	packed_free(&entries);
	return status;
}

int run_why(struct tool *tool, struct words *words)
{
	struct why why = { .tool = tool };
	const char *control = NULL;
	const struct keyword keywords[] = {
		{ .word = "--control", .value = &control },
		{ .word = NULL }
	};
	int status = parse_words(tool, words, keywords, 1, 1);

	if (!status)
		status = read_address(&why, words->word);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	why.answer = json_object_new_object();
	why.found = json_object_new_array();
	status = collect(&why, control);
	if (!status && tool->json)
		puts(json_text(why.answer));
	else if (!status)
		print_why(why.answer);
	json_object_put(why.found);
	json_object_put(why.answer);
	free(why.sets);
	free(why.attachments);
	free(why.world.seen);
	return status ? status : is_blocked(&why) ? STATUS_OK : STATUS_NO;
}
