// SPDX-License-Identifier: GPL-2.0-only
/* Events: see event.h. */
#include <linux/netlink.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include "event.h"
#include "net.h"
#include "options.h"
#include "usage.h"
#include "wire.h"

/* Maximum size of a message about entries, and the bytes in it beside the entries.
 * Allocations of this size do not fail in practice; many entries need several messages.
 */
#define MESSAGE_SIZE	SKB_WITH_OVERHEAD(SZ_32K - 2 * NLMSG_HDRLEN)
#define HEADER_SIZE	(nla_total_size(IPCUCKOO_NAME_SIZE) + 256)

/* Entries with extensions that a message has at most. */
#define VALUES_MAX	256

/* Maximum size of a message about a set: its description is the only long option. */
#define SET_SIZE	(HEADER_SIZE + nla_total_size(IPCUCKOO_DESCRIPTION_MAX + 1))

/* The number of the multicast group is valid only while the family is registered. Senders
 * hold @group for reading; ipcuckoo_event_exit() takes it for writing, and so waits for them.
 */
static DECLARE_RWSEM(group);
static bool open;

/* Are all sockets that can join the group allowed to list the sets of the namespace? The
 * kernel lets a socket join if it has CAP_NET_ADMIN in the user namespace that owns the
 * network namespace; the module demands CAP_NET_ADMIN in ipcuckoo_net_owner(). If these are
 * different user namespaces, this returns false, and the module sends no events.
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

/**
 * ipcuckoo_event_wanted() - may somebody listen for changes of a set?
 * @set:	set; the caller is the writer of its contents
 *
 * Context: any.
 */
bool ipcuckoo_event_wanted(const struct ipcuckoo_set *set)
{
	return !set->hidden && wanted(set->pernet);
}

/* Send a message to the group. Return: 0; or -ESRCH if no socket got it, because none in
 * this namespace has joined the group, or the buffers of all that have are full, in which
 * case they read ENOBUFS. genl_has_listeners() does not look at the namespace, so this is
 * the first moment at which the module knows that it has no listener here.
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

/* There is no memory for a message: let listeners read ENOBUFS, as if the message did not
 * fit into their socket's buffer.
 */
static void report_loss(const struct ipcuckoo_net *pernet)
{
	down_read(&group);
	if (open)
		genl_set_err(&ipcuckoo_wire_family, pernet->net, 0,
			     IPCUCKOO_WIRE_GROUP_EVENTS, -ENOBUFS);
	up_read(&group);
}

/* Allocate a message, and put the event into it. Return: NULL if there is no memory. */
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

/* Put the name of a set, the number of its entries and its generation into an event. SET_GET
 * reports them too, so a listener can tell whether what it has read is older than the event.
 */
static int put_contents(struct sk_buff *skb, struct ipcuckoo_set *set, const char *name)
{
	return nla_put_string(skb, IPCUCKOO_A_SET, name) ||
	       nla_put_u32(skb, IPCUCKOO_A_ENTRIES, ipcuckoo_usage_live(&set->entries)) ||
	       ipcuckoo_wire_put_u64(skb, IPCUCKOO_A_GENERATION, set->entries.generation);
}

/**
 * ipcuckoo_event_set() - notify listeners of a change of a set
 * @set:	set, locked
 * @name:	the name that it had at this change
 * @event:	IPCUCKOO_EVENT_SET_*
 *
 * Context: process context.
 */
void ipcuckoo_event_set(struct ipcuckoo_set *set, const char *name,
			enum ipcuckoo_event event)
{
	struct sk_buff *skb;
	void *header;

	if (!ipcuckoo_event_wanted(set))
		return;
	skb = begin(event, SET_SIZE, &header);
	if (!skb || ipcuckoo_options_fill(skb, set) || put_contents(skb, set, name)) {
		nlmsg_free(skb);
		report_loss(set->pernet);
		return;
	}
	genlmsg_end(skb, header);
	send(set->pernet, skb);
}

