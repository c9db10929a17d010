// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>

#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/set/aggregate.h"
#include "daemon/set/guard.h"
#include "daemon/set/merged.h"

static enum entry_kind host_kind(bool v6)
{
	return v6 ? ENTRY_HOST6 : ENTRY_HOST4;
}

static char *parse_rule(const struct target *target, const char *word, struct aggregate_rule *rule)
{
	char *slash, *end;
	unsigned long hosts = strtoul(word, &slash, 10);
	unsigned long length = *slash == '/' && isdigit((unsigned char)slash[1]) ?
		strtoul(slash + 1, &end, 10) : 0;
	unsigned long bits;
	size_t i;

	if (!isdigit((unsigned char)*word) || !length || *end)
		return need_text("\"%s\": write HOSTS/LENGTH, such as 8/24: a network of 24 bits is listed while 8 of its hosts are",
				 word);
	*rule = (struct aggregate_rule){ .length = length, .v6 = length > 32 };
	bits = (rule->v6 ? 128 : 32) - length;
	if (length == 32 || length > 127)
		return need_text("\"%s\": networks of IPv4 have lengths from 1 to 31, those of IPv6 from 33 to 127",
				 word);
	if (!(target->family & (rule->v6 ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET)))
		return need_text("\"%s\": that is a network of IPv%d, which the family of the set leaves out",
				 word, rule->v6 ? 6 : 4);
	if (hosts < 2 || hosts > UINT32_MAX || (bits < 32 && hosts > 1ull << bits))
		return need_text("\"%s\": the number of hosts is 2 at least, and not more than the network has",
				 word);
	for (i = 0; &target->aggregates[i] < rule; i++)
		if (target->aggregates[i].length == length)
			return need_text("\"%s\": another rule has that length; keep the one with fewer hosts",
					 word);
	rule->hosts = hosts;
	return NULL;
}

/* Note the networks around exceptions that are longer. */
static void note_excepted(struct aggregate_rule *rule, const struct packed *exceptions)
{
	unsigned int bytes = rule->v6 ? IPCUCKOO_HOST6_SIZE : IPCUCKOO_HOST4_SIZE;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct entry_ref ref;
	const uint8_t *at;
	enum entry_kind kind;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		if (is_v6(ref.kind) != rule->v6)
			continue;
		for (ref.index = 0; ref.index < exceptions->kind[ref.kind].count; ref.index++) {
			at = entry_at(exceptions, ref);
			if (is_net(ref.kind) && at[bytes] < rule->length)
				continue;
			kind = entry_prefix(rule->v6, at, rule->length, entry);
			need_memory(packed_add(&rule->excepted, kind, entry));
		}
	}
	packed_unique(&rule->excepted);
}

char *aggregate_parse(struct target *target)
{
	struct aggregate_rule *rule;
	char *why = NULL;
	size_t count;

	if (!target->aggregate)
		return NULL;
	if (target->type != IPCUCKOO_TYPE_HASH_NET)
		return need_text("a set of hosts cannot have networks; write type = hash:net");
	for (count = 0; target->aggregate[count]; count++)
		;
	target->aggregates = need_zeros((count + 1) * sizeof(*target->aggregates));
	while (target->aggregate_count < count && !why) {
		rule = &target->aggregates[target->aggregate_count];
		why = parse_rule(target, target->aggregate[target->aggregate_count++], rule);
		if (!why)
			note_excepted(rule, &target->exceptions);
	}
	return why;
}

void aggregate_free(struct target *target)
{
	size_t i;

	for (i = 0; i < target->aggregate_count; i++)
		packed_free(&target->aggregates[i].excepted);
	free(target->aggregates);
}

/* Some of the networks. @all: all of them, whatever @some has */
struct networks {
	bool all;
	struct packed some;
};

static bool is_asked(const struct networks *asked, enum entry_kind kind, const uint8_t *entry)
{
	return asked->all || packed_has(&asked->some, kind, entry);
}

