/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several requests sent as one: the kernel does all of them, or none.
 *
 * Between nl_commit_begin() and nl_commit_send(), nl_set_new(), nl_set_new_filled(),
 * nl_set_del(), nl_set_flush(), nl_set_rename(), nl_set_swap(), nl_shadow_commit() and
 * nl_attach() send nothing. They append their request to the commit, and return 0, or
 * -ENOMEM if there is no memory for it. They read no answer.
 */
#ifndef IPCUCKOO_TOOL_NL_COMMIT_H
#define IPCUCKOO_TOOL_NL_COMMIT_H

#include "nl/netlink.h"

/* With IPCUCKOO_F_CHECK in @flags, the kernel will find out whether it can do all of the
 * requests, and do none.
 */
int nl_commit_begin(struct nl *nl, uint32_t flags);
/* Send the requests, in the order in which they were appended. If one of them is at
 * fault, nl_error() says which.
 */
int nl_commit_send(struct nl *nl);

#endif /* IPCUCKOO_TOOL_NL_COMMIT_H */
