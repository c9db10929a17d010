// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything goes to stderr. systemd connects that to the journal, and reads the priority of a
 * line from a number in angle brackets before it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "daemon/base/log.h"
#include "lib/escape.h"

static void print(int priority, const char *format, va_list args)
{
	char text[2048], line[ESCAPED_SIZE(sizeof(text))];

	vsnprintf(text, sizeof(text), format, args);
	/* Servers have written some of it: no part of it begins a line, or acts on a terminal. */
	escape_text(text, "", "\\x", line);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", priority, line);
	else
		fprintf(stderr, "ipcuckood: %s\n", line);
}

#define DEFINE_LOG(name, priority)			\
void name(const char *format, ...)			\
{							\
	va_list args;					\
							\
	va_start(args, format);				\
	print(priority, format, args);			\
	va_end(args);					\
}

DEFINE_LOG(log_error, LOG_ERR)
DEFINE_LOG(log_warning, LOG_WARNING)
DEFINE_LOG(log_info, LOG_INFO)
