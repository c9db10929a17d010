// SPDX-License-Identifier: GPL-2.0-only
/*
 * Logging of samples: every N-th packet that matches an attachment, counted on each CPU,
 * and of these at most RATE per second. Netfilter's loggers write them, so that they look
 * like the log of a rule of iptables or nftables.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/math64.h>
#include <linux/ratelimit.h>
#include <linux/workqueue.h>
#include <net/netfilter/nf_log.h>

#include "attach.h"
#include "log.h"
#include "net.h"
#include "set.h"

static enum nf_log_type log_type(const struct ipcuckoo_rule *rule)
{
	return rule->log.to == IPCUCKOO_LOG_NFLOG ? NF_LOG_TYPE_ULOG : NF_LOG_TYPE_LOG;
}

/* The families for which rules need loggers: the last one at ingress and XDP, the others elsewhere.
 * A kernel without IPv6 has no logger for it.
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
	return rule->log.to && (family == NFPROTO_NETDEV) == ipcuckoo_rule_on_device(rule);
}

/* A work item loads the modules of loggers. A request must not wait for modprobe: it holds
 * cb_lock of generic netlink for reading. If any task, perhaps modprobe itself, registers
 * a family meanwhile, it waits for cb_lock for writing, and every further request on the
 * machine waits for that task.
 *
 * The bitmaps below have a bit for each family and type of logger.
 */
#define LOGGERS		(ARRAY_SIZE(families) * NF_LOG_TYPE_MAX)

/* For how long a failure to load a module is remembered, in jiffies. */
#define TRIED		(10 * HZ)

static unsigned long loading;
static unsigned long tried;
static unsigned long tried_at[LOGGERS];

static void load(struct work_struct *work)
{
	int bit;

	for_each_set_bit(bit, &loading, LOGGERS) {
		request_module("nf-logger-%u-%u", families[bit / NF_LOG_TYPE_MAX],
			       bit % NF_LOG_TYPE_MAX);
		WRITE_ONCE(tried_at[bit], jiffies);
		set_bit(bit, &tried);
		/* If hold() sees the bit cleared in loading, it sees the bit set in tried:
		 * pairs with test_bit_acquire().
		 */
		smp_mb__before_atomic();
		clear_bit(bit, &loading);
	}
}

static DECLARE_WORK(load_work, load);

static int hold(int family, enum nf_log_type type)
{
	int bit = family * NF_LOG_TYPE_MAX + type;

	if (!nf_logger_find_get(families[family], type))
		return 0;
	if (!IS_ENABLED(CONFIG_MODULES))
		return -ENOPROTOOPT;
	if (test_bit_acquire(bit, &loading))
		return -EAGAIN;
	if (test_and_clear_bit(bit, &tried) &&
	    time_before(jiffies, READ_ONCE(tried_at[bit]) + TRIED))
		return nf_logger_find_get(families[family], type) ? -ENOPROTOOPT : 0;
	set_bit(bit, &loading);
	queue_work(ipcuckoo_wq, &load_work);
	return -EAGAIN;
}

/**
 * ipcuckoo_log_exit() - wait for the work item, before the module is unloaded
 */
void ipcuckoo_log_exit(void)
{
	cancel_work_sync(&load_work);
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
