/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the routes of a routing table, and follows their changes, through rtnetlink.
 *
 * The answer to the request for the table and the messages about changes come through the same
 * socket, in the order in which the kernel has queued them. So whoever applies both in this order
 * has the table; with one exception: if the table changes while it is read, the kernel may skip
 * routes, or show one that is gone already. Then it was read, but not exactly.
 */
#ifndef IPCUCKOOD_RTNETLINK_H
#define IPCUCKOOD_RTNETLINK_H

#include <systemd/sd-event.h>

#include "daemon/routes/fib.h"

/* What happened to a route */
enum rtnetlink_event {
	RTNETLINK_THERE,	/* the table has it */
	RTNETLINK_ADDED,
	RTNETLINK_REPLACING,	/* added, in place of another one with this metric and TOS */
	RTNETLINK_DELETED,
};

/* What has happened when messages have been read */
enum rtnetlink_turn {
	RTNETLINK_CHANGES,	/* changes; or the table is still being read */
	RTNETLINK_READ,		/* the table was read */
	RTNETLINK_INEXACT,	/* it was read, but changed meanwhile */
	RTNETLINK_LOST,		/* messages were lost: open another connection */
	RTNETLINK_FAILED,	/* the connection is of no use any more */
};

/**
 * struct rtnetlink_route - a route
 * @route:	what tells it apart from others
 * @type:	RTN_BLACKHOLE, ...
 * @protocol:	RTPROT_*: who has added it
 */
struct rtnetlink_route {
	struct fib_route route;
	uint8_t type;
	uint8_t protocol;
};

/**
 * struct rtnetlink_user - who follows the table
 * @owner:	argument for the functions
 * @family:	families of which routes are followed: IPCUCKOO_FAMILY_*
 * @table:	number of the table
 * @protocol:	only this one is wanted when the table is read; 0: all
 * @route:	called for each route
 * @nexthop:	called when a nexthop object was replaced or deleted. Routes that referred to it may
 *		be gone, which the kernel does not always say
 * @turn:	called after the last message of a turn of the event loop; it alone may close the
 *		connection. @why: for RTNETLINK_FAILED, what went wrong
 */
struct rtnetlink_user {
	void *owner;
	int family;
	uint32_t table;
	uint8_t protocol;
	void (*route)(void *owner, const struct rtnetlink_route *route,
		      enum rtnetlink_event event);
	void (*nexthop)(void *owner);
	void (*turn)(void *owner, enum rtnetlink_turn turn, const char *why);
};

struct rtnetlink;

/* Open a connection. Return: NULL, and *@why says why. */
struct rtnetlink *rtnetlink_open(sd_event *event, const struct rtnetlink_user *user,
				 const char **why);
/* Begin to read the table. Not while it is being read. Return: NULL, or what went wrong. */
const char *rtnetlink_read(struct rtnetlink *rt);
void rtnetlink_close(struct rtnetlink *rt);

#endif /* IPCUCKOOD_RTNETLINK_H */
