// SPDX-License-Identifier: GPL-2.0-only
/*
 * A work item loads the modules that attachments need. A request must not wait for modprobe: it
 * holds cb_lock of generic netlink for reading. If any task, perhaps modprobe itself, registers a
 * family meanwhile, it waits for cb_lock for writing, and every further request on the machine
 * waits for that task.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/workqueue.h>

#include "load.h"
#include "net.h"

/* Names and aliases of the modules. That of a logger has its family and its type: 2 is
 * NFPROTO_IPV4, 10 NFPROTO_IPV6, 5 NFPROTO_NETDEV; 0 is NF_LOG_TYPE_LOG, 1 NF_LOG_TYPE_ULOG.
 */
static const char * const modules[] = {
	"nf-logger-2-0", "nf-logger-2-1",
	"nf-logger-10-0", "nf-logger-10-1",
	"nf-logger-5-0", "nf-logger-5-1",
	[IPCUCKOO_LOAD_CONNTRACK] = "nf_conntrack",
};

/* For how long a failure to load a module is remembered, in jiffies. */
#define TRIED		(10 * HZ)

/* A bit for each module */
static unsigned long loading;
static unsigned long tried;
static unsigned long tried_at[ARRAY_SIZE(modules)];

static void load(struct work_struct *work)
{
	int bit;

	for_each_set_bit(bit, &loading, ARRAY_SIZE(modules)) {
		request_module("%s", modules[bit]);
		WRITE_ONCE(tried_at[bit], jiffies);
		set_bit(bit, &tried);
		/* If ipcuckoo_load() sees the bit cleared in loading, it sees the bit set in tried:
		 * pairs with test_bit_acquire().
		 */
		smp_mb__before_atomic();
		clear_bit(bit, &loading);
	}
}

static DECLARE_WORK(load_work, load);

/**
 * ipcuckoo_load() - load a module, which was not there when the caller looked
 * @which:	IPCUCKOO_LOAD_CONNTRACK, or the number of a logger
 *
 * Context: process context.
 * Return: -EAGAIN while it is being loaded, so that the caller should try again soon; -ENOENT if
 * that was done a moment ago, so that the module is not there unless it is by now.
 */
int ipcuckoo_load(int which)
{
	if (!IS_ENABLED(CONFIG_MODULES))
		return -ENOENT;
	if (test_bit_acquire(which, &loading))
		return -EAGAIN;
	if (test_and_clear_bit(which, &tried) &&
	    time_before(jiffies, READ_ONCE(tried_at[which]) + TRIED))
		return -ENOENT;
	set_bit(which, &loading);
	queue_work(ipcuckoo_wq, &load_work);
	return -EAGAIN;
}

/**
 * ipcuckoo_load_exit() - wait for the work item, before the module is unloaded
 */
void ipcuckoo_load_exit(void)
{
	cancel_work_sync(&load_work);
}
