/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of sets: creates, destroys, renames and swaps sets. A set's procfs file and its
 * attachments follow its name.
 *
 * Context: process context. All but ipcuckoo_names_valid() take ipcuckoo_net.names and
 * other mutexes of set.h.
 */
#ifndef _IPCUCKOO_NAMES_H
#define _IPCUCKOO_NAMES_H

#include <linux/types.h>

struct ipcuckoo_net;
struct ipcuckoo_set_options;

bool ipcuckoo_names_valid(const char *name);
int ipcuckoo_names_create(struct ipcuckoo_net *pernet, const char *name,
			  const struct ipcuckoo_set_options *options);
int ipcuckoo_names_destroy(struct ipcuckoo_net *pernet, const char *name);
int ipcuckoo_names_destroy_all(struct ipcuckoo_net *pernet);
int ipcuckoo_names_rename(struct ipcuckoo_net *pernet, const char *from, const char *to);
int ipcuckoo_names_swap(struct ipcuckoo_net *pernet, const char *name, const char *other);
int ipcuckoo_names_flush_all(struct ipcuckoo_net *pernet);
void ipcuckoo_names_exit_net(struct ipcuckoo_net *pernet);

#endif /* _IPCUCKOO_NAMES_H */
