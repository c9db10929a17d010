// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of what matches: every N-th packet, counted on each CPU, and of these
 * no more than RATE in a second. Netfilter's loggers write them, so that they
 * look like those of a rule of iptables or nftables.
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

/* Modules of loggers are loaded by a work item. A request must not wait for
 * modprobe: it holds cb_lock of generic netlink, and as soon as anybody registers a
 * family, which modprobe itself may, every request on the machine would wait.
 * One bit for each family and type.
 */
#define LOGGERS		(ARRAY_SIZE(families) * NF_LOG_TYPE_MAX)

/* How long it counts that a module could not be loaded. */
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
		/* Whoever sees that it is not being loaded sees that it was tried. */
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
	schedule_work(&load_work);
	return -EAGAIN;
}

/**
 * ipcuckoo_log_exit() - the module is about to go
 */
void ipcuckoo_log_exit(void)
{
	cancel_work_sync(&load_work);
}

/**
 * ipcuckoo_log_get() - hold the loggers that a rule asks for
 * @rule:	rule
 *
 * Context: process context.
 * Return: 0, -EAGAIN while a module is being loaded for it: ask again soon, or
 * -ENOPROTOOPT if the kernel has no such logger.
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
