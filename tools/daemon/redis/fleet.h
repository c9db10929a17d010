/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hosts of a fleet report about a list, and the table of all of them. */
#ifndef IPCUCKOOD_FLEET_H
#define IPCUCKOOD_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/redis/publisher.h"

/* A report as JSON, allocated. @heartbeat: the next one comes within so many seconds. */
char *fleet_report(const struct publisher_report *report, uint64_t heartbeat);

struct fleet;

/* @seq: number of the last change of the list */
struct fleet *fleet_new(const char *list, uint64_t seq);
/* Add the report of a host, which may be anything. */
void fleet_add(struct fleet *fleet, const char *host, const char *report);
/* The table, allocated; and whether all hosts have the list in force. */
char *fleet_show(struct fleet *fleet, bool json, bool *all);
void fleet_free(struct fleet *fleet);

#endif /* IPCUCKOOD_FLEET_H */
