/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values: what a set keeps for an entry besides the entry, if it was made with
 * options. A deadline and the flag of an exception stand in arrays parallel to
 * the slots of a table, and so does a pointer to a record of the rest, which
 * stays where it is while its entry moves.
 */
#ifndef _IPCUCKOO_VALUE_H
#define _IPCUCKOO_VALUE_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/ktime.h>
#include <linux/types.h>

#include "ipcuckoo.h"
#include "mem.h"

/* The parallel arrays that a table has. */
enum {
	IPCUCKOO_EXT_EXPIRES	= 1 << 0,
	IPCUCKOO_EXT_NOMATCH	= 1 << 1,
	IPCUCKOO_EXT_RECORDS	= 1 << 2,
};

/* The options for which there are records. */
#define IPCUCKOO_RECORD_OPTIONS \
	(IPCUCKOO_O_COUNTERS | IPCUCKOO_O_COMMENT | IPCUCKOO_O_SKBINFO)

/* Packets and bytes that an entry decided about. */
struct ipcuckoo_hits {
	atomic64_t packets;
	atomic64_t bytes;
};

/**
 * struct ipcuckoo_skbinfo - what packets of an entry are given
 * @mark:	for attachments that mark: the bits replaced in the high half,
 *		what they become in the low half, so that both are of one
 *		moment (on a 32-bit machine they may not, for a packet); 0:
 *		the attachment says
 * @prio:	kept for ipset's sake
 * @queue:	likewise
 */
struct ipcuckoo_skbinfo {
	u64 mark;
	u32 prio;
	u16 queue;
};

/**
 * struct ipcuckoo_record - counters, skbinfo and comment of an entry
 * @comment:	terminated, NULL for none; readers never look at it
 * @next:	in place of it, when no table has the record any more: the next
 *		one that retires. So freeing a record takes no memory, and a record
 *		has no field for it
 * @ref:	tables that have it: that of a set, those of its shadows
 * @options:	which of counters and skbinfo it has; they follow in this order,
 *		see value.c
 */
struct ipcuckoo_record {
	union {
		char *comment;
		struct ipcuckoo_record *next;
	};
	refcount_t ref;
	u32 options;
} __aligned(8);

/**
 * struct ipcuckoo_value - what is kept for an entry
 * @record:	its record, or NULL where there are none
 * @expires:	the second since boot from which on it matches no more; 0: never
 * @nomatch:	it is an exception from shorter prefixes
 */
struct ipcuckoo_value {
	struct ipcuckoo_record *record;
	u32 expires;
	bool nomatch;
};

/**
 * struct ipcuckoo_entry_attrs - what a request says of an entry
 * @timeout:	seconds; 0: it stays
 * @nomatch:	it is an exception
 * @packets:	to begin with, or IPCUCKOO_COUNTER_KEEP
 * @bytes:	likewise
 * @info:	skbinfo
 * @comment:	not terminated, NULL for none
 * @comment_len: its bytes
 */
struct ipcuckoo_entry_attrs {
	u32 timeout;
	bool nomatch;
	u64 packets;
	u64 bytes;
	struct ipcuckoo_skbinfo info;
	const char *comment;
	u32 comment_len;
};

/* What a request says of an entry when it says nothing. */
static inline struct ipcuckoo_entry_attrs ipcuckoo_entry_attrs_default(u32 timeout)
{
	return (struct ipcuckoo_entry_attrs){
		.timeout = timeout,
		.packets = IPCUCKOO_COUNTER_KEEP,
		.bytes = IPCUCKOO_COUNTER_KEEP,
	};
}

/* Seconds since boot, sleep included: a ban for an hour ends after an hour. */
static inline u32 ipcuckoo_now(void)
{
	return ktime_get_boottime_seconds();
}

/* Nothing ends before its time: up to a second is added. */
static inline u32 ipcuckoo_deadline(u32 timeout)
{
	return timeout ? ipcuckoo_now() + timeout + 1 : 0;
}

/* Seconds that are left, at least one: 0 would mean for ever. */
static inline u32 ipcuckoo_seconds_left(u32 expires, u32 now)
{
	return expires ? max(expires - now, 2U) - 1 : 0;
}

static inline bool ipcuckoo_expired(u32 expires, u32 now)
{
	return expires && expires <= now;
}

struct ipcuckoo_hits *ipcuckoo_record_hits(struct ipcuckoo_record *r);
struct ipcuckoo_skbinfo *ipcuckoo_record_info(struct ipcuckoo_record *r);
const char *ipcuckoo_record_comment(struct ipcuckoo_record *r);

int ipcuckoo_value_make(struct ipcuckoo_value *value, u32 options,
			const struct ipcuckoo_entry_attrs *attrs,
			struct ipcuckoo_mem *mem);
void ipcuckoo_value_update(struct ipcuckoo_value *value,
			   struct ipcuckoo_value *fresh,
			   const struct ipcuckoo_entry_attrs *attrs, bool live);
void ipcuckoo_record_put(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem);
void ipcuckoo_record_reap(struct work_struct *work);
void ipcuckoo_record_get(struct ipcuckoo_record *r);
size_t ipcuckoo_record_memory(const struct ipcuckoo_record *r);

#endif /* _IPCUCKOO_VALUE_H */
