/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program has to say, three times: text for the reader, one JSON file,
 * and a file of columns for each table, which gnuplot reads.
 */
#ifndef _REPORT_H
#define _REPORT_H

#include <linux/types.h>

/**
 * struct report_column - a column of numbers
 * @name:	its head
 * @format:	printf's, of a double; a NaN is printed as "-"
 */
struct report_column {
	const char *name;
	const char *format;
};

enum report_verdict {
	REPORT_HOLDS,
	REPORT_PARTLY,
	REPORT_FAILS,
};

void report_begin(const char *directory, u64 seed, bool quick);
void report_section(const char *title);
__attribute__((format(printf, 1, 2)))
void report_text(const char *format, ...);
void report_table(const char *name, const char *title, const char *label,
		  const struct report_column *columns, unsigned int n);
void report_row(const char *label, const double *cells);
__attribute__((format(printf, 4, 5)))
void report_claim(const char *claim, const char *published,
		  enum report_verdict verdict, const char *format, ...);
int report_end(void);

#endif /* _REPORT_H */
