/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel tells of changes.
 */
#ifndef IPCUCKOO_TOOL_NL_EVENT_H
#define IPCUCKOO_TOOL_NL_EVENT_H

#include "nl/attachment.h"
#include "nl/set.h"

/**
 * struct nl_event - something that happened
 * @type:	enum ipcuckoo_event
 * @set:	the set; with entries only its name, @entries and @generation
 * @to:		the other name, if two are concerned
 * @attachment:	the attachment, if it is about one
 * @entries:	the entries, if it is about some; kept for the next event
 */
struct nl_event {
	uint8_t type;
	struct nl_set set;
	char to[IPCUCKOO_NAME_SIZE];
	struct nl_attachment attachment;
	struct packed entries;
};

/* From now on the connection is for events only. */
int nl_listen(struct nl *nl);
/* To wait for events. */
int nl_fd(const struct nl *nl);
/*
 * The next event. Return: 0, -EAGAIN if it was none of ours, -ENOBUFS if some
 * were lost, -ENODEV if the module was unloaded: no more will come.
 */
int nl_event(struct nl *nl, struct nl_event *event);

#endif /* IPCUCKOO_TOOL_NL_EVENT_H */
