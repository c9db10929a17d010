/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stats shows. It is read completely before anything is printed.
 */
#ifndef IPCUCKOO_TOOL_STATS_H
#define IPCUCKOO_TOOL_STATS_H

#include "nl/attachment.h"
#include "nl/set.h"

struct stats {
	struct nl_info info;
	struct nl_attachment *attachments;
	size_t attachment_count;
	struct nl_set *sets;
	size_t set_count;
};

extern const char *const failure_words[FAILURES];

static inline double ratio(double a, double b)
{
	return b ? a / b : 0;
}

void print_prometheus(const struct stats *stats);

#endif /* IPCUCKOO_TOOL_STATS_H */
