// SPDX-License-Identifier: GPL-2.0-only
/*
 * block and unblock: the simplest way to use ipcuckoo. The set is created and attached on
 * first use. If the user has created or attached it in another way, it stays so.
 */
#include <limits.h>
#include <stdlib.h>

#include "cmd/commands.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "set/bulk.h"
#include "set/guard.h"
#include "set/refusal.h"

/* Up to this many unblocked entries are tested again: a prefix may still block them. */
#define CHECK_MOST	64

static int make_set(struct tool *tool, const struct nl_set *set)
{
	if (nl_set_new(tool->nl, set, false, IPCUCKOO_F_EXIST))
		return fail_kernel(tool, NULL, "Set %s cannot be created",
				   set->name);
	return STATUS_OK;
}

/* Whether an attachment drops packets from addresses of the set, on all devices. */
static bool drops_all(const struct nl_attachment *attachment)
{
	return attachment->verdict == IPCUCKOO_VERDICT_DROP &&
	       attachment->direction & IPCUCKOO_DIR_SRC &&
	       !attachment->dev[0];
}

/* Attach the set, unless it is attached already. @drops: set if an attachment drops all
 * packets from its addresses; an existing one may do something else.
 */
static int attach_set(struct tool *tool, bool *drops)
{
	struct nl_attachment *all, fresh = {
		.set = BLOCK_SET,
		.direction = IPCUCKOO_DIR_SRC,
		.verdict = IPCUCKOO_VERDICT_DROP,
		.flags = IPCUCKOO_F_EXIST,
	};
	bool attached = false;
	size_t count, i;
	uint32_t id;

	if (nl_attachments(tool->nl, &all, &count) < 0)
		return fail_kernel(tool, NULL, "cannot read the attachments");
	for (i = 0; i < count; i++) {
		if (strcmp(all[i].set, BLOCK_SET) ||
		    all[i].verdict == IPCUCKOO_VERDICT_PREFETCH)
			continue;
		attached = true;
		*drops |= drops_all(&all[i]);
	}
	free(all);
	if (attached)
		return STATUS_OK;
	if (nl_attach(tool->nl, &fresh, &id))
		return fail_attach(tool, BLOCK_SET);
	*drops = true;
	return STATUS_OK;
}

static void print_blocked(const struct bulk *bulk)
{
	const struct packed *entries = bulk->entries;
	size_t count = packed_count(entries);
	char text[ADDRESS_TEXT_SIZE];

	if (bulk->tool->json) {
		bulk_print_json(bulk->set, "blocked", &bulk->change);
	} else if (bulk->tool->quiet) {
		return;
	} else if (count == 1) {
		printf("%s %s.\n",
		       entry_text(entries, first_entry(entries), text),
		       bulk->change.changed ? "is blocked" :
		       "was blocked already");
	} else {
		printf("%u blocked", bulk->change.changed);
		if (bulk->change.unchanged)
			printf(", %u blocked already", bulk->change.unchanged);
		puts(".");
	}
}

static int block(struct tool *tool, const struct nl_set *set, bool exists,
		 const struct packed *entries)
{
	struct bulk bulk = {
		.tool = tool, .set = BLOCK_SET, .entries = entries
	};
	const struct guard_change change = {
		.entries = entries, .add = true, .blocked = true
	};
	bool drops = false;
	int status;

	status = guard_entries(tool, BLOCK_SET, &change);
	if (!status && !exists)
		status = make_set(tool, set);
	tool->exist = true;
	if (!status)
		status = bulk_add(&bulk);
	if (!status)
		status = attach_set(tool, &drops);
	if (status)
		return status;
	if (!drops)
		return fail(tool, STATUS_REFUSED,
			    "the entries were added, but are not blocked: the set %s is attached, but not so that packets from its addresses are dropped on all devices (ipcuckoo attach %s src drop does that)",
			    BLOCK_SET, BLOCK_SET);
	print_blocked(&bulk);
	return STATUS_OK;
}

int run_block(struct tool *tool, struct words *words)
{
	struct nl_set set = {
		.name = BLOCK_SET,
		.type = IPCUCKOO_TYPE_HASH_NET,
		.family = IPCUCKOO_FAMILY_ANY,
	}, there;
	struct packed entries = { 0 };
	int err, status;

	status = parse_words(tool, words, no_keywords, 1, INT_MAX);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	err = nl_set_get(tool->nl, BLOCK_SET, &there);
	if (err && err != -ENOENT)
		return fail_kernel(tool, NULL, "cannot read set %s", BLOCK_SET);
	if (!err)
		set = there;
	status = bulk_read(tool, &set, words->word, words->count, NULL,
			   &entries);
	if (!status)
		status = block(tool, &set, !err, &entries);
	packed_free(&entries);
	return status;
}

/*
 * Whether an entry of the set covers @ref. For a host, the kernel looks up all prefixes
 * that cover it. For a prefix, it looks up only this very prefix, so it is asked about
 * each wider prefix, too, until one is an entry or an exception. Return: 1, 0, or a
 * negative errno.
 */
