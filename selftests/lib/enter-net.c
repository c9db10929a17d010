// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program in a network namespace, as nsenter of util-linux does:
 *
 *   enter-net --net=FILE [--] PROGRAM [ARGUMENT...]
 *
 * Most tests start the tool in another namespace. On User Mode Linux and emulated processors, loading
 * the libraries of nsenter takes longer than starting the tool.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd, at = 2;

	if (argc > 2 && !strcmp(argv[at], "--"))
		at++;
	if (argc <= at || strncmp(argv[1], "--net=", 6))
		errx(1, "usage: enter-net --net=FILE [--] PROGRAM [ARGUMENT...]");
	fd = open(argv[1] + 6, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "%s", argv[1] + 6);
	execvp(argv[at], argv + at);
	err(errno == ENOENT ? 127 : 126, "%s", argv[at]);
}
