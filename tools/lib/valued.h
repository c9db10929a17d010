/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries with what a set keeps for each, for sets made with options and for
 * exceptions. What has none of it travels as it is in packed.h.
 */
#ifndef IPCUCKOO_TOOL_VALUED_H
#define IPCUCKOO_TOOL_VALUED_H

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"

/**
 * struct entry_value - what a set keeps for an entry
 * @timeout:	seconds; 0: it stays
 * @nomatch:	it is an exception
 * @packets:	counted so far; told, or IPCUCKOO_COUNTER_KEEP
 * @bytes:	likewise
 * @mark:	bits replaced in the high half, what they become in the low half
 * @prio:	skbinfo's priority
 * @queue:	and queue
 * @comment:	allocated, or NULL
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

/* All that take memory return 0 or -ENOMEM. The comment is copied. */
int valued_add(struct valued *entries, enum entry_kind kind, const uint8_t *entry,
	       const struct entry_value *value);
int valued_add_packed(struct valued *entries, const struct packed *packed,
		      const struct entry_value *value);
void valued_free(struct valued *entries);

/* By family, address and length; of the same entry what was said last stays. */
int valued_sort(struct valued *entries);

/* Bytes of an entry with all that may be kept for it, in a message. */
size_t valued_size(const struct valued_entry *entry);

#endif /* IPCUCKOO_TOOL_VALUED_H */
