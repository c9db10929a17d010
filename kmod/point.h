/* SPDX-License-Identifier: GPL-2.0-only */
/* Points: where chains of attachments run, and the netfilter hooks that call them. */
#ifndef _IPCUCKOO_POINT_H
#define _IPCUCKOO_POINT_H

struct ipcuckoo_attachment;
struct ipcuckoo_net;
struct net;
struct net_device;

void ipcuckoo_points_init_net(struct ipcuckoo_net *pernet);
void ipcuckoo_points_exit_net(struct ipcuckoo_net *pernet);
int ipcuckoo_points_prepare(struct ipcuckoo_net *pernet, bool rtnl);
void ipcuckoo_points_publish(struct ipcuckoo_net *pernet);
void ipcuckoo_points_finish(struct ipcuckoo_net *pernet);
void ipcuckoo_points_leave(struct ipcuckoo_attachment *at);
void ipcuckoo_points_follow(struct ipcuckoo_net *pernet,
			    const struct net_device *going);
struct net_device *ipcuckoo_point_device(struct net *net, const char *name,
					 const struct net_device *going);

#endif /* _IPCUCKOO_POINT_H */
