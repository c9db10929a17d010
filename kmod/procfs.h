/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/net/ipcuckoo. Without CONFIG_PROC_FS there are no such files. */
#ifndef _IPCUCKOO_PROCFS_H
#define _IPCUCKOO_PROCFS_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

struct ipcuckoo_net;
struct proc_dir_entry;

/**
 * struct ipcuckoo_proc - the files of a network namespace
 * @dir:	/proc/net/ipcuckoo
 * @set_dir:	its directory "set"
 * @files:	files in "set", by name; under ipcuckoo_net.mutex. Changed only by holders
 *		of ipcuckoo_net.names
 * @unused:	the files that @removal is to remove; under ipcuckoo_net.mutex
 * @removal:	work item that removes the files in @unused
 */
struct ipcuckoo_proc {
	struct proc_dir_entry *dir;
	struct proc_dir_entry *set_dir;
	struct rb_root files;
	struct list_head unused;
	struct work_struct removal;
};

#if IS_ENABLED(CONFIG_PROC_FS)
int ipcuckoo_proc_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_proc_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_proc_add(struct ipcuckoo_net *pernet, const char *name);
void ipcuckoo_proc_del(struct ipcuckoo_net *pernet, const char *name);
#else
static inline int ipcuckoo_proc_init_net(struct ipcuckoo_net *pernet)
{
	return 0;
}

static inline void ipcuckoo_proc_exit_net(struct ipcuckoo_net *pernet)
{
}

static inline int ipcuckoo_proc_add(struct ipcuckoo_net *pernet, const char *name)
{
	return 0;
}

static inline void ipcuckoo_proc_del(struct ipcuckoo_net *pernet, const char *name)
{
}
#endif

#endif /* _IPCUCKOO_PROCFS_H */
