/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values: the extensions that are stored for an entry, if the set was created with options
 * for them. A table has arrays parallel to its slots for deadlines, for the flag of
 * exceptions, and for pointers to records. A record has the other extensions, and stays
 * where it is when its entry moves to another slot.
 */
#ifndef _IPCUCKOO_VALUE_H
#define _IPCUCKOO_VALUE_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/ktime.h>
#include <linux/types.h>

#include "ipcuckoo.h"
#include "mem.h"

/* The parallel arrays that a table can have. */
enum {
	IPCUCKOO_EXT_EXPIRES	= 1 << 0,
	IPCUCKOO_EXT_NOMATCH	= 1 << 1,
	IPCUCKOO_EXT_RECORDS	= 1 << 2,
};

/* The options for which entries have records. */
#define IPCUCKOO_RECORD_OPTIONS \
	(IPCUCKOO_O_COUNTERS | IPCUCKOO_O_COMMENT | IPCUCKOO_O_SKBINFO)

/* Packets that matched an entry, and their bytes. */
struct ipcuckoo_hits {
	atomic64_t packets;
	atomic64_t bytes;
};

/**
 * struct ipcuckoo_skbinfo - the skbinfo of an entry
 * @mark:	for attachments with the verdict mark: the mask in the high half, the mark
 *		in the low half; 0: use those of the attachment. They are in one word so that
 *		packets read both from one moment, except on 32-bit machines
 * @prio:	stored for compatibility with ipset, without effect
 * @queue:	likewise
 */
struct ipcuckoo_skbinfo {
	u64 mark;
	u32 prio;
	u16 queue;
};

/**
 * struct ipcuckoo_record - counters, skbinfo and comment of an entry
 * @comment:	zero-terminated, NULL for none; for the writer only
 * @next:	next retired record. Replaces @comment when no table has the record any
 *		more, so that retiring a record needs no memory
 * @ref:	number of tables that have the record: of a set and of its shadows
 * @options:	which extensions it has. The counters and the skbinfo follow the structure
 *		in this order
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
 * struct ipcuckoo_value - the extensions stored for an entry
 * @record:	its record; NULL if the set has no records
 * @expires:	the second since boot in which it expires; 0: never
 * @nomatch:	it is an exception
 */
struct ipcuckoo_value {
	struct ipcuckoo_record *record;
	u32 expires;
	bool nomatch;
};

/**
 * struct ipcuckoo_entry_attrs - the extensions that a request sets for an entry
 * @timeout:	seconds; 0: it never expires
 * @nomatch:	it is an exception
 * @packets:	new value of the counter, or IPCUCKOO_COUNTER_KEEP
 * @bytes:	likewise
 * @info:	skbinfo
 * @comment:	not necessarily zero-terminated; NULL for none
 * @comment_len: length of @comment
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

/* The attributes of an entry if the request has none: only the timeout of its set. */
static inline struct ipcuckoo_entry_attrs ipcuckoo_entry_attrs_default(u32 timeout)
{
	return (struct ipcuckoo_entry_attrs){
		.timeout = timeout,
		.packets = IPCUCKOO_COUNTER_KEEP,
		.bytes = IPCUCKOO_COUNTER_KEEP,
	};
}

/* Seconds since boot, including time in suspend: so a timeout of an hour is an hour. */
static inline u32 ipcuckoo_now(void)
{
	return ktime_get_boottime_seconds();
}

/* The second in which a timeout ends that begins at @now. Rounded up by one second at most, so that
 * no entry expires too early.
 */
static inline u32 ipcuckoo_deadline_from(u32 now, u32 timeout)
{
	return timeout ? now + timeout + 1 : 0;
}

static inline u32 ipcuckoo_deadline(u32 timeout)
{
	return timeout ? ipcuckoo_deadline_from(ipcuckoo_now(), timeout) : 0;
}

/* The rest of a timeout in seconds: at least 1, because 0 means no timeout. */
static inline u32 ipcuckoo_seconds_left(u32 expires, u32 now)
{
	return expires ? max(expires, now + 2) - now - 1 : 0;
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
int ipcuckoo_record_make_atomic(struct ipcuckoo_record **record, u32 options,
				const struct ipcuckoo_entry_attrs *attrs,
				struct ipcuckoo_mem *mem);
bool ipcuckoo_value_refresh(struct ipcuckoo_value *value, u32 expires,
			    const struct ipcuckoo_entry_attrs *attrs, bool comment,
			    struct ipcuckoo_mem *mem);
void ipcuckoo_value_update(struct ipcuckoo_value *value,
			   struct ipcuckoo_value *fresh,
			   const struct ipcuckoo_entry_attrs *attrs, bool live);
void ipcuckoo_record_put(struct ipcuckoo_record *r, struct ipcuckoo_mem *mem);
void ipcuckoo_record_reap(struct work_struct *work);
void ipcuckoo_record_get(struct ipcuckoo_record *r);
size_t ipcuckoo_record_memory(const struct ipcuckoo_record *r);

/* Count packets. For readers. */
static inline void ipcuckoo_hits_add(struct ipcuckoo_hits *hits, u64 packets, u64 bytes)
{
	atomic64_add(packets, &hits->packets);
	atomic64_add(bytes, &hits->bytes);
}

/* Count packets for the entry of a record, if it has counters. @r may be NULL. For readers. */
static inline void ipcuckoo_record_count(struct ipcuckoo_record *r, u64 packets, u64 bytes)
{
	struct ipcuckoo_hits *hits = ipcuckoo_record_hits(r);

	if (hits)
		ipcuckoo_hits_add(hits, packets, bytes);
}

#endif /* _IPCUCKOO_VALUE_H */
