/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ids of sets: the numbers by which BPF programs name them. The module ipcuckoo_bpf (bpf/) is the
 * only one that looks sets up by their ids.
 */
#ifndef _IPCUCKOO_IDS_H
#define _IPCUCKOO_IDS_H

#include <linux/types.h>
#include <linux/xarray.h>

struct ipcuckoo_net;
struct ipcuckoo_set;

/**
 * struct ipcuckoo_ids - the ids of a network namespace
 * @sets:	the set that each id names; a reserved entry for a set that is not created yet.
 *		Changed under ipcuckoo_net.names, read under rcu_read_lock()
 * @next:	where to look for a free id
 */
struct ipcuckoo_ids {
	struct xarray sets;
	u32 next;
};

void ipcuckoo_ids_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_ids_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_ids_reserve(struct ipcuckoo_set *set);
void ipcuckoo_ids_free(struct ipcuckoo_set *set);
void ipcuckoo_ids_publish(struct ipcuckoo_set *set);
bool ipcuckoo_ids_used(void);
void ipcuckoo_ids_use(void);
struct ipcuckoo_set *ipcuckoo_ids_find(struct ipcuckoo_net *pernet, u32 id);

#endif /* _IPCUCKOO_IDS_H */
