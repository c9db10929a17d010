/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * -file of list and save: standard output goes to a file for a while. What is
 * there may be the only copy of a firewall: it stays until all of the new one is
 * written.
 */
#ifndef IPCUCKOO_TOOL_REDIRECT_H
#define IPCUCKOO_TOOL_REDIRECT_H

#include "cli/tool.h"

/**
 * struct redirect - where standard output goes
 * @out:	what it was before, or -1: it is that still
 * @file:	the file that is to be replaced, behind all links; or NULL: what is
 *		no regular file is written to directly
 * @beside:	what is written until then
 */
struct redirect {
	int out;
	char *file;
	char *beside;
};

/* Both return STATUS_OK, or another after a message. */
int redirect_begin(const struct tool *tool, struct redirect *redirect);
/* @status: of what was written; unless it is STATUS_OK the file stays as it was. */
int redirect_end(const struct tool *tool, struct redirect *redirect, int status);

#endif /* IPCUCKOO_TOOL_REDIRECT_H */
