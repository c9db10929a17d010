/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as the commands see it: sets, entries, shadows and attachments.
 * Nothing of netlink shows here; netlink.c alone knows it.
 *
 * Unless said otherwise a function returns 0 or a negative errno; what
 * nl_error() returns then says more.
 */
#ifndef IPCUCKOO_TOOL_NETLINK_H
#define IPCUCKOO_TOOL_NETLINK_H

#include <net/if.h>

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"
#include "lib/valued.h"

struct nl;

/**
 * struct nl_error - why the last request failed
 * @code:	negative errno
 * @message:	the kernel's sentence, empty if it gave none
 * @attribute:	IPCUCKOO_A_* at fault, 0 if unknown
 * @has_entry:	@entry says which entry of the request is at fault
 * @entry:	its place in the entries that were passed
 */
struct nl_error {
	int code;
	char message[256];
	int attribute;
	bool has_entry;
	struct entry_ref entry;
};

struct nl_info {
	char version[64];
	uint32_t sets;
	uint32_t attachments;
	uint64_t memory;
	uint64_t memory_limit;
};

/* Why additions fail, in the order of IPCUCKOO_A_FAILED_FULL and its successors. */
enum failure {
	FAILURE_FULL,
	FAILURE_COPIES,
	FAILURE_QUOTA,
	FAILURE_MEMORY,
	FAILURE_EXIST,
	FAILURES
};

/**
 * struct nl_set - a set
 *
 * The same struct asks for one: @name, @type, @family, @maxelem, and, where
 * they are not 0, @bits, @capacity, @options, @timeout, @flags, @hashsize,
 * @bucketsize and @netmask, @initval if @has_initval, @bitmask if @has_bitmask.
 */
struct nl_set {
	char name[IPCUCKOO_NAME_SIZE];
	uint8_t type;
	uint8_t family;
	uint8_t bits;
	uint32_t flags;
	uint8_t bucketsize;
	uint32_t hashsize;
	uint32_t initval;
	bool has_initval;
	bool has_bitmask;
	uint8_t netmask;
	uint8_t bitmask[IPCUCKOO_HOST6_SIZE];
	uint32_t capacity;
	uint32_t maxelem;
	uint32_t options;
	uint32_t timeout;
	uint64_t expired;
	uint32_t entries;
	uint32_t hosts;
	uint32_t attachments;
	uint32_t growths;
	uint32_t rekeys;
	uint64_t memory;
	uint64_t slots;
	uint64_t generation;
	uint64_t displaced;
	uint64_t fallbacks;
	uint64_t retries;
	uint64_t failed[FAILURES];
};

/**
 * struct nl_attachment - a set that acts on packets
 *
 * The same struct asks for one: @set, @direction, @verdict, and @mark and
 * @mark_mask with IPCUCKOO_VERDICT_MARK, @order if @has_order, @priority if
 * @has_priority, @dev if not empty, @place if not 0, @log and what goes with it
 * if not 0, @flags. @state is enum ipcuckoo_attachment_state, @missing the error
 * number with IPCUCKOO_STATE_NO_HOOK; neither is asked for. To detach, which minds no @log, 0 in
 * @id, @direction, @verdict and @place is any, and @mark counts if @has_mark.
 */
struct nl_attachment {
	uint32_t id;
	char set[IPCUCKOO_NAME_SIZE];
	uint8_t direction;
	uint8_t verdict;
	uint8_t place;
	bool has_mark;
	bool has_order;
	bool has_priority;
	uint32_t mark;
	uint32_t mark_mask;
	int32_t order;
	int32_t priority;
	char dev[IFNAMSIZ];
	uint8_t log;
	uint16_t log_group;
	uint32_t log_rate;
	uint32_t log_every;
	uint32_t flags;
	uint8_t state;
	uint32_t missing;
	uint64_t packets;
	uint64_t bytes;
};

/**
 * struct nl_change - what a change did
 * @entries:	in the set afterwards (commit only)
 * @changed:	entries added or deleted, attachments removed
 * @unchanged:	entries that were there already, or were not there
 */
struct nl_change {
	uint32_t entries;
	uint32_t changed;
	uint32_t unchanged;
};

/**
 * struct nl_test - what a set says of an entry
 * @found:	it matches
 * @nomatch:	it does not, for an exception
 * @prefix_len:	then: the length of what it matches, or of that
 * @copies:	in approximate sets: how often it may be there
 */
struct nl_test {
	bool found;
	bool nomatch;
	uint8_t prefix_len;
	uint32_t copies;
};

