/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of all handlers of requests: parsing, error messages, replies. */
#ifndef _IPCUCKOO_NETLINK_REQUEST_H
#define _IPCUCKOO_NETLINK_REQUEST_H

#include "batch.h"
#include "change.h"
#include "commit.h"

struct genl_info;
struct net;
struct netlink_callback;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

/* Reading requests. */
bool ipcuckoo_nl_flag(struct nlattr **attrs, u32 flag);
u32 ipcuckoo_nl_u32(struct nlattr **attrs, int attr, u32 otherwise);
struct nlattr *ipcuckoo_nl_need(struct nlattr **attrs, int type,
				struct netlink_ext_ack *extack);
const char *ipcuckoo_nl_check_name(const struct nlattr *attr,
				   struct netlink_ext_ack *extack);
const char *ipcuckoo_nl_name(struct nlattr **attrs,
			     struct netlink_ext_ack *extack);
int ipcuckoo_nl_name_or_all(struct genl_info *info, const char **name);
struct ipcuckoo_set *ipcuckoo_nl_lock_attr_set(struct net *net, struct nlattr **attrs,
					       struct netlink_ext_ack *extack);
struct ipcuckoo_set *ipcuckoo_nl_lock_set(struct genl_info *info);
void ipcuckoo_nl_unlock_set(struct ipcuckoo_set *set);

/* Errors. */
int ipcuckoo_nl_no_such_set(struct nlattr **attrs,
			    struct netlink_ext_ack *extack);
int ipcuckoo_nl_explain(struct netlink_ext_ack *extack, int err);

/* Replies. */
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

/* Entries of requests. */
int ipcuckoo_nl_get_entries(struct genl_info *info, struct ipcuckoo_batch *batch,
			    u32 *total);
int ipcuckoo_nl_get_batch(struct genl_info *info, struct ipcuckoo_batch *batch);
int ipcuckoo_nl_check_exts(struct genl_info *info, const struct ipcuckoo_set *set);
int ipcuckoo_nl_check_delete(struct genl_info *info, const struct ipcuckoo_set *set);
void ipcuckoo_nl_blame_entry(struct genl_info *info,
			     const struct ipcuckoo_batch_cursor *at);
int ipcuckoo_nl_reply_batch(struct genl_info *info, struct ipcuckoo_nl_reply *reply,
			    int err, const struct ipcuckoo_change_result *result);

/* Shadows and commits. For each request that is a change, or part of a commit, one function
 * parses its attributes, and one explains why the commit failed and returns the error to
 * answer with.
 */
typedef int (*ipcuckoo_nl_parse_fn)(struct sk_buff *skb, struct genl_info *info,
				    struct ipcuckoo_commit_change *change);
typedef int (*ipcuckoo_nl_explain_fn)(struct genl_info *info, int err);

struct ipcuckoo_shadow *ipcuckoo_nl_find_shadow(struct net *net, const struct sock *sk, u32 portid,
						struct nlattr **attrs,
						struct netlink_ext_ack *extack);
struct ipcuckoo_shadow *ipcuckoo_nl_shadow(struct sk_buff *skb, struct genl_info *info);
int ipcuckoo_nl_explain_shadow(struct genl_info *info, int err);
void ipcuckoo_nl_discard_change(struct ipcuckoo_net *pernet,
				struct ipcuckoo_commit_change *change);
int ipcuckoo_nl_change_doit(struct sk_buff *skb, struct genl_info *info,
			    ipcuckoo_nl_parse_fn parse, ipcuckoo_nl_explain_fn explain);

#endif /* _IPCUCKOO_NETLINK_REQUEST_H */
