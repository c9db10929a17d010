// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives devices whose names begin with "lab" the headroom that XDP programs need. Without it, the
 * kernel's generic XDP would copy each packet of pktgen to a larger buffer first. Drivers that run
 * XDP programs reserve this room, too.
 */
#include <linux/bpf.h>
#include <linux/module.h>
#include <linux/netdevice.h>

static int reserve(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (event == NETDEV_REGISTER && !strncmp(dev->name, "lab", 3))
		dev->needed_headroom = XDP_PACKET_HEADROOM;
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = reserve };

static int __init headroom_init(void)
{
	return register_netdevice_notifier(&notifier);
}

static void __exit headroom_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}

module_init(headroom_init);
module_exit(headroom_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Room for XDP programs in packets of pktgen");
