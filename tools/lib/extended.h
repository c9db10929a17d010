/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries together with their extensions: timeout, counters, comment, skbinfo, and
 * whether an entry is an exception. Entries without extensions are in packed.h.
 */
#ifndef IPCUCKOO_TOOL_EXTENDED_H
#define IPCUCKOO_TOOL_EXTENDED_H

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"

/**
 * struct entry_value - the extensions of an entry
 * @timeout:	seconds until the entry expires; 0: never
 * @nomatch:	the entry is an exception
 * @packets:	packets that matched. In requests: the new value, or
 *		IPCUCKOO_COUNTER_KEEP to leave the counter as it is
 * @bytes:	bytes that matched; in requests as @packets
 * @mark:	skbinfo: mask in the high 32 bits, mark in the low 32 bits
 * @prio:	skbinfo: priority
 * @queue:	skbinfo: queue
 * @comment:	the comment, allocated; or NULL
 */
struct entry_value {
	uint32_t timeout;
	bool nomatch;
	uint64_t packets;
	uint64_t bytes;
	uint64_t mark;
	uint32_t prio;
	uint16_t queue;
	char *comment;
};

struct extended_entry {
	enum entry_kind kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct entry_value value;
};

struct extended {
	struct extended_entry *at;
	size_t count;
	size_t room;
};

/* Functions that return int return 0 or -ENOMEM. They copy the comment. */
int extended_add(struct extended *entries, enum entry_kind kind, const uint8_t *entry,
		 const struct entry_value *value);
int extended_add_packed(struct extended *entries, const struct packed *packed,
			const struct entry_value *value);
void extended_free(struct extended *entries);

/* Sort by family, address and length. Of repeated entries, the last one stays. */
int extended_sort(struct extended *entries);

/* Bytes that an entry with all extensions takes in a message, at most. */
size_t extended_size(const struct extended_entry *entry);

#endif /* IPCUCKOO_TOOL_EXTENDED_H */
