// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/base/request.h"
#include "daemon/base/timer.h"
#include "daemon/config.h"
#include "daemon/control.h"
#include "daemon/health.h"
#include "daemon/set/source.h"
#include "daemon/status.h"
#include "daemon/why.h"

#define LINE_MOST	256
#define CLIENTS_MOST	16
/* The most bytes that may follow a line */
#define BODY_MOST	(256u << 20)
/* Nagios waits ten seconds for a plugin. */
#define HEALTH_SECONDS	8
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
 * @body:	what follows the line; NULL if nothing does
 * @size:	length of @body, as the line says
 * @got:	how much of it has arrived
 * @request:	a request that is not answered yet, or NULL
 * @answer:	the answer; NULL until there is one
 * @len:	its length
 * @sent:	how much of it was sent
 */
struct client {
	struct control *control;
	struct client *next;
	sd_event_source *io;
	struct timer timer;
	char line[LINE_MOST];
	size_t have;
	char *body;
	size_t size;
	size_t got;
	struct request *request;
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
	if (client->request)
		client->request->client = NULL;
	free(client->answer);
	free(client->body);
	free(client);
}

static void on_silence(void *data)
{
	close_client(data);
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
	char *text = status_as(daemon->config, command);

	*done = text;
	if (text)
		return text;
	if (!strcmp(command, "accept") || !strcmp(command, "refresh"))
		return command_source(daemon, command, name, done);
	if (!strcmp(command, "why"))
		return why_json(daemon->config, name, done);
	return need_text("there is no command \"%s\"", command);
}

static void restart_timer(struct client *client)
{
	timer_start(client->control->daemon->event, &client->timer, CLIENT_SECONDS * 1000,
		    on_silence, client);
}

static void send_answer(struct client *client, int status, char *text)
{
	char *printable = status == STATUS_REFUSED ? need_printable(text) : NULL;
	size_t len;
	bool whole;

	/* A refusal is one line, and may have words of a server. */
	if (printable) {
		free(text);
		text = printable;
	}
	len = strlen(text);
	whole = len && text[len - 1] == '\n';
	client->answer = need_text("%d %zu\n%s%s", status, len + !whole, text, whole ? "" : "\n");
	client->len = strlen(client->answer);
	free(text);
	restart_timer(client);
	sd_event_source_set_io_events(client->io, EPOLLOUT);
}

static void answer_request(void *data, int status, char *text)
{
	struct client *client = data;

	client->request = NULL;
	send_answer(client, status, text);
}

/* The source with this name, or that has a list with this name. Without a name, the only one that
 * has lists. Return: NULL, and what is wrong in *@wrong.
 */
static struct source *find_lists(struct daemon *daemon, const char *name, char **wrong)
{
	struct config *config = daemon->config;
	struct source *found = NULL, *source;
	size_t i, count = 0;

	for (i = 0; i < config->source_count; i++) {
		source = config->sources[i];
		if (!source->kind->request ||
		    (*name && strcmp(source->name, name) && strcmp(source_list(source), name)))
			continue;
		if (!found || !strcmp(source->name, name))
			found = source;
		count++;
	}
	if (!found && *name)
		*wrong = need_text("there is no list \"%s\": the configuration of ipcuckood has no section [redis %s]; ipcuckood status shows what it has",
				   name, name);
	else if (!found)
		*wrong = need_copy("the configuration of ipcuckood has no section [redis NAME], so it shares no list");
	else if (!*name && count > 1)
		*wrong = need_copy("which list? there are several; ipcuckood status shows them");
	return *wrong ? NULL : found;
}

/* Cut the first word off. Return: the others. */
static char *cut_word(char *words)
{
	words += strcspn(words, " ");
	if (*words)
		*words++ = '\0';
	return words;
}

