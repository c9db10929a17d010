// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the module's policies, operations and multicast groups for test_spec. test_spec cuts their
 * definitions out of options.c, netlink*.c and wire.c in ../../kmod and writes them into fragments.h. This file
 * defines as much of the kernel's headers as they use.
 */
#include <net/if.h>
#include <stdio.h>

#include "../../uapi/ipcuckoo.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

enum {
	NLA_UNSPEC, NLA_U8, NLA_U16, NLA_U32, NLA_U64, NLA_S32, NLA_NUL_STRING, NLA_BINARY,
	NLA_REJECT, NLA_NESTED,
};

static const char * const types[] = {
	"unspec", "u8", "u16", "u32", "u64", "s32", "string", "binary", "reject", "nest",
};

struct netlink_range_validation {
	unsigned long long min, max;
};

enum check { CHECK_NOTHING, CHECK_MASK, CHECK_MIN, CHECK_RANGE, CHECK_FULL_RANGE };

struct nla_policy {
	int type;
	unsigned int len;
	enum check check;
	unsigned long long min, max, mask;
	const struct netlink_range_validation *range;
};

#define NLA_POLICY_MASK(t, bits)	{ .type = t, .check = CHECK_MASK, .mask = (bits) }
#define NLA_POLICY_MIN(t, least)	{ .type = t, .check = CHECK_MIN, .min = (least) }
#define NLA_POLICY_RANGE(t, least, most) \
	{ .type = t, .check = CHECK_RANGE, .min = (least), .max = (most) }
#define NLA_POLICY_FULL_RANGE(t, r)	{ .type = t, .check = CHECK_FULL_RANGE, .range = r }

enum { GENL_UNS_ADMIN_PERM = 1, GENL_ADMIN_PERM = 2, GENL_MCAST_CAP_NET_ADMIN = 4 };

#define __ro_after_init

typedef int handler(void);

struct genl_ops {
	int cmd;
	int flags;
	const struct nla_policy *policy;
	unsigned int maxattr;
	handler *doit, *dumpit, *done;
};

struct genl_multicast_group {
	const char *name;
	int flags;
};

enum { IPCUCKOO_WIRE_GROUP_EVENTS };

#include "fragments.h"

static void print_attr(int cmd, unsigned int attr, const struct nla_policy *p)
{
	unsigned long long min = p->min, max = p->max;

	if (p->range) {
		min = p->range->min;
		max = p->range->max;
	}
	printf("attr %d %u %s", cmd, attr, types[p->type]);
	if (p->len)
		printf(" max-len=%u", p->len);
	if (p->check == CHECK_MASK)
		printf(" mask=%llu", p->mask);
	if (min)
		printf(" min=%llu", min);
	if (p->check == CHECK_RANGE || p->check == CHECK_FULL_RANGE)
		printf(" max=%llu", max);
	putchar('\n');
}

int main(void)
{
	unsigned int i, attr;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		const struct genl_ops *op = &ops[i];

		printf("op %d%s%s%s\n", op->cmd, op->doit ? " do" : "", op->dumpit ? " dump" : "",
		       op->flags == GENL_ADMIN_PERM ? " admin-perm" : "");
		for (attr = 0; attr <= op->maxattr; attr++)
			if (op->policy[attr].type && op->policy[attr].type != NLA_REJECT)
				print_attr(op->cmd, attr, &op->policy[attr]);
	}
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		printf("group %s%s\n", groups[i].name,
		       groups[i].flags == GENL_MCAST_CAP_NET_ADMIN ? " uns-admin-perm" : "");
	return 0;
}
