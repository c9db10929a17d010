/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what the multicast group is told of changes. uapi/ipcuckoo.h says what
 * is in them. Nothing is paid for them while nobody listens.
 *
 * All is told in process context, after it took effect, and under a lock that
 * whoever changes the same thing next has to take:
 *
 *   contents of a set		ipcuckoo_entries.mutex
 *   a set that begins		ipcuckoo_net.mutex: to be changed it has to be found
 *   a set that ends		ipcuckoo_entries.mutex, after it is dead, and
 *				ipcuckoo_net.names: the next one of its name is
 *				made after that
 *   attachments		ipcuckoo_net.mutex
 *
 * So events of one set come in the order of its changes, and so do those of
 * attachments, beginnings and ends of sets: a set is new before anything is
 * attached to it, and all of it is detached before it is destroyed.
 */
#ifndef _IPCUCKOO_EVENT_H
#define _IPCUCKOO_EVENT_H

#include "ipcuckoo.h"
#include "set.h"

struct ipcuckoo_attachment;
struct sk_buff;

/**
 * struct ipcuckoo_event_entries - events about entries that are being written
 * @set:	whose entries
 * @event:	what happened to them
 * @on:		somebody may listen, and no message was lost
 * @size:	bytes of a message
 * @skb:	the message that is being filled; NULL if none is
 * @header:	its header
 * @attr:	its attribute that is being filled
 * @kind:	the kind of entries in @attr
 * @kinds:	the kinds that the message has
 */
struct ipcuckoo_event_entries {
	struct ipcuckoo_set *set;
	enum ipcuckoo_event event;
	bool on;
	size_t size;
	struct sk_buff *skb;
	void *header;
	struct nlattr *attr;
	enum ipcuckoo_kind kind;
	unsigned long kinds;
};

void ipcuckoo_event_set(struct ipcuckoo_set *set, enum ipcuckoo_event event);
void ipcuckoo_event_names(const struct ipcuckoo_net *pernet, enum ipcuckoo_event event,
			  const char *name, const char *to);
void ipcuckoo_event_attachment(const struct ipcuckoo_attachment *at,
			       enum ipcuckoo_event event);

void ipcuckoo_event_entries_begin(struct ipcuckoo_event_entries *entries,
				  struct ipcuckoo_set *set,
				  enum ipcuckoo_event event, u32 count);
void ipcuckoo_event_entries_put(struct ipcuckoo_event_entries *entries,
				const struct ipcuckoo_entry *entry);
void ipcuckoo_event_entries_end(struct ipcuckoo_event_entries *entries);

void ipcuckoo_event_init(void);
void ipcuckoo_event_exit(void);

#endif /* _IPCUCKOO_EVENT_H */
