/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries that come line by line, for as long as somebody writes them. */
#ifndef IPCUCKOO_TOOL_CMD_STREAM_H
#define IPCUCKOO_TOOL_CMD_STREAM_H

#include "cli/tool.h"
#include "lib/feed.h"

/**
 * struct stream_target - what the entries of some lines are applied to. All functions but @narrow return
 *			  STATUS_OK, or another status after a message
 * @find:	connects to the module, and reads what the set is: others may have changed it
 * @apply:	applies entries, in any order, all or none
 * @narrow:	after @apply failed for several entries: takes out those that are to be refused before the
 *		halves are tried, and calls @refuse with a message about each
 * @done:	"added" or "deleted"
 * @data:	for the functions
 */
struct stream_target {
	int (*find)(struct tool *tool, void *data);
	int (*apply)(struct tool *tool, struct packed *entries, void *data);
	void (*narrow)(struct tool *tool, struct packed *entries,
		       void (*refuse)(void *to, size_t count, const char *message), void *to, void *data);
	const char *done;
	void *data;
};

/*
 * Read tool->file, or standard input if that is "-", to its end or to SIGINT or SIGTERM, and apply what
 * has come a tenth of a second after its first line, or earlier if it is much. A line that is no entry,
 * and an entry that cannot be applied, get a message and do not stop the others. @feed: how to read
 * lines. Return: STATUS_OK, or the status of the first message.
 */
int stream_run(struct tool *tool, struct feed *feed, const struct stream_target *target);

#endif /* IPCUCKOO_TOOL_CMD_STREAM_H */
