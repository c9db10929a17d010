/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces files in one step: whoever opens one finds the old contents or the new ones, and all of them. */
#ifndef IPCUCKOO_TOOL_REPLACE_H
#define IPCUCKOO_TOOL_REPLACE_H

#include <stdio.h>

/* What holds after a power failure. Each takes longer than the one before it. */
enum replace_sync {
	REPLACE_ANYHOW,		/* nothing: the file means nothing after a boot */
	REPLACE_WHOLE,		/* the file has the old contents or the new ones */
	REPLACE_LASTING,	/* it has the new ones */
};

/* Open a new file beside @path, to be written. Return: NULL, and errno, if that failed. */
FILE *replace_open(const char *path);
/* Put the new file, which stays open, in the place of the old one; or remove it, if that or a write to it
 * has failed, or if @f is NULL. Return: 0 or a negative errno.
 */
int replace_file(FILE *f, const char *path, enum replace_sync sync);

#endif /* IPCUCKOO_TOOL_REPLACE_H */
