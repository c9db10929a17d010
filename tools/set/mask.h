/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets with a netmask or bitmask, which compare only these bits of addresses. */
#ifndef IPCUCKOO_TOOL_MASK_H
#define IPCUCKOO_TOOL_MASK_H

#include "cli/tool.h"

/* Parse the values of netmask and bitmask; NULL means not given. Return: STATUS_OK, or
 * another status after a message.
 */
int parse_mask(const struct tool *tool, const char *netmask,
	       const char *bitmask, struct nl_set *set);

/* If the bits of a bitmask stand in a row, make it the netmask that means the same. */
void mask_make_netmask(struct nl_set *set);

bool has_bitmask(const struct nl_set *set);
const char *mask_text(const struct nl_set *set, char text[ADDRESS_TEXT_SIZE]);

/* The mask of a set; all bits 0 if it has none. Return: whether it has one. */
bool mask_bits(const struct nl_set *set, uint8_t mask[IPCUCKOO_HOST6_SIZE]);

/* Clear the bits of hosts that the set does not compare. */
void mask_hosts(const struct nl_set *set, struct packed *entries);

#endif /* IPCUCKOO_TOOL_MASK_H */