/**
 * ipcuckoo_event_names() - notify listeners that sets have exchanged or changed names
 * @pernet:	namespace; the caller holds @pernet->names
 * @event:	IPCUCKOO_EVENT_SET_RENAMED or _SWAPPED
 * @name:	the old name; or the name of one of the swapped sets
 * @to:		the new name; or the name of the other
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
 * ipcuckoo_event_attachment() - notify listeners of a change of an attachment
 * @at:		attachment; the namespace's mutex is held
 * @name:	the name that its set had at this change
 * @event:	IPCUCKOO_EVENT_ATTACHED, _DETACHED or _STATE_CHANGED
 *
 * Context: process context.
 */
void ipcuckoo_event_attachment(const struct ipcuckoo_attachment *at, const char *name,
			       enum ipcuckoo_event event)
{
	const struct ipcuckoo_net *pernet = at->set->pernet;
	struct sk_buff *skb;
	void *header;

	lockdep_assert_held(&pernet->mutex);
	if (!wanted(pernet))
		return;
	skb = begin(event, NLMSG_GOODSIZE, &header);
	if (!skb || ipcuckoo_wire_fill_attachment(skb, at, name)) {
		nlmsg_free(skb);
		report_loss(pernet);
		return;
	}
	genlmsg_end(skb, header);
	send(pernet, skb);
}

/* Make room for the extensions of entries, if the set has any and the event is about entries
 * that the set has now.
 */
static void begin_values(struct ipcuckoo_event_entries *entries, u32 count)
{
	bool deleted = entries->event == IPCUCKOO_EVENT_ENTRIES_DELETED ||
		       entries->event == IPCUCKOO_EVENT_ENTRIES_EXPIRED;

	if (deleted || !ipcuckoo_entries_has_exts(&entries->set->entries))
		return;
	entries->max = min_t(u32, count, VALUES_MAX);
	entries->values = kmalloc_array(entries->max, sizeof(*entries->values),
					GFP_KERNEL | __GFP_NOWARN);
	if (!entries->values) {
		entries->on = false;
		report_loss(entries->set->pernet);
	}
}

/**
 * ipcuckoo_event_entries_begin() - begin to notify listeners of changed entries
 * @entries:	initialised; to be passed to the functions below
 * @set:	their set, locked
 * @event:	IPCUCKOO_EVENT_ENTRIES_*
 * @count:	maximum number of entries
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_begin(struct ipcuckoo_event_entries *entries,
				  struct ipcuckoo_set *set,
				  enum ipcuckoo_event event, u32 count)
{
	size_t each = nla_total_size(IPCUCKOO_NET6_SIZE), heads = HEADER_SIZE;

	*entries = (struct ipcuckoo_event_entries){
		.set = set,
		.event = event,
		.on = count && ipcuckoo_event_wanted(set),
	};
	if (entries->on)
		begin_values(entries, count);
	if (entries->values) {
		each += IPCUCKOO_WIRE_VALUE_MAX;
		heads += IPCUCKOO_WIRE_EXT_HEADS;
	}
	entries->size = min_t(u64, heads + (u64)count * each, MESSAGE_SIZE);
}

static void close_attr(struct ipcuckoo_event_entries *entries)
{
	if (entries->attr)
		skb_put_zero(entries->skb, nla_padlen(nla_len(entries->attr)));
	entries->attr = NULL;
}

static bool has_exceptions(const struct ipcuckoo_event_entries *entries)
{
	u32 i;

	for (i = 0; i < entries->count; i++)
		if (entries->values[i].nomatch)
			return true;
	return false;
}

static void close_message(struct ipcuckoo_event_entries *entries)
{
	if (!entries->skb)
		return;
	close_attr(entries);
	if (entries->values)
		ipcuckoo_wire_append_exts(entries->skb, entries->set->entries.options,
					  has_exceptions(entries), entries->values,
					  entries->count);
	genlmsg_end(entries->skb, entries->header);
	/* Nobody listens: do not make the other messages of this request. */
	if (send(entries->set->pernet, entries->skb) == -ESRCH)
		entries->on = false;
	entries->skb = NULL;
}

