/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries that come line by line, for as long as somebody writes them. */
#ifndef IPCUCKOO_TOOL_CMD_STREAM_H
#define IPCUCKOO_TOOL_CMD_STREAM_H

#include "cli/tool.h"
#include "lib/feed.h"

/**
 * typedef stream_apply_fn - apply the entries of some lines to a set
 * @tool:	the run, for messages
 * @entries:	the entries, in any order
 * @data:	from the caller
 *
 * Return: STATUS_OK, or another status after a message; nothing has changed then.
 */
typedef int stream_apply_fn(struct tool *tool, struct packed *entries, void *data);

/*
 * Read tool->file, or standard input if that is "-", to its end or to SIGINT or SIGTERM, and apply what
 * has come a tenth of a second after its first line, or earlier if it is much. A line that is no entry,
 * and an entry that cannot be applied, get a message and do not stop the others. @feed: how to read
 * lines. Return: STATUS_OK, or the status of the first message.
 */
int stream_run(struct tool *tool, struct feed *feed, stream_apply_fn *apply, void *data);

#endif /* IPCUCKOO_TOOL_CMD_STREAM_H */
