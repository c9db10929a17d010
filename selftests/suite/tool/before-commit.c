// SPDX-License-Identifier: GPL-2.0
/*
 * A library for LD_PRELOAD that changes a set just before the tool commits its shadow, however
 * busy the machine is. When the tool is about to send SHADOW_COMMIT or COMMIT, the library first
 * runs the command in $BEFORE_COMMIT and waits for it to end. It does so for the first $COMMITS
 * requests.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ipcuckoo.h"

static bool is_commit(const void *data, size_t size)
{
	const struct nlmsghdr *nlh = data;
	const struct genlmsghdr *genl = data + NLMSG_HDRLEN;

	return size >= NLMSG_HDRLEN + sizeof(*genl) && nlh->nlmsg_type > GENL_ID_CTRL &&
	       (genl->cmd == IPCUCKOO_CMD_SHADOW_COMMIT || genl->cmd == IPCUCKOO_CMD_COMMIT);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags,
	       const struct sockaddr *to, socklen_t to_size)
{
	ssize_t (*real)(int fd, const void *data, size_t size, int flags,
			const struct sockaddr *to, socklen_t to_size);
	const char *command = getenv("BEFORE_COMMIT"), *times = getenv("COMMITS");
	static int commits;

	real = dlsym(RTLD_NEXT, "sendto");
	if (command && is_commit(data, size) && commits++ < (times ? atoi(times) : 0)) {
		/* The command itself must not load the library. */
		unsetenv("LD_PRELOAD");
		if (system(command))
			errx(2, "failed: %s", command);
	}
	return real(fd, data, size, flags, to, to_size);
}
