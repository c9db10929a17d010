// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
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

int daemon_connect(const char *path, unsigned int seconds)
{
	const struct timeval patience = { .tv_sec = seconds };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
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

/* Read until the other end closes the connection. Return: what came, allocated, with a zero behind
 * it; NULL if there is no memory.
 */
static char *read_all(int fd, size_t *size)
{
	char *data = NULL, *grown;
	size_t room = 0;
	ssize_t got;

	*size = 0;
	do {
		if (room - *size < 2) {
			room = room ? 2 * room : 1 << 16;
			grown = realloc(data, room);
			if (!grown) {
				free(data);
				return NULL;
			}
			data = grown;
		}
		got = recv(fd, data + *size, room - *size - 1, 0);
		if (got > 0)
			*size += got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	data[*size] = '\0';
	return data;
}

static int refuse(FILE *err, const char *format, ...) PRINTF(2, 3);

static int refuse(FILE *err, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		vfprintf(err, format, args);
		va_end(args);
		fputc('\n', err);
	}
	return STATUS_REFUSED;
}

/* @data: an answer, with a zero behind it */
static int print_answer(const char *data, size_t size, FILE *out, FILE *err)
{
	size_t want = SIZE_MAX, got;
	char *at = NULL;
	int status = strtol(data, &at, 10);

	if (*at == ' ')
		want = strtoul(at + 1, &at, 10);
	if (at == data || *at++ != '\n')
		return refuse(err, "ipcuckood did not answer; try again, journalctl -u ipcuckood may say why");
	got = data + size - at;
	if (want == SIZE_MAX)
		refuse(err, "ipcuckood is older than this program, so it is not known whether all of its answer has come; restart it: systemctl restart ipcuckood");
	else if (want != got)
		return refuse(err,
			      "the answer of ipcuckood was cut off: %zu of %zu bytes have come; try again",
			      got, want);
	if (status != STATUS_OK && status != STATUS_NO && status != STATUS_WAITS)
		out = err;
	if (out)
		fwrite(at, 1, got, out);
	return status;
}

int daemon_ask(int fd, const char *line, const void *body, size_t size, FILE *out, FILE *err)
{
	bool sent = send_all(fd, line, strlen(line)) && send_all(fd, "\n", 1) &&
		    send_all(fd, body, size);
	size_t got;
	char *data;
	int status;

	/* All of it is read before any is printed: the daemon does not wait for a slow pager. */
	data = read_all(fd, &got);
	close(fd);
	if (!data)
		return refuse(err, "out of memory: the answer of ipcuckood is too large");
	if (!got && !sent)
		status = refuse(err, "ipcuckood has not read all, and did not answer; try again, journalctl -u ipcuckood may say why");
	else
		status = print_answer(data, got, out, err);
	free(data);
	return status;
}
