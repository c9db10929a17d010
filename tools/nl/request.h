/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions to build a request and to read the answer. Only files of nl/ include this.
 */
#ifndef IPCUCKOO_TOOL_NL_REQUEST_H
#define IPCUCKOO_TOOL_NL_REQUEST_H

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "nl/entry.h"
#include "nl/set.h"

/* Bytes for all entries of a message; the length of an attribute is a u16. Fuzzers
 * define a smaller size, so that entries take several messages.
 */
#ifndef ENTRIES_SIZE
#define ENTRIES_SIZE		65000
#endif
#define REQUEST_SIZE		(ENTRIES_SIZE + 1024)
#define ANSWER_SIZE		(64u << 10)

/**
 * struct nl_commit - several requests that will be sent as one: see nl/commit.h
 * @open:	requests are appended instead of being sent
 * @data:	the message
 * @size:	bytes of it
 * @room:	bytes that are allocated
 * @changes:	offset of the last IPCUCKOO_A_CHANGES; 0 if there is none
 */
struct nl_commit {
	bool open;
	char *data;
	size_t size;
	size_t room;
	size_t changes;
};

/**
 * struct nl - a connection to the module
 * @socket:	the socket, of libmnl
 * @family:	id of the generic netlink family
 * @group:	id of the multicast group for events
 * @seq:	sequence number of the last request
 * @interrupted: a message of the last dump had NLM_F_DUMP_INTR
 * @error:	error of the last request
 * @sent:	number of entries sent before those of the last request
 * @commit:	requests that will be sent as one
 * @message:	the request that was sent last
 * @request:	buffer for the request
 * @answer:	buffer for the answer
 */
struct nl {
	struct mnl_socket *socket;
	uint16_t family;
	uint32_t version;
	uint32_t group;
	uint32_t seq;
	bool interrupted;
	struct nl_error error;
	struct nl_cursor sent;
	struct nl_commit commit;
	const struct nlmsghdr *message;
	char request[REQUEST_SIZE] __attribute__((aligned(8)));
	char answer[ANSWER_SIZE] __attribute__((aligned(8)));
};

/* A function that reads one message of an answer; returns 0 or a negative errno. */
typedef int nl_answer_fn(const struct nlattr **attrs, void *data);

/* Set nl->error to @code, and return it. */
int nl_fail(struct nl *nl, int code);

/* Start a request; attributes are appended afterwards. With a NULL @set, the request is
 * for all sets.
 */
struct nlmsghdr *nl_start(struct nl *nl, uint8_t cmd, uint16_t flags);
struct nlmsghdr *nl_start_for_set(struct nl *nl, uint8_t cmd, const char *set,
				  uint32_t flags);
struct nlmsghdr *nl_start_for_shadow(struct nl *nl, uint8_t cmd,
				     uint32_t shadow, uint32_t flags);
int nl_put_entries(struct nl *nl, struct nlmsghdr *nlh,
		   const struct packed *entries, struct nl_cursor *cursor);

/* Send the request, and read the answer. While a commit is open, only append the request
 * to it.
 */
int nl_talk(struct nl *nl, nl_answer_fn *answer, void *data);
/* The same for a request @nlh, which is sent even while a commit is open. */
int nl_ask(struct nl *nl, const struct nlmsghdr *nlh, nl_answer_fn *answer, void *data);
int nl_commit_append(struct nl *nl);
int nl_dump(struct nl *nl, uint8_t cmd, const char *set,
	    void (*forget)(void *data), nl_answer_fn *answer, void *data);
int nl_dump_entries(struct nl *nl, const char *set,
		    void (*forget)(void *data), nl_answer_fn *answer, void *data);
/* Read a dump into an allocated array of objects of @size bytes. @err: the result of
 * nl_dump().
 */
void *nl_gather(struct nl *nl, uint8_t cmd, nl_answer_fn *read, size_t size,
		size_t *count, int *err);

/* The attributes of a message. */
void nl_index(const struct nlmsghdr *nlh, const struct nlattr **attrs);
uint64_t nl_uint(const struct nlattr **attrs, int type);
void nl_string(const struct nlattr **attrs, int type, char *to, size_t size);
nl_answer_fn nl_read_set, nl_read_attachment, nl_read_entries, nl_read_extended, nl_read_change;
/* The extensions that a message has: enum ipcuckoo_option, and NL_NOMATCH */
uint32_t nl_read_options(const struct nlattr **attrs);
/* Read the number of a shadow from the answer to SHADOW_NEW. */
nl_answer_fn nl_read_shadow;

#endif /* IPCUCKOO_TOOL_NL_REQUEST_H */
