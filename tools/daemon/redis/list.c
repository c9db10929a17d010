// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/memory.h"
#include "daemon/redis/list.h"

bool list_is_name(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";

	return *name && strlen(name) <= LIST_NAME_MOST && !name[strspn(name, chars)];
}

bool list_is_version(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f') ||
		      text[i] == '-'))
			return false;
	return len && len < LIST_VERSION_SIZE;
}

bool list_number(const char *text, size_t len, uint64_t *number)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || value > (UINT64_MAX - 9) / 10)
			return false;
		value = value * 10 + text[i] - '0';
	}
	*number = value;
	return len;
}

bool list_parse_id(const char *text, size_t len, uint64_t *ms)
{
	const char *dash = memchr(text, '-', len);
	uint64_t number;

	return dash && len < LIST_ID_SIZE && list_number(text, dash - text, ms) &&
	       list_number(dash + 1, text + len - dash - 1, &number);
}

int list_parse_head(const char *const text[LIST_HEAD_FIELDS], const size_t len[LIST_HEAD_FIELDS],
		    struct list_head *head, char why[LIST_WHY_SIZE])
{
	uint64_t format, ms;
	size_t i, given = 0;

	memset(head, 0, sizeof(*head));
	for (i = 0; i < LIST_HEAD_FIELDS; i++)
		given += !!text[i];
	if (!given)
		return -ENOENT;
	if (!text[0] || !list_number(text[0], len[0], &format)) {
		snprintf(why, LIST_WHY_SIZE, "its key \"head\" has no format; somebody else writes there");
		return -EINVAL;
	}
	if (format != LIST_FORMAT) {
		snprintf(why, LIST_WHY_SIZE,
			 "it has the format %llu, and this ipcuckood knows format %d; update the older one",
			 (unsigned long long)format, LIST_FORMAT);
		return -EINVAL;
	}
	if (given < LIST_HEAD_FIELDS || !list_number(text[1], len[1], &head->seq) ||
	    !list_is_version(text[2], len[2]) || !list_number(text[3], len[3], &head->bytes) ||
	    !list_number(text[4], len[4], &head->snapshot.seq) ||
	    !list_parse_id(text[5], len[5], &ms) || head->snapshot.seq > head->seq) {
		snprintf(why, LIST_WHY_SIZE,
			 "its key \"head\" is damaged; publish all of the list again");
		return -EINVAL;
	}
	memcpy(head->snapshot.version, text[2], len[2]);
	memcpy(head->snapshot.id, text[5], len[5]);
	return 0;
}

/* Bytes that are being parsed. */
struct input {
	const uint8_t *at;
	size_t left;
};

static const uint8_t *take(struct input *input, size_t size)
{
	const uint8_t *at = input->at;

	if (input->left < size)
		return NULL;
	input->at += size;
	input->left -= size;
	return at;
}

