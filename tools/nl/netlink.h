/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to the kernel. The other files of nl/ send requests through it; only
 * nl/ knows about netlink.
 *
 * By default, a function returns 0 or a negative errno, and nl_error() returns the
 * details of the error. nl_sets() and nl_attachments() read again if something changes while
 * they read, and give up after NL_ATTEMPTS. They then return 1, and the result mixes different
 * moments. nl_entries() and nl_extended_entries() read a copy before they give up.
 */
#ifndef IPCUCKOO_TOOL_NETLINK_H
#define IPCUCKOO_TOOL_NETLINK_H

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"

/* How often a dump, or a change that is based on what was read, is tried if other processes
 * keep changing the same set.
 */
#define NL_ATTEMPTS	5

struct nl;

/**
 * struct nl_error - why the last request failed
 * @code:	negative errno
 * @message:	the message of the kernel; empty if there was none
 * @attribute:	the wrong attribute, IPCUCKOO_A_*; 0 if unknown
 * @has_entry:	@entry is valid
 * @entry:	the entry that caused the error, in the struct packed of the request
 * @has_change:	@change is valid
 * @change:	number of the request of a commit that caused the error, from 0
 */
struct nl_error {
	int code;
	char message[256];
	int attribute;
	bool has_entry;
	struct entry_ref entry;
	bool has_change;
	uint32_t change;
};

struct nl_info {
	char version[64];
	uint32_t sets;
	uint32_t attachments;
	uint64_t memory;
	uint64_t memory_limit;
};

/* Connect to the module that has the family @family. Return: -ENOPROTOOPT if it is not loaded,
 * so that the family is missing.
 */
int nl_open(struct nl **nl, const char *family);
void nl_close(struct nl *nl);
const struct nl_error *nl_error(const struct nl *nl);
/* Which of @entries, those of the last request, caused the error: the one that the kernel names, or the
 * only one. Return: false if that is unknown.
 */
bool nl_error_entry(const struct nl *nl, const struct packed *entries, struct entry_ref *ref);
/* Restore the first error, after requests that cleaned up. */
void nl_set_error(struct nl *nl, const struct nl_error *error);

int nl_info(struct nl *nl, struct nl_info *info);

#endif /* IPCUCKOO_TOOL_NETLINK_H */
