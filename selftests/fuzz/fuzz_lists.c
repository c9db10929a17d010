// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what the daemon reads of a list in Redis, and what a client publishes. The first byte
 * selects what the rest is: a snapshot, the changes of an entry of the stream, the head, or lines
 * to publish. What was read is packed again, and must be read as the same.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../tools/daemon/base/memory.h"
#include "../../tools/daemon/redis/publication.h"

#define ENTRIES_MOST	1000

enum { SNAPSHOT, CHANGES, HEAD, PUBLICATION, INPUTS };

static struct list_limits new_limits(uint8_t choice)
{
	return (struct list_limits){
		.family = choice % 4 ? choice % 4 : IPCUCKOO_FAMILY_ANY,
		.hosts_only = choice & 4, .most = ENTRIES_MOST,
	};
}

static void check_why(int err, const char *why)
{
	if (err && err != -EINVAL && err != -ENOMEM)
		abort();
	if (err == -EINVAL && (!why[0] || strlen(why) >= LIST_WHY_SIZE))
		abort();
}

/* All entries of @a are in @b, with the same values. */
static void check_same(const struct contents *a, const struct contents *b)
{
	struct contents_cursor cursor = { 0 };
	struct member member, other;

	if (contents_count(a) != contents_count(b))
		abort();
	while (contents_next(a, &cursor, &member)) {
		if (!contents_find(b, member.kind, member.entry, &other) ||
		    member.expires != other.expires || !member.comment != !other.comment ||
		    (member.comment && strcmp(member.comment, other.comment)))
			abort();
	}
}

static void read_snapshot(uint8_t choice, const uint8_t *data, size_t size)
{
	struct list_limits limits = new_limits(choice), all = new_limits(0);
	struct contents contents = { 0 }, again = { 0 };
	struct list_bytes bytes = { 0 };
	char why[LIST_WHY_SIZE] = "";
	int err = list_parse_snapshot(data, size, &limits, &contents, why);

	check_why(err, why);
	if (err && contents_count(&contents))
		abort();
	if (!err) {
		if (contents_count(&contents) + limits.left_out > ENTRIES_MOST)
			abort();
		/* At the beginning of time, nothing has expired. */
		if (list_pack_snapshot(&bytes, &contents, 0) ||
		    list_parse_snapshot(bytes.data, bytes.size, &all, &again, why))
			abort();
		check_same(&contents, &again);
	}
	contents_free(&contents);
	contents_free(&again);
	free(bytes.data);
}

static void read_changes(uint8_t choice, const uint8_t *data, size_t size)
{
	struct list_limits limits = new_limits(choice);
	struct list_changes changes = { 0 };
	struct list_bytes bytes = { 0 };
	char why[LIST_WHY_SIZE] = "";
	size_t i;
	int err = list_parse_changes(data, size, &limits, &changes, why);

	check_why(err, why);
	for (i = 0; i < changes.count; i++)
		if (list_pack_change(&bytes, &changes.at[i]))
			abort();
	if (!err && !limits.left_out && (bytes.size != size || memcmp(bytes.data, data, size)))
		abort();
	list_free_changes(&changes);
	free(bytes.data);
}

/* The fields are cut at zeros; an empty one is missing. */
static void read_head(const uint8_t *data, size_t size)
{
	const char *text[LIST_HEAD_FIELDS] = { NULL };
	size_t len[LIST_HEAD_FIELDS] = { 0 }, i;
	char why[LIST_WHY_SIZE] = "", *copy = need_zeros(size + 1), *at = copy;
	struct list_head head;
	uint64_t ms;
	int err;

	memcpy(copy, data, size);
	for (i = 0; i < LIST_HEAD_FIELDS && at < copy + size; i++) {
		len[i] = strlen(at);
		text[i] = len[i] ? at : NULL;
		at += len[i] + 1;
	}
	err = list_parse_head(text, len, &head, why);
	if (err != -ENOENT)
		check_why(err, why);
	if (!err && (!list_is_version(head.snapshot.version, strlen(head.snapshot.version)) ||
		     !list_parse_id(head.snapshot.id, strlen(head.snapshot.id), &ms) ||
		     head.snapshot.seq > head.seq))
		abort();
	free(copy);
}

static void read_publication(uint8_t choice, const uint8_t *data, size_t size)
{
	static const char *const how[] = { "add", "del", "replace", "clear" };
	struct request request = {
		.command = "publish", .how = how[choice % 4],
		.body = (const char *)data, .size = size,
	};
	struct list_limits limits = { .family = IPCUCKOO_FAMILY_ANY, .most = UINT64_MAX };
	struct list_changes changes = { 0 };
	struct contents contents = { 0 };
	struct list_bytes bytes = { 0 };
	char why[LIST_WHY_SIZE], *wrong;
	struct packed added = { 0 };
	size_t count;

	wrong = publication_read(&request, choice & 4 ? "fw1" : NULL, &bytes, &count, &added);
	if (wrong && !wrong[0])
		abort();
	/* What is published can be read by those who follow. */
	if (!wrong && choice % 4 > 1 &&
	    list_parse_snapshot(bytes.data, bytes.size, &limits, &contents, why))
		abort();
	if (!wrong && choice % 4 < 2 &&
	    (list_parse_changes(bytes.data, bytes.size, &limits, &changes, why) ||
	     changes.count != count))
		abort();
	list_free_changes(&changes);
	contents_free(&contents);
	packed_free(&added);
	free(bytes.data);
	free(wrong);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % INPUTS) {
	case SNAPSHOT:
		read_snapshot(data[0] / INPUTS, data + 1, size - 1);
		break;
	case CHANGES:
		read_changes(data[0] / INPUTS, data + 1, size - 1);
		break;
	case HEAD:
		read_head(data + 1, size - 1);
		break;
	case PUBLICATION:
		read_publication(data[0] / INPUTS, data + 1, size - 1);
		break;
	}
	return 0;
}
