/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Approximate sets: the share of strangers that match, and the width of
 * fingerprints that keeps to a share.
 */
#ifndef IPCUCKOO_TOOL_FILTER_H
#define IPCUCKOO_TOOL_FILTER_H

#include "cli/tool.h"

#define SHARE_TEXT_SIZE	24

static inline bool is_approximate(const struct nl_set *set)
{
	return set->type == IPCUCKOO_TYPE_FILTER_IP;
}

static inline bool is_multi(const struct nl_set *set)
{
	return set->flags & IPCUCKOO_F_MULTI;
}

/* Whether sets are of the same shape: one that the kernel has, or two that are
 * asked for with what is left out.
 */
bool same_shape(const struct nl_set *a, const struct nl_set *b);

/* How many entries the set may have. */
uint32_t filter_room(const struct nl_set *set);

/* Of all strangers, those that match: now, and when the set is full. */
double filter_share_now(const struct nl_set *set);
double filter_share_full(const struct nl_set *set);

/* "0.0117 %" */
const char *share_text(double share, char text[SHARE_TEXT_SIZE]);

/* The width that the words "bits" and "fpp" ask for, either of which may be
 * NULL; 0 if both are. Returns STATUS_OK, or another after a message.
 */
int parse_width(const struct tool *tool, const char *bits, const char *fpp,
		uint8_t *width);

#endif /* IPCUCKOO_TOOL_FILTER_H */
