/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables that say which country and which autonomous system addresses belong to: where each publisher
 * has what, so that a feed names countries, and not columns.
 */
#ifndef IPCUCKOOD_TABLE_H
#define IPCUCKOOD_TABLE_H

#include "daemon/conf/section.h"
#include "daemon/feed/format.h"

/* If the format is that of a table, or the section names countries or systems: say in @format which
 * columns are read, and which values they have to have. What is wrong is printed.
 */
void table_check(struct format *format, struct section *section);

/* The first country or system of which no line was read since table_begin(); NULL if there is none. */
void table_begin(const struct format *format);
const char *table_missing(const struct format *format);

/* Whether a line is wanted that has this value of a country or system; NULL: it has none. */
bool table_wants(const struct format *format, const char *value);

#endif /* IPCUCKOOD_TABLE_H */