/**
 * struct nl_event - something that happened
 * @type:	enum ipcuckoo_event
 * @set:	the set; with entries only its name, @entries and @generation
 * @to:		the other name, if two are concerned
 * @attachment:	the attachment, if it is about one
 * @entries:	the entries, if it is about some; kept for the next event
 */
struct nl_event {
	uint8_t type;
	struct nl_set set;
	char to[IPCUCKOO_NAME_SIZE];
	struct nl_attachment attachment;
	struct packed entries;
};

/* Position in entries that take several messages; starts out zero. */
struct nl_cursor {
	size_t at[ENTRY_KINDS];
};

/* -ENOPROTOOPT if the kernel has no such family: the module is not loaded. */
int nl_open(struct nl **nl);
void nl_close(struct nl *nl);
const struct nl_error *nl_error(const struct nl *nl);
/* After requests that cleaned up: what counts is why it came to that. */
void nl_set_error(struct nl *nl, const struct nl_error *error);

int nl_info(struct nl *nl, struct nl_info *info);

int nl_set_new(struct nl *nl, const struct nl_set *set, bool has_maxelem,
	       uint32_t flags);
int nl_set_get(struct nl *nl, const char *name, struct nl_set *set);
/* With no @name, every set. */
int nl_set_del(struct nl *nl, const char *name, uint32_t flags);
int nl_set_flush(struct nl *nl, const char *name);
int nl_set_rename(struct nl *nl, const char *name, const char *to);
int nl_set_swap(struct nl *nl, const char *name, const char *other);
int nl_set_change(struct nl *nl, const char *name, uint32_t maxelem);

/*
 * The dumps ask again, up to five times, when what they read changes under
 * them. Return: 1 if it changed each time: the result is complete in form,
 * but its parts are of different moments.
 */
int nl_sets(struct nl *nl, struct nl_set **sets, size_t *count);
int nl_attachments(struct nl *nl, struct nl_attachment **attachments,
		   size_t *count);
int nl_entries(struct nl *nl, const char *set, struct packed *entries);

/* The same with what is kept for them; sorted. */
int nl_valued_entries(struct nl *nl, const char *set, struct valued *entries);

/*
 * Add entries with what is to be kept for each of them: to a set, or, if @set is
 * NULL, to a shadow. One message takes those from @*from on that fit into it, and
 * moves it. @options says what of the values is sent: enum ipcuckoo_option, and
 * NL_NOMATCH. Return: 1 if more is left.
 */
#define NL_NOMATCH	(1u << 31)
struct nl_valued {
	const struct valued *entries;
	uint32_t options;
	size_t from;
};
int nl_valued_add(struct nl *nl, const char *set, uint32_t shadow,
		  struct nl_valued *valued, uint32_t flags, struct nl_change *change);
/* Whether they go into one message. */
bool nl_valued_fits(const struct valued *entries);

/* Whether the entries go into one message, which is applied whole or not. */
bool nl_fits(const struct packed *entries);
int nl_entry_add(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
int nl_entry_del(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change);
/* Asks about the first entry of @entry. */
int nl_entry_test(struct nl *nl, const char *set, const struct packed *entry,
		  struct nl_test *test);

/* @coming: the entries that will be added, for the sizes of the tables. */
int nl_shadow_new(struct nl *nl, const char *set, const struct packed *coming,
		  uint32_t flags, uint32_t *shadow);
/* One message from the cursor on, which moves. Return: 1 if more is left. */
int nl_shadow_add(struct nl *nl, uint32_t shadow,
		  const struct packed *entries, struct nl_cursor *cursor,
		  struct nl_change *change);
int nl_shadow_remove(struct nl *nl, uint32_t shadow,
		     const struct packed *entries, struct nl_cursor *cursor,
		     uint32_t flags, struct nl_change *change);
int nl_shadow_commit(struct nl *nl, uint32_t shadow, uint32_t flags,
		     struct nl_change *change);
int nl_shadow_del(struct nl *nl, uint32_t shadow);

int nl_attach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *id);
/* With neither @id nor @set in the attachment, every one. */
int nl_detach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *detached);

/* From now on the connection is for events only. */
int nl_listen(struct nl *nl);
/* To wait for events. */
int nl_fd(const struct nl *nl);
/*
 * The next event. Return: 0, -EAGAIN if it was none of ours, -ENOBUFS if some
 * were lost, -ENODEV if the module was unloaded: no more will come.
 */
int nl_event(struct nl *nl, struct nl_event *event);

#endif /* IPCUCKOO_TOOL_NETLINK_H */
