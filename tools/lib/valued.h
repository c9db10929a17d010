/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries together with their extensions: timeout, counters, comment, skbinfo, and
 * whether an entry is an exception. Entries without extensions are in packed.h.
 */
#ifndef IPCUCKOO_TOOL_VALUED_H
#define IPCUCKOO_TOOL_VALUED_H

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

struct valued_entry {
	enum entry_kind kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct entry_value value;
};

struct valued {
	struct valued_entry *at;
	size_t count;
	size_t room;
};

/* Functions that return int return 0 or -ENOMEM. They copy the comment. */
int valued_add(struct valued *entries, enum entry_kind kind, const uint8_t *entry,
	       const struct entry_value *value);
int valued_add_packed(struct valued *entries, const struct packed *packed,
		      const struct entry_value *value);
void valued_free(struct valued *entries);

/* Sort by family, address and length. Of repeated entries, the last one stays. */
int valued_sort(struct valued *entries);

/* Bytes that an entry with all extensions takes in a message, at most. */
size_t valued_size(const struct valued_entry *entry);

#endif /* IPCUCKOO_TOOL_VALUED_H */
