/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a list in Redis is: names of its keys, and how its entries and changes are packed. Nothing
 * here needs a connection.
 *
 * A list NAME has these keys. The braces keep them together in a cluster.
 *
 *   ipcuckoo:{NAME}:head              hash, see struct list_head
 *   ipcuckoo:{NAME}:snapshot:VERSION  string: all entries at one moment, packed; never changed
 *   ipcuckoo:{NAME}:changes           stream: what has changed since
 *   ipcuckoo:{NAME}:done:TOKEN        the answer of a publication, in case it is sent again
 *   ipcuckoo:{NAME}:fleet             hash: what each host has in force, as JSON
 *
 * A change has a number, one more than the change before it, in the field "n" of its entry in the
 * stream. So a follower knows when changes are missing. The other field is either "c", some changes
 * of entries that were published in one step, or "v": all entries were replaced by those of the
 * snapshot of this version.
 *
 * Changes are packed as a series of records:
 *
 *   1 byte     kind of the entry, LIST_TIMED, LIST_COMMENT, LIST_DEL
 *   n bytes    the entry, in network byte order, as the protocol of the kernel has it
 *   4 bytes    LIST_TIMED: when it expires, in seconds since 1970, big-endian
 *   n bytes    LIST_COMMENT: the comment, and a zero
 *
 * A snapshot is a series of sections, so that an IPv4 host has 4 bytes, or 8 if it expires:
 *
 *   1 byte     kind of the entries, LIST_TIMED, LIST_COMMENT
 *   4 bytes    number of entries, big-endian, not 0
 *   n bytes    LIST_COMMENT: the comment of all of them, and a zero
 *   n bytes    the entries in ascending order, each followed by when it expires if LIST_TIMED
 *
 * Whoever can write to Redis can write anything: all that is read is checked.
 */
#ifndef IPCUCKOOD_LIST_H
#define IPCUCKOOD_LIST_H

#include "daemon/set/contents.h"
#include "daemon/set/source.h"

/* What this daemon reads and writes; another number means another meaning of the keys. */
#define LIST_FORMAT		1

/* The beginning of each key, for conn_send(); the name follows */
#define LIST_KEY		"ipcuckoo:{%s}:"

#define LIST_NAME_MOST		64
#define LIST_VERSION_SIZE	40
#define LIST_ID_SIZE		44
#define LIST_WHY_SIZE		256

/* A publication of single entries is at most this many bytes. */
#define LIST_CHANGES_MOST	(64u << 10)

#define LIST_KINDS		0x03
#define LIST_TIMED		0x04
#define LIST_COMMENT		0x08
#define LIST_DEL		0x10

/**
 * struct list_position - how far a list has been read
 * @seq:	number of the last change
 * @id:		its id in the stream
 * @version:	version of the last snapshot that was read
 */
struct list_position {
	uint64_t seq;
	char id[LIST_ID_SIZE];
	char version[LIST_VERSION_SIZE];
};

/**
 * struct list_head - what the list is now
 * @seq:	number of its last change
 * @snapshot:	the snapshot, and the last change that is in it
 * @bytes:	size of the snapshot
 */
struct list_head {
	uint64_t seq;
	struct list_position snapshot;
	uint64_t bytes;
};

/* The fields of the head, in the order in which list_parse_head() expects them. */
#define LIST_HEAD_FIELDS	6
#define LIST_HEAD_NAMES		"format seq version bytes snapshot-seq snapshot-id"

/**
 * struct list_limits - which entries a set can have
 * @family:	IPCUCKOO_FAMILY_*
 * @hosts_only:	no prefixes
 * @most:	maximum number of entries
 * @left_out:	result: number of entries that do not fit into the set and were left out
 */
struct list_limits {
	uint8_t family;
	bool hosts_only;
	uint64_t most;
	uint64_t left_out;
};

/* Changes that were read; comments point into what they were read from. */
struct list_changes {
	struct source_change *at;
	size_t count;
	size_t room;
};

/* Bytes that are being packed. */
struct list_bytes {
	uint8_t *data;
	size_t size;
	size_t room;
};

bool list_is_name(const char *name);
bool list_is_version(const char *text, size_t len);
/* Parse a decimal number. Return: whether it is one. */
bool list_number(const char *text, size_t len, uint64_t *number);
/* Milliseconds since 1970 of an id. Return: whether it is an id: two numbers, and "-". */
bool list_parse_id(const char *text, size_t len, uint64_t *ms);

/* Parse the fields of the head; a missing field is NULL. @why says what is wrong, and what to do.
 * Return: 0; -ENOENT if there is no list; -EINVAL.
 */
int list_parse_head(const char *const text[LIST_HEAD_FIELDS], const size_t len[LIST_HEAD_FIELDS],
		    struct list_head *head, char why[LIST_WHY_SIZE]);

/* Parse packed changes, and append them. Return: 0, -EINVAL with the reason, or -ENOMEM. */
int list_parse_changes(const uint8_t *data, size_t size, struct list_limits *limits,
		       struct list_changes *changes, char why[LIST_WHY_SIZE]);
void list_free_changes(struct list_changes *changes);

/* Parse a snapshot into empty contents. Return: 0, -EINVAL with the reason, or -ENOMEM; the
 * contents are empty then.
 */
int list_parse_snapshot(const uint8_t *data, size_t size, struct list_limits *limits,
			struct contents *contents, char why[LIST_WHY_SIZE]);

/* Pack a change, or all contents without those that have expired. Return: 0 or -ENOMEM. */
int list_pack_change(struct list_bytes *bytes, const struct source_change *change);
/* No snapshot of the contents has more bytes; it may have fewer, as entries share comments. */
uint64_t list_snapshot_most(const struct contents *contents);
int list_pack_snapshot(struct list_bytes *bytes, const struct contents *contents, uint32_t now);

#endif /* IPCUCKOOD_LIST_H */
