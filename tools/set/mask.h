/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets that go by some bits of an address only: netmask and bitmask. */
#ifndef IPCUCKOO_TOOL_MASK_H
#define IPCUCKOO_TOOL_MASK_H

#include "cli/tool.h"

/* What the words behind netmask and bitmask say, either of which may be NULL.
 * Return: STATUS_OK, or another after a message.
 */
int parse_mask(const struct tool *tool, const char *netmask,
	       const char *bitmask, struct nl_set *set);

const char *mask_text(const struct nl_set *set, char text[ADDRESS_TEXT_SIZE]);

/* Whether the same bits count; a netmask may be a bitmask as well. */
bool same_mask(const struct nl_set *a, const struct nl_set *b);

/* The bits that count, or none if there is no mask. Return: whether there is one. */
bool mask_bits(const struct nl_set *set, uint8_t mask[IPCUCKOO_HOST6_SIZE]);

/* Clear the bits of hosts that do not count in a set, if there are any. */
void mask_hosts(const struct nl_set *set, struct packed *entries);

#endif /* IPCUCKOO_TOOL_MASK_H */
