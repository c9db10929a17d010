// SPDX-License-Identifier: GPL-2.0-only
/* Attachments as objects: see attachment.h. */
#include <linux/netdevice.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "attachment.h"
#include "mem.h"

/* The fields that each packet reads, and the rate limit's lock that logged packets write,
 * are in different cache lines.
 */
static_assert(!IS_ENABLED(CONFIG_SMP) ||
	      (offsetofend(struct ipcuckoo_attachment, rule) - 1) / SMP_CACHE_BYTES <
	      offsetof(struct ipcuckoo_attachment, limit) / SMP_CACHE_BYTES);

/* Estimated bytes of a hook: a point, a tap, its chain, and netfilter's array of hooks. */
#define HOOK_SIZE	512

/* Bytes charged for an attachment: itself, its counters, and as many hooks as it can need. */
static size_t attachment_size(void)
{
	return kmalloc_size_roundup(sizeof(struct ipcuckoo_attachment)) +
	       num_possible_cpus() * sizeof(struct ipcuckoo_counter) +
	       IPCUCKOO_RUNS_MAX * HOOK_SIZE;
}

/**
 * ipcuckoo_attachment_free() - free an attachment that no packet can see
 * @at:		attachment
 * @mem:	account it was charged to
 */
void ipcuckoo_attachment_free(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem)
{
	free_percpu(at->counter);
	kfree(at);
	ipcuckoo_mem_uncharge(mem, attachment_size());
}

/**
 * ipcuckoo_attachment_alloc() - allocate an attachment, which is in no list or chain
 * @mem:	account to charge
 *
 * Context: process context, may sleep.
 * Return: an attachment, or ERR_PTR(-ENOMEM, -EDQUOT or -EINTR).
 */
struct ipcuckoo_attachment *ipcuckoo_attachment_alloc(struct ipcuckoo_mem *mem)
{
	struct ipcuckoo_attachment *at;
	int cpu;

	if (!ipcuckoo_mem_charge(mem, attachment_size()))
		return ERR_PTR(ipcuckoo_mem_refusal());
	at = kzalloc(sizeof(*at), GFP_KERNEL_ACCOUNT);
	if (at)
		at->counter = alloc_percpu_gfp(struct ipcuckoo_counter,
					       GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!at || !at->counter) {
		kfree(at);
		ipcuckoo_mem_uncharge(mem, attachment_size());
		return ERR_PTR(-ENOMEM);
	}
	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(at->counter, cpu)->syncp);
	return at;
}

static void free_rcu(struct rcu_head *rcu)
{
	struct ipcuckoo_attachment *at = container_of(rcu,
						      struct ipcuckoo_attachment,
						      rcu);
	struct ipcuckoo_mem *mem = at->mem;

	ipcuckoo_attachment_free(at, mem);
	ipcuckoo_mem_release(mem, attachment_size());
}

/**
 * ipcuckoo_attachment_retire() - free an attachment after a grace period
 * @at:		attachment that is in no chain any more
 * @mem:	account it was charged to
 */
void ipcuckoo_attachment_retire(struct ipcuckoo_attachment *at, struct ipcuckoo_mem *mem)
{
	at->mem = mem;
	ipcuckoo_mem_retire(mem, attachment_size());
	call_rcu(&at->rcu, free_rcu);
}

/**
 * ipcuckoo_device_has_program() - does an XDP program run at a device?
 * @dev:	device
 *
 * A bond makes its ports run its program, which then is at the bond only.
 *
 * Context: any, under rcu_read_lock().
 */
bool ipcuckoo_device_has_program(const struct net_device *dev)
{
	int mode;

	/* The pointers change under RTNL. Without it they must not be followed. */
	for (mode = 0; mode < __MAX_XDP_MODE; mode++)
		if (READ_ONCE(dev->xdp_state[mode].prog) || READ_ONCE(dev->xdp_state[mode].link))
			return true;
	return false;
}

/**
 * ipcuckoo_attachment_has_program() - does a program run at the device of an XDP attachment?
 * @at:		attachment
 * @net:	namespace
 *
 * The kernel does not tell which functions a program calls. So this looks whether the device has
 * any program at all.
 *
 * Return: false also for other attachments.
 */
bool ipcuckoo_attachment_has_program(const struct ipcuckoo_attachment *at, struct net *net)
{
	const struct net_device *dev;
	bool program;

	if (at->rule.place != IPCUCKOO_PLACE_XDP)
		return false;
	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, READ_ONCE(at->ifindex));
	program = dev && ipcuckoo_device_has_program(dev);
	rcu_read_unlock();
	return program;
}

/**
 * ipcuckoo_attachment_state() - does an attachment see packets?
 * @at:		attachment; the namespace's mutex is held
 * @net:	namespace
 *
 * XDP attachments see packets while a program runs at their device that calls ipcuckoo_hook_xdp().
 *
 * Return: enum ipcuckoo_attachment_state.
 */
u8 ipcuckoo_attachment_state(const struct ipcuckoo_attachment *at, struct net *net)
{
	if (at->state != IPCUCKOO_STATE_ACTIVE || at->rule.place != IPCUCKOO_PLACE_XDP)
		return at->state;
	return ipcuckoo_attachment_has_program(at, net) ? IPCUCKOO_STATE_ACTIVE :
							  IPCUCKOO_STATE_NO_PROGRAM;
}

/**
 * ipcuckoo_attachment_count() - sum up the counters of an attachment
 * @at:		attachment; the namespace's mutex is held
 *
 * Return: packets and bytes that matched so far, on all CPUs.
 */
struct ipcuckoo_counter
ipcuckoo_attachment_count(const struct ipcuckoo_attachment *at)
{
	const struct ipcuckoo_counter *counter;
	struct ipcuckoo_counter sum = {};
	u64 packets, bytes;
	unsigned int start;
	int cpu;

	for_each_possible_cpu(cpu) {
		counter = per_cpu_ptr(at->counter, cpu);
		do {
			start = u64_stats_fetch_begin(&counter->syncp);
			packets = READ_ONCE(counter->packets);
			bytes = READ_ONCE(counter->bytes);
		} while (u64_stats_fetch_retry(&counter->syncp, start));
		sum.packets += packets;
		sum.bytes += bytes;
	}
	return sum;
}
