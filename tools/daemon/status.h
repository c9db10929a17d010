/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IPCUCKOOD_STATUS_H
#define IPCUCKOOD_STATUS_H

#include <stdio.h>

struct config;
struct json_object;
struct source;
struct target;

/* The state of sets and sources, for people ("status") and programs ("json", "prometheus"), or the
 * names of the sources ("names"). Allocated; NULL if there is no such format.
 */
char *status_as(const struct config *config, const char *format);
/* Take the time for ages and expiry in what status_of_target() and status_of_source() return next. */
void status_begin(void);
/* What "json" has of a set, and of a source */
struct json_object *status_of_target(const struct target *target);
struct json_object *status_of_source(const struct source *source);
/* A sample of a metric of a source, ipcuckood_source_METRIC, as "prometheus" has it */
void status_print_sample(FILE *f, const struct source *source, const char *metric, double value);

#endif /* IPCUCKOOD_STATUS_H */
