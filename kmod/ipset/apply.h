/* SPDX-License-Identifier: GPL-2.0-only */
/* Applies what packets have added and deleted to the contents of a set. */
#ifndef _IPCUCKOO_IPSET_APPLY_H
#define _IPCUCKOO_IPSET_APPLY_H

#include "ipset.h"

void ipcuckoo_ipset_apply_work(struct work_struct *work);
void ipcuckoo_ipset_apply_soon(struct ipcuckoo_ipset *s);
int ipcuckoo_ipset_apply_one(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry);
void ipcuckoo_ipset_apply_all(struct ipcuckoo_ipset *s);
void ipcuckoo_ipset_log_refusal(struct ipcuckoo_ipset *s, int err);

#endif /* _IPCUCKOO_IPSET_APPLY_H */
