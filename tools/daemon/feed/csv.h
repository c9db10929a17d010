/* SPDX-License-Identifier: GPL-2.0-only */
/* Feeds of columns: CSV and its kin, and the delegated files of Internet registries. */
#ifndef IPCUCKOOD_CSV_H
#define IPCUCKOOD_CSV_H

#include "daemon/feed/format.h"

struct csv;

/* Return: NULL if there is no memory. */
struct csv *csv_new(const struct format *format, struct feed *feed, struct feed_fault *fault);
/* Return: 0 or a negative errno; then this is no such feed, and the rest is of no use. */
int csv_push(struct csv *csv, const char *data, size_t len);
int csv_end(struct csv *csv);
void csv_free(struct csv *csv);

/* The most columns that are read; others may follow. */
#define CSV_COLUMNS_MOST	64

/* Can it be a column: a heading, or a number from 1 on? */
bool csv_is_column(const char *name);
/* Is it a comparison, as "score >= 90"? */
bool csv_is_condition(const char *text);

#endif /* IPCUCKOOD_CSV_H */
