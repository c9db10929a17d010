/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: messages to the multicast group that notify listeners of changes.
 * uapi/ipcuckoo.h describes their contents. No message is made while nobody listens.
 *
 * Each event is sent in process context, after the change has taken effect, and under a
 * lock that the next change of the same object must take:
 *
 *   contents of a set		ipcuckoo_entries.mutex
 *   a set was created		ipcuckoo_net.mutex, without which nobody can find the set
 *				in order to change it
 *   a set was destroyed	ipcuckoo_entries.mutex, after the set is marked dead, and
 *				ipcuckoo_net.names, which must be taken to create another
 *				set with its name
 *   attachments		ipcuckoo_net.mutex
 *
 * So the events of one set come in the order of its changes. The same holds for events
 * about attachments and about creating and destroying sets: the event of a new set comes
 * before those of its attachments, and the event of a destroyed set after those of its
 * detachments.
 */
#ifndef _IPCUCKOO_EVENT_H
#define _IPCUCKOO_EVENT_H

#include "ipcuckoo.h"
#include "set.h"

struct ipcuckoo_attachment;
struct sk_buff;

/**
 * struct ipcuckoo_event_entries - state of writing events about entries
 * @set:	the set
 * @event:	what happened to its entries
 * @on:		there may be listeners, and no message was lost; if not, write nothing
 * @size:	bytes to allocate for a message
 * @skb:	the message that is being filled, or NULL
 * @header:	its header
 * @attr:	its attribute that is being filled
 * @kind:	the kind of entries in @attr
 * @kinds:	the kinds of which the message has entries, as bits
 * @values:	the extensions of the entries in @attr, which follow when the message is
 *		closed. Such a message has entries of one kind. NULL if the entries have none,
 *		or are deleted
 * @max:	room in @values
 * @count:	number of entries in @attr
 * @pending:	bytes that their extensions will take
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
	struct ipcuckoo_value *values;
	u32 max;
	u32 count;
	size_t pending;
};

bool ipcuckoo_event_wanted(const struct ipcuckoo_set *set);
void ipcuckoo_event_set(struct ipcuckoo_set *set, const char *name,
			enum ipcuckoo_event event);
void ipcuckoo_event_names(const struct ipcuckoo_net *pernet, enum ipcuckoo_event event,
			  const char *name, const char *to);
void ipcuckoo_event_attachment(const struct ipcuckoo_attachment *at, const char *name,
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
