/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire format: how requests, replies and events carry entries and attachments.
 * uapi/ipcuckoo.h is its manual.
 */
#ifndef _IPCUCKOO_WIRE_H
#define _IPCUCKOO_WIRE_H

#include <linux/types.h>

#include "entry.h"
#include "value.h"

struct genl_family;
struct ipcuckoo_attachment;
struct nlattr;
struct sk_buff;

/* The index of each multicast group in the family. */
enum {
	IPCUCKOO_WIRE_GROUP_EVENTS,
};

extern struct genl_family ipcuckoo_wire_family;

/* For each kind, the attribute of its packed entries, and the size of an entry in it. */
extern const u8 ipcuckoo_wire_entry_attr[IPCUCKOO_KINDS];
extern const u8 ipcuckoo_wire_entry_size[IPCUCKOO_KINDS];

void ipcuckoo_wire_put_entry(u8 *data, const struct ipcuckoo_entry *entry,
			     enum ipcuckoo_kind kind);
struct ipcuckoo_entry ipcuckoo_wire_get_entry(const u8 *data, enum ipcuckoo_kind kind);

/* The extensions of entries. Each has an attribute with one element for each entry of the
 * message, in the order of the entries.
 */
enum ipcuckoo_wire_ext_id {
	IPCUCKOO_WIRE_TIMEOUT,
	IPCUCKOO_WIRE_COUNTERS,
	IPCUCKOO_WIRE_SKBINFO,
	IPCUCKOO_WIRE_COMMENT,
	IPCUCKOO_WIRE_NOMATCH,
	IPCUCKOO_WIRE_EXTS
};

/**
 * struct ipcuckoo_wire_ext - how messages carry an extension
 * @attr:	its attribute
 * @size:	bytes for each entry; 0: a string with its terminating zero byte
 * @option:	the option with which the set must have been created; 0: any set of type
 *		hash:net has the extension
 * @sentence:	error message for requests to a set without the extension
 */
struct ipcuckoo_wire_ext {
	u8 attr;
	u8 size;
	u8 option;
	const char *sentence;
};

extern const struct ipcuckoo_wire_ext ipcuckoo_wire_exts[IPCUCKOO_WIRE_EXTS];

/* Bytes that the headers of all extensions take in a message, and what the extensions of an entry
 * take at most.
 */
#define IPCUCKOO_WIRE_EXT_HEADS	(IPCUCKOO_WIRE_EXTS * (NLA_HDRLEN + NLA_ALIGNTO))
#define IPCUCKOO_WIRE_VALUE_MAX	(IPCUCKOO_TIMEOUT_SIZE + IPCUCKOO_COUNTERS_SIZE + \
				 IPCUCKOO_SKBINFO_SIZE + IPCUCKOO_COMMENT_MAX + 1 + \
				 IPCUCKOO_NOMATCH_SIZE)

size_t ipcuckoo_wire_value_size(u32 options, const struct ipcuckoo_value *value);
void ipcuckoo_wire_append_ext(struct sk_buff *skb, struct nlattr *attr,
			      enum ipcuckoo_wire_ext_id ext,
			      const struct ipcuckoo_value *value, u32 now);
void ipcuckoo_wire_append_exts(struct sk_buff *skb, u32 options, bool except,
			       const struct ipcuckoo_value *values, u32 count);
void ipcuckoo_wire_get_ext(const u8 *data, enum ipcuckoo_wire_ext_id ext,
			   struct ipcuckoo_entry_attrs *attrs);

int ipcuckoo_wire_put_u64(struct sk_buff *skb, int attr, u64 value);
int ipcuckoo_wire_fill_attachment(struct sk_buff *skb,
				  const struct ipcuckoo_attachment *at, const char *name);

#endif /* _IPCUCKOO_WIRE_H */
