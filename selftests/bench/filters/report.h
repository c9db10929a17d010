/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output of the program in three forms: text to read, one JSON file, and a file for each
 * table, for gnuplot.
 */
#ifndef _REPORT_H
#define _REPORT_H

#include <linux/types.h>

/**
 * struct report_column - a column of numbers
 * @name:	its heading
 * @format:	format of a double for printf(); a NaN is printed as "-"
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
