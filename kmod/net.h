/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's data of a network namespace, and module parameters. */
#ifndef _IPCUCKOO_NET_H
#define _IPCUCKOO_NET_H

#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/semaphore.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "attach.h"
#include "ids.h"
#include "mem.h"
#include "procfs.h"

/**
 * struct ipcuckoo_net - the module's data of one network namespace
 * @net:	the namespace
 * @names_turn:	comes before @names (lock.h)
 * @names:	see set.h
 * @mutex:	see set.h
 * @claims:	those who stand back because a set is claimed (lock.h)
 * @wq:		runs the work items of the namespace; NULL before its first set. The items take any
 *		lock that set.h lists. Do not flush it, or cancel an item synchronously, while
 *		holding a lock that the item takes
 * @memcg:	the cgroup that @wq's items charge memory to; NULL: none
 * @mem:	account of the memory of sets and all that belongs to them
 * @sets:	tree of sets, by name
 * @sets_count:	number of sets in @sets
 * @sets_seq:	incremented when @sets changes: for dumps
 * @ids:	by which BPF programs find sets
 * @ipsets:	number of sets of ip_set
 * @referrals:	number of sets to which rules of iptables refer
 * @referring:	number of processes that are releasing a rule (referral.c)
 * @destroying:	all sets are being destroyed, so no set can be attached, and no rule of iptables can
 *		refer to one
 * @shadows:	tree of shadows, by port and id
 * @shadows_count: number of shadows in @shadows
 * @shadow_id:	the id of the newest shadow
 * @trim:	work item that gives back memory of sets after they have grown (trim.c)
 * @attached:	attachments and hooks
 * @conntrack:	the module has switched connection tracking on (conntrack.c)
 * @proc:	files in /proc/net
 */
struct ipcuckoo_net {
	struct net *net;
	struct semaphore names_turn;
	struct mutex names;	/* see set.h */
	struct mutex mutex;	/* see set.h */
	wait_queue_head_t claims;
	struct workqueue_struct *wq;
	struct mem_cgroup *memcg;
	struct ipcuckoo_mem mem;
	struct rb_root sets;
	u32 sets_count;
	u32 sets_seq;
	struct ipcuckoo_ids ids;
	u32 ipsets;
	u32 referrals;
	atomic_t referring;
	bool destroying;
	struct rb_root shadows;
	u32 shadows_count;
	u32 shadow_id;
	struct delayed_work trim;
	struct ipcuckoo_attached attached;
	bool conntrack;
	struct ipcuckoo_proc proc;
};

int ipcuckoo_check_abi(const char *module, const char *version, const char *abi);

/* The name of the netlink family, and of the directory in /proc/net. */
#ifdef IPCUCKOO_SPARE
#define IPCUCKOO_NAME	IPCUCKOO_SPARE_FAMILY_NAME
#else
#define IPCUCKOO_NAME	IPCUCKOO_FAMILY_NAME
#endif

/* Module parameter priority. */
extern int ipcuckoo_hook_priority;

/* Module parameter maxelem. */
extern unsigned int ipcuckoo_maxelem;

/* Module parameter userns: see ipcuckoo_net_owner(). */
extern bool ipcuckoo_userns;

extern unsigned int ipcuckoo_net_id;

/* Runs what belongs to no namespace: log.c loads modules there. */
extern struct workqueue_struct *ipcuckoo_wq;

int ipcuckoo_net_init(void);
void ipcuckoo_net_exit(void);
int ipcuckoo_net_need_wq(struct ipcuckoo_net *pernet);
unsigned long ipcuckoo_net_memory_limit(const struct net *net);

/* Brings the names of sets of ip_set up to date: see ipcuckoo_net_sync(). */
typedef int (*ipcuckoo_sync_fn)(struct ipcuckoo_net *pernet, unsigned long until);

int ipcuckoo_net_sync(struct ipcuckoo_net *pernet, unsigned long until);
void ipcuckoo_net_set_sync(ipcuckoo_sync_fn sync);

static inline struct ipcuckoo_net *ipcuckoo_net(const struct net *net)
{
	return net_generic(net, ipcuckoo_net_id);
}

/* The user namespace in which a process needs CAP_NET_ADMIN to use the sets of a network
 * namespace. Any user can be root in a new user namespace. If that were enough, all of
 * the module's code would be reachable for unprivileged users. So by default the
 * capability is needed in the initial user namespace; the module parameter userns allows
 * the other.
 */
static inline struct user_namespace *ipcuckoo_net_owner(const struct net *net)
{
	return ipcuckoo_userns ? net->user_ns : &init_user_ns;
}

#endif /* _IPCUCKOO_NET_H */
