/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks ipcuckood over its control socket, whose protocol is described in daemon/control.h. */
#ifndef IPCUCKOO_TOOL_DAEMON_H
#define IPCUCKOO_TOOL_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>

#define CONTROL_PATH	"/run/ipcuckood/control"

/* Return: whether the path fits. */
bool daemon_address(struct sockaddr_un *address, const char *path);
/* Requests that the daemon answers later take seconds; one that stands still would be waited for. */
#define ANSWER_SECONDS	60
/* Connect. @seconds: how long to wait for the daemon, then and for each part of its answer. Return: a
 * file descriptor, or a negative errno.
 */
int daemon_connect(const char *path, unsigned int seconds);
/**
 * daemon_ask() - send a line and what follows it, and print the answer
 * @fd:		the connection, which is closed
 * @line:	the line
 * @body:	what follows it
 * @size:	length of @body
 * @out:	gets an answer with STATUS_OK, STATUS_NO or STATUS_WAITS; NULL: it is not printed
 * @err:	gets other answers, and what went wrong; NULL: they are not printed
 *
 * An answer that was cut off is not printed.
 *
 * Return: the status of the answer; STATUS_REFUSED if there is none, or not all of it.
 */
int daemon_ask(int fd, const char *line, const void *body, size_t size, FILE *out, FILE *err);

#endif /* IPCUCKOO_TOOL_DAEMON_H */
