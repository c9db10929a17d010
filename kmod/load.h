/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads the modules that attachments need, without making requests wait for modprobe. */
#ifndef _IPCUCKOO_LOAD_H
#define _IPCUCKOO_LOAD_H

/* Which module: a logger (log.c says in which order they are), or connection tracking. */
#define IPCUCKOO_LOAD_LOGGERS	6
#define IPCUCKOO_LOAD_CONNTRACK	IPCUCKOO_LOAD_LOGGERS

int ipcuckoo_load(int which);
void ipcuckoo_load_exit(void);

#endif /* _IPCUCKOO_LOAD_H */
