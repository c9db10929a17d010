/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages to the journal, or to whoever started the daemon. A message says what happened,
 * what that means for the set, and what to do about it.
 */
#ifndef IPCUCKOOD_LOG_H
#define IPCUCKOOD_LOG_H

/* An operator has to do something. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something is not as it should be, but may pass by itself. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the daemon has done. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* IPCUCKOOD_LOG_H */
