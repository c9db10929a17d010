// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/replace.h"

static char *beside(const char *path)
{
	char *name;

	if (asprintf(&name, "%s.new", path) >= 0)
		return name;
	errno = ENOMEM;
	return NULL;
}

/* Write the names in the directory of a file to the disk. Return: 0, or -1 and errno. */
static int sync_dir(const char *path)
{
	char *dir = strdup(path);
	int fd = dir ? open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int failed = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	free(dir);
	return failed;
}

FILE *replace_open(const char *path)
{
	char *name = beside(path);
	FILE *f = name ? fopen(name, "we") : NULL;

	free(name);
	return f;
}

int replace_file(FILE *f, const char *path, enum replace_sync sync)
{
	int err = -errno;
	char *name;

	if (!f)
		return err;
	name = beside(path);
	if (!name)
		return -ENOMEM;
	if (fflush(f) || ferror(f) || (sync >= REPLACE_WHOLE && fsync(fileno(f))) ||
	    rename(name, path)) {
		err = errno ? -errno : -EIO;
		unlink(name);
	} else {
		err = sync == REPLACE_LASTING && sync_dir(path) ? -errno : 0;
	}
	free(name);
	return err;
}
