/* SPDX-License-Identifier: GPL-2.0-only */
/* The generic netlink family. uapi/ipcuckoo.h is its manual. */
#ifndef _IPCUCKOO_NETLINK_H
#define _IPCUCKOO_NETLINK_H

#include <linux/types.h>

#include "entry.h"

struct genl_family;
struct genl_info;
struct ipcuckoo_attachment;
struct ipcuckoo_entry;
struct ipcuckoo_set;
struct net;
struct netlink_callback;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

/* The multicast groups, by their place in the family. */
enum {
	IPCUCKOO_NL_GROUP_EVENTS,
};

extern struct genl_family ipcuckoo_nl_family;

int ipcuckoo_nl_init(void);
void ipcuckoo_nl_exit(void);

/* For handlers: reading requests. */
bool ipcuckoo_nl_flag(struct nlattr **attrs, u32 flag);
u32 ipcuckoo_nl_u32(struct nlattr **attrs, int attr, u32 otherwise);
struct nlattr *ipcuckoo_nl_need(struct nlattr **attrs, int type,
				struct netlink_ext_ack *extack);
const char *ipcuckoo_nl_check_name(const struct nlattr *attr,
				   struct netlink_ext_ack *extack);
const char *ipcuckoo_nl_name(struct nlattr **attrs,
			     struct netlink_ext_ack *extack);
int ipcuckoo_nl_name_or_all(struct genl_info *info, const char **name);
struct ipcuckoo_set *ipcuckoo_nl_set(struct net *net, struct nlattr **attrs,
				     struct netlink_ext_ack *extack);
struct ipcuckoo_set *ipcuckoo_nl_locked_set(struct genl_info *info);
void ipcuckoo_nl_put_set(struct ipcuckoo_set *set);

/* For handlers: errors. */
int ipcuckoo_nl_no_such_set(struct nlattr **attrs,
			    struct netlink_ext_ack *extack);
int ipcuckoo_nl_explain(struct netlink_ext_ack *extack, int err);

/* For handlers: replies. */
struct ipcuckoo_nl_reply {
	struct sk_buff *skb;
	void *header;
};

int ipcuckoo_nl_reply_begin(struct genl_info *info,
			    struct ipcuckoo_nl_reply *reply);
void ipcuckoo_nl_reply_u32(struct ipcuckoo_nl_reply *reply, int attr, u32 value);
int ipcuckoo_nl_reply_end(struct genl_info *info,
			  struct ipcuckoo_nl_reply *reply, int err);
void *ipcuckoo_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			   u8 cmd);
int ipcuckoo_nl_put_u64(struct sk_buff *skb, int attr, u64 value);

/* For handlers and events: objects. */
extern const u8 ipcuckoo_nl_entry_attr[IPCUCKOO_KINDS];
extern const u8 ipcuckoo_nl_entry_size[IPCUCKOO_KINDS];
void ipcuckoo_nl_pack_entry(u8 *data, const struct ipcuckoo_entry *entry,
			    enum ipcuckoo_kind kind);
int ipcuckoo_nl_fill_options(struct sk_buff *skb, const struct ipcuckoo_set *set);
int ipcuckoo_nl_fill_attachment(struct sk_buff *skb,
				const struct ipcuckoo_attachment *at);

/* The handlers, by the file they are in. */

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

/* netlink_entry.c */
int ipcuckoo_nl_entry_add_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_del_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_test_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_entry_get_done(struct netlink_callback *cb);
int ipcuckoo_nl_entry_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int ipcuckoo_nl_shadow_new_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_add_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_remove_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_commit_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_shadow_del_doit(struct sk_buff *skb, struct genl_info *info);

/* netlink_attach.c */
int ipcuckoo_nl_attach_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_detach_doit(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_attach_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);

#endif /* _IPCUCKOO_NETLINK_H */
