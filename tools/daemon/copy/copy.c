// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/copy/copy.h"
#include "daemon/set/kernel.h"
#include "lib/monotonic.h"
#include "nl/entry.h"
#include "nl/set.h"
#include "set/mask.h"

/* The source says so often that it is up to date, if nothing changes. */
#define CONFIRM_SECONDS	60

/* The set is read for one part of the time at most, however often it changes. */
#define REST_PARTS	10

/* The kernel counts seconds that are left, the contents have the time of the end: what differs by no more
 * than this has not changed.
 */
#define SAME_SECONDS	2

/**
 * struct copy - a source that copies a set of the kernel
 * @source:	the source
 * @of:		the name of that set
 * @generation:	that of the set when it was read; 0: never
 * @next:	when it may be read again: monotonic_seconds()
 */
struct copy {
	struct source source;
	char *of;
	uint64_t generation;
	double next;
};

static struct copy *copy_of(struct source *source)
{
	return (struct copy *)source;
}

#define FIELD(name)	.offset = offsetof(struct copy, name)

static const struct config_key copy_keys[] = {
	{ "of", KEY_TEXT, FIELD(of), .needed = "of = f2b-sshd" },
	{ NULL }
};

const char *copy_set_of(const struct source *source)
{
	return source->kind == &copy_kind ? ((const struct copy *)source)->of : NULL;
}

/* Take over an entry of the set. Return: why a copy cannot have it; or NULL. */
static const char *take(struct copy *copy, const struct extended_entry *entry, uint32_t now,
			struct contents *contents)
{
	const struct target *target = copy->source.target;
	struct member member = { .kind = entry->kind, .comment = entry->value.comment }, before;

	if (!(target->family & (is_v6(entry->kind) ? IPCUCKOO_FAMILY_INET6 : IPCUCKOO_FAMILY_INET)))
		return NULL;
	if (entry->value.nomatch)
		return "it has exceptions, which a copy cannot have; name them as except in the section of the set";
	if (is_net(entry->kind) && target->type == IPCUCKOO_TYPE_HASH_IP)
		return "it has prefixes, which a set of hosts cannot have; write type = hash:net in the section of the set";
	memcpy(member.entry, entry->entry, entry_size[entry->kind]);
	if (entry->value.timeout) {
		member.expires = shift_time(now, entry->value.timeout);
		if (contents_find(&copy->source.contents, member.kind, member.entry, &before) &&
		    abs((int32_t)(before.expires - member.expires)) <= SAME_SECONDS)
			member.expires = before.expires;
	}
	need_memory(contents_add(contents, &member));
	return NULL;
}

/* Read the set. */
static void read_set(struct copy *copy, const struct nl_set *set)
{
	struct source *source = &copy->source;
	double began = monotonic_seconds();
	struct extended entries = { 0 };
	struct contents contents = { 0 };
	uint32_t now = now_seconds();
	const char *why = NULL;
	size_t i;
	int err = nl_extended_entries(source->daemon->nl, copy->of, &entries);

	for (i = 0; i < entries.count && !why && !err; i++)
		why = take(copy, &entries.at[i], now, &contents);
	if (err)
		source_fail(source, "the set %s cannot be read: %s", copy->of, err < 0 ? strerror(-err) :
			    "it changes all the time, and the kernel has no memory to copy it");
	else if (why)
		source_fail(source, "the set %s cannot be copied: %s", copy->of, why);
	else
		source_deliver(source, &contents);
	copy->generation = err ? 0 : set->generation;
	contents_free(&contents);
	extended_free(&entries);
	copy->next = monotonic_seconds() + REST_PARTS * (monotonic_seconds() - began);
}

static bool look(struct source *source)
{
	struct copy *copy = copy_of(source);
	uint8_t mask[IPCUCKOO_HOST6_SIZE];
	struct nl_set set = { 0 };
	int err;

	if (kernel_is_upgraded() && !source->daemon->dry_run)
		return true;
	err = kernel_is_there(source->daemon) ? nl_set_get(source->daemon->nl, copy->of, &set) : -ENODEV;
	if (err) {
		copy->generation = 0;
		source_fail(source, err == -ENOENT ?
			    "the kernel has no set %s; whoever keeps it has not created it, or destroyed it" :
			    "the set %s cannot be read; is the module loaded?", copy->of);
	} else if (set.type == IPCUCKOO_TYPE_FILTER_IP) {
		source_fail(source, "the set %s is approximate: it does not know its entries", copy->of);
	} else if (mask_bits(&set, mask)) {
		source_fail(source, "the set %s has a mask, so that its entries stand for more than themselves", copy->of);
	} else if (set.generation != copy->generation && monotonic_seconds() < copy->next) {
		return true;
	} else if (set.generation != copy->generation) {
		read_set(copy, &set);
	} else if (source->state == SOURCE_GOOD && now_seconds() >= source->good_at + CONFIRM_SECONDS) {
		source_confirm(source);
	}
	return false;
}

static void start_copy(struct source *source)
{
	source->interval = CONFIRM_SECONDS;
	copy_of(source)->generation = 0;
	if (source->daemon->dry_run)
		look(source);
}

/* The kernel counts down, and does not look at the clock. What was stored in an earlier run has the time of
 * another clock.
 */
static void set_clock(struct source *source, int64_t seconds)
{
	if (source->good_here)
		contents_shift(&source->contents, seconds);
}

static void show_copy(const struct source *source, struct json_object *object)
{
	json_add_string(object, "of", ((const struct copy *)source)->of);
}

const struct source_kind copy_kind = {
	.word = "copy",
	.size = sizeof(struct copy),
	.keys = copy_keys,
	.start = start_copy,
	.clock_set = set_clock,
	.look = look,
	.show = show_copy,
};
