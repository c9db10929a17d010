/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to the kernel, which the other files of nl/ send requests
 * through. Nothing of netlink shows outside of nl/.
 *
 * Unless said otherwise a function returns 0 or a negative errno; what
 * nl_error() returns then says more. nl_sets(), nl_attachments(), nl_entries()
 * and nl_valued_entries() read again, up to five times, when something changes
 * while they read. They return 1 if it changed each time: the result is complete
 * in form, but its parts are of different moments.
 */
#ifndef IPCUCKOO_TOOL_NETLINK_H
#define IPCUCKOO_TOOL_NETLINK_H

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"

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

/* -ENOPROTOOPT if the kernel has no such family: the module is not loaded. */
int nl_open(struct nl **nl);
void nl_close(struct nl *nl);
const struct nl_error *nl_error(const struct nl *nl);
/* After requests that cleaned up: what counts is why it came to that. */
void nl_set_error(struct nl *nl, const struct nl_error *error);

int nl_info(struct nl *nl, struct nl_info *info);

#endif /* IPCUCKOO_TOOL_NETLINK_H */
