/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoint ipcuckoo:ipcuckoo_match: each packet that an attachment matches. */
#undef TRACE_SYSTEM
#ifdef IPCUCKOO_SPARE
#define TRACE_SYSTEM ipcuckoo_spare
#else
#define TRACE_SYSTEM ipcuckoo
#endif

#if !defined(_IPCUCKOO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IPCUCKOO_TRACE_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tracepoint.h>

#include "attach.h"
#include "set.h"

TRACE_EVENT(ipcuckoo_match,
	TP_PROTO(const struct ipcuckoo_attachment *at, const struct ipcuckoo_set *set,
		 const struct sk_buff *skb, const struct net_device *dev,
		 const struct in6_addr *src, const struct in6_addr *dst),
	TP_ARGS(at, set, skb, dev, src, dst),
	TP_STRUCT__entry(
		__field(const void *, skbaddr)
		__field(u32, attachment)
		__field(unsigned int, len)
		__field(u8, direction)
		__field(u8, verdict)
		__array(u8, src, 16)
		__array(u8, dst, 16)
		__array(char, set, IPCUCKOO_NAME_SIZE)
		__array(char, dev, IFNAMSIZ)
	),
	TP_fast_assign(
		__entry->skbaddr = skb;
		__entry->attachment = at->id;
		__entry->len = skb->len;
		__entry->direction = at->rule.dir;
		__entry->verdict = at->rule.verdict;
		memcpy(__entry->src, src, 16);
		memcpy(__entry->dst, dst, 16);
		ipcuckoo_set_name(set, __entry->set);
		strscpy_pad(__entry->dev, dev ? dev->name : "", IFNAMSIZ);
	),
	TP_printk("attachment=%u set=%s direction=%s verdict=%s dev=%s src=%pI6c dst=%pI6c len=%u skbaddr=%p",
		  __entry->attachment, __entry->set,
		  __print_symbolic(__entry->direction,
				   { IPCUCKOO_DIR_SRC, "src" },
				   { IPCUCKOO_DIR_DST, "dst" },
				   { IPCUCKOO_DIR_BOTH, "both" }),
		  __print_symbolic(__entry->verdict,
				   { IPCUCKOO_VERDICT_DROP, "drop" },
				   { IPCUCKOO_VERDICT_ACCEPT, "accept" },
				   { IPCUCKOO_VERDICT_MARK, "mark" },
				   { IPCUCKOO_VERDICT_COUNT, "count" }),
		  __entry->dev, __entry->src, __entry->dst, __entry->len,
		  __entry->skbaddr)
);

#endif /* _IPCUCKOO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ipcuckoo_trace
#include <trace/define_trace.h>