/* Ask about the networks that have one of some hosts. Prefixes among the entries do not count. */
static void ask_around(const struct target *target, const struct packed *entries,
		       struct networks *asked)
{
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind host, net;
	struct entry_ref ref;
	size_t i;

	for (i = 0; i < target->aggregate_count; i++) {
		host = host_kind(target->aggregates[i].v6);
		ref = (struct entry_ref){ .kind = host };
		for (; ref.index < entries->kind[host].count; ref.index++) {
			net = entry_prefix(target->aggregates[i].v6, entry_at(entries, ref),
					   target->aggregates[i].length, entry);
			need_memory(packed_add(&asked->some, net, entry));
		}
	}
	packed_unique(&asked->some);
}

/* Ask about the networks that have expired: the guard has to forget them, too. */
static void ask_expired(const struct source *networks, struct networks *asked)
{
	struct contents_cursor cursor = { .kind = ENTRY_KINDS };
	struct member member;

	while (contents_next(&networks->contents, &cursor, &member))
		if (member_expired(&member, networks->good_at))
			need_memory(packed_add(&asked->some, member.kind, member.entry));
	packed_unique(&asked->some);
}

/* Whether a host is in one of the networks. */
static bool is_around(const struct target *target, const struct networks *asked, enum entry_kind host,
		      const uint8_t *address)
{
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind net;
	size_t i;

	for (i = 0; i < target->aggregate_count; i++) {
		if (host_kind(target->aggregates[i].v6) != host)
			continue;
		net = entry_prefix(target->aggregates[i].v6, address, target->aggregates[i].length, entry);
		if (is_asked(asked, net, entry))
			return true;
	}
	return false;
}

/* Collect the hosts of a network in the sorted entries of a source. */
static void collect_sorted(const struct packed *from, enum entry_kind host, const uint8_t *network,
			   struct packed *hosts)
{
	unsigned int length = network[entry_size[host]];
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct entry_ref ref = {
		.kind = host, .index = packed_not_less(from, host, network),
	};

	for (; ref.index < from->kind[host].count; ref.index++) {
		entry_prefix(is_v6(host), entry_at(from, ref), length, entry);
		if (memcmp(entry, network, entry_size[host]))
			break;
		need_memory(packed_add(hosts, host, entry_at(from, ref)));
	}
}

/* How many addresses some networks have; SIZE_MAX if there are any of IPv6. */
static size_t count_addresses(const struct packed *networks)
{
	struct entry_ref ref = { .kind = ENTRY_NET4 };
	size_t count = 0;

	if (networks->kind[ENTRY_NET6].count)
		return SIZE_MAX;
	for (; ref.index < networks->kind[ENTRY_NET4].count; ref.index++)
		count += 1ull << (32 - entry_at(networks, ref)[IPCUCKOO_HOST4_SIZE]);
	return count;
}

/* Look for each address of networks of IPv4. */
static void collect_each(const struct contents *contents, const struct packed *networks,
			 struct packed *hosts)
{
	struct entry_ref ref = { .kind = ENTRY_NET4 };
	uint32_t network, host, i;
	struct member member;

	for (; ref.index < networks->kind[ENTRY_NET4].count; ref.index++) {
		memcpy(&network, entry_at(networks, ref), sizeof(network));
		for (i = 0; i <= UINT32_MAX >> entry_at(networks, ref)[sizeof(network)]; i++) {
			host = htonl(ntohl(network) + i);
			if (contents_find(contents, ENTRY_HOST4, (uint8_t *)&host, &member))
				need_memory(packed_add(hosts, ENTRY_HOST4, (uint8_t *)&host));
		}
	}
}

/* Collect the hosts of networks that a source has. Entries with values are in no order: look for each
 * address of the networks if that is less than to look at all of these entries.
 */
static void collect_hosts(const struct source *source, const struct networks *asked,
			  struct packed *hosts)
{
	struct contents_cursor cursor = { .kind = asked->all ? 0 : ENTRY_KINDS };
	struct entry_ref ref;
	struct member member;

