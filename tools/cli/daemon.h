/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks ipcuckood over its control socket, whose protocol is described in daemon/control.h. */
#ifndef IPCUCKOO_TOOL_DAEMON_H
#define IPCUCKOO_TOOL_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#define CONTROL_PATH	"/run/ipcuckood/control"

/* Return: whether the path fits. */
bool daemon_address(struct sockaddr_un *address, const char *path);
/* Connect. Return: a file descriptor, or a negative errno. */
int daemon_connect(const char *path);
/* Send a line and what follows it, and print the answer: to stdout if its status is STATUS_OK or
 * STATUS_NO, else to stderr. The descriptor is closed. Return: the status.
 */
int daemon_ask(int fd, const char *line, const void *body, size_t size);

#endif /* IPCUCKOO_TOOL_DAEMON_H */
