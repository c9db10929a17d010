// SPDX-License-Identifier: GPL-2.0-only
/*
 * A look-up cannot be interrupted. Whoever gives up leaves it running, and whoever asks for the
 * same host meanwhile waits for the same thread, so there is one thread for a host, however often it is
 * tried. A thread shares nothing with the daemon but one end of a pair of sockets.
 */
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/memory.h"
#include "daemon/redis/resolve.h"

/* Of an address, perhaps with the name of a device */
#define ADDRESS_SIZE	128

/**
 * struct lookup - a thread at work
 * @next:	another one
 * @host:	what is looked up
 * @io:		the socket on which the answer comes
 * @waiting:	who waits for it
 */
struct lookup {
	struct lookup *next;
	char *host;
	sd_event_source *io;
	struct resolve *waiting;
};

/**
 * struct resolve - somebody who waits
 * @lookup:	for this
 * @next:	who waits for the same
 * @done:	gets the answer
 * @owner:	its argument
 */
struct resolve {
	struct lookup *lookup;
	struct resolve *next;
	resolve_fn *done;
	void *owner;
};

/* What a thread has. */
struct task {
	int fd;
	char host[];
};

/* What a thread sends. */
struct answer {
	int error;
	char address[ADDRESS_SIZE];
};

static struct lookup *lookups;

bool resolve_is_address(const char *host)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		return false;
	freeaddrinfo(found);
	return true;
}

static int find(const char *host, int family, char address[ADDRESS_SIZE])
{
	const struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int error = getaddrinfo(host, NULL, &hints, &found);

	if (error)
		return error;
	error = getnameinfo(found->ai_addr, found->ai_addrlen, address, ADDRESS_SIZE, NULL, 0,
			    NI_NUMERICHOST);
	freeaddrinfo(found);
	return error;
}

/* IPv4 first, as hiredis does */
static void *run(void *data)
{
	struct answer answer = { 0 };
	struct task *task = data;

	answer.error = find(task->host, AF_INET, answer.address);
	if (answer.error && answer.error != EAI_AGAIN)
		answer.error = find(task->host, AF_INET6, answer.address);
	send(task->fd, &answer, sizeof(answer), MSG_NOSIGNAL);
	close(task->fd);
	free(task);
	return NULL;
}

/* The daemon's signals are for its event loop. Return: whether the thread runs. */
static bool start_thread(struct task *task)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	runs = !pthread_create(&thread, &attributes, run, task);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return runs;
}

/* Return: the end of the pair of sockets on which the answer comes. */
static int begin(const char *host)
{
	struct task *task = need_zeros(sizeof(*task) + strlen(host) + 1);
	int ends[2] = { -1, -1 };

	strcpy(task->host, host);
	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		task->fd = ends[1];
		if (start_thread(task))
			return ends[0];
		close(ends[1]);
	}
	/* As if there had been an answer */
	free(task);
	return ends[0];
}

static void end(struct lookup *lookup, const struct answer *answer)
{
	struct lookup **at = &lookups;
	struct resolve *resolve;

	while (*at != lookup)
		at = &(*at)->next;
	*at = lookup->next;
	sd_event_source_disable_unref(lookup->io);
	/* Who is told may stop others. */
	while ((resolve = lookup->waiting)) {
		resolve_fn *done = resolve->done;
		void *owner = resolve->owner;

		resolve_stop(resolve);
		done(owner, answer->error ? NULL : answer->address,
		     answer->error ? gai_strerror(answer->error) : NULL);
	}
	free(lookup->host);
	free(lookup);
}

static int on_answer(sd_event_source *io, int fd, uint32_t events, void *data)
{
	struct answer answer;

	(void)io;
	(void)events;
	/* There is no thread if there was no memory. */
	if (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer))
		answer.error = EAI_MEMORY;
	end(data, &answer);
	return 0;
}

static struct lookup *lookup_new(sd_event *event, const char *host)
{
	struct lookup *lookup = need_zeros(sizeof(*lookup));
	int fd = begin(host);

	if (fd < 0 || sd_event_add_io(event, &lookup->io, fd, EPOLLIN, on_answer, lookup) < 0) {
		if (fd >= 0)
			close(fd);
		free(lookup);
		return NULL;
	}
	lookup->host = need_copy(host);
	sd_event_source_set_io_fd_own(lookup->io, true);
	lookup->next = lookups;
	lookups = lookup;
	return lookup;
}

struct resolve *resolve_start(sd_event *event, const char *host, resolve_fn *done, void *owner)
{
	struct resolve *resolve = need_zeros(sizeof(*resolve));
	struct lookup *lookup = lookups;

	while (lookup && strcmp(lookup->host, host))
		lookup = lookup->next;
	if (!lookup)
		lookup = lookup_new(event, host);
	if (!lookup) {
		free(resolve);
		return NULL;
	}
	resolve->lookup = lookup;
	resolve->next = lookup->waiting;
	resolve->done = done;
	resolve->owner = owner;
	lookup->waiting = resolve;
	return resolve;
}

void resolve_stop(struct resolve *resolve)
{
	struct resolve **at;

	if (!resolve)
		return;
	for (at = &resolve->lookup->waiting; *at != resolve;)
		at = &(*at)->next;
	*at = resolve->next;
	free(resolve);
}
