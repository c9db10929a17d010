// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/routes/destination.h"

/* The number of hosts in a prefix, as a power of two */
static unsigned int host_bits(enum entry_kind kind, const uint8_t *entry)
{
	unsigned int size = entry_size[kind];

	return is_net(kind) ? 8 * (size - 1) - entry[size - 1] : 0;
}

bool destination_is_too_short(const struct destination_rules *rules, enum entry_kind kind,
			      const uint8_t *entry)
{
	unsigned int bits = is_v6(kind) ? 128 : 32;

	return bits - host_bits(kind, entry) <
	       (is_v6(kind) ? rules->min_length6 : rules->min_length);
}

static bool is_too_large(const struct destination_rules *rules, enum entry_kind kind,
			 const uint8_t *entry)
{
	unsigned int bits = host_bits(kind, entry);

	return rules->hosts_only && (bits > 63 || 1ull << bits > FEED_EXPAND_LIMIT);
}

bool destination_is_refused(const struct destination_rules *rules, enum entry_kind kind,
			    const uint8_t *entry)
{
	return destination_is_too_short(rules, kind, entry) || is_too_large(rules, kind, entry);
}

/* Add the entries that a destination stands for. Return: 0 or -ENOMEM. */
static int expand(const struct destination_rules *rules, enum entry_kind kind,
		  const uint8_t *entry, struct packed *to)
{
	enum entry_kind host = is_v6(kind) ? ENTRY_HOST6 : ENTRY_HOST4;
	unsigned int size = entry_size[host], at;
	uint8_t address[IPCUCKOO_HOST6_SIZE];
	uint64_t left;
	int err = 0;

	if (!rules->hosts_only || !is_net(kind))
		return packed_add(to, kind, entry);
	memcpy(address, entry, size);
	for (left = 1ull << host_bits(kind, entry); left && !err; left--) {
		err = packed_add(to, host, address);
		for (at = size - 1; !++address[at] && at; at--)
			;
	}
	return err;
}

/* Remove what is there twice. Return: 0, or -EFBIG if there is too much all the same. */
static int fold(const struct destination_rules *rules, struct packed *want)
{
	packed_unique(want);
	return packed_count(want) > rules->max_entries ? -EFBIG : 0;
}

int destination_collect(const struct destination_rules *rules, const struct fib *fib,
			struct packed *want)
{
	const struct fib_route *route;
	size_t at = 0;
	int err = 0;

	while (!err && (route = fib_next(fib, &at))) {
		if (route->flags & FIB_REFUSED)
			continue;
		err = expand(rules, route->kind, route->entry, want);
		/* Not for each route, as it looks at all entries. */
		if (!err && packed_count(want) > 2 * rules->max_entries + FEED_EXPAND_LIMIT)
			err = fold(rules, want);
	}
	return err ? err : fold(rules, want);
}

static void note_change(struct changes *changes, bool del, enum entry_kind kind,
			const uint8_t *entry)
{
	struct source_change *change;

	if (changes->count++ >= CHANGES_MOST)
		return;
	change = &changes->at[changes->count - 1];
	change->del = del;
	change->member.kind = kind;
	memcpy(change->member.entry, entry, entry_size[kind]);
}

void destination_compare(const struct packed *want, const struct contents *have,
			 struct changes *changes)
{
	struct contents_cursor cursor = { 0 };
	struct entry_ref ref;
	struct member member;

	while (contents_next(have, &cursor, &member))
		if (!packed_has(want, member.kind, member.entry))
			note_change(changes, true, member.kind, member.entry);
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < want->kind[ref.kind].count; ref.index++)
			if (!contents_find(have, ref.kind, entry_at(want, ref), &member))
				note_change(changes, false, ref.kind, entry_at(want, ref));
}

/* The entries that some destinations stand for */
static int expand_some(const struct destination_rules *rules, const struct packed *some,
		       struct packed *entries)
{
	struct entry_ref ref;
	int err = 0;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < some->kind[ref.kind].count; ref.index++) {
			if (packed_count(entries) > CHANGES_MOST)
				return -EFBIG;
			if (!destination_is_refused(rules, ref.kind, entry_at(some, ref)))
				err = expand(rules, ref.kind, entry_at(some, ref), entries);
			if (err)
				return err;
		}
	}
	packed_unique(entries);
	return 0;
}

int destination_compare_some(const struct destination_rules *rules, const struct packed *some,
			     const struct fib *fib, const struct contents *have,
			     struct changes *changes)
{
	struct packed entries = { 0 };
	int err = expand_some(rules, some, &entries);
	struct entry_ref ref;
	struct member member;
	const uint8_t *entry;
	bool want;

	for (ref.kind = 0; !err && ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries.kind[ref.kind].count; ref.index++) {
			entry = entry_at(&entries, ref);
			want = fib_wants(fib, ref.kind, entry, rules->hosts_only);
			if (contents_find(have, ref.kind, entry, &member) != want)
				note_change(changes, !want, ref.kind, entry);
		}
	}
	packed_free(&entries);
	return err;
}
