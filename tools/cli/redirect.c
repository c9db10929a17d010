// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/redirect.h"

static int fail_file(const struct tool *tool)
{
	return fail(tool, STATUS_REFUSED, "Cannot open %s for writing: %s",
		    tool->file, strerror(errno));
}

static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Create the temporary file in the same directory, with owner and mode of @old. If the
 * owner cannot be changed, only the new owner gets access. Without @old, the mode is that
 * of any new file. Return: a file descriptor, or -1.
 */
static int open_beside(struct redirect *redirect, const struct stat *old)
{
	mode_t mode = old ? old->st_mode & 0777 : new_mode();
	int fd;

	if (asprintf(&redirect->beside, "%s.XXXXXX", redirect->file) < 0) {
		redirect->beside = NULL;
		return -1;
	}
	fd = mkostemp(redirect->beside, O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (old && fchown(fd, old->st_uid, old->st_gid))
		mode &= 0700;
	fchmod(fd, mode);
	return fd;
}

/* As many links as the kernel follows */
#define LINKS_MOST	40

/* Follow links to the file that they name, which may not exist yet. Return: its name, allocated; NULL
 * on error.
 */
static char *follow_links(const char *name)
{
	char *path = strdup(name), *next, *slash, target[PATH_MAX];
	ssize_t len;
	int links;

	for (links = 0; path; links++) {
		len = readlink(path, target, sizeof(target));
		if (len < 0)
			return path;
		slash = *target == '/' ? NULL : strrchr(path, '/');
		if (links == LINKS_MOST || len == sizeof(target) ||
		    asprintf(&next, "%.*s%.*s", slash ? (int)(slash + 1 - path) : 0, path,
			     (int)len, target) < 0) {
			errno = ELOOP;
			next = NULL;
		}
		free(path);
		path = next;
	}
	return NULL;
}

/* Write what @from has into the file @to. Return: whether all of it was written. */
static bool copy_into(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t sent = in < 0 || out < 0 ? -1 : 1;
	int err;

	while (sent > 0)
		sent = sendfile(out, in, NULL, 1 << 30);
	if (!sent)
		sent = fsync(out);
	err = errno;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	errno = err;
	return !sent;
}

/* Put the file that was written in the place of the old one. A file on which another one is mounted,
 * as containers have it, cannot be replaced: write into it. Return: whether that was done.
 */
static bool replace(const struct redirect *redirect)
{
	if (!rename(redirect->beside, redirect->file))
		return true;
	return errno == EBUSY && copy_into(redirect->beside, redirect->file) &&
	       !unlink(redirect->beside);
}

static int open_file(const char *name, struct redirect *redirect)
{
	struct stat old;
	bool there = !stat(name, &old);

	if (there && !S_ISREG(old.st_mode))
		return open(name, O_WRONLY | O_CLOEXEC);
	/* Do not replace a file that the user may not write to. */
	if (there && access(name, W_OK))
		return -1;
	redirect->file = follow_links(name);
	return redirect->file ? open_beside(redirect, there ? &old : NULL) : -1;
}

static void forget(struct redirect *redirect)
{
	free(redirect->file);
	free(redirect->beside);
}

int redirect_begin(const struct tool *tool, struct redirect *redirect)
{
	int fd, status = STATUS_OK;

	*redirect = (struct redirect) { .out = -1 };
	if (!tool->file)
		return STATUS_OK;
	fflush(stdout);
	fd = open_file(tool->file, redirect);
	if (fd >= 0)
		redirect->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || redirect->out < 0 || dup2(fd, STDOUT_FILENO) < 0)
		status = fail_file(tool);
	if (fd >= 0)
		close(fd);
	if (status) {
		if (fd >= 0 && redirect->beside)
			unlink(redirect->beside);
		forget(redirect);
	}
	return status;
}

int redirect_end(const struct tool *tool, struct redirect *redirect, int status)
{
	bool failed;

	if (redirect->out < 0)
		return status;
	failed = fflush(stdout) || ferror(stdout) ||
		 (redirect->file && fsync(STDOUT_FILENO));
	if (!status && (failed || (redirect->file && !replace(redirect))))
		status = fail(tool, STATUS_REFUSED, "%s cannot be written: %s",
			      tool->file, strerror(errno));
	if (status && redirect->beside)
		unlink(redirect->beside);
	/* Discard what could not be written; it must not go to the original output. */
	__fpurge(stdout);
	clearerr(stdout);
	dup2(redirect->out, STDOUT_FILENO);
	close(redirect->out);
	forget(redirect);
	return status;
}
