// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of what matches: every N-th packet, counted on each CPU, and of these
 * no more than RATE in a second. Netfilter's loggers write them, so that they
 * look like those of a rule of iptables or nftables.
 */
#include <linux/kmod.h>
#include <linux/math64.h>
#include <linux/ratelimit.h>
#include <net/netfilter/nf_log.h>

#include "attach.h"
#include "log.h"
#include "set.h"

static enum nf_log_type log_type(const struct ipcuckoo_rule *rule)
{
	return rule->log.to == IPCUCKOO_LOG_NFLOG ? NF_LOG_TYPE_ULOG : NF_LOG_TYPE_LOG;
}

/* The loggers of a rule, by family: the last is that of ingress. A kernel without IPv6 has no
 * packets of it, and no logger for them.
 */
static const u8 families[] = {
	NFPROTO_IPV4,
#if IS_ENABLED(CONFIG_IPV6)
	NFPROTO_IPV6,
#endif
	NFPROTO_NETDEV,
};

static bool needs(const struct ipcuckoo_rule *rule, u8 family)
{
	return rule->log.to && (family == NFPROTO_NETDEV) ==
			       (rule->place == IPCUCKOO_PLACE_INGRESS);
}

static int hold(u8 family, enum nf_log_type type)
{
	int err = nf_logger_find_get(family, type);

	if (!err)
		return 0;
	request_module("nf-logger-%u-%u", family, type);
	return nf_logger_find_get(family, type);
}

/**
 * ipcuckoo_log_get() - hold the loggers that a rule asks for
 * @rule:	rule
 *
 * Context: process context; may load modules.
 * Return: 0, or -ENOPROTOOPT if the kernel has no such logger.
 */
int ipcuckoo_log_get(const struct ipcuckoo_rule *rule)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (needs(rule, families[i]) &&
		    hold(families[i], log_type(rule)))
			goto err_get;
	return 0;

err_get:
	while (--i >= 0)
		if (needs(rule, families[i]))
			nf_logger_put(families[i], log_type(rule));
	return -ENOPROTOOPT;
}

/**
 * ipcuckoo_log_put() - let go of the loggers of a rule
 * @rule:	rule
 */
void ipcuckoo_log_put(const struct ipcuckoo_rule *rule)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (needs(rule, families[i]))
			nf_logger_put(families[i], log_type(rule));
}

/**
 * ipcuckoo_log() - log a packet that matched, if its turn has come
 * @at:		attachment that asks for it
 * @set:	the set it matched in
 * @packets:	how many matched on this CPU, this one included
 * @skb:	the packet
 * @state:	the hook's
 *
 * Context: a packet's.
 */
void ipcuckoo_log(struct ipcuckoo_attachment *at, const struct ipcuckoo_set *set,
		  u64 packets, const struct sk_buff *skb,
		  const struct nf_hook_state *state)
{
	static const char * const verdicts[] = {
		[IPCUCKOO_VERDICT_DROP] = "drop",
		[IPCUCKOO_VERDICT_ACCEPT] = "accept",
		[IPCUCKOO_VERDICT_MARK] = "mark",
		[IPCUCKOO_VERDICT_COUNT] = "count",
	};
	struct nf_loginfo info = { .type = log_type(&at->rule) };
	char name[IPCUCKOO_NAME_SIZE];
	u32 rest;

	div_u64_rem(packets, at->rule.log.every, &rest);
	if (rest || !__ratelimit(&at->limit))
		return;
	if (info.type == NF_LOG_TYPE_ULOG) {
		info.u.ulog.group = at->rule.log.group;
	} else {
		info.u.log.level = LOGLEVEL_INFO;
		info.u.log.logflags = NF_LOG_DEFAULT_MASK;
	}
	ipcuckoo_set_name(set, name);
	nf_log_packet(state->net, state->pf, state->hook, skb, state->in,
		      state->out, &info, "ipcuckoo %s %s: ", name,
		      verdicts[at->rule.verdict]);
}
