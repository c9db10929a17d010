// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "cli/tool.h"

bool daemon_address(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		return false;
	strcpy(address->sun_path, path);
	return true;
}

int daemon_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	if (!daemon_address(&address, path))
		err = -ENAMETOOLONG;
	else
		err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Return: whether all of it was sent. */
static bool send_all(int fd, const char *data, size_t size)
{
	ssize_t sent;

	for (; size; data += sent, size -= sent) {
		sent = send(fd, data, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			sent = 0;
		else if (sent < 0)
			return false;
	}
	return true;
}

int daemon_ask(int fd, const char *line, const void *body, size_t size)
{
	bool sent = send_all(fd, line, strlen(line)) && send_all(fd, "\n", 1) &&
		    send_all(fd, body, size);
	FILE *f = fdopen(fd, "r");
	int status = STATUS_REFUSED, c;

	if (!f) {
		close(fd);
		return STATUS_REFUSED;
	}
	if (fscanf(f, "%d%*1[\n]", &status) != 1)
		fprintf(stderr, "ipcuckood did not answer%s\n", sent ? "" : ", and did not read all");
	while ((c = getc(f)) != EOF)
		putc(c, status == STATUS_OK || status == STATUS_NO ? stdout : stderr);
	fclose(f);
	return status;
}
