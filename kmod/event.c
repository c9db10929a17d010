// SPDX-License-Identifier: GPL-2.0-only
/* Events: see event.h. */
#include <linux/netlink.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <net/genetlink.h>

#include "event.h"
#include "net.h"
#include "usage.h"
#include "wire.h"

/* Bytes of a message of entries, and what else there is in one. As large as the
 * allocator gives without fail; many entries take several.
 */
#define MESSAGE_SIZE	SKB_WITH_OVERHEAD(SZ_32K - 2 * NLMSG_HDRLEN)
#define HEADER_SIZE	(nla_total_size(IPCUCKOO_NAME_SIZE) + 256)

/* The number of the multicast group is valid only while the family is registered. Senders
 * hold @group for reading; ipcuckoo_event_exit() takes it for writing, and so waits for them.
 */
static DECLARE_RWSEM(group);
static bool open;

/* The kernel lets a socket join the group if it has CAP_NET_ADMIN in the user namespace that
 * owns the network namespace. If that is another user namespace than the one in which the
 * module asks for CAP_NET_ADMIN (ipcuckoo_net_owner()), nothing is sent there.
 */
static bool joined_by_owner(const struct ipcuckoo_net *pernet)
{
	return pernet->net->user_ns == ipcuckoo_net_owner(pernet->net);
}

static bool wanted(const struct ipcuckoo_net *pernet)
{
	return READ_ONCE(open) && joined_by_owner(pernet) &&
	       genl_has_listeners(&ipcuckoo_wire_family, pernet->net,
				  IPCUCKOO_WIRE_GROUP_EVENTS);
}

/* Return: 0; -ESRCH if nobody listens in this namespace, or those who do have lost
 * messages already and know it. Generic netlink tells only whether anybody listens
 * in any namespace, so that this is known after a message was made.
 */
static int send(const struct ipcuckoo_net *pernet, struct sk_buff *skb)
{
	int err = -ESRCH;

	down_read(&group);
	if (open)
		err = genlmsg_multicast_netns(&ipcuckoo_wire_family, pernet->net, skb, 0,
					      IPCUCKOO_WIRE_GROUP_EVENTS, GFP_KERNEL);
	else
		nlmsg_free(skb);
	up_read(&group);
	return err;
}

/* There is no memory for a message: listeners read ENOBUFS, as they do when a message does
 * not fit into their socket's buffer.
 */
static void report_loss(const struct ipcuckoo_net *pernet)
{
	down_read(&group);
	if (open)
		genl_set_err(&ipcuckoo_wire_family, pernet->net, 0,
			     IPCUCKOO_WIRE_GROUP_EVENTS, -ENOBUFS);
	up_read(&group);
}

/* A message that has the event in it, or NULL. */
static struct sk_buff *begin(enum ipcuckoo_event event, size_t size, void **header)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL | __GFP_NOWARN);

	if (!skb)
		return NULL;
	*header = genlmsg_put(skb, 0, 0, &ipcuckoo_wire_family, 0, IPCUCKOO_CMD_EVENT);
	if (*header && !nla_put_u8(skb, IPCUCKOO_A_EVENT, event))
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/* Which contents an event is about: figures that SET_GET has, too. */
static int put_contents(struct sk_buff *skb, struct ipcuckoo_set *set)
{
	return nla_put_string(skb, IPCUCKOO_A_SET, set->name) ||
	       nla_put_u32(skb, IPCUCKOO_A_ENTRIES, ipcuckoo_usage_live(&set->entries)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_GENERATION, set->entries.generation);
}

/**
 * ipcuckoo_event_set() - tell what became of a set
 * @set:	set, locked
 * @event:	IPCUCKOO_EVENT_SET_*
 *
 * Context: process context.
 */
void ipcuckoo_event_set(struct ipcuckoo_set *set, enum ipcuckoo_event event)
{
	struct sk_buff *skb;
	void *header;

	if (!wanted(set->pernet))
		return;
	skb = begin(event, HEADER_SIZE, &header);
	if (!skb || ipcuckoo_wire_fill_options(skb, set) || put_contents(skb, set)) {
		nlmsg_free(skb);
		report_loss(set->pernet);
		return;
	}
	genlmsg_end(skb, header);
	send(set->pernet, skb);
}

/**
 * ipcuckoo_event_names() - tell that a name means something else now
 * @pernet:	namespace, whose names are locked
 * @event:	IPCUCKOO_EVENT_SET_RENAMED or _SWAPPED
 * @name:	a name
 * @to:		the other name
 *
 * Context: process context.
 */
void ipcuckoo_event_names(const struct ipcuckoo_net *pernet, enum ipcuckoo_event event,
			  const char *name, const char *to)
{
	struct sk_buff *skb;
	void *header;

	if (!wanted(pernet))
		return;
	skb = begin(event, HEADER_SIZE, &header);
	if (!skb || nla_put_string(skb, IPCUCKOO_A_SET, name) ||
	    nla_put_string(skb, IPCUCKOO_A_SET_TO, to)) {
		nlmsg_free(skb);
		report_loss(pernet);
		return;
	}
	genlmsg_end(skb, header);
	send(pernet, skb);
}

