/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text exposition format of Prometheus, version 0.0.4, which the textfile collector of
 * node_exporter reads. HELP and TYPE of a metric come first, then all its samples.
 */
#ifndef IPCUCKOO_TOOL_EXPOSITION_H
#define IPCUCKOO_TOOL_EXPOSITION_H

#include <stdio.h>

/* The head of the metric whose name is @before and @name. Names of counters end in _total. */
void exposition_head(FILE *f, const char *before, const char *name, const char *help);
/* A label, escaped, and @end behind it: "," or "} ". */
void exposition_label(FILE *f, const char *name, const char *value, const char *end);

#endif /* IPCUCKOO_TOOL_EXPOSITION_H */
