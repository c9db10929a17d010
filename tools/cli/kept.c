// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "cli/kept.h"
#include "lib/replace.h"

/* The path of the file. Return: whether there is memory for it. */
static bool names_path(const char *control, char **path)
{
	const char *slash = strrchr(control, '/');
	int len = slash ? slash - control + 1 : 0;

	return asprintf(path, "%.*ssets", len, control) >= 0;
}

/* Read "LINE\n". Return: false at the end. */
static bool next_line(FILE *f, char *line, size_t size)
{
	if (!fgets(line, size, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

unsigned long long own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

/* Open the file of a daemon that runs in this network namespace. */
static FILE *open_names(void)
{
	char line[IPCUCKOO_NAME_SIZE + 1], *path;
	FILE *f = NULL;

	if (names_path(CONTROL_PATH, &path)) {
		f = fopen(path, "re");
		free(path);
	}
	if (f && flock(fileno(f), LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK &&
	    next_line(f, line, sizeof(line)) && strtoull(line, NULL, 10) == own_namespace())
		return f;
	if (f)
		fclose(f);
	return NULL;
}

bool is_kept(const char *set)
{
	char line[IPCUCKOO_NAME_SIZE + 1];
	FILE *f = open_names();
	bool found = false;

	while (f && !found && next_line(f, line, sizeof(line)))
		found = !strcmp(line, set);
	if (f)
		fclose(f);
	return found;
}

const char *set_owner(const struct nl_set *set)
{
	return is_ipset(set) ? "ip_set" : is_kept(set->name) ? "ipcuckood" : NULL;
}

void kept_walk(void (*visit)(const char *set, const void *data), const void *data)
{
	char line[IPCUCKOO_NAME_SIZE + 1];
	FILE *f = open_names();

	while (f && next_line(f, line, sizeof(line)))
		visit(line, data);
	if (f)
		fclose(f);
}

int keep_names(const char *control, const char *const *names, int *fd)
{
	char *path;
	FILE *f;
	int err;

	if (!names_path(control, &path))
		return -ENOMEM;
	f = replace_open(path);
	err = f ? 0 : -errno;
	if (f) {
		fprintf(f, "%llu\n", own_namespace());
		while (*names)
			fprintf(f, "%s\n", *names++);
		/* Anybody may read it, whatever the umask. */
		if (fchmod(fileno(f), 0644) || flock(fileno(f), LOCK_EX | LOCK_NB))
			err = -errno;
		/* It says what a process does that runs. */
		if (!err)
			err = replace_file(f, path, REPLACE_ANYHOW);
		if (*fd >= 0)
			close(*fd);
		*fd = err ? -1 : fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
		fclose(f);
	}
	free(path);
	return err;
}

void keep_none(const char *control, int *fd)
{
	char *path;

	if (*fd < 0)
		return;
	if (names_path(control, &path)) {
		unlink(path);
		free(path);
	}
	close(*fd);
	*fd = -1;
}
