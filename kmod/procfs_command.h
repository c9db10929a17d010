/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands that are written to the file of a set. */
#ifndef _IPCUCKOO_PROCFS_COMMAND_H
#define _IPCUCKOO_PROCFS_COMMAND_H

struct ipcuckoo_set;

int ipcuckoo_proc_run(struct ipcuckoo_set *set, char *text);

#endif /* _IPCUCKOO_PROCFS_COMMAND_H */
