/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/net/ipcuckoo. */
#ifndef _IPCUCKOO_PROCFS_H
#define _IPCUCKOO_PROCFS_H

struct ipcuckoo_net;
struct proc_dir_entry;

int ipcuckoo_proc_init_net(struct ipcuckoo_net *inet);
void ipcuckoo_proc_exit_net(struct ipcuckoo_net *inet);
struct proc_dir_entry *ipcuckoo_proc_add(struct ipcuckoo_net *inet,
					 const char *name);
void ipcuckoo_proc_del(struct proc_dir_entry *proc);

#endif /* _IPCUCKOO_PROCFS_H */
