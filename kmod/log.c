// SPDX-License-Identifier: GPL-2.0-only
/*
 * Logging of samples: every N-th packet that matches an attachment, counted on each CPU,
 * and of these at most RATE per second. Netfilter's loggers write them, so that they look
 * like the log of a rule of iptables or nftables.
 */
#include <linux/math64.h>
#include <linux/ratelimit.h>
#include <net/netfilter/nf_log.h>

#include "attach.h"
#include "load.h"
#include "log.h"
#include "set.h"

static enum nf_log_type log_type(const struct ipcuckoo_rule *rule)
{
	return rule->log.to == IPCUCKOO_LOG_NFLOG ? NF_LOG_TYPE_ULOG : NF_LOG_TYPE_LOG;
}

/* The families for which rules need loggers: the last at ingress and XDP, the others elsewhere. */
static const u8 families[] = { NFPROTO_IPV4, NFPROTO_IPV6, NFPROTO_NETDEV };

/* The modules of loggers are in this order: families, and of each family the types. */
static_assert(IPCUCKOO_LOAD_LOGGERS == ARRAY_SIZE(families) * NF_LOG_TYPE_MAX);

static bool needs(const struct ipcuckoo_rule *rule, u8 family)
{
	/* A kernel without IPv6 has no logger for it. */
	if (!rule->log.to || (family == NFPROTO_IPV6 && !IS_ENABLED(CONFIG_IPV6)))
		return false;
	return (family == NFPROTO_NETDEV) == ipcuckoo_rule_on_device(rule);
}

static int hold(int family, enum nf_log_type type)
{
	int err;

	if (!nf_logger_find_get(families[family], type))
		return 0;
	err = ipcuckoo_load(family * NF_LOG_TYPE_MAX + type);
	if (err != -ENOENT)
		return err;
	/* It may have been loaded meanwhile. */
	return nf_logger_find_get(families[family], type) ? -ENOPROTOOPT : 0;
}

/**
 * ipcuckoo_log_get() - take references to the loggers that a rule needs
 * @rule:	rule
 *
 * Context: process context.
 * Return: 0; -EAGAIN while a logger's module is being loaded, so that the caller should try
 * again soon; -ENOPROTOOPT if the kernel has no such logger.
 */
int ipcuckoo_log_get(const struct ipcuckoo_rule *rule)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		err = needs(rule, families[i]) ? hold(i, log_type(rule)) : 0;
		if (err)
			goto err_get;
	}
	return 0;

err_get:
	while (--i >= 0)
		if (needs(rule, families[i]))
			nf_logger_put(families[i], log_type(rule));
	return err;
}

/**
 * ipcuckoo_log_put() - drop the references to the loggers of a rule
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
 * ipcuckoo_log_due() - is a packet that matched to be logged?
 * @at:		the attachment, whose rule has logging
 * @packets:	number of matches on this CPU, including this one
 *
 * Context: softirq or process context.
 * Return: whether it is the N-th and within the rate, which then counts it.
 */
bool ipcuckoo_log_due(struct ipcuckoo_attachment *at, u64 packets)
{
	u32 rest;

	div_u64_rem(packets, at->rule.log.every, &rest);
	return !rest && __ratelimit(&at->limit);
}

/**
 * ipcuckoo_log() - log a packet that matched
 * @at:		the attachment, for which ipcuckoo_log_due() was true
 * @set:	the set that the packet matched
 * @skb:	the packet
 * @state:	the hook state
 *
 * Context: softirq or process context, under rcu_read_lock().
 */
void ipcuckoo_log(const struct ipcuckoo_attachment *at, const struct ipcuckoo_set *set,
		  const struct sk_buff *skb, const struct nf_hook_state *state)
{
	static const char * const verdicts[] = {
		[IPCUCKOO_VERDICT_DROP] = "drop",
		[IPCUCKOO_VERDICT_ACCEPT] = "accept",
		[IPCUCKOO_VERDICT_MARK] = "mark",
		[IPCUCKOO_VERDICT_COUNT] = "count",
	};
	struct nf_loginfo info = { .type = log_type(&at->rule) };
	char name[IPCUCKOO_NAME_SIZE];

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
