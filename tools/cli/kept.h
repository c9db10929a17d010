/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sets ipcuckood keeps. Beside its control socket, the daemon has a file "sets": the inode of its
 * network namespace, and the name of a set in each further line. The file is locked as long as the daemon
 * runs, so that one which a killed daemon has left means nothing.
 */
#ifndef IPCUCKOO_TOOL_KEPT_H
#define IPCUCKOO_TOOL_KEPT_H

#include "cli/tool.h"

/* Whether an ipcuckood that runs in this network namespace keeps the set. */
bool is_kept(const char *set);

/* Who else changes a set: "ip_set", "ipcuckood", or NULL. */
const char *set_owner(const struct nl_set *set);

/* The number of the network namespace in which this program runs; 0: unknown. */
unsigned long long own_namespace(void);

/* Call a function for each set that is kept. */
void kept_walk(void (*visit)(const char *set, const void *data), const void *data);

/* For the daemon: write the file beside the socket @control, and lock it. @names: ended by NULL. @fd: the
 * descriptor that holds the lock; -1 at first. Return: 0 or a negative errno.
 */
int keep_names(const char *control, const char *const *names, int *fd);
/* For the daemon: remove the file. */
void keep_none(const char *control, int *fd);

#endif /* IPCUCKOO_TOOL_KEPT_H */