static bool take_number(struct input *input, uint32_t *number)
{
	const uint8_t *at = take(input, 4);

	if (!at)
		return false;
	*number = (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
	return true;
}

/* A comment and its zero. An empty one would be no comment. */
static const char *take_comment(struct input *input)
{
	size_t most = IPCUCKOO_COMMENT_MAX + 1;
	const uint8_t *end;

	if (most > input->left)
		most = input->left;
	end = most ? memchr(input->at, '\0', most) : NULL;
	if (!end || end == input->at)
		return NULL;
	return (const char *)take(input, end + 1 - input->at);
}

/* Prefixes are shorter than hosts, and have no host bits. */
static bool is_entry(enum entry_kind kind, const uint8_t *entry)
{
	unsigned int bits = is_v6(kind) ? 128 : 32, i;
	unsigned int len = is_net(kind) ? entry[bits / 8] : bits;

	if (!is_net(kind))
		return true;
	for (i = len; i < bits; i++)
		if (entry[i / 8] & 0x80 >> i % 8)
			return false;
	return len < bits;
}

static bool fits(struct list_limits *limits, enum entry_kind kind)
{
	uint8_t family = is_v6(kind) ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET;

	if (limits->family & family && !(limits->hosts_only && is_net(kind)))
		return true;
	limits->left_out++;
	return false;
}

static int append_change(struct list_changes *changes, const struct source_change *change)
{
	size_t room = changes->room ? 2 * changes->room : 16;
	struct source_change *at;

	if (changes->count == changes->room) {
		at = reallocarray(changes->at, room, sizeof(*at));
		if (!at)
			return -ENOMEM;
		changes->at = at;
		changes->room = room;
	}
	changes->at[changes->count++] = *change;
	return 0;
}

static bool take_change(struct input *input, struct source_change *change)
{
	const uint8_t *flags = take(input, 1), *entry;
	struct member *member = &change->member;

	memset(change, 0, sizeof(*change));
	if (!flags || *flags & ~(LIST_KINDS | LIST_TIMED | LIST_COMMENT | LIST_DEL))
		return false;
	change->del = *flags & LIST_DEL;
	if (change->del && *flags & (LIST_TIMED | LIST_COMMENT))
		return false;
	member->kind = *flags & LIST_KINDS;
	entry = take(input, entry_size[member->kind]);
	if (!entry || !is_entry(member->kind, entry))
		return false;
	memcpy(member->entry, entry, entry_size[member->kind]);
	if (*flags & LIST_TIMED && (!take_number(input, &member->expires) || !member->expires))
		return false;
	if (*flags & LIST_COMMENT)
		member->comment = take_comment(input);
	return !(*flags & LIST_COMMENT) || member->comment;
}

int list_parse_changes(const uint8_t *data, size_t size, struct list_limits *limits,
		       struct list_changes *changes, char why[LIST_WHY_SIZE])
{
	struct input input = { data, size };
	struct source_change change;
	int err = 0;

	if (!size || size > LIST_CHANGES_MOST) {
		snprintf(why, LIST_WHY_SIZE, "it has %zu bytes, and not 1 to %u", size,
			 LIST_CHANGES_MOST);
		return -EINVAL;
	}
	while (input.left && !err) {
		if (!take_change(&input, &change)) {
			snprintf(why, LIST_WHY_SIZE, "it cannot be read before byte %zu",
				 size - input.left);
			return -EINVAL;
		}
		if (fits(limits, change.member.kind))
			err = append_change(changes, &change);
	}
	return err;
}

void list_free_changes(struct list_changes *changes)
{
	free(changes->at);
	memset(changes, 0, sizeof(*changes));
}

/**
 * struct snapshot_section - a section of a snapshot
 * @kind:	kind of its entries
 * @timed:	they expire
 * @comment:	their comment, or NULL
 * @count:	how many there are
 */
struct snapshot_section {
	enum entry_kind kind;
	bool timed;
	const char *comment;
	uint32_t count;
};

static bool take_section(struct input *input, struct snapshot_section *section)
{
	const uint8_t *flags = take(input, 1);
	size_t size;

	memset(section, 0, sizeof(*section));
	if (!flags || *flags & ~(LIST_KINDS | LIST_TIMED | LIST_COMMENT))
		return false;
	section->kind = *flags & LIST_KINDS;
	section->timed = *flags & LIST_TIMED;
	if (!take_number(input, &section->count) || !section->count)
		return false;
	if (*flags & LIST_COMMENT) {
		section->comment = take_comment(input);
		if (!section->comment)
			return false;
	}
	size = entry_size[section->kind] + (section->timed ? 4 : 0);
	return section->count <= input->left / size;
}

/* Whether entries are of their kind, in ascending order, and none is repeated. Most are hosts of
 * IPv4: in this order they are compared as numbers.
 */
static bool are_entries(enum entry_kind kind, const uint8_t *data, size_t count)
{
	size_t size = entry_size[kind], i;
	uint32_t last, next;

	if (kind != ENTRY_HOST4) {
		for (i = 0; i < count; i++)
			if (!is_entry(kind, data + i * size) ||
			    (i && memcmp(data + (i - 1) * size, data + i * size, size) >= 0))
				return false;
		return true;
	}
	for (last = 0, i = 0; i < count; i++, last = next) {
		memcpy(&next, data + 4 * i, 4);
		next = be32toh(next);
		if (i && last >= next)
			return false;
	}
	return true;
}

/* A section of entries without expiry and comment: all of it at once. */
static int take_plain(struct input *input, const struct snapshot_section *section,
		      struct list_limits *limits, struct packed *plain)
{
	struct entry_array *array = &plain->kind[section->kind];
	size_t size = (size_t)section->count * entry_size[section->kind];
	const uint8_t *data = take(input, size);

	if (array->count || !data || !are_entries(section->kind, data, section->count))
		return -EINVAL;
	if (!fits(limits, section->kind)) {
		limits->left_out += section->count - 1;
		return 0;
	}
	if (packed_grow(plain, section->kind, section->count))
		return -ENOMEM;
	memcpy(array->data, data, size);
	array->count = section->count;
	return 0;
}

/* Entries without expiry and comment come first, in one section of each kind, since adding to
 * contents the same entry as plain and with a value would be slow.
 */
static int take_entry(struct contents *contents, const struct packed *plain,
		      const struct member *member)
{
	struct member other;

	if (packed_has(plain, member->kind, member->entry) ||
	    contents_find(contents, member->kind, member->entry, &other))
		return -EEXIST;
	return contents_add(contents, member);
}

/* Return: 0, -EINVAL if its entries are wrong or not in order, -EEXIST if one is there already. */
static int take_entries(struct input *input, const struct snapshot_section *section,
			struct list_limits *limits, struct contents *contents,
			const struct packed *plain)
{
	struct member member = { .kind = section->kind, .comment = section->comment };
	const uint8_t *entry, *last = NULL;
	size_t size = entry_size[section->kind];
	bool fit = fits(limits, section->kind);
	uint32_t i;
	int err = 0;

	if (!fit)
		limits->left_out += section->count - 1;
	for (i = 0; i < section->count && !err; i++) {
		entry = take(input, size);
		if (!is_entry(section->kind, entry) || (last && memcmp(last, entry, size) >= 0))
			return -EINVAL;
		last = entry;
		if (section->timed && (!take_number(input, &member.expires) || !member.expires))
			return -EINVAL;
		memcpy(member.entry, entry, size);
		if (fit)
			err = take_entry(contents, plain, &member);
	}
	return err;
}

int list_parse_snapshot(const uint8_t *data, size_t size, struct list_limits *limits,
			struct contents *contents, char why[LIST_WHY_SIZE])
{
	struct input input = { data, size };
	struct snapshot_section section;
	struct packed plain = { 0 };
	bool valued = false;
	size_t total = 0;
	int err = 0;

	while (input.left && !err) {
		if (!take_section(&input, &section)) {
			err = -EINVAL;
			break;
		}
		total += section.count;
		valued |= section.timed || section.comment;
		if (total > limits->most)
			err = -E2BIG;
		else if (section.timed || section.comment)
			err = take_entries(&input, &section, limits, contents, &plain);
		else
			/* Plain sections come before all others: see take_entry(). */
			err = valued ? -EINVAL : take_plain(&input, &section, limits, &plain);
	}
	if (err == -E2BIG)
		snprintf(why, LIST_WHY_SIZE, "it has more than %llu entries; allow more with max-entries",
			 (unsigned long long)limits->most);
	else if (err == -EEXIST)
		snprintf(why, LIST_WHY_SIZE, "it has an entry twice, before byte %zu",
			 size - input.left);
	else if (err == -EINVAL)
		snprintf(why, LIST_WHY_SIZE, "it cannot be read before byte %zu of %zu",
			 size - input.left, size);
	if (!err) {
		contents->plain = plain;
		return 0;
	}
	packed_free(&plain);
	contents_free(contents);
	return err == -ENOMEM ? err : -EINVAL;
}

static int put(struct list_bytes *bytes, const void *data, size_t size)
{
	size_t room = bytes->room ? bytes->room : 256;
	uint8_t *grown;

	while (room - bytes->size < size)
		room *= 2;
	if (room != bytes->room) {
		grown = realloc(bytes->data, room);
		if (!grown)
			return -ENOMEM;
		bytes->data = grown;
		bytes->room = room;
	}
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

static int put_number(struct list_bytes *bytes, uint32_t number)
{
	uint8_t data[4] = { number >> 24, number >> 16, number >> 8, number };

	return put(bytes, data, sizeof(data));
}

static uint8_t flags_of(const struct member *member)
{
	return member->kind | (member->expires ? LIST_TIMED : 0) |
	       (member->comment ? LIST_COMMENT : 0);
}

int list_pack_change(struct list_bytes *bytes, const struct source_change *change)
{
	const struct member *member = &change->member;
	uint8_t flags = change->del ? member->kind | LIST_DEL : flags_of(member);

	if (put(bytes, &flags, 1) || put(bytes, member->entry, entry_size[member->kind]) ||
	    (flags & LIST_TIMED && put_number(bytes, member->expires)) ||
	    (flags & LIST_COMMENT && put(bytes, member->comment, strlen(member->comment) + 1)))
		return -ENOMEM;
	return 0;
}

/* In the order of sections, and in a section by entry. */
static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = flags_of(a) - flags_of(b);

	if (!order && a->comment)
		order = strcmp(a->comment, b->comment);
	return order ? order : memcmp(a->entry, b->entry, entry_size[a->kind]);
}

static bool same_section(const struct member *a, const struct member *b)
{
	return flags_of(a) == flags_of(b) && (!a->comment || !strcmp(a->comment, b->comment));
}

/* The entries that have values. Return: 0 or -ENOMEM. */
static int collect(const struct contents *contents, uint32_t now, struct member **members,
		   size_t *count)
{
	struct contents_cursor cursor = { .kind = ENTRY_KINDS };

	*count = 0;
	*members = calloc(contents->used + 1, sizeof(**members));
	if (!*members)
		return -ENOMEM;
	while (contents_next(contents, &cursor, *members + *count))
		if (!member_expired(*members + *count, now))
			++*count;
	return 0;
}

static int put_section(struct list_bytes *bytes, const struct member *first, size_t count)
{
	uint8_t flags = flags_of(first);
	size_t i;

	if (put(bytes, &flags, 1) || put_number(bytes, count) ||
	    (first->comment && put(bytes, first->comment, strlen(first->comment) + 1)))
		return -ENOMEM;
	for (i = 0; i < count; i++)
		if (put(bytes, first[i].entry, entry_size[first->kind]) ||
		    (first->expires && put_number(bytes, first[i].expires)))
			return -ENOMEM;
	return 0;
}

/* Entries without values that are in the hash table, because they were added one by one, join
 * those that are sorted already.
 */
static int pack_plain(struct list_bytes *bytes, const struct contents *contents,
		      const struct member *members, size_t *done, size_t count)
{
	struct packed plain = { 0 };
	const struct entry_array *array;
	uint8_t flags;
	int err = 0;

	for (; *done < count && flags_of(members + *done) < LIST_TIMED && !err; ++*done)
		err = packed_add(&plain, members[*done].kind, members[*done].entry);
	if (!err)
		err = packed_append(&plain, &contents->plain);
	packed_sort(&plain);
	for (flags = 0; flags < ENTRY_KINDS && !err; flags++) {
		array = &plain.kind[flags];
		if (array->count && (put(bytes, &flags, 1) || put_number(bytes, array->count) ||
				     put(bytes, array->data, array->count * entry_size[flags])))
			err = -ENOMEM;
	}
	packed_free(&plain);
	return err;
}

/* Of a section of a snapshot: its flags, and the number of its entries */
#define HEADER_SIZE	5

uint64_t list_snapshot_most(const struct contents *contents)
{
	/* Sections without a comment, which have a header: each kind, with an expiry and without */
	uint64_t size = 2 * ENTRY_KINDS * HEADER_SIZE;
	struct contents_cursor cursor = { 0 };
	struct member member;

	while (contents_next(contents, &cursor, &member)) {
		size += entry_size[member.kind] + (member.expires ? sizeof(uint32_t) : 0);
		if (member.comment)
			size += HEADER_SIZE + strlen(member.comment) + 1;
	}
	return size;
}

int list_pack_snapshot(struct list_bytes *bytes, const struct contents *contents, uint32_t now)
{
	struct member *members;
	size_t count, at = 0, end;
	int err = collect(contents, now, &members, &count);

	if (err)
		return err;
	qsort(members, count, sizeof(*members), compare_members);
	err = pack_plain(bytes, contents, members, &at, count);
	for (; at < count && !err; at = end) {
		for (end = at + 1; end < count && same_section(members + at, members + end); end++)
			;
		err = put_section(bytes, members + at, end - at);
	}
	free(members);
	return err;
}
