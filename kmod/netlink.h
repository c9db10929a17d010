/* SPDX-License-Identifier: GPL-2.0-only */
/* The generic netlink family. uapi/ipcuckoo.h is its manual. */
#ifndef _IPCUCKOO_NETLINK_H
#define _IPCUCKOO_NETLINK_H

int ipcuckoo_nl_init(void);
void ipcuckoo_nl_exit(void);

#endif /* _IPCUCKOO_NETLINK_H */
