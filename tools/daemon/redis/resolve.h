/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks names of hosts up without waiting. The C library may take minutes if nameservers do not
 * answer, so a thread calls it.
 */
#ifndef IPCUCKOOD_RESOLVE_H
#define IPCUCKOOD_RESOLVE_H

#include <stdbool.h>
#include <systemd/sd-event.h>

struct resolve;

/* @address: an address of the host, as text; NULL if none was found
 * @why: why not
 */
typedef void resolve_fn(void *owner, const char *address, const char *why);

/* Whether a host is written as its address, which needs no look-up. */
bool resolve_is_address(const char *host);
/* @done is called once, by the event loop. Return: NULL if there are too few descriptors. */
struct resolve *resolve_start(sd_event *event, const char *host, resolve_fn *done, void *owner);
/* @done is not called any more. NULL is ignored. */
void resolve_stop(struct resolve *resolve);

#endif /* IPCUCKOOD_RESOLVE_H */