/* Begin a new message. Return: false if there is no memory. */
static bool open_message(struct ipcuckoo_event_entries *entries)
{
	entries->skb = begin(entries->event, entries->size, &entries->header);
	entries->kinds = 0;
	entries->count = 0;
	entries->pending = entries->values ? IPCUCKOO_WIRE_EXT_HEADS : 0;
	if (entries->skb && !put_contents(entries->skb, entries->set, entries->set->name))
		return true;
	nlmsg_free(entries->skb);
	entries->skb = NULL;
	entries->on = false;
	report_loss(entries->set->pernet);
	return false;
}

/* Does an entry of this kind, with extensions of @size bytes, go into the current message?
 * There must be room for it, with an attribute header and padding, and all entries of a kind
 * must be in one attribute.
 */
static bool fits(const struct ipcuckoo_event_entries *entries, enum ipcuckoo_kind kind, size_t size)
{
	if (!entries->skb)
		return false;
	if (skb_tailroom(entries->skb) < NLA_ALIGNTO + nla_total_size(IPCUCKOO_NET6_SIZE) +
					 entries->pending + size)
		return false;
	if (entries->values && entries->count == entries->max)
		return false;
	return (entries->attr && entries->kind == kind) ||
	       (!entries->values && !test_bit(kind, &entries->kinds));
}

/* Write an entry into the message, which has room for it. */
static void write_entry(struct ipcuckoo_event_entries *entries, const struct ipcuckoo_entry *entry,
			enum ipcuckoo_kind kind)
{
	unsigned int size = ipcuckoo_wire_entry_size[kind];

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
 * ipcuckoo_event_entries_put() - notify listeners of one entry
 * @entries:	from ipcuckoo_event_entries_begin()
 * @entry:	the entry, in the form that the set stores
 *
 * The entry has been added, updated or deleted already. If the set has it, with extensions, it
 * must stay as it is until ipcuckoo_event_entries_end(); one that has expired is left out.
 * Messages are sent when they are full.
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_put(struct ipcuckoo_event_entries *entries,
				const struct ipcuckoo_entry *entry)
{
	enum ipcuckoo_kind kind = ipcuckoo_entry_kind(entry);
	struct ipcuckoo_value value;
	size_t size = 0;

	if (!entries->on)
		return;
	if (entries->values) {
		if (!ipcuckoo_entries_get(&entries->set->entries, entry, &value))
			return;
		size = ipcuckoo_wire_value_size(entries->set->entries.options, &value);
	}
	if (!fits(entries, kind, size)) {
		close_message(entries);
		if (!entries->on || !open_message(entries))
			return;
	}
	write_entry(entries, entry, kind);
	if (entries->values) {
		entries->values[entries->count++] = value;
		entries->pending += size;
	}
}

/**
 * ipcuckoo_event_entries_end() - send the last message about entries
 * @entries:	from ipcuckoo_event_entries_begin()
 *
 * Context: process context.
 */
void ipcuckoo_event_entries_end(struct ipcuckoo_event_entries *entries)
{
	close_message(entries);
	kfree(entries->values);
}

/**
 * ipcuckoo_event_init() - begin to send events, after the family was registered
 */
void ipcuckoo_event_init(void)
{
	down_write(&group);
	WRITE_ONCE(open, true);
	up_write(&group);
}

/**
 * ipcuckoo_event_exit() - stop sending events, before the family is unregistered
 *
 * Waits until running senders are done.
 */
void ipcuckoo_event_exit(void)
{
	down_write(&group);
	WRITE_ONCE(open, false);
	up_write(&group);
}
