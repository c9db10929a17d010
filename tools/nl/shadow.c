// SPDX-License-Identifier: GPL-2.0-only
#include "nl/request.h"
#include "nl/shadow.h"

/* Append the numbers of entries that will be added, and create the shadow. */
static int new_shadow(struct nl *nl, struct nlmsghdr *nlh, const struct packed *coming,
		      uint32_t *shadow)
{
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		if (coming->kind[kind].count)
			mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY_HOSTS4 + kind,
					 coming->kind[kind].count);
	*shadow = 0;
	return nl_talk(nl, nl_read_shadow, shadow);
}

int nl_shadow_new(struct nl *nl, const char *set, const struct packed *coming,
		  uint32_t flags, uint32_t *shadow)
{
	return new_shadow(nl, nl_start_for_set(nl, IPCUCKOO_CMD_SHADOW_NEW, set, flags),
			  coming, shadow);
}

int nl_shadow_create(struct nl *nl, const struct nl_set *set, bool has_maxelem,
		     const struct packed *coming, uint32_t *shadow)
{
	struct nlmsghdr *nlh = nl_start_for_set(nl, IPCUCKOO_CMD_SHADOW_NEW, set->name,
						IPCUCKOO_F_CREATE | set->flags);

	nl_put_set(nlh, set, has_maxelem);
	return new_shadow(nl, nlh, coming, shadow);
}

static int change_shadow(struct nl *nl, uint8_t cmd, uint32_t shadow,
			 const struct packed *entries, struct nl_cursor *cursor,
			 uint32_t flags, struct nl_change *change)
{
	struct nlmsghdr *nlh = nl_start_for_shadow(nl, cmd, shadow, flags);
	int err, left = nl_put_entries(nl, nlh, entries, cursor);

	memset(change, 0, sizeof(*change));
	err = nl_talk(nl, nl_read_change, change);
	return err ? err : left;
}

int nl_shadow_add(struct nl *nl, uint32_t shadow,
		  const struct packed *entries, struct nl_cursor *cursor,
		  struct nl_change *change)
{
	return change_shadow(nl, IPCUCKOO_CMD_SHADOW_ADD, shadow, entries, cursor,
			     0, change);
}

int nl_shadow_remove(struct nl *nl, uint32_t shadow,
		     const struct packed *entries, struct nl_cursor *cursor,
		     uint32_t flags, struct nl_change *change)
{
	return change_shadow(nl, IPCUCKOO_CMD_SHADOW_REMOVE, shadow, entries,
			     cursor, flags, change);
}

int nl_shadow_commit(struct nl *nl, uint32_t shadow, uint32_t flags,
		     struct nl_change *change)
{
	nl_start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, flags);
	memset(change, 0, sizeof(*change));
	return nl_talk(nl, nl_read_change, change);
}

int nl_shadow_del(struct nl *nl, uint32_t shadow)
{
	nl_start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	return nl_talk(nl, NULL, NULL);
}
