/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about shadows: what a set will have once the shadow is committed.
 */
#ifndef IPCUCKOO_TOOL_NL_SHADOW_H
#define IPCUCKOO_TOOL_NL_SHADOW_H

#include "nl/entry.h"

/* @coming: the entries that will be added, for the sizes of the tables. */
int nl_shadow_new(struct nl *nl, const char *set, const struct packed *coming,
		  uint32_t flags, uint32_t *shadow);
/* One message from the cursor on, which moves. Return: 1 if more is left. */
int nl_shadow_add(struct nl *nl, uint32_t shadow,
		  const struct packed *entries, struct nl_cursor *cursor,
		  struct nl_change *change);
int nl_shadow_remove(struct nl *nl, uint32_t shadow,
		     const struct packed *entries, struct nl_cursor *cursor,
		     uint32_t flags, struct nl_change *change);
int nl_shadow_commit(struct nl *nl, uint32_t shadow, uint32_t flags,
		     struct nl_change *change);
int nl_shadow_del(struct nl *nl, uint32_t shadow);

#endif /* IPCUCKOO_TOOL_NL_SHADOW_H */
