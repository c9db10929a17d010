/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about attachments.
 */
#ifndef IPCUCKOO_TOOL_NL_ATTACHMENT_H
#define IPCUCKOO_TOOL_NL_ATTACHMENT_H

#include <net/if.h>

#include "lib/ports.h"
#include "nl/netlink.h"

/* The least priority, and the default, of attachments with IPCUCKOO_F_NEW: behind connection tracking. */
#define IPCUCKOO_PRIORITY_NEW	(-199)

/**
 * struct nl_attachment - a set that acts on packets
 *
 * As an answer: @state is enum ipcuckoo_attachment_state; if it is
 * IPCUCKOO_STATE_NO_HOOK, @missing is the errno of the netfilter hook.
 *
 * nl_attach() sends @set, @direction, @verdict and @flags; with IPCUCKOO_VERDICT_MARK
 * @mark and @mark_mask; @order if @has_order; @priority if @has_priority; @dev if it is
 * not empty; @place if it is not 0; @ports if they have a protocol; and @log with its
 * parameters if it is not 0.
 *
 * nl_detach() removes the attachments that match. 0 in @id, @direction, @verdict and
 * @place matches any; @mark and @mark_mask are compared if @has_mark, @order if
 * @has_order, @priority if @has_priority, @dev if it is not empty, @ports if they have a
 * protocol. @log is ignored.
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
	struct ports ports;
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

int nl_attachments(struct nl *nl, struct nl_attachment **attachments,
		   size_t *count);
int nl_attach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *id);
/* Without @id and @set in @attachment, remove the attachments of all sets. */
int nl_detach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *detached);

#endif /* IPCUCKOO_TOOL_NL_ATTACHMENT_H */
