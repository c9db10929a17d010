/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Approximate sets: the false-positive rate, which is the share of non-members that
 * match, and the width of fingerprints that is needed for a given rate.
 */
#ifndef IPCUCKOO_TOOL_FILTER_H
#define IPCUCKOO_TOOL_FILTER_H

#include "cli/tool.h"

#define RATE_TEXT_SIZE	24

static inline bool is_approximate(const struct nl_set *set)
{
	return set->type == IPCUCKOO_TYPE_FILTER_IP;
}

static inline bool is_multi(const struct nl_set *set)
{
	return set->flags & IPCUCKOO_F_MULTI;
}

/* Maximum number of entries: capacity, or maxelem if that is less. */
uint32_t filter_room(const struct nl_set *set);

/* The false-positive rate: now, and when the set is full. */
double filter_rate_now(const struct nl_set *set);
double filter_rate_full(const struct nl_set *set);

/* "0.0117 %" */
const char *rate_text(double rate, char text[RATE_TEXT_SIZE]);

/* The width of fingerprints for the values of the options "bits" and "fpp". NULL means
 * not given; if neither is, *width is 0. Return: STATUS_OK, or another status after a
 * message.
 */
int parse_width(const struct tool *tool, const char *bits, const char *fpp,
		uint8_t *width);

#endif /* IPCUCKOO_TOOL_FILTER_H */
