// SPDX-License-Identifier: GPL-2.0
/*
 * Changes a set just before the tool commits a shadow of it, however busy the machine is:
 * a library to be preloaded (LD_PRELOAD). Before the tool sends SHADOW_COMMIT or COMMIT,
 * the library runs the command of $BEFORE_COMMIT, $COMMITS times at most, and waits for
 * its end.
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
		/* Not before the commits of the command itself. */
		unsetenv("LD_PRELOAD");
		if (system(command))
			errx(2, "failed: %s", command);
	}
	return real(fd, data, size, flags, to, to_size);
}