	if (!asked->all && count_addresses(&asked->some) < source->contents.used) {
		collect_each(&source->contents, &asked->some, hosts);
		return;
	}
	for (ref.kind = ENTRY_NET4; !asked->all && ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < asked->some.kind[ref.kind].count; ref.index++)
			collect_sorted(&source->contents.plain, host_kind(is_v6(ref.kind)),
				       entry_at(&asked->some, ref), hosts);
	while (contents_next(&source->contents, &cursor, &member))
		if (!is_net(member.kind) &&
		    is_around(source->target, asked, member.kind, member.entry))
			need_memory(packed_add(hosts, member.kind, member.entry));
}

/* What the sources say of the hosts of networks */
static struct merged read_hosts(const struct target *target, const struct networks *asked)
{
	struct packed hosts = { 0 };
	struct merged merged;
	size_t i;

	for (i = 0; i < target->source_count; i++)
		if (target->sources[i] != target->networks)
			collect_hosts(target->sources[i], asked, &hosts);
	packed_unique(&hosts);
	need_memory(merged_read(target, now_seconds(), &hosts, &merged));
	return merged;
}

/* Those that never expire come first, then those that do so last. */
static int compare_expiry(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a - 1, y = *(const uint32_t *)b - 1;

	return (x < y) - (x > y);
}

static bool is_excepted(const struct target *target, const struct aggregate_rule *rule,
			enum entry_kind kind, const uint8_t *entry)
{
	return packed_has(&rule->excepted, kind, entry) ||
	       packed_covers(&target->exceptions, kind, entry);
}

/* Find the listed hosts from *@at on that are in the same network; *@at becomes that behind them. Return:
 * when each of them expires, @count of them.
 */
static uint32_t *list_hosts(const struct aggregate_rule *rule, const struct merged *merged, size_t *at,
			    struct member *network, size_t *count)
{
	enum entry_kind host = host_kind(rule->v6);
	struct entry_ref ref = { .kind = host, .index = *at };
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	uint32_t *expires;
	size_t end;

	network->kind = entry_prefix(rule->v6, entry_at(&merged->entries, ref), rule->length,
				     network->entry);
	for (; ref.index < merged->entries.kind[host].count; ref.index++) {
		entry_prefix(rule->v6, entry_at(&merged->entries, ref), rule->length, entry);
		if (memcmp(entry, network->entry, entry_size[host]))
			break;
	}
	end = ref.index;
	expires = need_zeros((end - *at + 1) * sizeof(*expires));
	*count = 0;
	for (; *at < end; ++*at)
		if (merged->value[host][*at].there)
			expires[(*count)++] = merged->value[host][*at].expires;
	return expires;
}

/* Add the networks that a rule lists. */
static void apply_rule(const struct target *target, const struct aggregate_rule *rule,
		       const struct merged *merged, const struct networks *asked,
		       struct contents *networks)
{
	struct member network = { 0 };
	uint32_t *expires;
	size_t at = 0, count;

	while (at < merged->entries.kind[host_kind(rule->v6)].count) {
		expires = list_hosts(rule, merged, &at, &network, &count);
		if (count >= rule->hosts && is_asked(asked, network.kind, network.entry) &&
		    !is_excepted(target, rule, network.kind, network.entry)) {
			qsort(expires, count, sizeof(*expires), compare_expiry);
			network.expires = expires[rule->hosts - 1];
			need_memory(contents_add(networks, &network));
		}
		free(expires);
	}
}

/* The networks that are to be listed, of those asked for */
static struct contents find_networks(const struct target *target, const struct networks *asked)
{
	struct merged merged = read_hosts(target, asked);
	struct contents networks = { 0 };
	size_t i;

	for (i = 0; i < target->aggregate_count; i++)
		apply_rule(target, &target->aggregates[i], &merged, asked, &networks);
	merged_free(&merged);
	return networks;
}

