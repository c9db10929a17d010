/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of sets, and what is done to all sets. Single sets get their names from commits. */
#ifndef _IPCUCKOO_NAMES_H
#define _IPCUCKOO_NAMES_H

#include <linux/types.h>

struct ipcuckoo_net;
struct ipcuckoo_set;

bool ipcuckoo_names_valid(const char *name);
void ipcuckoo_names_change(struct ipcuckoo_set *set, const char *name);
void ipcuckoo_names_prune(struct ipcuckoo_net *pernet, const char *name);
void ipcuckoo_names_release(struct ipcuckoo_set *set);
void ipcuckoo_names_show(struct ipcuckoo_set *set, const char *name);
void ipcuckoo_names_hide(struct ipcuckoo_set *set, bool moves);
void ipcuckoo_names_discard(struct ipcuckoo_set *set);

int ipcuckoo_names_destroy_all(struct ipcuckoo_net *pernet);
int ipcuckoo_names_flush_all(struct ipcuckoo_net *pernet);
void ipcuckoo_names_exit_net(struct ipcuckoo_net *pernet);

#endif /* _IPCUCKOO_NAMES_H */