/* "publish NAME HOW [json] [force] SIZE" and "fleet NAME [json]"; "-" is no name. The source answers. */
static void pass_request(struct client *client, const char *command, char *name)
{
	char *how = cut_word(name), *word = how, *next, *wrong = NULL;
	bool json = false, force = false;
	struct source *source;

	if (client->body)
		word = cut_word(how);
	else
		how = "";
	for (; *word; word = next) {
		next = cut_word(word);
		json |= !strcmp(word, "json");
		force |= !strcmp(word, "force");
	}
	source = find_lists(client->control->daemon, strcmp(name, "-") ? name : "", &wrong);
	if (!source) {
		send_answer(client, STATUS_REFUSED, wrong);
		return;
	}
	client->request = request_new(command, how, client, answer_request);
	client->request->json = json;
	client->request->force = force;
	client->request->body = client->body;
	client->request->size = client->size;
	/* The source answers in time, and needs the body only now. */
	timer_stop(&client->timer);
	sd_event_source_set_io_events(client->io, 0);
	source->kind->request(source, client->request);
}

static void answer_client(struct client *client)
{
	char *command = client->line, *name = cut_word(command), *text;
	enum health health;
	bool done;

	if (!strcmp(command, "publish")) {
		pass_request(client, "publish", name);
	} else if (!strcmp(command, "fleet")) {
		pass_request(client, "fleet", name);
	} else if (!strcmp(command, "health")) {
		text = health_text(client->control->daemon->config, &health);
		send_answer(client, health, text);
	} else {
		text = run_command(client->control->daemon, command, name, &done);
		send_answer(client, done ? STATUS_OK : STATUS_REFUSED, text);
	}
}

/* The line has arrived: does a body follow? @rest bytes of it have come with the line. Return:
 * false if the client is to be sent away.
 */
static bool begin_body(struct client *client, const char *from, size_t rest)
{
	const char *size = strrchr(client->line, ' ');

	if (strncmp(client->line, "publish ", 8)) {
		answer_client(client);
		return true;
	}
	client->size = size ? strtoul(size + 1, NULL, 10) : 0;
	if (client->size > BODY_MOST || rest > client->size)
		return false;
	client->body = malloc(client->size + 1);
	if (!client->body)
		return false;
	memcpy(client->body, from, rest);
	client->got = rest;
	if (client->got == client->size)
		answer_client(client);
	return true;
}

static bool read_body(struct client *client, int fd)
{
	ssize_t got = recv(fd, client->body + client->got, client->size - client->got,
			   MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!got)
		return false;
	client->got += got;
	restart_timer(client);
	if (client->got == client->size)
		answer_client(client);
	return true;
}

/* Return: false if the client is to be sent away. */
static bool read_client(struct client *client, int fd)
{
	char *end;
	ssize_t got;

	if (client->body)
		return read_body(client, fd);
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
	*end++ = '\0';
	return begin_body(client, end, client->line + client->have - end);
}

static bool write_client(struct client *client, int fd)
{
	ssize_t sent = send(fd, client->answer + client->sent, client->len - client->sent,
			    MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent += sent;
	restart_timer(client);
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
	/* Somebody waits for the answer: before the transfers that are ready at the same time. */
	sd_event_source_set_priority(client->io, SD_EVENT_PRIORITY_IMPORTANT);
	client->control = control;
	client->next = control->clients;
	control->clients = client;
	control->count++;
	restart_timer(client);
	return 0;
}

/* Only root and the daemon's own user may connect. Return: a file descriptor, or a negative
 * errno.
 */
static int listen_at(const char *path)
{
	int fd = daemon_connect(path, ANSWER_SECONDS), err = 0;
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
	if (!daemon_address(&address, path))
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
		sd_event_source_set_priority(control->io, SD_EVENT_PRIORITY_IMPORTANT);
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
	int fd = daemon_connect(path, ANSWER_SECONDS);

	if (fd >= 0)
		return daemon_ask(fd, line, NULL, 0, stdout, stderr);
	log_error("%s: no ipcuckood answers there: %s; is it running? systemctl status ipcuckood",
		  path, strerror(-fd));
	return STATUS_ABSENT;
}

int control_health(const char *path)
{
	int fd = daemon_connect(path, HEALTH_SECONDS), status = HEALTH_UNKNOWN;

	if (fd >= 0)
		status = daemon_ask(fd, "health", NULL, 0, stdout, stdout);
	else
		printf("UNKNOWN: %s: no ipcuckood answers there: %s; is it running? systemctl status ipcuckood\n",
		       path, strerror(-fd));
	return status < HEALTH_UNKNOWN ? status : HEALTH_UNKNOWN;
}
