/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sets of each network namespace, and their names.
 *
 * The tool ipcuckoo shows sets of ip_set, too, and loads lists into them. Their names are those
 * that they have in ip_set, which tells nobody when it changes them. So they are compared before a
 * request to the module ipcuckoo (ipcuckoo_net_sync()), and when ipset adds or deletes elements.
 */
#ifndef _IPCUCKOO_IPSET_NAMES_H
#define _IPCUCKOO_IPSET_NAMES_H

#include "ipset.h"

void ipcuckoo_ipset_names_add(struct ipcuckoo_ipset *s);
void ipcuckoo_ipset_names_check(struct ipcuckoo_ipset *s);
void ipcuckoo_ipset_names_forget(struct ipcuckoo_ipset *s);
void ipcuckoo_ipset_names_remove(struct ipcuckoo_ipset *s);
void ipcuckoo_ipset_free_work(struct work_struct *work);

int ipcuckoo_ipset_names_init(void);
void ipcuckoo_ipset_names_exit(void);

#endif /* _IPCUCKOO_IPSET_NAMES_H */
