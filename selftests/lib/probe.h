/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of the kernel for tests, most of them kprobes that count calls of functions. User
 * Mode Linux has none, so the Makefile gives programs that include this file to other kernels.
 */
#ifndef _PROBE_H
#define _PROBE_H

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define TRACING		"/sys/kernel/tracing/"
#define PROBE_GROUP	"ipcuckoo_test"

/* Write a text to a file of tracefs; with O_APPEND in @flags, add it. Returns whether it could. */
static inline bool probe_write(const char *file, int flags, const char *text)
{
	char path[128];
	bool done;
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return done;
}

/* Write to a file of an event, such as "filter". */
static inline bool probe_set(const char *event, const char *file, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "events/" PROBE_GROUP "/%s/%s", event, file);
	return probe_write(path, O_TRUNC, text);
}

/* Forget what was traced. */
static inline void probe_clear(void)
{
	probe_write("trace", O_TRUNC, "");
}

/* Mount tracefs. Returns false if this kernel has no kprobe events. */
static inline bool probe_begin(void)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	return !access(TRACING "kprobe_events", W_OK);
}

/* Trace calls ("p") of a function, or returns from it ("r"), as @event. @what is the function and
 * what else the event has; @filter says which calls are traced, NULL for all. Returns whether the
 * kernel has such a function.
 */
static inline bool probe_add(const char *kind, const char *event, const char *what,
			     const char *filter)
{
	char text[128];

	snprintf(text, sizeof(text), "%s:" PROBE_GROUP "/%s %s\n", kind, event, what);
	return probe_write("kprobe_events", O_APPEND, text) &&
	       (!filter || probe_set(event, "filter", filter)) && probe_set(event, "enable", "1");
}

/* Remove all kprobe events. */
static inline void probe_end(void)
{
	probe_write("events/" PROBE_GROUP "/enable", O_TRUNC, "0");
	probe_write("kprobe_events", O_TRUNC, "");
	probe_clear();
}

/* How many events of this name were traced since the last probe_clear(). */
static inline unsigned int probe_count(const char *event)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512], word[64];
	unsigned int n = 0;

	if (!f)
		err(2, "the trace");
	snprintf(word, sizeof(word), " %s: ", event);
	while (fgets(line, sizeof(line), f))
		n += line[0] != '#' && strstr(line, word);
	fclose(f);
	return n;
}

#endif /* _PROBE_H */
