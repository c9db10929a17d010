/* SPDX-License-Identifier: GPL-2.0-only */
/* The generic netlink family. uapi/ipcuckoo.h is its manual. */
#ifndef _IPCUCKOO_NETLINK_H
#define _IPCUCKOO_NETLINK_H

#include <linux/types.h>

struct genl_info;
struct ipcuckoo_commit_change;
struct ipcuckoo_set;
struct netlink_callback;
struct sk_buff;

int ipcuckoo_nl_init(void);
void ipcuckoo_nl_exit(void);

/* The handlers of requests, by file. Each handler parses its request, calls one function
 * that does the work, and replies. Every error has a message in the extended ACK.
 */

/* netlink_set.c */
int ipcuckoo_nl_set_new_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_del_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_get_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int ipcuckoo_nl_set_flush_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_rename_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_swap_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_set_change_doit(struct sk_buff *skb, struct genl_info *info);

struct ipcuckoo_set *ipcuckoo_nl_make_set(struct genl_info *info);
int ipcuckoo_nl_parse_set_new(struct sk_buff *skb, struct genl_info *info,
			      struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_set_new(struct genl_info *info, int err);
int ipcuckoo_nl_parse_set_del(struct sk_buff *skb, struct genl_info *info,
			      struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_set_del(struct genl_info *info, int err);
int ipcuckoo_nl_parse_set_rename(struct sk_buff *skb, struct genl_info *info,
				 struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_set_rename(struct genl_info *info, int err);
int ipcuckoo_nl_parse_set_swap(struct sk_buff *skb, struct genl_info *info,
			       struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_set_swap(struct genl_info *info, int err);
int ipcuckoo_nl_parse_set_flush(struct sk_buff *skb, struct genl_info *info,
				struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_set_flush(struct genl_info *info, int err);

/* netlink_entry.c */
int ipcuckoo_nl_entry_add_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_del_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_test_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_get_done(struct netlink_callback *cb);
int ipcuckoo_nl_entry_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);

/* netlink_shadow.c */
int ipcuckoo_nl_shadow_new_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_add_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_remove_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_commit_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_del_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_parse_shadow_commit(struct sk_buff *skb, struct genl_info *info,
				    struct ipcuckoo_commit_change *change);

/* netlink_attach.c */
int ipcuckoo_nl_attach_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_detach_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_attach_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int ipcuckoo_nl_parse_attach(struct sk_buff *skb, struct genl_info *info,
			     struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_explain_attach(struct genl_info *info, int err);

/* netlink_commit.c */
int ipcuckoo_nl_commit_doit(struct sk_buff *skb, struct genl_info *info);

#endif /* _IPCUCKOO_NETLINK_H */
