/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of sets and sources, for people and for programs. The texts are allocated. */
#ifndef IPCUCKOOD_STATUS_H
#define IPCUCKOOD_STATUS_H

struct config;
struct json_object;
struct source;
struct target;

char *status_text(const struct config *config);
/* A name of a source in each line, for the completion of shells */
char *status_names(const struct config *config);
char *status_json(const struct config *config);
/* What that has of a set, and of a source */
struct json_object *status_of_target(const struct target *target);
struct json_object *status_of_source(const struct source *source);
/* The text format of Prometheus, version 0.0.4 */
char *status_prometheus(const struct config *config);

#endif /* IPCUCKOOD_STATUS_H */
