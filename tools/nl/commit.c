// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "nl/commit.h"
#include "nl/request.h"

/* Bytes of requests in one attribute; the length of an attribute is a u16. Fuzzers define
 * a smaller size, so that a few requests take several attributes.
 */
#ifndef CHANGES_SIZE
#define CHANGES_SIZE	60000
#endif

/* Append bytes to the message. Return: their offset, or -ENOMEM. */
static long append(struct nl_commit *commit, const void *data, size_t size)
{
	size_t at = commit->size, room = 2 * (at + size);
	char *more;

	if (at + size > commit->room) {
		more = realloc(commit->data, room);
		if (!more)
			return -ENOMEM;
		commit->data = more;
		commit->room = room;
	}
	memcpy(commit->data + at, data, size);
	commit->size += size;
	return at;
}

/* Append a nested attribute. Return: its offset, or -ENOMEM. */
static long append_nest(struct nl_commit *commit, uint16_t type, const void *data,
			size_t size)
{
	const struct nlattr attr = {
		.nla_type = type | NLA_F_NESTED, .nla_len = MNL_ATTR_HDRLEN + size,
	};
	long at = append(commit, &attr, sizeof(attr));

	return at < 0 || append(commit, data, size) < 0 ? -ENOMEM : at;
}

/* Append the request in nl->request. Return: 0 or -ENOMEM. */
static int append_request(struct nl *nl)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)nl->request;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const char *attrs = mnl_nlmsg_get_payload_offset(nlh, sizeof(*genl));
	size_t size = mnl_nlmsg_get_payload_len(nlh) - MNL_ALIGN(sizeof(*genl));
	struct nl_commit *commit = &nl->commit;
	struct nlattr *changes;
	long at;

	if (!commit->changes || commit->size - commit->changes + size > CHANGES_SIZE) {
		at = append_nest(commit, IPCUCKOO_A_CHANGES, "", 0);
		if (at < 0)
			return -ENOMEM;
		commit->changes = at;
	}
	if (append_nest(commit, genl->cmd, attrs, size) < 0)
		return -ENOMEM;
	changes = (struct nlattr *)(commit->data + commit->changes);
	changes->nla_len = commit->size - commit->changes;
	return 0;
}

/**
 * nl_commit_append - append the request in nl->request to the commit
 * @nl:		connection, between nl_commit_begin() and nl_commit_send()
 *
 * Without memory, the commit is dropped, and the next request is sent on its own.
 *
 * Return: 0 or -ENOMEM.
 */
int nl_commit_append(struct nl *nl)
{
	int err = append_request(nl);

	nl->commit.open = !err;
	return nl_fail(nl, err);
}

int nl_commit_begin(struct nl *nl, uint32_t flags)
{
	struct nlmsghdr *nlh = nl_start(nl, IPCUCKOO_CMD_COMMIT, NLM_F_ACK);

	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	nl->commit.size = 0;
	nl->commit.changes = 0;
	if (append(&nl->commit, nlh, nlh->nlmsg_len) < 0)
		return nl_fail(nl, -ENOMEM);
	nl->commit.open = true;
	return 0;
}

int nl_commit_send(struct nl *nl)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)nl->commit.data;

	nl->commit.open = false;
	if (!nl->commit.changes)
		return 0;
	nlh->nlmsg_len = nl->commit.size;
	nlh->nlmsg_seq = ++nl->seq;
	return nl_ask(nl, nlh, NULL, NULL);
}