/* Whether an entry changes, and how */
static bool find_change(const struct contents *from, const struct contents *to, enum entry_kind kind,
			const uint8_t *entry, struct source_change *change)
{
	struct member before;
	bool had = contents_find(from, kind, entry, &before);

	change->del = !contents_find(to, kind, entry, &change->member);
	change->member.kind = kind;
	memcpy(change->member.entry, entry, entry_size[kind]);
	return had == change->del || (had && before.expires != change->member.expires);
}

/* Change the networks asked for to what @next says; those that change are appended to @changed. */
static void change(struct source *networks, const struct contents *next, struct networks *asked,
		   struct packed *changed)
{
	struct source_change *changes, *change;
	struct entry_ref ref;
	size_t count = 0;

	if (asked->all)
		need_memory(contents_compare(&networks->contents, next, &asked->some));
	packed_unique(&asked->some);
	changes = need_zeros((packed_count(&asked->some) + 1) * sizeof(*changes));
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < asked->some.kind[ref.kind].count; ref.index++)
			count += find_change(&networks->contents, next, ref.kind,
					     entry_at(&asked->some, ref), &changes[count]);
	if (count) {
		guard_change(networks, changes, count);
		guard_note(networks);
		networks->changed_at = now_seconds();
		networks->deliveries++;
		networks->unsaved = true;
	}
	for (change = changes; change < changes + count; change++) {
		if (change->del)
			contents_del(&networks->contents, change->member.kind, change->member.entry);
		else
			need_memory(contents_add(&networks->contents, &change->member));
		networks->target->timeouts |= change->member.expires > 0;
		if (changed)
			need_memory(packed_add(changed, change->member.kind, change->member.entry));
	}
	free(changes);
}

void aggregate_update(struct target *target, struct packed *touched)
{
	struct networks asked = { .all = !touched };
	struct source *networks = target->networks;
	struct contents next;

	if (!networks)
		return;
	/* The set is made before its sources start. */
	networks->daemon = target->daemon;
	networks->delivered = true;
	networks->good_at = now_seconds();
	if (touched) {
		ask_around(target, touched, &asked);
		ask_expired(networks, &asked);
	}
	next = find_networks(target, &asked);
	change(networks, &next, &asked, touched);
	if (touched) {
		packed_unique(touched);
	} else if (packed_count(&networks->kept_out) && guard_follow(networks)) {
		/* There is room for more of them now. */
		guard_note(networks);
		networks->unsaved = true;
	}
	packed_free(&asked.some);
	contents_free(&next);
}

static void start_networks(struct source *source)
{
	source->state = SOURCE_GOOD;
}

static void set_clock(struct source *source, int64_t seconds)
{
	contents_shift(&source->contents, seconds);
}

/* How many hosts of the network are listed, and how many have to be */
static void explain_network(const struct source *source, const struct member *member,
			    struct json_object *object)
{
	const struct target *target = source->target;
	unsigned int length = member->entry[entry_size[member->kind] - 1];
	struct networks asked = { 0 };
	struct member network = { 0 };
	struct merged merged;
	size_t i, at = 0, count = 0;

	need_memory(packed_add(&asked.some, member->kind, member->entry));
	merged = read_hosts(target, &asked);
	for (i = 0; i < target->aggregate_count; i++) {
		if (target->aggregates[i].length != length || target->aggregates[i].v6 != is_v6(member->kind))
			continue;
		if (packed_count(&merged.entries))
			free(list_hosts(&target->aggregates[i], &merged, &at, &network, &count));
		json_add_int(object, "listed_hosts", count);
		json_add_int(object, "needed_hosts", target->aggregates[i].hosts);
		break;
	}
	merged_free(&merged);
	packed_free(&asked.some);
}

const struct source_kind aggregate_kind = {
	.word = "aggregate",
	.size = sizeof(struct source),
	.keys = (const struct config_key[]){ { NULL } },
	.start = start_networks,
	.clock_set = set_clock,
	.explain = explain_network,
};
