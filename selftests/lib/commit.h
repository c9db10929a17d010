/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests: send COMMIT. Call commit_begin(), then a function put_*() for each change, and then
 * commit_ask(). All sets are of the family inet.
 */
#ifndef _COMMIT_H
#define _COMMIT_H

#include "client.h"

/* The attribute CHANGES of the request that this thread builds. */
static __thread struct nlattr *commit_changes;

static inline struct nlmsghdr *commit_begin(struct client *c)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_COMMIT);

	commit_changes = mnl_attr_nest_start(nlh, IPCUCKOO_A_CHANGES);
	return nlh;
}

/* Begin another attribute CHANGES for the changes that follow. One attribute holds up to 64 KiB. */
static inline void commit_go_on(struct nlmsghdr *nlh)
{
	mnl_attr_nest_end(nlh, commit_changes);
	commit_changes = mnl_attr_nest_start(nlh, IPCUCKOO_A_CHANGES);
}

static inline int commit_ask(struct client *c, struct answer *answer)
{
	mnl_attr_nest_end((struct nlmsghdr *)c->out, commit_changes);
	return client_ask(c, answer);
}

/* Ask the kernel whether the changes are possible. It makes none of them. */
static inline int commit_check(struct client *c, struct answer *answer)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)c->out;

	mnl_attr_nest_end(nlh, commit_changes);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_CHECK);
	return client_ask(c, answer);
}

/* Changes */

/* SET_NEW: the set is empty. */
static inline void put_new(struct nlmsghdr *nlh, const char *name, uint8_t type,
			   uint32_t flags)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_NEW);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	mnl_attr_nest_end(nlh, nest);
}

/* SET_NEW: the set gets the contents of @shadow, which shadow_create() has made. */
static inline void put_new_filled(struct nlmsghdr *nlh, const char *name, uint32_t shadow)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_NEW);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	mnl_attr_nest_end(nlh, nest);
}

/* SET_DEL, SET_FLUSH; with a second name, @to, SET_RENAME and SET_SWAP. */
static inline void put_named(struct nlmsghdr *nlh, uint8_t cmd, const char *name,
			     const char *to, uint32_t flags)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, cmd);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	if (to)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, to);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	mnl_attr_nest_end(nlh, nest);
}

/* SHADOW_COMMIT: the contents of the shadow replace those of its set. */
static inline void put_replace(struct nlmsghdr *nlh, uint32_t shadow, uint32_t flags)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SHADOW_COMMIT);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	mnl_attr_nest_end(nlh, nest);
}

static inline void put_attach(struct nlmsghdr *nlh, const char *name, uint8_t verdict,
			      uint32_t flags)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_ATTACH);

	put_rule(nlh, name, IPCUCKOO_DIR_SRC, verdict);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	mnl_attr_nest_end(nlh, nest);
}

/* Create a shadow from which put_new_filled() can make a set. @capacity is that of a filter; 0
 * for exact sets. Returns the number of the shadow, or 0 if it cannot be created.
 */
static inline uint32_t shadow_create_sized(struct client *c, uint8_t type, uint32_t capacity)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_SHADOW_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "unnamed");
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_CREATE);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	if (capacity)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, capacity);
	return client_ask(c, &answer) ? 0 : answer_number(&answer, IPCUCKOO_A_SHADOW);
}

static inline uint32_t shadow_create(struct client *c, uint8_t type)
{
	return shadow_create_sized(c, type, 0);
}

#endif /* _COMMIT_H */
