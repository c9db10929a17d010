/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times as people write them: a number of seconds, or numbers with units, as in 90s, 15m, 1h30m
 * or 7d.
 */
#ifndef IPCUCKOO_TOOL_DURATION_H
#define IPCUCKOO_TOOL_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For messages about texts that are no times. */
#define DURATION_EXAMPLES	"90s, 15m, 2h, 1h30m or 7d"

/* Room for any time as duration_format() writes it. */
#define DURATION_TEXT_SIZE	24

/* Return: whether the text is a time of at most UINT64_MAX seconds. */
bool duration_parse(const char *text, uint64_t *seconds);

/* Write a number of seconds with the largest unit that divides it. Return: @to. */
const char *duration_format(uint64_t seconds, char to[DURATION_TEXT_SIZE]);

#endif /* IPCUCKOO_TOOL_DURATION_H */
