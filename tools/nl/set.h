/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests about sets.
 */
#ifndef IPCUCKOO_TOOL_NL_SET_H
#define IPCUCKOO_TOOL_NL_SET_H

#include "nl/netlink.h"

struct nlmsghdr;

/* Why changes fail. */
enum failure {
	FAILURE_FULL,
	FAILURE_COPIES,
	FAILURE_QUOTA,
	FAILURE_MEMORY,
	FAILURE_EXIST,
	FAILURE_PENDING,
	FAILURES
};

/**
 * struct nl_set - a set
 *
 * nl/option.h has a table of the fields that are options of the set.
 */
struct nl_set {
	char name[IPCUCKOO_NAME_SIZE];
	uint8_t type;
	uint8_t family;
	uint8_t bits;
	uint32_t flags;
	uint8_t netmask;
	uint8_t bitmask[IPCUCKOO_HOST6_SIZE];
	uint32_t capacity;
	uint32_t maxelem;
	uint32_t options;
	uint32_t timeout;
	char description[IPCUCKOO_DESCRIPTION_MAX + 1];
	uint64_t expired;
	uint32_t id;
	uint32_t entries;
	uint32_t hosts;
	uint32_t attachments;
	uint32_t rules;
	uint32_t growths;
	uint32_t rekeys;
	uint64_t memory;
	uint64_t slots;
	uint64_t generation;
	uint64_t displaced;
	uint64_t fallbacks;
	uint64_t retries;
	uint64_t failed[FAILURES];
};

/* Has ip_set created the set? Then the program ipset renames, swaps, destroys and saves it. */
static inline bool is_ipset(const struct nl_set *set)
{
	return set->flags & IPCUCKOO_F_IPSET;
}

/* Append the type and the options of a new set to a request that was started with its name,
 * and with set->flags among the flags. @has_maxelem: send the limit, too.
 */
void nl_put_set(struct nlmsghdr *nlh, const struct nl_set *set, bool has_maxelem);
int nl_set_new(struct nl *nl, const struct nl_set *set, bool has_maxelem,
	       uint32_t flags);
/* Create a set from a shadow of nl_shadow_create(). */
int nl_set_new_filled(struct nl *nl, const char *name, uint32_t shadow);
int nl_set_get(struct nl *nl, const char *name, struct nl_set *set);
/* Without @name: destroy, or flush, all sets. */
int nl_set_del(struct nl *nl, const char *name, uint32_t flags);
int nl_set_flush(struct nl *nl, const char *name);
int nl_set_rename(struct nl *nl, const char *name, const char *to);
int nl_set_swap(struct nl *nl, const char *name, const char *other);
int nl_set_change(struct nl *nl, const char *name, uint32_t maxelem);

int nl_sets(struct nl *nl, struct nl_set **sets, size_t *count);

#endif /* IPCUCKOO_TOOL_NL_SET_H */
