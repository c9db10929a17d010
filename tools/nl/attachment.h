/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about attachments.
 */
#ifndef IPCUCKOO_TOOL_NL_ATTACHMENT_H
#define IPCUCKOO_TOOL_NL_ATTACHMENT_H

#include <net/if.h>

#include "nl/netlink.h"

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

int nl_attachments(struct nl *nl, struct nl_attachment **attachments,
		   size_t *count);
int nl_attach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *id);
/* With neither @id nor @set in the attachment, every one. */
int nl_detach(struct nl *nl, const struct nl_attachment *attachment,
	      uint32_t *detached);

#endif /* IPCUCKOO_TOOL_NL_ATTACHMENT_H */
