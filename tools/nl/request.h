/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the other files of nl/ make a request and read its answer. Only they
 * include this.
 */
#ifndef IPCUCKOO_TOOL_NL_REQUEST_H
#define IPCUCKOO_TOOL_NL_REQUEST_H

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "nl/entry.h"

/* Attribute lengths are u16, and the entries of a message share one budget. Fuzzers
 * have less, so that they take several.
 */
#ifndef ENTRIES_SIZE
#define ENTRIES_SIZE		65000
#endif
#define REQUEST_SIZE		(ENTRIES_SIZE + 1024)
#define ANSWER_SIZE		(64u << 10)

/**
 * struct nl - a connection to the module
 * @socket:	libmnl's
 * @family:	id of the generic netlink family
 * @group:	id of its group of events
 * @seq:	of the last request
 * @interrupted: a message of the last dump was marked so
 * @error:	of the last request
 * @sent:	where the entries of the last request began
 */
struct nl {
	struct mnl_socket *socket;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	bool interrupted;
	struct nl_error error;
	struct nl_cursor sent;
	char request[REQUEST_SIZE] __attribute__((aligned(8)));
	char answer[ANSWER_SIZE] __attribute__((aligned(8)));
};

/* Reads one message of an answer; returns 0 or a negative errno. */
typedef int nl_answer_fn(const struct nlattr **attrs, void *data);

/* Note an error, and return it. */
int nl_fail(struct nl *nl, int code);

/* Begin a request; what follows is put behind it. With a NULL @set it is for all. */
struct nlmsghdr *nl_start(struct nl *nl, uint8_t cmd, uint16_t flags);
struct nlmsghdr *nl_start_for_set(struct nl *nl, uint8_t cmd, const char *set,
				  uint32_t flags);
struct nlmsghdr *nl_start_for_shadow(struct nl *nl, uint8_t cmd,
				     uint32_t shadow, uint32_t flags);
int nl_put_entries(struct nl *nl, struct nlmsghdr *nlh,
		   const struct packed *entries, struct nl_cursor *cursor);

/* Send it, and read the answer. */
int nl_talk(struct nl *nl, nl_answer_fn *answer, void *data);
int nl_dump(struct nl *nl, uint8_t cmd, const char *set,
	    void (*forget)(void *data), nl_answer_fn *answer, void *data);
/* A dump as an array, allocated, of objects of this size. @err is as of nl_dump(). */
void *nl_gather(struct nl *nl, uint8_t cmd, nl_answer_fn *read, size_t size,
		size_t *count, int *err);

/* What a message has. */
void nl_index(const struct nlmsghdr *nlh, const struct nlattr **attrs);
uint64_t nl_uint(const struct nlattr **attrs, int type);
void nl_string(const struct nlattr **attrs, int type, char *to, size_t size);
nl_answer_fn nl_read_set, nl_read_attachment, nl_read_entries, nl_read_change;

#endif /* IPCUCKOO_TOOL_NL_REQUEST_H */
