/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is in each network namespace. */
#ifndef _IPCUCKOO_NET_H
#define _IPCUCKOO_NET_H

#include <linux/cred.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "attach.h"
#include "mem.h"
#include "procfs.h"

/**
 * struct ipcuckoo_net - everything of one network namespace
 * @net:	the namespace
 * @names:	see set.h
 * @mutex:	see set.h
 * @mem:	account of all tables
 * @sets:	tree of sets by name
 * @sets_count:	how many
 * @sets_seq:	moves when a set comes or goes
 * @destroying:	all sets are being destroyed: none can be attached
 * @shadows:	tree of shadows by socket
 * @shadows_count: how many
 * @shadow_id:	the last id given
 * @attached:	attachments and hooks
 * @proc:	files in /proc/net
 */
struct ipcuckoo_net {
	struct net *net;
	struct mutex names;	/* see set.h */
	struct mutex mutex;	/* see set.h */
	struct ipcuckoo_mem mem;
	struct rb_root sets;
	u32 sets_count;
	u32 sets_seq;
	bool destroying;
	struct rb_root shadows;
	u32 shadows_count;
	u32 shadow_id;
	struct ipcuckoo_attached attached;
	struct ipcuckoo_proc proc;
};

#define IPCUCKOO_VERSION	"0.1.0"

/* Module parameter priority. */
extern int ipcuckoo_hook_priority;

/* Module parameter maxelem. */
extern unsigned int ipcuckoo_maxelem;

/* Module parameter userns: see ipcuckoo_net_owner(). */
extern bool ipcuckoo_userns;

extern unsigned int ipcuckoo_net_id;

unsigned long ipcuckoo_net_memory_limit(const struct net *net);

static inline struct ipcuckoo_net *ipcuckoo_net(const struct net *net)
{
	return net_generic(net, ipcuckoo_net_id);
}

/* The user namespace in which CAP_NET_ADMIN is needed to use the sets of a network
 * namespace. Anybody can be root in a user namespace of his own, so that whoever
 * may use the module there makes all of it reachable for everybody: unless the
 * module parameter userns says so, it takes root of the machine.
 */
static inline struct user_namespace *ipcuckoo_net_owner(const struct net *net)
{
	return ipcuckoo_userns ? net->user_ns : &init_user_ns;
}

#endif /* _IPCUCKOO_NET_H */
