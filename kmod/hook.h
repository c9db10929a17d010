/* SPDX-License-Identifier: GPL-2.0-only */
/* Netfilter hooks, and the chains of attachments that they run. */
#ifndef _IPCUCKOO_HOOK_H
#define _IPCUCKOO_HOOK_H

#include <linux/types.h>

struct ipcuckoo_net;

/* Places where packets are looked at: of each family, three. */
enum ipcuckoo_hook {
	IPCUCKOO_HOOK_IN4,
	IPCUCKOO_HOOK_IN6,
	IPCUCKOO_HOOK_OUT4,
	IPCUCKOO_HOOK_OUT6,
	IPCUCKOO_HOOK_INGRESS4,
	IPCUCKOO_HOOK_INGRESS6,
	IPCUCKOO_HOOKS
};

int ipcuckoo_hooks_update(struct ipcuckoo_net *inet);
void ipcuckoo_hooks_remove(struct ipcuckoo_net *inet);
void ipcuckoo_hooks_follow(struct ipcuckoo_net *inet);

#endif /* _IPCUCKOO_HOOK_H */
