// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what sources deliver to a set, with a kernel that is an array: the functions of
 * daemon/set/kernel.h are those of this file. Three sources deliver whole contents and change single
 * entries, as the input says; the kernel refuses some changes. The first byte may say that there is
 * only one source, or no expiry, since then the kernel gets arrays. Somebody else changes the
 * kernel's set, too, and that is undone at the next look. The set must always be the
 * union of the sources without the exception, computed naively; or, until each source has
 * delivered, have at least that; or be marked as behind.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../tools/daemon/base/memory.h"
#include "../../tools/daemon/set/kernel.h"
#include "../../tools/daemon/set/source.h"

#define SOURCES	3
#define ENTRIES	64
#define CHANGES	8

enum { DELIVER, CHANGE, CHANGE_ATOMIC, CONFIRM, FAIL, APPLY, FOREIGN, OPERATIONS };

/* What an entry is: 0: not there; 1: without expiry; else its expiry */
static uint32_t have[SOURCES][ENTRIES], kernel[ENTRIES];
static unsigned int source_count;
static bool refuse, timeless;
/* Somebody else has changed the kernel's set. */
static bool foreign;
/* The set counts as large, so that differences are sent; else all of it is replaced. */
static bool large;

/* Entry number @n; one of eight is 10.0.0.0/28, or a prefix inside. */
static void fill_member(struct member *member, unsigned int n)
{
	memset(member, 0, sizeof(*member));
	member->kind = n % 8 ? ENTRY_HOST4 : ENTRY_NET4;
	member->entry[0] = 10;
	member->entry[3] = n;
	if (member->kind == ENTRY_NET4) {
		member->entry[3] = n & 0xf0;
		member->entry[4] = n & 8 ? 30 : 28;
	}
}

static unsigned int number_of(enum entry_kind kind, const uint8_t *entry)
{
	if (kind == ENTRY_HOST4)
		return entry[3];
	return (entry[3] & 0xf0) + (entry[4] == 30 ? 8 : 0);
}

/* The exception is 10.0.0.16/28. */
static bool is_excepted(unsigned int n)
{
	return n >= 16 && n < 32;
}

char *kernel_open(struct target *target)
{
	target->daemon->nl = (struct nl *)target;
	target->options = timeless ? 0 : IPCUCKOO_O_TIMEOUT;
	target->entries = large ? 1000 * ENTRIES : 0;
	target->generation = 1;
	return refuse ? need_copy("refused") : NULL;
}

bool kernel_is_there(struct daemon *daemon)
{
	return daemon->nl;
}

bool kernel_is_upgraded(void)
{
	return false;
}

bool kernel_find_change(struct target *target, char what[KERNEL_CHANGE_SIZE])
{
	(void)target;
	strcpy(what, "changed");
	return foreign;
}

void kernel_close(struct daemon *daemon)
{
	daemon->nl = NULL;
}

static void put(const struct extended_entry *entry, uint32_t now)
{
	if (!entry->value.nomatch)
		kernel[number_of(entry->kind, entry->entry)] =
			entry->value.timeout ? now + entry->value.timeout : 1;
}

/* As the kernel does with a shadow that has the entry already: its values stay. */
static void put_plain(const struct packed *plain)
{
	struct entry_ref ref;
	uint32_t *slot;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < plain->kind[ref.kind].count; ref.index++) {
			slot = &kernel[number_of(ref.kind, entry_at(plain, ref))];
			if (!*slot)
				*slot = 1;
		}
	}
}

char *kernel_replace(struct target *target, const struct kernel_entries *entries, bool append)
{
	uint32_t now = now_seconds();
	struct extended_entry entry;
	const struct packed *plain;

	(void)target;
	if (refuse)
		return need_copy("refused");
	foreign = false;
	if (!append)
		memset(kernel, 0, sizeof(kernel));
	while (entries->plain(entries->cursor, &plain) > 0)
		put_plain(plain);
	while (entries->next(entries->cursor, &entry))
		put(&entry, now);
	return NULL;
}

char *kernel_change(struct target *target, const struct extended *add, const struct packed *del,
		    bool atomic)
{
	uint32_t now = now_seconds();
	struct entry_ref ref;
	size_t i;

	(void)target;
	(void)atomic;
	if (refuse)
		return need_copy("refused");
	for (i = 0; i < add->count; i++)
		put(&add->at[i], now);
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < del->kind[ref.kind].count; ref.index++)
			kernel[number_of(ref.kind, entry_at(del, ref))] = 0;
	return NULL;
}

char *kernel_read(struct target *target, struct packed *entries)
{
	(void)target;
	(void)entries;
	return NULL;
}

static void check(const struct target *target)
{
	uint32_t want;
	unsigned int n;
	size_t i;

	/* Nobody has looked yet, or the daemon waits. */
	if (target->behind || foreign)
		return;
	for (n = 0; n < ENTRIES; n++) {
		want = 0;
		for (i = 0; i < source_count && !is_excepted(n); i++)
			if (have[i][n] && want != 1 && (have[i][n] == 1 || have[i][n] > want))
				want = have[i][n];
		if (kernel[n] == want || (!want && !target_complete(target)))
			continue;
		/* A second may have passed since the timeout was computed. */
		if (want > 1 && kernel[n] > 1 && kernel[n] - want + 2 <= 4)
			continue;
		abort();
	}
}

