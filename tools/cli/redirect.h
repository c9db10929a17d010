/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * -file of list and save: redirects standard output to a file. An existing file may
 * be the only copy of a firewall, so it is replaced only when all output is written.
 */
#ifndef IPCUCKOO_TOOL_REDIRECT_H
#define IPCUCKOO_TOOL_REDIRECT_H

#include "cli/tool.h"

/**
 * struct redirect - where standard output goes
 * @out:	a copy of the original standard output; -1 if it is not redirected
 * @file:	the file to replace, with symbolic links resolved; NULL if the output
 *		goes directly to something that is not a regular file
 * @beside:	the temporary file in the same directory that replaces @file
 */
struct redirect {
	int out;
	char *file;
	char *beside;
};

/* Both return STATUS_OK, or another status after a message. */
int redirect_begin(const struct tool *tool, struct redirect *redirect);
/* @status: of the command that wrote; the file is replaced only if it is STATUS_OK. */
int redirect_end(const struct tool *tool, struct redirect *redirect, int status);

#endif /* IPCUCKOO_TOOL_REDIRECT_H */
