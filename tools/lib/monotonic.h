/* SPDX-License-Identifier: GPL-2.0-only */
/* A clock that measures how long something takes. */
#ifndef IPCUCKOO_TOOL_MONOTONIC_H
#define IPCUCKOO_TOOL_MONOTONIC_H

/* Seconds since some moment in the past. Setting the time of the machine does not change them. */
double monotonic_seconds(void);

#endif /* IPCUCKOO_TOOL_MONOTONIC_H */