/**
 * ipcuckoo_event_attachment() - tell what became of an attachment
 * @at:		attachment; the namespace's mutex is held
 * @event:	IPCUCKOO_EVENT_ATTACHED or _DETACHED
 *
 * Context: process context.
 */
void ipcuckoo_event_attachment(const struct ipcuckoo_attachment *at,
			       enum ipcuckoo_event event)
{
	const struct ipcuckoo_net *pernet = at->set->pernet;
	struct sk_buff *skb;
	void *header;

	lockdep_assert_held(&pernet->mutex);
	if (!wanted(pernet))
		return;
	skb = begin(event, NLMSG_GOODSIZE, &header);
	if (!skb || ipcuckoo_wire_fill_attachment(skb, at)) {
		nlmsg_free(skb);
		report_loss(pernet);
		return;
	}
	genlmsg_end(skb, header);
	send(pernet, skb);
}

/**
 * ipcuckoo_event_entries_begin() - begin to tell what became of entries
 * @entries:	to be passed on
 * @set:	their set, locked; what is told is done
 * @event:	IPCUCKOO_EVENT_ENTRIES_*
 * @count:	how many there will be, at most
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_begin(struct ipcuckoo_event_entries *entries,
				  struct ipcuckoo_set *set,
				  enum ipcuckoo_event event, u32 count)
{
	const size_t each = nla_total_size(IPCUCKOO_NET6_SIZE);

	*entries = (struct ipcuckoo_event_entries){
		.set = set,
		.event = event,
		.on = count && wanted(set->pernet),
		.size = min_t(u64, HEADER_SIZE + (u64)count * each, MESSAGE_SIZE),
	};
}

static void close_attr(struct ipcuckoo_event_entries *entries)
{
	if (entries->attr)
		skb_put_zero(entries->skb, nla_padlen(nla_len(entries->attr)));
	entries->attr = NULL;
}

static void close_message(struct ipcuckoo_event_entries *entries)
{
	if (!entries->skb)
		return;
	close_attr(entries);
	genlmsg_end(entries->skb, entries->header);
	/* Then the rest of the request's messages need not be made. */
	if (send(entries->set->pernet, entries->skb) == -ESRCH)
		entries->on = false;
	entries->skb = NULL;
}

/* Whether there is a message now. */
static bool open_message(struct ipcuckoo_event_entries *entries)
{
	entries->skb = begin(entries->event, entries->size, &entries->header);
	entries->kinds = 0;
	if (entries->skb && !put_contents(entries->skb, entries->set))
		return true;
	nlmsg_free(entries->skb);
	entries->skb = NULL;
	entries->on = false;
	report_loss(entries->set->pernet);
	return false;
}

/* Whether an entry goes into the message that there is: entries of each kind
 * are together, and padding and all fits.
 */
static bool fits(const struct ipcuckoo_event_entries *entries, enum ipcuckoo_kind kind)
{
	if (!entries->skb)
		return false;
	if (skb_tailroom(entries->skb) < NLA_ALIGNTO + nla_total_size(IPCUCKOO_NET6_SIZE))
		return false;
	return (entries->attr && entries->kind == kind) ||
	       !test_bit(kind, &entries->kinds);
}

/**
 * ipcuckoo_event_entries_put() - tell of one entry
 * @entries:	as begun
 * @entry:	the entry, as the set has it
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_put(struct ipcuckoo_event_entries *entries,
				const struct ipcuckoo_entry *entry)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	unsigned int size = ipcuckoo_wire_entry_size[kind];

	if (!entries->on)
		return;
	if (!fits(entries, kind)) {
		close_message(entries);
		if (!entries->on || !open_message(entries))
			return;
	}
	if (!entries->attr || entries->kind != kind) {
		close_attr(entries);
		entries->attr = nla_reserve(entries->skb, ipcuckoo_wire_entry_attr[kind], 0);
		entries->kind = kind;
		__set_bit(kind, &entries->kinds);
	}
	ipcuckoo_wire_put_entry(skb_put(entries->skb, size), entry, kind);
	entries->attr->nla_len += size;
}

/**
 * ipcuckoo_event_entries_end() - all entries were told of
 * @entries:	as begun
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_end(struct ipcuckoo_event_entries *entries)
{
	close_message(entries);
}

/**
 * ipcuckoo_event_init() - the group is there
 */
void ipcuckoo_event_init(void)
{
	down_write(&group);
	WRITE_ONCE(open, true);
	up_write(&group);
}

/**
 * ipcuckoo_event_exit() - the group is about to go
 *
 * What is under way is sent when this returns, and nothing will be any more.
 */
void ipcuckoo_event_exit(void)
{
	down_write(&group);
	WRITE_ONCE(open, false);
	up_write(&group);
}
