// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/source.h"
#include "daemon/status.h"
#include "daemon/timer.h"

#define LINE_MOST	256
#define CLIENTS_MOST	16
/* A client that is silent for this long is sent away. */
#define CLIENT_SECONDS	10

/**
 * struct client - a connection
 * @control:	the socket it came from
 * @next:	the next client
 * @io:		its file descriptor in the event loop, which owns that
 * @timer:	sends it away
 * @line:	the command, as far as it has arrived
 * @have:	length of @line
 * @answer:	the answer; NULL until there is one
 * @len:	its length
 * @sent:	how much of it was sent
 */
struct client {
	struct control *control;
	struct client *next;
	sd_event_source *io;
	sd_event_source *timer;
	char line[LINE_MOST];
	size_t have;
	char *answer;
	size_t len;
	size_t sent;
};

struct control {
	struct daemon *daemon;
	sd_event_source *io;
	struct client *clients;
	unsigned int count;
};

static void close_client(struct client *client)
{
	struct client **at = &client->control->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->control->count--;
	sd_event_source_disable_unref(client->io);
	timer_stop(&client->timer);
	free(client->answer);
	free(client);
}

static int on_silence(sd_event_source *timer, uint64_t usec, void *data)
{
	(void)timer;
	(void)usec;
	close_client(data);
	return 0;
}

/* A command for one source: "refresh NAME". */
static char *command_source(struct daemon *daemon, const char *command, const char *name,
			    bool *done)
{
	struct source *source = config_source(daemon->config, name);

	*done = false;
	if (!*name)
		return need_text("which source? ipcuckood %s NAME; ipcuckood status lists them",
				 command);
	if (!source)
		return need_text("there is no source \"%s\"; ipcuckood status lists them", name);
	if (!source->kind->command)
		return need_text("%s %s: a source of this kind has no command %s",
				 source->kind->word, name, command);
	return source->kind->command(source, command, done);
}

static char *run_command(struct daemon *daemon, const char *command, const char *name, bool *done)
{
	*done = true;
	if (!strcmp(command, "status"))
		return status_text(daemon->config);
	if (!strcmp(command, "json"))
		return status_json(daemon->config);
	if (!strcmp(command, "prometheus"))
		return status_prometheus(daemon->config);
	if (!strcmp(command, "accept") || !strcmp(command, "refresh"))
		return command_source(daemon, command, name, done);
	*done = false;
	return need_text("there is no command \"%s\"", command);
}

static void answer_client(struct client *client)
{
	char *command = client->line, *name;
	bool done;
	char *text;

	name = command + strcspn(command, " ");
	if (*name)
		*name++ = '\0';
	text = run_command(client->control->daemon, command, name, &done);
	client->answer = need_text("%d\n%s%s", done ? STATUS_OK : STATUS_REFUSED, text,
				   *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
	client->len = strlen(client->answer);
	free(text);
	sd_event_source_set_io_events(client->io, EPOLLOUT);
}

/* Return: false if the client is to be sent away. */
static bool read_client(struct client *client, int fd)
{
	char *end;
	ssize_t got;

	got = recv(fd, client->line + client->have, LINE_MOST - 1 - client->have, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!got)
		return false;
	client->have += got;
	client->line[client->have] = '\0';
	end = strchr(client->line, '\n');
	if (!end)
		return client->have < LINE_MOST - 1;
	*end = '\0';
	answer_client(client);
	return true;
}

static bool write_client(struct client *client, int fd)
{
	ssize_t sent = send(fd, client->answer + client->sent, client->len - client->sent,
			    MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent += sent;
	return client->sent < client->len;
}

static int on_client(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct client *client = data;
	bool stays;

	(void)io;
	if (client->answer)
		stays = write_client(client, fd);
	else
		stays = events & EPOLLIN && read_client(client, fd);
	if (!stays)
		close_client(client);
	return 0;
}

static int on_connection(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct control *control = data;
	struct client *client;
	int connection;

	(void)io;
	(void)events;
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (connection < 0)
		return 0;
	if (control->count == CLIENTS_MOST) {
		close(connection);
		return 0;
	}
	client = need_zeros(sizeof(*client));
	if (sd_event_add_io(control->daemon->event, &client->io, connection, EPOLLIN, on_client,
			    client) < 0) {
		close(connection);
		free(client);
		return 0;
	}
	sd_event_source_set_io_fd_own(client->io, true);
	client->control = control;
	client->next = control->clients;
	control->clients = client;
	control->count++;
	timer_start(control->daemon->event, &client->timer, CLIENT_SECONDS * 1000, on_silence,
		    client);
	return 0;
}

static bool fill_address(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		return false;
	strcpy(address->sun_path, path);
	return true;
}

static int connect_to(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	if (!fill_address(&address, path))
		err = -ENAMETOOLONG;
	else
		err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Only root and the daemon's own user may connect. Return: a file descriptor, or a negative
 * errno.
 */
static int listen_at(const char *path)
{
	int fd = connect_to(path), err = 0;
	struct sockaddr_un address;
	mode_t mask;

	if (fd >= 0) {
		close(fd);
		return -EADDRINUSE;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(path);
	mask = umask(0177);
	if (!fill_address(&address, path))
		err = -ENAMETOOLONG;
	else if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, CLIENTS_MOST))
		err = -errno;
	umask(mask);
	if (!err)
		return fd;
	close(fd);
	return err;
}

struct control *control_start(struct daemon *daemon)
{
	struct control *control = need_zeros(sizeof(*control));
	int fd = listen_at(daemon->control);
	int err = fd;

	control->daemon = daemon;
	if (fd >= 0)
		err = sd_event_add_io(daemon->event, &control->io, fd, EPOLLIN, on_connection,
				      control);
	if (err >= 0) {
		sd_event_source_set_io_fd_own(control->io, true);
		return control;
	}
	if (err == -EADDRINUSE)
		log_error("%s: another ipcuckood runs and answers there; stop it first, or say --control PATH",
			  daemon->control);
	else
		log_error("%s: cannot listen there: %s; say --control PATH", daemon->control,
			  strerror(-err));
	free(control);
	return NULL;
}

void control_stop(struct control *control)
{
	if (!control)
		return;
	while (control->clients)
		close_client(control->clients);
	sd_event_source_disable_unref(control->io);
	unlink(control->daemon->control);
	free(control);
}

int control_ask(const char *path, const char *line)
{
	int fd = connect_to(path), status = STATUS_REFUSED;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");
	int c;

	if (!f) {
		log_error("%s: no ipcuckood answers there: %s; is it running? systemctl status ipcuckood",
			  path, strerror(-fd));
		return STATUS_ABSENT;
	}
	fprintf(f, "%s\n", line);
	fflush(f);
	if (fscanf(f, "%d%*1[\n]", &status) != 1)
		log_error("%s: ipcuckood did not answer", path);
	while ((c = getc(f)) != EOF)
		putc(c, status ? stderr : stdout);
	fclose(f);
	return status;
}