/* 0: no expiry; 1: it has expired; else in so many hundred seconds */
static uint32_t expiry(uint8_t choice)
{
	if (timeless)
		return 0;
	return choice % 4 < 2 ? choice % 4 : now_seconds() + 100 * choice;
}

static void note(uint32_t *slot, uint32_t expires)
{
	*slot = expires == 1 ? 0 : expires ? expires : 1;
}

static void deliver(struct source *source, uint32_t *slots, const uint8_t *data, size_t size)
{
	struct contents contents = { 0 };
	struct packed plain = { 0 };
	struct member member;
	size_t i;

	memset(slots, 0, ENTRIES * sizeof(*slots));
	for (i = 0; i + 1 < size; i += 2) {
		fill_member(&member, data[i] % ENTRIES);
		if (slots[number_of(member.kind, member.entry)])
			continue;
		member.expires = expiry(data[i + 1]);
		note(&slots[number_of(member.kind, member.entry)], member.expires);
		if (member.expires ? contents_add(&contents, &member) :
				     packed_add(&plain, member.kind, member.entry))
			abort();
		/* An entry is in one of both only. */
		if (member.expires == 1)
			slots[number_of(member.kind, member.entry)] = 0;
		if (member.expires == 1)
			contents_del(&contents, member.kind, member.entry);
	}
	contents_take(&contents, &plain);
	source_deliver(source, &contents);
}

static void change(struct source *source, uint32_t *slots, const uint8_t *data, size_t size,
		   bool atomic)
{
	struct source_change changes[CHANGES] = { 0 };
	struct member *member;
	size_t count = 0;
	uint32_t *slot;

	for (; count < CHANGES && 2 * count + 1 < size; count++) {
		member = &changes[count].member;
		fill_member(member, data[2 * count] % ENTRIES);
		changes[count].del = data[2 * count] & 0x80;
		member->expires = expiry(data[2 * count + 1]);
		slot = &slots[number_of(member->kind, member->entry)];
		note(slot, changes[count].del ? 1 : member->expires);
	}
	if (source_change(source, changes, count, atomic))
		abort();
}

/* One operation: source and kind, length of its data, data. Return: how many bytes that were. */
static size_t operate(struct target *target, const uint8_t *data, size_t size)
{
	unsigned int which = data[0] / 16 % source_count, len = size > 1 ? data[1] % 32 : 0;
	struct source *source = target->sources[which];

	if (len + 2 > size)
		len = size > 2 ? size - 2 : 0;
	refuse = data[0] % 16 > 13;
	switch (data[0] % 16 % OPERATIONS) {
	case DELIVER:
		deliver(source, have[which], data + 2, len);
		break;
	case CHANGE:
	case CHANGE_ATOMIC:
		change(source, have[which], data + 2, len, data[0] & 1);
		/* Before it changes entries, the daemon looks. */
		if (foreign && !target->behind && !target->contested)
			abort();
		break;
	case CONFIRM:
		source_confirm(source);
		break;
	case FAIL:
		source_fail(source, "failed");
		break;
	case APPLY:
		target_apply(target);
		break;
	case FOREIGN:
		kernel[len ? data[2] % ENTRIES : 0] ^= 1;
		foreign = true;
		/* The connection may be lost, too, and the daemon not have looked yet. */
		if (data[0] & 0x10)
			kernel_close(target->daemon);
		else
			target_verify(target);
		if (foreign && !(data[0] & 0x10) && !target->behind && !target->contested &&
		    target->sources[which]->delivered)
			abort();
		break;
	}
	return len + 2;
}

static void except(struct target *target)
{
	static const uint8_t exception[] = { 10, 0, 0, 16, 28 };

	if (packed_add(&target->exceptions, ENTRY_NET4, exception))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct daemon daemon;
	struct source *sources[SOURCES + 1] = { NULL };
	struct target *target = need_zeros(sizeof(*target));
	unsigned int i;
	size_t some;

	if (!daemon.event && sd_event_default(&daemon.event) < 0)
		abort();
	memset(have, 0, sizeof(have));
	memset(kernel, 0, sizeof(kernel));
	*target = (struct target){
		.name = need_copy("s"), .type = IPCUCKOO_TYPE_HASH_NET,
		.family = IPCUCKOO_FAMILY_ANY, .daemon = &daemon,
	};
	except(target);
	source_count = size && data[0] & 0x20 ? 1 : SOURCES;
	timeless = size && data[0] & 0x40;
	large = size && data[0] & 0x80;
	target->own = size && data[0] & 0x10;
	foreign = false;
	for (i = 0; i < source_count; i++) {
		sources[i] = source_new(source_kinds[0], "f");
		sources[i]->target = target;
		sources[i]->daemon = &daemon;
		target->sources = need_room(target->sources, i);
		target->sources[i] = sources[i];
		target->source_count = i + 1;
	}
	while (size) {
		some = operate(target, data, size);
		check(target);
		data += some < size ? some : size;
		size -= some < size ? some : size;
	}
	for (i = 0; i < source_count; i++)
		source_free(sources[i]);
	target_free(target);
	return 0;
}
