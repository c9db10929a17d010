/* SPDX-License-Identifier: GPL-2.0 */
/* For tests that define _GNU_SOURCE: become root of a user namespace, as every user can. */
#ifndef _OWN_ROOT_H
#define _OWN_ROOT_H

#include <sched.h>
#include <sys/prctl.h>

#include "fixture.h"

static inline void write_proc(const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(110);
	close(fd);
}

/* Become root of a user namespace, with a network namespace that belongs to it. The network
 * namespace is created after the maps are written: its files belong to the root at that time.
 */
static inline void become_own_root(void)
{
	become_nobody();
	/* setuid() has cleared this flag, without which we may not write our maps. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER))
		_exit(102);
	write_proc("setgroups", "deny");
	write_proc("uid_map", "0 65534 1");
	write_proc("gid_map", "0 65534 1");
	if (unshare(CLONE_NEWNET))
		_exit(102);
}

#endif /* _OWN_ROOT_H */
