/* SPDX-License-Identifier: GPL-2.0-only */
/* The descriptors that every program expects to be open. */
#ifndef IPCUCKOO_TOOL_DESCRIPTORS_H
#define IPCUCKOO_TOOL_DESCRIPTORS_H

/* A caller may have closed standard input, output or error, as "command <&-" does. Then the first
 * file or socket that a program opens would get that number, and what is meant for the caller would
 * go to it. Call this before anything else is opened: it takes the numbers that are free, in such a
 * way that reading standard input or writing to the others still fails with EBADF.
 */
void reserve_standard_descriptors(void);

#endif /* IPCUCKOO_TOOL_DESCRIPTORS_H */
