/* SPDX-License-Identifier: GPL-2.0-only */
/* What user space does with the elements of sets: ipset add, del, test, flush. */
#ifndef _IPCUCKOO_IPSET_REQUEST_H
#define _IPCUCKOO_IPSET_REQUEST_H

#include "ipset.h"

int ipcuckoo_ipset_request(struct ip_set *set, struct nlattr *tb[], enum ipset_adt adt,
			   u32 *lineno, u32 flags, bool retried);
void ipcuckoo_ipset_flush(struct ip_set *set);

#endif /* _IPCUCKOO_IPSET_REQUEST_H */
