/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about shadows. A shadow holds entries that replace those of a set when the
 * shadow is committed.
 */
#ifndef IPCUCKOO_TOOL_NL_SHADOW_H
#define IPCUCKOO_TOOL_NL_SHADOW_H

#include "nl/entry.h"
#include "nl/set.h"

/* @coming: entries that will be added; the kernel allocates its tables for as many. */
int nl_shadow_new(struct nl *nl, const char *set, const struct packed *coming,
		  uint32_t flags, uint32_t *shadow);
/* The same for a set that does not exist yet: nl_set_new_filled() creates it. */
int nl_shadow_create(struct nl *nl, const struct nl_set *set, bool has_maxelem,
		     const struct packed *coming, uint32_t *shadow);
/* Send one message with as many entries as fit, beginning at the cursor, and advance the
 * cursor. Return: 1 if entries are left, 0, or a negative errno.
 */
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
