/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: the kernel notifies the tool of changes.
 */
#ifndef IPCUCKOO_TOOL_NL_EVENT_H
#define IPCUCKOO_TOOL_NL_EVENT_H

#include "lib/extended.h"
#include "nl/attachment.h"
#include "nl/set.h"

/**
 * struct nl_event - an event
 * @type:	enum ipcuckoo_event
 * @set:	the set; in events about entries, only its name, entries and generation, and
 *		the options for the extensions that the event has
 * @to:		rename, swap: the second name; else empty
 * @attachment:	the attachment of an event about attachments
 * @entries:	the entries of an event about entries. The next event uses their memory
 * @extended:	the same with their extensions, if they have any (@entries.has_extensions)
 */
struct nl_event {
	uint8_t type;
	struct nl_set set;
	char to[IPCUCKOO_NAME_SIZE];
	struct nl_attachment attachment;
	struct packed entries;
	struct extended extended;
};

void nl_event_free(struct nl_event *event);

/* Subscribe to events. Afterwards, the connection is for events only. */
int nl_listen(struct nl *nl);
/* Do events about entries have their extensions? Not if the module is older than this tool. */
bool nl_events_have_values(const struct nl *nl);
/* The file descriptor to poll for events. */
int nl_fd(const struct nl *nl);
/*
 * Read the next event. Return: 0, -EAGAIN if the message was not an event of the
 * module, -ENOBUFS if events were lost, -ENODEV if the module was unloaded.
 */
int nl_event(struct nl *nl, struct nl_event *event);

#endif /* IPCUCKOO_TOOL_NL_EVENT_H */
