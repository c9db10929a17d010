// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each ENTRY_TEST of the tool fail: a library to be preloaded (LD_PRELOAD). It cuts
 * off the attributes of the request, which the kernel then refuses with EINVAL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "ipcuckoo.h"

ssize_t sendto(int fd, const void *data, size_t size, int flags,
	       const struct sockaddr *to, socklen_t to_size)
{
	ssize_t (*real)(int fd, const void *data, size_t size, int flags,
			const struct sockaddr *to, socklen_t to_size);
	struct {
		struct nlmsghdr nlh;
		struct genlmsghdr genl;
	} cut;

	real = dlsym(RTLD_NEXT, "sendto");
	if (size < sizeof(cut))
		return real(fd, data, size, flags, to, to_size);
	memcpy(&cut, data, sizeof(cut));
	if (cut.nlh.nlmsg_type <= GENL_ID_CTRL || cut.genl.cmd != IPCUCKOO_CMD_ENTRY_TEST)
		return real(fd, data, size, flags, to, to_size);
	cut.nlh.nlmsg_len = sizeof(cut);
	return real(fd, &cut, sizeof(cut), flags, to, to_size);
}
