// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the contents of a source: the input is a series of changes, three bytes each, which are
 * also made to a plain array. Both must have the same entries. Before that, the input is loaded as
 * if it had been stored.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../tools/daemon/set/source.h"
#include "../../tools/daemon/set/store.h"

#define ENTRIES	256

enum { ADD, ADD_TIMED, ADD_NOTED, DEL, FIND, PURGE, OPERATIONS };

/* One entry of the reference */
struct plain {
	bool there;
	uint32_t expires;
	const char *comment;
};

static const char *const comments[] = { "one", "two", "a \"third\"", "three" };
/* As the kernel takes them */
static const char *const clean[] = { "one", "two", "a _third_", "three" };

/* Entry number @n: of four kinds, 64 each. */
static void fill_member(struct member *member, unsigned int n)
{
	memset(member, 0, sizeof(*member));
	member->kind = n % ENTRY_KINDS;
	member->entry[0] = 10;
	member->entry[2] = n / ENTRY_KINDS;
	if (is_net(member->kind))
		member->entry[entry_size[member->kind] - 1] = 24;
}

static void check_member(const struct contents *contents, unsigned int n, const struct plain *plain)
{
	struct member member, found;
	bool there;

	fill_member(&member, n);
	there = contents_find(contents, member.kind, member.entry, &found);
	if (there != plain->there)
		abort();
	if (there && (found.expires != plain->expires || !found.comment != !plain->comment ||
		      (found.comment && strcmp(found.comment, plain->comment))))
		abort();
}

static void check_all(const struct contents *contents, const struct plain *plain)
{
	struct contents_cursor cursor = { 0 };
	struct member member;
	size_t count = 0, walked = 0;
	unsigned int n;

	for (n = 0; n < ENTRIES; n++) {
		check_member(contents, n, &plain[n]);
		count += plain[n].there;
	}
	while (contents_next(contents, &cursor, &member))
		walked++;
	if (count != walked || count != contents_count(contents))
		abort();
}

static void change(struct contents *contents, struct plain *plain, const uint8_t op[3])
{
	struct plain *at = &plain[op[1]];
	struct member member;
	unsigned int n;

	fill_member(&member, op[1]);
	switch (op[0] % OPERATIONS) {
	case ADD_TIMED:
		member.expires = 1 + op[2];
		break;
	case ADD_NOTED:
		member.expires = op[2] & 4;
		member.comment = comments[op[2] % 4];
		break;
	case DEL:
		if (contents_del(contents, member.kind, member.entry) != at->there)
			abort();
		at->there = false;
		return;
	case FIND:
		check_member(contents, op[1], at);
		return;
	case PURGE:
		contents_purge(contents, op[2]);
		for (n = 0; n < ENTRIES; n++)
			plain[n].there &= !plain[n].expires || plain[n].expires > op[2];
		return;
	}
	if (contents_add(contents, &member))
		abort();
	*at = (struct plain){
		.there = true, .expires = member.expires,
		.comment = member.comment ? clean[op[2] % 4] : NULL,
	};
}

/* Begin with some entries that were delivered as a whole. */
static void begin(struct contents *contents, struct plain *plain, unsigned int count)
{
	struct packed packed = { 0 };
	struct member member;
	unsigned int n;

	for (n = 0; n < count; n++) {
		fill_member(&member, n);
		if (packed_add(&packed, member.kind, member.entry))
			abort();
		plain[n].there = true;
	}
	contents_take(contents, &packed);
}

/* A file as if it had been stored, which may be anything. */
static void load_input(const uint8_t *data, size_t size)
{
	struct target target = { .type = IPCUCKOO_TYPE_HASH_NET, .family = IPCUCKOO_FAMILY_ANY };
	struct source *source = source_new(source_kinds[0], "fuzz");
	bool loaded;

	source->target = &target;
	outside = (struct outside){ .file = data, .file_size = size };
	loaded = store_load(source, "state");
	if (!loaded && (source->notes || contents_count(&source->contents)))
		abort();
	source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plain plain[ENTRIES] = { { 0 } };
	struct contents contents = { 0 };
	size_t i;

	if (!size)
		return 0;
	load_input(data, size);
	begin(&contents, plain, data[0]);
	for (i = 1; i + 3 <= size; i += 3) {
		change(&contents, plain, data + i);
		if (i % 64 == 1)
			check_all(&contents, plain);
	}
	check_all(&contents, plain);
	contents_free(&contents);
	return 0;
}
