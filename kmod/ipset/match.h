/* SPDX-License-Identifier: GPL-2.0-only */
/* Does an element match? For packets, and for "ipset test". */
#ifndef _IPCUCKOO_IPSET_MATCH_H
#define _IPCUCKOO_IPSET_MATCH_H

#include "ipset.h"

bool ipcuckoo_ipset_has(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry);
int ipcuckoo_ipset_match_plain(struct ipcuckoo_ipset *s, const struct ipcuckoo_key *addr);
int ipcuckoo_ipset_match(struct ipcuckoo_ipset *s, const struct ipcuckoo_entry *entry,
			 const struct ip_set_ext *ext, struct ip_set_ext *mext, u32 flags);

#endif /* _IPCUCKOO_IPSET_MATCH_H */
