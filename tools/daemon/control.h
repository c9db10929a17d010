/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket: a client sends one line, a command and perhaps a name or an address. A line
 * "publish NAME HOW [json] SIZE" is followed by SIZE bytes. The daemon answers with a line "STATUS
 * LENGTH", the exit status of the client and the length of a text, and with the text; then it closes
 * the connection. Daemons that are older than this sentence send no length.
 */
#ifndef IPCUCKOOD_CONTROL_H
#define IPCUCKOOD_CONTROL_H

#include "cli/daemon.h"
#include "daemon/base/daemon.h"

struct control;

/* Listen on daemon->control. Return: NULL after a message if that is not possible. */
struct control *control_start(struct daemon *daemon);
void control_stop(struct control *control);

/* The client: send a line, and print the answer. Return: the exit status. */
int control_ask(const char *path, const char *line);
/* The client: print whether all is well. Return: the exit status, enum health. */
int control_health(const char *path);

#endif /* IPCUCKOOD_CONTROL_H */