static int is_blocked(struct tool *tool, const struct packed *entries,
		      struct entry_ref ref, uint8_t *prefix_len)
{
	unsigned int bytes = entry_size[ref.kind] - 1;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct packed one = { 0 };
	struct nl_test test;
	unsigned int len;
	int err;

	memcpy(entry, entry_at(entries, ref), entry_size[ref.kind]);
	one.kind[ref.kind].data = entry;
	one.kind[ref.kind].count = 1;
	for (;;) {
		err = nl_entry_test(tool->nl, BLOCK_SET, &one, &test);
		if (err)
			return err;
		if (test.found || test.nomatch || ref.kind < ENTRY_NET4 || !entry[bytes])
			break;
		len = --entry[bytes];
		entry[len / 8] &= ~(0x80 >> len % 8);
	}
	*prefix_len = test.prefix_len;
	return test.found;
}

/* Print that an entry does not exist, and which other entry blocks it, if any. */
static int fail_not_blocked(struct tool *tool, const struct packed *entries)
{
	const struct nl_error *error = nl_error(tool->nl);
	char match[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref = first_entry(entries);
	bool known = error->has_entry || packed_count(entries) == 1;
	uint8_t prefix_len;
	int blocked;

	if (error->has_entry)
		ref = error->entry;
	if (!known)
		return fail(tool, STATUS_NO,
			    "one of the %zu is not blocked; nothing was changed",
			    packed_count(entries));
	entry_text(entries, ref, text);
	blocked = is_blocked(tool, entries, ref, &prefix_len);
	if (blocked < 0)
		return fail_kernel(tool, BLOCK_SET, "%s is not an entry, and the kernel cannot say whether another entry blocks it",
				   text);
	if (!blocked)
		return fail(tool, STATUS_NO, "%s is not blocked%s", text,
			    packed_count(entries) > 1 ?
			    "; nothing was changed" : "");
	match_text(entries, ref, prefix_len, match);
	return fail(tool, STATUS_NO,
		    "%s is not an entry, but is blocked by the entry %s (ipcuckoo unblock %s)",
		    text, match, match);
}

static void warn_still_blocked(struct tool *tool, const struct packed *entries)
{
	char match[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref;
	uint8_t prefix_len;
	int blocked;

	if (packed_count(entries) > CHECK_MOST)
		return;
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count;
		     ref.index++) {
			blocked = is_blocked(tool, entries, ref, &prefix_len);
			if (blocked)
				entry_text(entries, ref, text);
			if (blocked < 0)
				warn(tool, "%s may still be blocked: the kernel cannot say (%s)",
				     text, strerror(-blocked));
			else if (blocked)
				warn(tool, "%s is still blocked, by %s", text,
				     match_text(entries, ref, prefix_len, match));
		}
	}
}

static void print_unblocked(const struct tool *tool,
			    const struct packed *entries,
			    const struct nl_change *change)
{
	char text[ADDRESS_TEXT_SIZE];

	if (tool->json) {
		bulk_print_json(BLOCK_SET, "unblocked", change);
	} else if (tool->quiet) {
		return;
	} else if (packed_count(entries) == 1) {
		printf("%s %s.\n",
		       entry_text(entries, first_entry(entries), text),
		       change->changed ? "is unblocked" : "was not blocked");
	} else {
		printf("%u unblocked.\n", change->changed);
	}
}

static int unblock(struct tool *tool, const struct packed *entries)
{
	struct nl_change change;
	int err;

	if (!nl_fits(entries))
		return fail(tool, STATUS_USAGE,
			    "too many at once; use ipcuckoo del %s",
			    BLOCK_SET);
	err = nl_entry_del(tool->nl, BLOCK_SET, entries,
			   tool->exist ? IPCUCKOO_F_EXIST : 0, &change);
	if (err == -ENOENT)
		return fail_not_blocked(tool, entries);
	if (err)
		return fail_kernel(tool, BLOCK_SET, "cannot unblock");
	print_unblocked(tool, entries, &change);
	if (!tool->quiet)
		warn_still_blocked(tool, entries);
	return STATUS_OK;
}

int run_unblock(struct tool *tool, struct words *words)
{
	struct packed entries = { 0 };
	struct nl_set set;
	int err, status;

	status = parse_words(tool, words, no_keywords, 1, INT_MAX);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	err = nl_set_get(tool->nl, BLOCK_SET, &set);
	if (err == -ENOENT)
		return fail(tool, STATUS_NO,
			    "nothing is blocked: there is no set %s yet",
			    BLOCK_SET);
	if (err)
		return fail_kernel(tool, NULL, "cannot read set %s", BLOCK_SET);
	status = bulk_read(tool, &set, words->word, words->count, NULL,
			   &entries);
	if (!status)
		status = unblock(tool, &entries);
	packed_free(&entries);
	return status;
}
