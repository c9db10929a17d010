/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of a set, packed as in the protocol: four arrays, one for each kind of entry
 * and its attribute, in network byte order.
 */
#ifndef IPCUCKOO_TOOL_PACKED_H
#define IPCUCKOO_TOOL_PACKED_H

#include <errno.h>
#include <string.h>

#include "lib/address.h"

/* In the order of the attributes from IPCUCKOO_A_HOSTS4 on. */
enum entry_kind {
	ENTRY_HOST4,
	ENTRY_HOST6,
	ENTRY_NET4,
	ENTRY_NET6,
	ENTRY_KINDS
};

struct entry_array {
	uint8_t *data;
	size_t count;
	size_t room;
};

/* @has_extensions: some entries have extensions, which extended.h stores */
struct packed {
	struct entry_array kind[ENTRY_KINDS];
	bool has_extensions;
};

/* One of the entries in struct packed. */
struct entry_ref {
	enum entry_kind kind;
	size_t index;
};

extern const uint8_t entry_size[ENTRY_KINDS];

int packed_grow(struct packed *entries, enum entry_kind kind, size_t more);
void packed_clear(struct packed *entries);
void packed_free(struct packed *entries);
size_t packed_count(const struct packed *entries);

int packed_add(struct packed *entries, enum entry_kind kind, const uint8_t *entry);
int packed_append(struct packed *entries, const struct packed *more);
int packed_add_range(struct packed *entries,
		     const struct address_range *range, bool hosts_only);

void packed_sort(struct packed *entries);
size_t packed_dedup(struct packed *entries);
size_t packed_unique(struct packed *entries);
size_t packed_covered(const struct packed *entries);
int packed_without(const struct packed *entries, const struct packed *except,
		   struct packed *rest);
int packed_missing(const struct packed *entries, const struct packed *in, struct packed *missing);
bool packed_find(const struct packed *entries, enum entry_kind kind, const uint8_t *entry,
		 size_t *at);
size_t packed_not_less(const struct packed *entries, enum entry_kind kind, const uint8_t *entry);
bool packed_has(const struct packed *entries, enum entry_kind kind, const uint8_t *entry);
bool packed_covers(const struct packed *entries, enum entry_kind kind, const uint8_t *entry);
void packed_match(const struct packed *a, const struct packed *b,
		  void (*visit)(enum entry_kind kind, size_t in_a, size_t in_b, void *data), void *data);

char *entry_format(char *to, enum entry_kind kind, const uint8_t *entry);
/* The text of an entry, and of the prefix of length @prefix_len that covers it. */
const char *entry_text(const struct packed *entries, struct entry_ref ref,
		       char text[ADDRESS_TEXT_SIZE]);
const char *match_text(const struct packed *entries, struct entry_ref ref,
		       uint8_t prefix_len, char text[ADDRESS_TEXT_SIZE]);

/* The first entry of the first array that is not empty. */
struct entry_ref first_entry(const struct packed *entries);

int packed_walk(const struct packed *entries,
		int (*visit)(enum entry_kind kind, const uint8_t *entry,
			     void *data),
		void *data);

/* One entry, whose memory is that of the caller: must not be freed. */
static inline struct packed packed_one(enum entry_kind kind, uint8_t *entry)
{
	struct packed one = { 0 };

	one.kind[kind].data = entry;
	one.kind[kind].count = 1;
	return one;
}

static inline bool is_net(enum entry_kind kind)
{
	return kind == ENTRY_NET4 || kind == ENTRY_NET6;
}

static inline bool is_v6(enum entry_kind kind)
{
	return kind == ENTRY_HOST6 || kind == ENTRY_NET6;
}

enum entry_kind entry_prefix(bool v6, const uint8_t *address, unsigned int len, uint8_t *entry);

static inline const uint8_t *entry_at(const struct packed *entries,
				      struct entry_ref ref)
{
	return entries->kind[ref.kind].data + ref.index * entry_size[ref.kind];
}

/* Inline, because a feed has millions of IPv4 hosts. Return: 0 or -ENOMEM. */
static inline int packed_add_host4(struct packed *entries, uint32_t address)
{
	struct entry_array *array = &entries->kind[ENTRY_HOST4];
	uint8_t *to;

	if (array->count == array->room &&
	    packed_grow(entries, ENTRY_HOST4, 1))
		return -ENOMEM;
	to = array->data + 4 * array->count++;
	to[0] = address >> 24;
	to[1] = address >> 16;
	to[2] = address >> 8;
	to[3] = address;
	return 0;
}

#endif /* IPCUCKOO_TOOL_PACKED_H */
