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
 * @ref:	number of tables that have the record: of a set and of its shadows
 * @options:	which extensions it has. For the writer only: readers may have a record that has
 *		retired, and know the options of the set
 * @next:	next retired record, and @options in the lowest bits. Replaces both when no table
 *		has the record any more, so that retiring a record needs no memory
 * @data:	the counters, the skbinfo and a pointer to the comment, in this order
 */
struct ipcuckoo_record {
	union {
		struct {
			refcount_t ref;
			u32 options;
		};
		unsigned long next;
	};
	u64 data[];
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

int ipcuckoo_value_init(void);
void ipcuckoo_value_exit(void);

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
size_t ipcuckoo_record_memory(struct ipcuckoo_record *r);

/* Which extensions has a record? @r may be NULL. For the writer. */
static inline u32 ipcuckoo_record_options(const struct ipcuckoo_record *r)
{
	return r ? r->options : 0;
}

/* The counters of an entry in a set with these options. @r is its record, or NULL. Return: NULL if
 * there are none.
 */
static inline struct ipcuckoo_hits *ipcuckoo_record_hits(struct ipcuckoo_record *r, u32 options)
{
	return r && options & IPCUCKOO_O_COUNTERS ? (struct ipcuckoo_hits *)r->data : NULL;
}

/* Likewise, its skbinfo. */
static inline struct ipcuckoo_skbinfo *ipcuckoo_record_info(struct ipcuckoo_record *r, u32 options)
{
	size_t before = options & IPCUCKOO_O_COUNTERS ? sizeof(struct ipcuckoo_hits) : 0;

	return r && options & IPCUCKOO_O_SKBINFO ? (void *)r->data + before : NULL;
}

/* Count packets. For readers. */
static inline void ipcuckoo_hits_add(struct ipcuckoo_hits *hits, u64 packets, u64 bytes)
{
	atomic64_add(packets, &hits->packets);
	atomic64_add(bytes, &hits->bytes);
}

/* Count packets for the entry of a record, if the set has counters. @r may be NULL. For readers. */
static inline void ipcuckoo_record_count(struct ipcuckoo_record *r, u32 options, u64 packets,
					 u64 bytes)
{
	struct ipcuckoo_hits *hits = ipcuckoo_record_hits(r, options);

	if (hits)
		ipcuckoo_hits_add(hits, packets, bytes);
}

#endif /* _IPCUCKOO_VALUE_H */
